"""Run tasks in workers, and check arguments that several operations share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from failsoft.framework.call.call import Call
from failsoft.framework.errors import InvalidParameter, NextStep, ToolError
from failsoft.framework.errors.corrections import is_same_spelling
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, quoted
from failsoft.tools.flux.database import Database
from failsoft.tools.flux.errors.media import BoundsOutOfOrder
from failsoft.tools.flux.errors.models import ModelNotFound
from failsoft.tools.flux.models.recipes import SHIPPED_MODELS
from failsoft.tools.flux.workers.pool import Workers

_SHIPPED = " and ".join(", ".join(SHIPPED_MODELS).rsplit(", ", 1))
_WORK = "failsoft.tools.flux.work"
_RUN = f"{_WORK}.running:run"


class Engine(Protocol):
    """A toolset with workers and a database."""

    workers: Workers
    database: Database


async def compute(engine: Engine, call: Call, task: str, *arguments: Any) -> Any:
    """Return what a task returns, and pass its `warnings` on.

    Args:
        engine: The workers that run it, and the database that it looks ids up in.
        call: The call that it is for.
        task: `module:function` beneath `work`.
        arguments: Its arguments.

    Raises:
        ToolError: What the task raised; it has changed nothing.
    """
    try:
        file = await call.bound.threads.run(engine.database.file)
        answer = await engine.workers.run(call, _RUN, file, f"{_WORK}.{task}", arguments)
    except ToolError as error:
        error.effect = error.effect or "none"
        raise
    if isinstance(answer, dict):
        for warning in answer.get("warnings", ()):
            call.warn(warning)
    return answer


def modification(
    remove_reactions: list[str] | None,
    knock_out_genes: list[str] | None,
    bounds: Mapping[str, list[float | None]] | None,
    objective: str | None,
) -> dict[str, Any]:
    """Return the step of a recipe that changes a model.

    Raises:
        INVALID_PARAM: Nothing is to be changed.
        BOUNDS_OUT_OF_ORDER: A lower bound is above its upper bound. Equal ones are fine: the flux is then fixed.
    """
    wrong = [
        name for name, (low, high) in (bounds or {}).items() if low is not None and high is not None and low > high
    ]
    if wrong:
        violations = [
            Violation(path=f"bounds.{name}", reason="range", message="the lower bound is above the upper bound")
            for name in wrong
        ]
        low, high = (bounds or {})[wrong[0]]
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        named = bounded(wrong[0], 100)
        raise BoundsOutOfOrder(
            message=f"The lower bound of reaction {quoted(named)}{more} is above its upper bound: {low:g} > {high:g}.",
            compound_id=named,
            lower=low,
            upper=high,
            violations=violations,
            effect="none",
        )
    given = {
        "remove_reactions": remove_reactions,
        "knock_out_genes": knock_out_genes,
        "bounds": bounds,
        "objective": objective,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        violation = Violation(
            path="",
            reason="missing",
            message=f"nothing to change; give at least one of {', '.join(given)}",
            expected="one of " + ", ".join(given),
        )
        refused = InvalidParameter.from_violations([violation])
        refused.effect = "none"
        raise refused
    return {"kind": "modify", **changes}


def require_known(call: Call, name: str) -> None:
    """Refuse a name that is not that of a published model.

    Raises:
        MODEL_NOT_FOUND: With the names that there are. Only the case of one is corrected: a similar name may be
            another model.
    """
    if name in SHIPPED_MODELS:
        return
    same = next((known for known in SHIPPED_MODELS if is_same_spelling(name, known)), None)
    raise ModelNotFound(
        message=f"No model {quoted(name, 100)}; {_SHIPPED} can be loaded by name, others by path.",
        requested_id=name,
        available_models=list(SHIPPED_MODELS),
        num_available=len(SHIPPED_MODELS),
        next_step=None if same is None else NextStep(call.operation, {"name": same}),
        effect="none",
    )


def require_one(**given: Any) -> None:
    """Refuse two parameters of which not exactly one is given.

    Raises:
        INVALID_PARAM: None or both are.
    """
    first, second = given
    count = sum(value is not None for value in given.values())
    if count == 1:
        return
    if count:
        violation = Violation(path=second, reason="value", message=f"give {first} or {second}, not both")
    else:
        violation = Violation(path=first, reason="missing", message=f"is missing; give {first} or {second}")
    error = InvalidParameter.from_violations([violation])
    error.effect = "none"
    raise error
