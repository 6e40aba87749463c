"""Replay: runs a captured call again with today's code, its effects and faults answered from the capture."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.captures.script import Script, type_name_of
from failsoft.framework.captures.stored import Capture, is_kept_variable
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.safe.tracebacks import author_place, original
from failsoft.server.lifecycle import Lifecycle

Outcome: TypeAlias = Literal["same", "different", "worked"]
_OUTSIDE = "What the handler reads elsewhere (files, services, the time, random numbers) is as it is now."


@dataclass(frozen=True, slots=True)
class Replayed:
    """How a captured call ended now.

    Args:
        outcome: `same` if code, type of the exception and the author's innermost function are those of the capture;
            `different` if it failed otherwise; `worked` if it did not fail.
        before: Code, category, effect and origin (`file:line in function`) of the captured failure.
        now: The same of this run's failure; None if it worked.
        error: The exception of this run, with its traceback; None if it worked.
        not_repeated: Sentences about what was not as in the captured call.

    Examples:
        >>> ended = Replayed("worked", {"code": "UNKNOWN_ERROR", "origin": ""}, None, None, ())
        >>> ended.is_defect, str(ended)
        (False, 'worked: UNKNOWN_ERROR before, it worked now')
    """

    outcome: Outcome
    before: Mapping[str, str]
    now: Mapping[str, str] | None
    error: BaseException | None
    not_repeated: tuple[str, ...]

    @property
    def is_defect(self) -> bool:
        """Whether the call ended with an error of the author's code, as opposed to one that a caller can act on."""
        return self.now is not None and self.now["category"] == "internal"

    def __str__(self) -> str:
        before, now = _said(self.before), "it worked" if self.now is None else _said(self.now)
        return f"{self.outcome}: {before} before, {now} now"


def _said(end: Mapping[str, str]) -> str:
    return f"{end['code']} at {end['origin']}" if end["origin"] else end["code"]


@contextmanager
def settings_as_then(capture: Capture) -> Iterator[None]:
    """Set the `FAILSOFT_` variables of the capture while the block lasts; load the tools inside of it.

    State is in memory, nothing is captured, audited or alerted. Tokens, keys and logs are those of this environment.
    """
    before = dict(os.environ)
    for name in [name for name in os.environ if is_kept_variable(name) or name.startswith(_REPLACED)]:
        del os.environ[name]
    os.environ.update(capture.variables)
    os.environ.update(FAILSOFT_CAPTURE="off", FAILSOFT_STATE_URL="memory:")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


_REPLACED = ("FAILSOFT_ALERT_", "FAILSOFT_AUDIT_PATH", "FAILSOFT_CAPTURE", "FAILSOFT_FLEET_URL", "FAILSOFT_STATE_URL")


async def run_again(capture: Capture, tools: Sequence[BaseTool], *, include_writes: bool = False) -> Replayed:
    """Make a captured call again and return how it ended.

    Args:
        capture: The call.
        tools: Today's tools, loaded within `settings_as_then`.
        include_writes: Whether a call that may change something is made at all. Its marked effects are answered from
            the capture; what its handler does besides them is done again.

    Raises:
        INVALID_PARAM: It cannot be replayed, the tools do not have its operation, or it may change something.
        INIT_ERROR: Its toolset could not start.
    """
    bound = _operation(capture, tools, include_writes=include_writes)
    if capture.key == "answered":
        told = "The record of its idempotency key decided the outcome: the handler was not run, then or now."
        return Replayed("same", capture.before, capture.before, None, (told,))
    script = capture.script()
    scope = CallScope(principal=capture.principal, session_id=capture.session_id, toolbox=Toolbox(tools), script=script)
    async with Lifecycle([bound.tool]).running():
        response = await bound.call(capture.arguments, scope)
    notes = tuple(_not_repeated(capture, bound, script))
    failure = response.error
    if failure is None:
        return Replayed("worked", capture.before, None, None, notes)
    cause, place = original(failure.exception), author_place(failure.exception)
    from_capture: Mapping[str, Any] = script.captured_end(cause) or {}
    kind = from_capture.get("type") or type_name_of(cause)
    function = from_capture.get("function") or ("" if place is None else place[1])
    if script.has_stopped:  # the frame was that of the effect's own function
        function = capture.function
    is_same = (failure.code, kind, function) == (capture.code, capture.type, capture.function)
    now = {
        "code": failure.code,
        "category": failure.category,
        "effect": failure.effect,
        "origin": "" if place is None else place[0],
    }
    return Replayed("same" if is_same else "different", capture.before, now, cause, notes)


def _operation(capture: Capture, tools: Sequence[BaseTool], *, include_writes: bool) -> BoundOperation:
    """Return today's operation of a captured call. Raises the errors of `run_again`."""
    if capture.not_replayable:
        raise InvalidParameter(message=f"The call cannot be made again: {capture.not_replayable}.")
    box = Toolbox(tools)
    bound = box.find(capture.operation)
    if bound is None:
        closest = closest_name(capture.operation, box.names)
        asked = f"; did it become '{closest}'?" if closest else "."
        raise InvalidParameter(
            message=f"These tools have no operation '{capture.operation}'{asked}",
            operator_hint="name the application that has it: --app MODULE:ATTRIBUTE",
        )
    if not include_writes and not (capture.read_only and bound.read_only):
        raise InvalidParameter(
            message=f"`{capture.operation}` may change something, so that it is not made again unasked.",
            operator_hint=f"failsoft replay {capture.error_id} --include-writes",
        )
    return bound


def _not_repeated(capture: Capture, bound: BoundOperation, script: Script) -> Iterator[str]:
    yield _OUTSIDE
    if capture.effects:
        names = ", ".join(dict.fromkeys(effect.name for effect in capture.effects))
        yield f"Effects that were answered from the capture and not done again: {names}."
    if script.substituted:
        names = ", ".join(dict.fromkeys(script.substituted))
        yield f"The exception of these effects could not be made again, a typed error was raised for it: {names}."
    if not bound.read_only and not bound.marks_effects:
        yield "The handler marks no effects, so that what it changes was changed again."
    if capture.key:
        yield "It was made without its idempotency key: no stored record was read or written."
    if unset := [name for name in capture.withheld if name not in os.environ and not name.startswith(_REPLACED)]:
        yield f"Settings that are not kept and not set here: {', '.join(unset)}."
