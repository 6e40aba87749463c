"""Failures drawn at random, each answered by one call: the one that an agent makes who reads the text alone.

Equal parts are drawn from the tasks on docs, edit, workspace, flux and wrapped libraries whose first call fails. For
each, the agent of `agent.py` reads the text of the answer and decides; its next call is executed. That call may
succeed, the agent may stop where nothing helps (`stopped`), or the call may fail; if it was the next step that the
answer named, the answer misled the agent.
"""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from measure import Figure, benchmark

from agents.agent import Agent
from agents.readers import read_json_text, read_lean_text
from agents.scores import SETS, WORLD_FAULTS, WORLDS, Bench, prepared
from agents.servers import connect
from agents.shipped import Shipped
from agents.tasks import Task

FROM = ("docs", "edit", "workspace", "flux", "wrapped")
_DOCS = frozenset(
    {
        "get_documentation", "search_documents", "list_documents", "list_doc_types", "validate_document",
        "promote_document", "search_external_docs",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drawn:
    """One failure and what came of it.

    Args:
        source: The toolset, or `wrapped`.
        task: The task whose first call failed.
        outcome: `succeeded`, `stopped`, `failed` or `misled`.
        text: The answer that was read.
        then: The call that was made, and the beginning of its answer; empty if none was made.
    """

    source: str
    task: str
    outcome: str
    text: str
    then: str


def source_of(chosen: str, task: Task) -> str:
    """Return the toolset of a task."""
    if "flux" in chosen:
        return "flux"
    if chosen.rpartition("-")[2] in WORLDS:
        return "wrapped"
    tool = task.meant[0]
    return "edit" if tool.startswith("multi_edit") else "docs" if tool in _DOCS else "workspace"


async def play(seed: int, count: int, contender: str, sources: Sequence[str]) -> list[Drawn]:
    """Draw failures and answer each; `count` is for all sources, whether they are drawn from or not."""
    pools: dict[str, list[tuple[str, Task]]] = {name: [] for name in FROM}
    for chosen, made in SETS.items():
        for task in made():
            if task.first != task.meant or task.fault or task.stops:
                pools[source_of(chosen, task)].append((chosen, task))
    benches = {chosen: Bench(chosen) for chosen in SETS}
    found: list[Drawn] = []
    for number, source in enumerate(FROM):
        if source not in sources:
            continue
        random.Random(seed + number).shuffle(pools[source])  # noqa: S311 - drawn for a benchmark
        before = len(found)
        for chosen, task in pools[source]:
            drawn = await _answered(benches[chosen], contender, source, task)
            found += [drawn] if drawn is not None else []
            if len(found) - before == count // len(FROM):
                break
    return found


async def _answered(bench: Bench, contender: str, source: str, task: Task) -> Drawn | None:
    """Make the first call, and the one that its answer leads to; None if the first succeeds."""
    read = read_lean_text if "lean" in contender else read_json_text
    world, server = await bench.world(task, contender)
    async with AsyncExitStack() as stack:
        call = await connect(server, stack, is_fastmcp=False)
        task = await prepared(world, task, call)
        agent = Agent(task, read, str(world.folder) if isinstance(world, Shipped) else "")
        is_error, text, structured = await call(agent.tool, dict(agent.arguments))
        drawn = None
        if is_error:
            outcome, then = "stopped" if task.stops else "failed", ""
            if agent.after_failure(text, structured):
                failed_again, answer, _ = await call(agent.tool, dict(agent.arguments))
                then = f"{agent.tool} {json.dumps(agent.arguments)} -> {answer[:300]}"
                outcome = "succeeded" if not failed_again else outcome
                if failed_again and agent.follows and task.fault not in WORLD_FAULTS:
                    outcome = "misled"
            drawn = Drawn(source, task.name, outcome, text, then)
    if hasattr(world, "close"):
        world.close()
    return drawn


OWN = {
    "--seed": {"type": int, "default": 1},
    "--count": {"type": int, "default": 60, "help": "of all toolsets together"},
    "--of": {"action": "append", "choices": FROM, "help": "by default all"},
    "--lean": {"action": "store_true", "help": "read the lean text and not the JSON"},
    "--verbose": {"action": "store_true", "help": "print every answer and the call that followed"},
}


@benchmark("Failures drawn at random", own=OWN)
async def measure(given: Any) -> list[Figure]:
    """Print a table, and every failure whose next call neither succeeded nor was rightly left out."""
    logging.disable(logging.CRITICAL)
    contender = "failsoft, lean text" if given.lean else "failsoft, json text"
    found = await play(given.seed, given.count, contender, given.of or FROM)
    outcomes = ("succeeded", "stopped", "failed", "misled")
    print(f"{'':<12}{''.join(f'{outcome:>12}' for outcome in outcomes)}")
    for source in (*FROM, ""):
        counted: Counter[Any] = Counter(item.outcome for item in found if source in {item.source, ""})
        print(f"{source or 'all':<12}{''.join(f'{counted[outcome]:>12}' for outcome in outcomes)}")
    for item in found:
        if given.verbose or item.outcome in {"failed", "misled"}:
            print(f"\n{item.source}, {item.task}: {item.outcome}\n  {item.text}\n  {item.then or 'no call'}")
    return []
