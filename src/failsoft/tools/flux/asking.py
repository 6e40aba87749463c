"""What the operations on models have in common: a question for the workers, and what comes of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.context import CallContext
from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import InvalidParameter, NextStep, ToolError
from failsoft.framework.violations import Violation
from failsoft.tools.flux.media_errors import BoundsOutOfOrder
from failsoft.tools.flux.model_errors import ModelNotFound
from failsoft.tools.flux.pool import Workers
from failsoft.tools.flux.recipes import SHIPPED_MODELS

__all__ = ["compute", "modification", "require_known"]

_WORK = "failsoft.tools.flux.work"


async def compute(workers: Workers, call: CallContext, task: str, *arguments: Any) -> Any:
    """Return what a task returns, and pass its `warnings` on.

    Args:
        workers: Who runs it.
        call: The call that it is for.
        task: `module:function` beneath `work`.
        arguments: What it is given.

    Raises:
        ToolError: What the task raised; it has changed nothing.
    """
    try:
        answer = await workers.run(call, f"{_WORK}.{task}", *arguments)
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
        named = ", ".join(f"'{name}'" for name in wrong[:5])
        raise BoundsOutOfOrder(
            message=f"The lower bound is above the upper bound for {named}.", violations=violations, effect="none"
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
            path="", reason="missing", message="nothing is to be changed", expected="one of " + ", ".join(given)
        )
        refused = InvalidParameter.from_violations([violation])
        refused.effect = "none"
        raise refused
    return {"kind": "modify", **changes}


def require_known(call: CallContext, name: str) -> None:
    """Refuse a name that is not that of a published model.

    Raises:
        MODEL_NOT_FOUND: With the names that there are, and the closest one.
    """
    if name in SHIPPED_MODELS:
        return
    closest = closest_name(name, SHIPPED_MODELS)
    raise ModelNotFound(
        requested_id=name,
        available_models=list(SHIPPED_MODELS),
        num_available=len(SHIPPED_MODELS),
        suggestions=[f"Did you mean '{closest}'?"] if closest else [],
        next_step=NextStep(call.operation, {"name": closest or next(iter(SHIPPED_MODELS))}),
        effect="none",
    )
