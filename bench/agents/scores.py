"""Tasks completed, calls, bytes read and wrong effects: scripted agents on our server and on its peers.

The agents know their goal and the arguments that they meant; of the tools they know what the answers say (`agent.py`).
A task is completed if its effect was made exactly once, or if the agent stopped where nothing helps. Rows of our server
differ in what the agent reads: the JSON text, the lean text, or the structured content.

The sets: `wrapped` (handlers around httpx, SQLite and a program), `shipped` (docs, edit and workspace), `flux`, and
those that were written before they were run: `held-out-wrapped`, `held-out` and `held-out-flux`, later
`second-bookings`, `second-shipped` and `second-flux`, and last `third-depot`, `third-shipped` and `third-flux`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from measure import JOBS, Figure, benchmark, figure, spread

from agents.agent import Agent
from agents.bookings import Bookings
from agents.depot import Depot
from agents.held_out import held_out_flux_tasks, held_out_tasks, held_out_wrapped_tasks
from agents.readers import Advice, read_any_text, read_json_text, read_lean_text, read_structured
from agents.second_held_out import THIRD_FILES, second_bookings_tasks, second_flux_tasks, second_shipped_tasks
from agents.servers import CONTENDERS, FASTMCP, connect
from agents.shipped import FILES, OTHER_FILES, Shipped, shipped_contenders
from agents.shipped_tasks import flux_tasks, shipped_tasks
from agents.tasks import Task, reached, tasks
from agents.third_held_out import FOURTH_FILES, third_depot_tasks, third_flux_tasks, third_shipped_tasks
from agents.world import World
from failsoft import Runtime
from failsoft.framework.settings import Settings

CALLS_AT_MOST = 6
WORLD_FAULTS = frozenset(
    {
        "crash",
        "hostile",
        "program",
        "outage",
        "limited",
        "broken",
        "slow",
        "taken",
        "rejected",
        "denied",
        "full",
        "garbled",
        "group",
        "busy",
    }
)
QUICK_STEP = 18
READERS: dict[str, Callable[[str, Any], Advice]] = {
    "failsoft, json text": read_json_text,
    "failsoft, lean text": read_lean_text,
    "failsoft, structured": read_structured,
    FASTMCP: read_any_text,
    "MCPServer (SDK)": read_any_text,
}
SETS: dict[str, Callable[[], list[Task]]] = {
    "wrapped": tasks,
    "shipped": shipped_tasks,
    "flux": flux_tasks,
    "held-out-wrapped": held_out_wrapped_tasks,
    "held-out": held_out_tasks,
    "held-out-flux": held_out_flux_tasks,
    "second-bookings": second_bookings_tasks,
    "second-shipped": second_shipped_tasks,
    "second-flux": second_flux_tasks,
    "third-depot": third_depot_tasks,
    "third-shipped": third_shipped_tasks,
    "third-flux": third_flux_tasks,
}
FOLDERS = {"held-out": OTHER_FILES, "second-shipped": THIRD_FILES, "third-shipped": FOURTH_FILES}
WORLDS: dict[str, Callable[[str], Any]] = {"wrapped": World, "bookings": Bookings, "depot": Depot}
"""The worlds around wrapped libraries, by the last word of the names of their sets."""


@dataclass(slots=True)
class Score:
    """What became of the tasks of one contender."""

    tasks: int = 0
    completed: int = 0
    calls: int = 0
    read_bytes: int = 0
    wrong_effects: int = 0
    failure_bytes: list[int] = field(default_factory=list)
    violation_bytes: list[int] = field(default_factory=list)
    result_bytes: list[int] = field(default_factory=list)
    steps: int = 0
    misled: list[str] = field(default_factory=list)
    refused: int = 0
    repaired: int = 0
    unrepaired: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)


class Bench:
    """The worlds of one set of tasks; a flux toolset is made once, since loading a model takes seconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.flux: tuple[Any, dict[str, str]] | None = None
        self.make = shipped_contenders()

    async def world(self, task: Task, contender: str) -> tuple[Any, Any]:
        """Return a new world, and a server for it."""
        make = WORLDS.get(self.name.rpartition("-")[2])
        if make is not None:
            world = make(task.fault)
            return world, CONTENDERS[contender](world)
        settings = _settings("lean" if "lean" in contender else "json")
        if self.name.endswith("flux"):
            self.flux = await _flux_with_model(settings)
        shipped = Shipped(FOLDERS.get(self.name, FILES), task.fault, self.flux, settings)
        return shipped, self.make[contender](shipped)


async def prepared(world: Any, task: Task, call: Any) -> Task:
    """Return the task in the names of its world, whose sessions are begun through `call` if it is our server's."""
    if not isinstance(world, Shipped):
        return task
    await world.prepare(call)
    meant, first = ((tool, world.filled(arguments)) for tool, arguments in (task.meant, task.first))
    return dataclasses.replace(task, meant=meant, first=first)


_FLUX: dict[str, tuple[Any, dict[str, str]]] = {}
_MEDIA = {"WATER": ["cpd00001"], "NO_CARBON": ["cpd00001", "cpd00007", "cpd00009", "cpd00013"]}
"""Media on which nothing grows."""


@cache
def _settings(answer: str) -> Settings:
    return Settings(answer=answer)


async def _flux_with_model(settings: Settings) -> tuple[Any, dict[str, str]]:
    from failsoft.tools.flux import Flux  # noqa: PLC0415 - the other sets need none of it

    class Kept(Flux):
        """A toolset whose workers stay when a connection ends: to start them takes longer than all tasks."""

        async def shutdown(self) -> None:
            """Keep the workers, which end with this process."""

    if settings.answer not in _FLUX:
        flux = Kept(Path(tempfile.gettempdir()), runtime=Runtime(settings=settings))
        loaded = await flux.execute_with_error_handling("load_model", {"name": "textbook"})
        names = {"MODEL": loaded.unwrap()["model_id"]}
        for name, compounds in _MEDIA.items():
            built = await flux.execute_with_error_handling("build_media", {"compounds": compounds})
            names[name] = built.unwrap()["media_id"]
        _FLUX[settings.answer] = flux, names
    return _FLUX[settings.answer]


async def attempt(task: Task, name: str, score: Score, bench: Bench) -> None:
    """Let an agent do one task on a new world."""
    world, server = await bench.world(task, name)
    async with AsyncExitStack() as stack:
        call = await connect(server, stack, is_fastmcp=name == FASTMCP)
        task = await prepared(world, task, call if "failsoft" in name else None)
        agent = Agent(task, READERS[name], str(world.folder) if isinstance(world, Shipped) else "")
        has_stopped = await _pursue(agent, call, score, task)
    score.tasks += 1
    wanted = {task.effect: 1} if task.effect else {}
    wrong = any(count > wanted.get(effect, 0) for effect, count in world.effects.items())
    score.wrong_effects += wrong
    is_right = (agent.is_done and reached(task, world)) or (task.stops and has_stopped and not wrong)
    score.completed += is_right
    if not is_right:
        score.undone.append(task.name)
    if not isinstance(world, World):
        world.close()


async def _pursue(agent: Agent, call: Any, score: Score, task: Task) -> bool:
    """Return whether the agent stopped of itself."""
    was_refused = False
    for turn in range(CALLS_AT_MOST):
        is_error, text, structured = await call(agent.tool, dict(agent.arguments))
        score.calls += 1
        tree = json.dumps(structured, ensure_ascii=False, separators=(",", ":")).encode()
        read = tree if agent.read is read_structured else text.encode()
        score.read_bytes += len(read)
        score.steps += agent.follows
        if agent.follows and is_error and task.fault not in WORLD_FAULTS:
            score.misled.append(f"{task.name}: {agent.tool} {json.dumps(agent.arguments)[:150]} -> {text[:200]}")
        if was_refused:
            score.repaired += not is_error
            if is_error:
                score.unrepaired.append(task.name)
        was_refused = turn == 0 and is_error and _measure(score, text, structured, len(tree))
        score.refused += was_refused
        if not (agent.after_failure(text, structured) if is_error else agent.after_success(text, structured)):
            return is_error
    return False


def _measure(score: Score, text: str, structured: Any, tree_bytes: int) -> bool:
    """Note the sizes of a first failure; return whether it refused the arguments, violation by violation."""
    score.failure_bytes.append(len(text.encode()))
    score.result_bytes.append(len(text.encode()) + tree_bytes)
    error = structured.get("error", structured) if isinstance(structured, dict) else {}
    violations = error.get("violations") if isinstance(error, dict) else None
    if violations:
        score.violation_bytes.append(len(json.dumps(violations, ensure_ascii=False, separators=(",", ":")).encode()))
    return bool(violations)


def _median(sizes: list[int]) -> float:
    return statistics.median(sizes) if sizes else 0


def _score(step: int, names: Sequence[str], which: tuple[str, str]) -> Score:
    """Return what became of the tasks of these names, or of every `step`th, of a set with a contender."""
    logging.disable(logging.CRITICAL)  # this may be a process of its own
    chosen, contender = which
    found = [task for task in SETS[chosen]() if task.name in names] if names else SETS[chosen]()[::step]
    return asyncio.run(_scored(Bench(chosen), contender, found))


async def _scored(bench: Bench, name: str, chosen: Sequence[Task]) -> Score:
    score = Score()
    try:
        for task in chosen:
            await attempt(task, name, score, bench)
    except ImportError as missing:
        print(f"{name}: not installed ({missing.name})")
    return score


def _print(chosen: str, scores: dict[str, Score], *, is_long: bool) -> None:
    print(
        f"\n{chosen:<24}{'completed':>12}{'calls/task':>12}{'bytes/task':>12}{'wrong':>8}{'failure':>10}{'misled':>8}"
    )
    for name, score in scores.items():
        if not score.tasks:
            continue
        share, calls, read = (
            f"{score.completed}/{score.tasks}",
            score.calls / score.tasks,
            score.read_bytes / score.tasks,
        )
        sizes = f"{_median(score.failure_bytes):>10.0f}{f'{len(score.misled)}/{score.steps}':>8}"
        print(f"{name:<24}{share:>12}{calls:>12.2f}{read:>12.0f}{score.wrong_effects:>8}{sizes}")
        if is_long:
            print(f"   violations {_median(score.violation_bytes)}, result {_median(score.result_bytes)}, ", end="")
            print(f"repaired {score.repaired}/{score.refused}")
            print("   undone:", ", ".join(score.undone))
            print("   unrepaired:", ", ".join(score.unrepaired))
            print("   misled:", *score.misled, sep="\n      ")


OWN = {
    "--set": {"action": "append", "choices": list(SETS), "dest": "sets", "help": "by default all but flux"},
    "--every": {"type": int, "metavar": "N", "help": f"only every Nth task; --quick: every {QUICK_STEP}th"},
    "--task": {"action": "append", "metavar": "NAME", "dest": "tasks", "help": "only this task, e.g. 'edit twice'"},
    "--undone": {"action": "store_true", "help": "name the tasks that were not completed, and bad steps"},
    "--ours": {"action": "store_true", "help": "leave the peers out"},
    **JOBS,
}


@benchmark("Agents that follow the answers", own=OWN, step=(1, QUICK_STEP))
def measure(given: Any) -> list[Figure]:
    """Print a table for each set, and return what our goals are about."""
    names = [name for name in READERS if "failsoft" in name or not given.ours]
    pairs = [(chosen, name) for chosen in given.sets or SETS for name in names if given.sets or "flux" not in chosen]
    scores = dict(
        zip(
            pairs, spread(partial(_score, given.every or given.step, given.tasks or ()), pairs, given.jobs), strict=True
        )
    )
    figures = []
    for chosen in dict.fromkeys(chosen for chosen, _ in pairs):
        of_set = {name: scores[chosen, name] for name in names}
        _print(chosen, of_set, is_long=given.undone)
        figures += [one for name, score in of_set.items() if "failsoft" in name for one in _goals(chosen, name, score)]
    return figures


def _goals(chosen: str, name: str, score: Score) -> list[Figure]:
    label, share = f"{chosen}, {name}", 100 * score.completed / max(1, score.tasks)
    return [
        figure(f"{label}: completed", [share], "%", goal=">= 95", note=", ".join(score.undone)),
        figure(f"{label}: wrong effects", [score.wrong_effects], "tasks", goal="<= 0"),
        figure(f"{label}: misled", [len(score.misled)], "steps", goal="<= 0", note="; ".join(score.misled)),
        figure(f"{label}: calls", [score.calls / max(1, score.tasks)], "a task"),
    ]
