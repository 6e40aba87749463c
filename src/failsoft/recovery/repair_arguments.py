"""`RepairArguments`: slips in the arguments mended where there is no doubt what was meant, and the caller told so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from failsoft.framework.chain import Link, Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.errors import InvalidArgument
from failsoft.framework.ports import CalledOperation
from failsoft.framework.receipt import RecoveryReceipt
from failsoft.framework.text import bounded
from failsoft.framework.violations import Violation
from failsoft.recovery.noting import note_recovery
from failsoft.recovery.repairs import Repair, mend

__all__ = ["RepairArguments"]

_ROUNDS = 3
"""A misspelt name hides what is wrong with its value, and a wrapped item what is wrong inside: mended in turn."""


class RepairArguments:
    """Mends arguments that stage 1 refuses, if that makes them valid, and says so in `metadata.recovery.changed`.

    What is mended: `"5"` for an integer, `"true"` for a boolean, `5.0` for an integer, one item for a list of such, a
    list or an object written as text, null for an optional parameter that takes none, and a name that is one slip away
    from a single accepted one (`limitt`, `maxResults`). All faults are mended or none.

    What is not: values out of range, other words for a value, a name with two candidates, text that may hold several
    items. For an operation that is not read-only no text is made (`5` stays no string) and no content (`content`,
    `new_string`, ...) is unpacked: a wrong guess would end up in a file.

    A caller that is always mended never learns; switch it on for callers that cannot.
    """

    name = "repair_arguments"

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link."""
        return [Link(self.name, _repairing(bound), "repair")]


def _repairing(bound: CalledOperation) -> Step:
    async def step(call: CallContext, proceed: Proceed) -> Any:
        try:
            return await proceed(call)
        except InvalidArgument as refused:
            # Nothing was started yet, so this is a refusal of the arguments, or of a check that looked further.
            repair = _valid_repair(call.params, bound) if call.attempt == 0 else None
            if repair is None:
                raise
            note_recovery(call, RepairArguments.name, "recovered", refused)
        return await _with(repair, call, proceed)

    return step


async def _with(repair: Repair, call: CallContext, proceed: Proceed) -> Any:
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


def _valid_repair(params: Any, bound: CalledOperation) -> Repair | None:
    """Return the repair of arguments that stage 1 refuses, if it makes them valid."""
    if not isinstance(params, Mapping):
        return None
    repair = Repair(dict(params))
    for _ in range(_ROUNDS):
        violations = _refused(repair.arguments, bound)
        if not violations:
            break
        mended = mend(repair.arguments, violations, bound.input_schema, read_only=bound.read_only)
        if mended is None:
            return None
        repair = Repair(mended.arguments, {**repair.changed, **mended.changed}, repair.notes + mended.notes)
    return repair if repair.changed and _refused(repair.arguments, bound) == () else None


def _refused(arguments: Mapping[str, Any], bound: CalledOperation) -> tuple[Violation, ...] | None:
    """Return what stage 1 has against the arguments; None if it cannot be said."""
    try:
        bound.arguments.validate(arguments)
    except InvalidArgument as refused:
        return refused.violations or None
    except Exception:  # noqa: BLE001 - an author's own validator may raise anything
        return None
    return ()
