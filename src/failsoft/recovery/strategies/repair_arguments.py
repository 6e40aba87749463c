"""`RepairArguments`: repairs unambiguous mistakes in arguments and reports the changes to the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.arguments.corrected import corrected_call, value_at
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import InvalidArgument
from failsoft.framework.errors.violations import Violation
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.text import bounded, json_type, named
from failsoft.recovery.strategy import note_recovery, strategy


@dataclass(slots=True)
class Repair:
    """Repaired arguments and the changes made.

    `changed` has the new values by their new names; the default, or None, for a name that was left out.
    """

    arguments: dict[str, Any]
    changed: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@strategy
class RepairArguments:
    """Repairs arguments that stage 1 rejects, if that makes them valid; `metadata.recovery.changed` lists the changes.

    What may be repaired is what a next step may correct: `"5"` for an integer, `"true"` for a boolean, `5.0` for an
    integer, one item for a list of such, a list or an object written as text, and a name in another case or with other
    separators. For a read-only operation it is also null for an optional parameter that does not accept it, and a name
    or listed value with at most one wrong letter in five (`limitt`, `maxResult`). All problems are repaired or none.

    Not repaired are values out of range, synonyms of a value, a name with two candidates or of another meaning
    (`line1` for `line2`, `payee` for `payer`), text that may hold several items, and secrets. No text is created: `5`
    does not become a string.

    It is off by default: enable it for callers that keep making the same mistakes.

    Examples:
        >>> class Shelf(BaseTool):
        ...     @operation(read_only=True, recovery=[RepairArguments()])
        ...     async def list_books(self, limit: int) -> int:
        ...         "List books."
        ...         return limit
        >>> answer = asyncio.run(Shelf().execute_with_error_handling("list_books", {"limit": "5"}))
        >>> answer.data, answer.metadata.recovery.changed
        (5, {'limit': 5})
    """

    name: ClassVar[str] = "repair_arguments"
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link."""
        return [Link(self.name, _repairing(bound), "repair")]


def _repairing(bound: BoundOperation) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        try:
            return await proceed(call)
        except InvalidArgument as refused:
            # The handler has not run yet, so the arguments were rejected, by validation or by a check.
            repair = _valid_repair(call.params, refused.violations, bound) if call.attempt == 0 else None
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
    if call.told.receipt is not None and call.told.receipt.strategy == RepairArguments.name:
        call.tell(receipt=replace(call.told.receipt, attempts=call.attempt))
    return value


def _valid_repair(params: Any, violations: Sequence[Violation], bound: BoundOperation) -> Repair | None:
    """Return the repair of arguments that stage 1 refused, if it makes them valid."""
    better = corrected_call(params, violations, bound.arguments.validate)
    if better is None or not all(map(_is_judged, better.faults)) or any(map(_is_secret, better.faults)):
        return None
    repair = Repair(better.arguments)
    for fault in better.faults:
        if fault.reason == "unexpected":
            path = ".".join([*fault.path.split(".")[:-1], str(fault.suggestion)])
            repair.changed[path] = value_at(better.arguments, path)
            repair.notes.append(f"{named(fault.path)} was taken as {named(path)}")
        elif fault.omit:
            known = bound.input_schema.get("properties", {}).get(fault.path, {})
            repair.changed[fault.path] = known.get("default")
            repair.notes.append(f"{named(fault.path)} was null and left out")
        elif fault.reason != "missing":
            value = fault.suggestion if fault.unsaid is None else fault.unsaid
            repair.changed[fault.path] = value
            repair.notes.append(f"{named(fault.path)} was read as {json_type(value)}")
    return repair if repair.changed else None


def _is_judged(fault: Violation) -> bool:
    """Return whether a suggestion is one of stage 1, and not of a check of the author's."""
    return fault.suggestion is None or fault.how_far is not None


def _is_secret(fault: Violation) -> bool:
    """Return whether a name at the place is that of a secret, or would become one."""
    names = [*fault.path.split("."), fault.suggestion if fault.reason == "unexpected" else ""]
    return any(is_secret_name(str(name)) for name in names)
