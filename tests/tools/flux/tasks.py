"""Tasks for workers that no toolset has: they die, hang, shout and report."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from failsoft import NotFound
from tests.doors import begin, call_deadline, progress


def identity() -> int:
    return os.getpid()


def die_at_first(mark: str) -> int:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def abort() -> None:
    os._exit(3)


def hang(mark: str) -> None:
    Path(mark).write_text(str(os.getpid()))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})  # as deaf as a solver
    time.sleep(600)


def count(to: int) -> int:
    for done in range(to):
        progress(done + 1, to, f"step {done + 1}")
    return to


def shout() -> str:
    sys.stdout.write("out loud\n")
    sys.stdout.flush()
    os.write(1, b"and louder\n")
    return "done"


def refuse() -> None:
    raise NotFound(message="There is nothing.", suggestions=["Look elsewhere"])


def crash() -> None:
    raise ArithmeticError("the secret is swordfish")


def unreadable() -> object:
    return lambda: None


def time_left() -> float:
    return call_deadline() - time.monotonic()


def large(size: int) -> bytes:
    return bytes(size)


def fba_of_textbook(limit_s: float) -> dict[str, Any]:
    """Compute the growth of the textbook model as `run_fba` does, with so much time left."""
    from tests.doors import Conditions, Recipe, fba_module  # noqa: PLC0415 - in the worker alone

    begin(None, limit_s)
    answer: dict[str, Any] = fba_module.run_fba(Recipe.shipped("textbook"), Conditions(model_id="m"))
    return answer


def hard_problem(limit_s: float) -> str:
    """Ask the solver for a market split, which takes it far longer than it is given."""
    import cobra  # noqa: PLC0415 - in the worker alone

    from tests.doors import solve  # noqa: PLC0415 - the same

    model = cobra.Model("market_split")
    model.solver = "glpk"
    chance = random.Random(7)  # noqa: S311 - the same for everybody
    chosen = [model.problem.Variable(f"x{number}", type="binary") for number in range(40)]
    model.add_cons_vars(chosen)
    for number in range(5):
        weights = [chance.randint(0, 99) for _ in chosen]
        half = sum(weights) // 2
        total = sum(weight * one for weight, one in zip(weights, chosen, strict=True))
        model.add_cons_vars([model.problem.Constraint(total, lb=half, ub=half, name=f"c{number}")])
    begin(None, limit_s)
    return solve(model)


def wild_numbers(size: float) -> str:
    """Ask the solver for a flux that no floating point number can hold."""
    import cobra  # noqa: PLC0415 - in the worker alone

    from tests.doors import solve  # noqa: PLC0415 - the same

    model = cobra.Model("wild")
    model.solver = "glpk"
    one, other = cobra.Metabolite("a_c", compartment="c"), cobra.Metabolite("b_c", compartment="c")
    source = cobra.Reaction("SOURCE", lower_bound=0, upper_bound=1000)
    source.add_metabolites({one: 1})
    change = cobra.Reaction("CHANGE", lower_bound=0, upper_bound=1000)
    change.add_metabolites({one: -1 / size, other: size})
    drain = cobra.Reaction("DRAIN", lower_bound=0, upper_bound=float("inf"))
    drain.add_metabolites({other: -1 / size})
    model.add_reactions([source, change, drain])
    model.objective = drain
    return solve(model)
