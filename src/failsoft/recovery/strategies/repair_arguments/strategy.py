"""`RepairArguments`: repairs unambiguous mistakes in arguments and reports the changes to the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from failsoft.framework.answer.receipt import RecoveryReceipt
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import InvalidArgument
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.framework.tool.bound_operation import BoundOperation
from failsoft.recovery.facts import StrategyFacts
from failsoft.recovery.reporting import note_recovery
from failsoft.recovery.strategies.repair_arguments.repairs import Repair, repaired_arguments

__all__ = ["RepairArguments"]

_ROUNDS = 3
"""Rounds of repair: the problems of a value appear once its name is corrected or its list unwrapped."""


class RepairArguments:
    """Repairs arguments that stage 1 rejects, if that makes them valid; `metadata.recovery.changed` lists the changes.

    Repaired are `"5"` for an integer, `"true"` for a boolean, `5.0` for an integer, one item for a list of such, a list
    or an object written as text, null for an optional parameter that does not accept it, and a name that is one typo
    away from a single accepted one (`limitt`, `maxResults`). All problems are repaired or none.

    Not repaired are values out of range, synonyms of a value, a name with two candidates or of another meaning
    (`line1` for `line2`, `payee` for `payer`), and text that may hold several items. For an operation that is not
    read-only a name is corrected only in case and separators, null stays, no text is created (`5` does not become a
    string) and no content (`content`, `new_string`, ...) is unpacked: a wrong guess would end up in a file.

    It is off by default: enable it for callers that keep making the same mistakes.
    """

    name = "repair_arguments"
    facts = StrategyFacts(
        options=None,
        place="repair",
        use=(
            "callers are weak models that send numbers as text or misspell a parameter, and do not correct a "
            "rejected call."
        ),
        not_for="callers that act on error messages: silent corrections hide their mistakes.",
        single_for="operation",
    )

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link."""
        return [Link(self.name, _repairing(bound), "repair")]


def _repairing(bound: BoundOperation) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        try:
            return await proceed(call)
        except InvalidArgument as refused:
            # The handler has not run yet, so the arguments were rejected, by validation or by a check.
            repair = _valid_repair(call.params, bound) if call.attempt == 0 else None
            if repair is None:
                raise
            note_recovery(call, RepairArguments.name, "recovered", refused)
        return await _with(repair, call, proceed)

    return step


async def _with(repair: Repair, call: Call, proceed: Proceed) -> Any:
    said = bounded(f"Arguments were repaired: {'; '.join(repair.notes)}")
    call.params = repair.arguments
    call.recovered(RecoveryReceipt(RepairArguments.name, said, 0, repair.changed))
    try:
        value = await proceed(call)
    except BaseException:
        call.warn(said)  # a failure has no receipt
        raise
    if call.receipt is not None and call.receipt.strategy == RepairArguments.name:
        call.receipt = replace(call.receipt, attempts=call.attempt)
    return value


def _valid_repair(params: Any, bound: BoundOperation) -> Repair | None:
    """Return the repair of arguments that stage 1 refuses, if it makes them valid."""
    if not isinstance(params, Mapping):
        return None
    repair = Repair(dict(params))
    for _ in range(_ROUNDS):
        violations = _refused(repair.arguments, bound)
        if not violations:
            break
        repaired = repaired_arguments(repair.arguments, violations, bound.input_schema, read_only=bound.read_only)
        if repaired is None:
            return None
        repair = Repair(repaired.arguments, {**repair.changed, **repaired.changed}, repair.notes + repaired.notes)
    return repair if repair.changed and _refused(repair.arguments, bound) == () else None


def _refused(arguments: Mapping[str, Any], bound: BoundOperation) -> tuple[Violation, ...] | None:
    """Return the violations of stage 1; None if they are unknown."""
    try:
        bound.arguments.validate(arguments)
    except InvalidArgument as refused:
        return refused.violations or None
    except Exception:  # noqa: BLE001 - an author's own validator may raise anything
        return None
    return ()
