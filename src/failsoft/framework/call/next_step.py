"""The next step of a failure: a tool of this server with arguments that it accepts, and none that was tried in vain."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from failsoft.framework.answer.candidates import OF_LOOKUPS
from failsoft.framework.answer.failure import Failure, RetryAdvice
from failsoft.framework.answer.narrowing import LIMITS, is_later_page
from failsoft.framework.arguments.corrected import corrected_call, leaves_of, unwrapped, value_at, with_value
from failsoft.framework.call.call import Call
from failsoft.framework.call.checks import run_checks
from failsoft.framework.call.rerun import could_do_twice, is_repeatable_by_caller, retry_of
from failsoft.framework.call.time_limits import running_call
from failsoft.framework.errors import Effect, InvalidArgument, NextStep, ResultTooLarge, ToolError, UnknownTool
from failsoft.framework.errors.corrections import HowFar, What, correction, how_far
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.events import RepeatedFailureEvent
from failsoft.framework.normalize import normalize
from failsoft.framework.safe.author_reports import is_real_cancellation
from failsoft.framework.safe.json_safe import dumps, encode, is_same_json
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.safe.redaction import redact

if TYPE_CHECKING:
    from failsoft.framework.call.bound import BoundOperation
    from failsoft.framework.recent import Begun


_ARGUMENTS_AT_MOST = 2_000
"""Maximum length of a next step's arguments as JSON, but for those that stay as they were sent."""
_WHOLE_AT_MOST = 20_000
_MANY_FAULTS = 20
_ARGUMENTS_OF_MANY_AT_MOST = 500
"""The same where faults are many: merged, they say it in fewer characters than the corrected arguments."""
_CHECKED_WITHIN_S = 0.5
"""Time limit for the references and checks of the suggested tool, in seconds; after it the step is dropped."""
_WHAT: Mapping[Reason, What] = {"unexpected": "parameter", "reference": "reference", "unknown_tool": "tool"}
"""What a suggestion corrects, if it is no value that an author accepts."""
_OF_SIZE = frozenset({"range", "length"})
"""Reasons whose suggestion is a bound that the failure names."""


@dataclass(kw_only=True)
class NextCall:
    """The next step of a failure with its effect and retry advice, and why the author's own step was dropped.

    Args:
        effect: Whether the failed call changed anything.
        retry: Whether and when it may be repeated.
        step: The call to make next; None if there is none.
        dropped: Why the step of the error was not used; empty if it was, or if there was none.
        left_open: The required arguments that the error's own step leaves to the caller, if that is all it lacks.
        times: The number of identical failures, if the caller should be told; otherwise 0.
    """

    effect: Effect
    retry: RetryAdvice
    step: NextStep | None = None
    dropped: str = ""
    left_open: tuple[str, ...] = ()
    times: int = 0


def choose(error: ToolError, call: Call) -> NextCall:
    """Return a step whose tool exists and whose arguments have valid types; `confirm` runs the other checks."""
    effect, dropped = call.effect_of(error), ""
    left_open: tuple[str, ...] = ()
    retry = retry_of(error, forbids_repeat=could_do_twice(effect, is_repeatable=is_repeatable_by_caller(call)))
    if effect != "none" and (retry.when == "never" or not call.idempotent):
        step = _look_at_the_state(call)  # a corrected call does the work twice; one with the same key fails again
        own = error.next_step if error.retry == "never" else None
        if step is None and own is not None and own.tool != call.operation:  # such as a report about a crash
            step, dropped = _given(error, own, call, retry)
        elif step is None and retry.when == "after_delay":
            step, _ = _checked(call.operation, call.params, call)
        return NextCall(effect=effect, retry=retry, step=step, dropped=dropped)
    if error.next_step is not None:
        step, dropped = _given(error, error.next_step, call, retry)
        if step is not None:
            return NextCall(effect=effect, retry=retry, step=step)
        left_open = _left_open(error.next_step, call)
    if retry.when == "after_delay":
        step, _ = _checked(call.operation, call.params, call)
    else:
        step = _corrected(error, call, retry)
    return NextCall(effect=effect, retry=retry, step=step, dropped=dropped, left_open=left_open)


async def checked(chosen: NextCall, step: NextStep, error: ToolError, call: Call) -> NextCall:
    """Return the choice if its step also passes the references and checks of its tool, otherwise one without a step.

    They run as in the call itself, with a time limit; the handler does not run. A call that is repeated unchanged after
    a wait is not checked again.
    """
    bound = call.toolbox.find(step.tool)
    if bound is None or not bound.checks:
        return chosen
    if step.tool == call.operation and step.arguments == call.params:  # it passed them, or they fail temporarily
        return chosen
    probe = Call(bound, step.arguments, call.scope)
    try:
        async with asyncio.timeout(_CHECKED_WITHIN_S):
            probe.arguments = bound.arguments.validate(step.arguments)
            await run_checks(bound.checks, probe)
    except BaseException as raised:
        if is_real_cancellation(raised):
            raise
        refusal = normalize(raised)
    else:
        return chosen
    is_given = error.next_step is not None and step.tool == error.next_step.tool
    dropped = f"its arguments are refused with {refusal.code}" if is_given else chosen.dropped
    return replace(chosen, step=None, dropped=dropped)


def _given(error: ToolError, given: NextStep, call: Call, retry: RetryAdvice) -> tuple[NextStep | None, str]:
    """Return the step of the error, or why it cannot be sent."""
    step, dropped = _checked(given.tool, given.arguments, call)
    if step is None:
        return None, dropped
    if step.tool == call.operation and step.arguments == call.params and retry.when != "after_delay":
        return None, "it repeats the call that failed"
    bound = call.toolbox.find(step.tool)
    if bound is not None and (name := _guessed(bound, step.arguments, error, call)):
        return None, f"its argument '{name}' is a guess: names of this kind are never completed for a caller"
    return step, ""


def _left_open(given: NextStep, call: Call) -> tuple[str, ...]:
    """Return the required arguments that a dropped step has not; empty if it has another fault, or none."""
    bound = call.toolbox.find(given.tool)
    if bound is None or bound.name == call.operation:
        return ()
    try:
        bound.arguments.validate(dict(given.arguments))
    except InvalidArgument as error:
        is_that_all = all(item.reason == "missing" and "." not in item.path for item in error.violations)
        return tuple(item.path for item in error.violations) if is_that_all else ()
    except Exception:  # noqa: BLE001 - an author's own validator may raise anything
        return ()
    return ()


def _guessed(bound: BoundOperation, arguments: Mapping[str, Any], error: ToolError, call: Call) -> str:
    """Return the argument with an identifier or handle that the caller did not give; empty if there is none."""
    if error.category not in OF_LOOKUPS:
        return ""
    own = None
    for name, kind in bound.name_kinds.items():
        if kind == "spelled" or name not in arguments:
            continue
        own = set(map(str, leaves_of(call.params))) if own is None else own
        if any(isinstance(leaf, str) and leaf not in own for leaf in leaves_of(arguments[name])):
            return name
    return ""


def _corrected(error: ToolError, call: Call, retry: RetryAdvice) -> NextStep | None:
    """Return the corrected call, if certain: another tool name, a lower limit, or every argument corrected."""
    if isinstance(error, ResultTooLarge):
        return _narrowed(error, call)
    if isinstance(error, UnknownTool):
        return _renamed(error, call)
    is_about_a_file = bool(error.violations) and error.violations[0].line is not None
    if retry.when != "after_fix" or is_about_a_file:
        return None
    arguments = _accepted(error.violations, call) if error.violations else _respelled(error, call)
    if arguments is None or is_same_json(arguments, call.params):
        return None
    if len(error.violations) > _MANY_FAULTS and len(dumps(arguments)) > _ARGUMENTS_OF_MANY_AT_MOST:
        return None
    return _checked(call.operation, arguments, call, accepted=arguments if error.violations else None)[0]


def is_read(call: Call) -> bool:
    """Return whether a corrected call changes nothing, whatever this one did: a read-only operation, or a dry run."""
    return call.bound.read_only or (call.read_only and call.arguments.get("dry_run") is True)


def _accepted(violations: tuple[Violation, ...], call: Call) -> dict[str, Any] | None:
    """Return the arguments with all faults corrected, including those found only afterwards; None if one cannot be."""
    inner = None
    if isinstance(call.params, dict) and len(call.params) == 1:
        known = call.bound.input_schema.get("properties", {})
        inner = unwrapped(call.params, known, call.operation, is_read=is_read(call))
    better = corrected_call(
        call.params if inner is None else inner,
        violations if inner is None else (),
        call.bound.arguments.validate,
        judged=lambda found, arguments: _judged(found, arguments, call),
    )
    return None if better is None else better.arguments


def _judged(violations: Sequence[Violation], arguments: Any, call: Call) -> Sequence[Violation]:
    """Return the violations with how far their suggestions may go; an author's own are judged here."""
    judged = list(violations)
    for number, item in enumerate(violations):
        if item.how_far is None and (item.suggestion is not None or item.omit):
            changes = not is_read(call)
            answer = _how_far(item, arguments, call, changes=changes)
            judged[number] = replace(item, how_far=answer, omit=item.omit and not changes)
    return judged


def _how_far(item: Violation, arguments: Any, call: Call, *, changes: bool) -> HowFar:
    if item.reason in _OF_SIZE and not changes:
        return "use"
    what = _WHAT.get(item.reason, "enum")
    given = item.path.rpartition(".")[2] if what == "parameter" else value_at(arguments, item.path)
    kind: Any = call.bound.name_kinds.get(item.path.partition(".")[0], "identifier")
    return how_far(given, item.suggestion, what=what, changes=changes, kind=kind if what == "reference" else "spelled")


def _respelled(error: ToolError, call: Call) -> dict[str, Any] | None:
    """Replace a `spelled` name that does not exist by its only close match."""
    if not error.suggestions:
        return None
    path, value = _not_found(error, call) if is_read(call) else ("", "")  # a write never turns to another record
    found = correction(value, error.suggestions, what="reference", changes=False) if path else None
    return None if found is None else with_value(call.params, path, found.meant)


def _not_found(error: ToolError, call: Call) -> tuple[str, str]:
    """Return where the `spelled` name is that does not exist, and the name itself; empty if no argument is known.

    That is the argument whose look-up failed, or the one whose value is in a field of an error of the handler.
    """
    failed = call.told.failed_reference
    if failed is not None and failed.error is error:
        is_spelled = failed.kind == "spelled" and isinstance(failed.value, str)
        return (failed.path, failed.value) if is_spelled else ("", "")
    if error.category == "not_found" and error.suggestions and isinstance(call.params, dict):
        facts = list(error.public().values())
        for name, kind in call.bound.name_kinds.items():
            value = call.params.get(name)
            if kind == "spelled" and isinstance(value, str) and value in facts:
                return name, value
    return "", ""


def _renamed(error: UnknownTool, call: Call) -> NextStep | None:
    """Return the call with the corrected tool name, if that tool is read-only."""
    name = error.violations[0].suggestion if error.violations else None
    bound = call.toolbox.find(name) if isinstance(name, str) else None
    return _checked(bound.name, call.params, call)[0] if bound is not None and bound.read_only else None


def _narrowed(error: ResultTooLarge, call: Call) -> NextStep | None:
    """Return the read with a limit at which the items of its result fit; None if no parameter limits them."""
    known = call.bound.input_schema.get("properties", {}) if is_read(call) and error.items_that_fit else {}
    for name in () if is_later_page(call.arguments, known) else [name for name in known if name in LIMITS]:
        asked = call.arguments.get(name, known[name].get("default"))
        if asked is None or (isinstance(asked, int) and asked >= (error.items or 0)):
            return _checked(call.operation, {**call.params, name: error.items_that_fit}, call)[0]
    return None


def _checked(tool: str, arguments: Any, call: Call, *, accepted: Any = None) -> tuple[NextStep | None, str]:
    """Return the step if its tool is known and its arguments have valid types, no redaction and a valid length.

    Arguments that are equal to `accepted` were validated before.
    """
    bound = call.toolbox.find(tool)
    if bound is None:
        return None, "this server does not have the tool"
    if not isinstance(arguments, (dict, Mapping)):
        return None, "its arguments are no object"
    encoded = encode(dict(arguments))
    arguments = encoded.tree
    if len(encoded.text) > _ARGUMENTS_AT_MOST and (most := _exceeded(arguments, len(encoded.text), call)):
        return None, f"its arguments have more than {most} characters"
    if redact(arguments) != arguments:
        return None, "its arguments hold what looks like a secret"
    try:
        if arguments != accepted:
            bound.arguments.validate(arguments)
    except Exception as error:  # noqa: BLE001 - an author's own validator may raise anything
        return None, f"its arguments do not fit the tool ({normalize(error).message})"
    return NextStep(tool, arguments), ""


def _exceeded(arguments: Mapping[str, Any], length: int, call: Call) -> int:
    """Return the limit that long arguments exceed: that of all, or of those that are not as they were sent; else 0."""
    if length > _WHOLE_AT_MOST:
        return _WHOLE_AT_MOST
    new = {name: value for name, value in arguments.items() if name not in call.params or call.params[name] != value}
    return _ARGUMENTS_AT_MOST if len(dumps(new)) > _ARGUMENTS_AT_MOST else 0


def verifier_of(call: Call) -> BoundOperation | None:
    """Return the `verify_with` operation, if this server has it and it is read-only."""
    name = call.bound.verify_with
    bound = call.toolbox.find(name) if name else None
    return bound if bound is not None and bound.read_only else None


def _look_at_the_state(call: Call) -> NextStep | None:
    """Return the call of the `verify_with` operation, with the arguments that it shares."""
    bound = verifier_of(call)
    if bound is None:
        return None
    known = bound.input_schema.get("properties", {})
    shared = {name: value for name, value in call.params.items() if name in known}
    return _checked(bound.name, shared, call)[0]


def begun(call: Call, params: Mapping[str, Any]) -> Begun | None:
    """Return what is remembered of a call with the arguments as received; None if a handler makes the call."""
    if running_call() is not None:
        return None
    recent = call.bound.recent
    digest = recent.digest(call.scope.principal or LOCAL_PRINCIPAL, call.bound.name, params)
    return recent.begun(digest, params) if recent.steps else (digest, None)


def after_repeats(chosen: NextCall, error: ToolError, call: Call, known: Begun | None) -> NextCall:
    """Count a failure; return the choice with a longer wait if it is not the first, without a step that repeats it.

    Calls made by handlers, and outcomes that an idempotency key returns again, are no failures of a caller.
    """
    if known is None or call.told.is_replayed:
        return chosen
    bound, step, wait_s = call.bound, chosen.step, chosen.retry.after_seconds
    chosen.times, longer_s = bound.recent.failed(known, error.code, call.started_at, wait_s)
    if longer_s != wait_s:
        chosen.retry = RetryAdvice("after_delay", longer_s)
    if chosen.times:
        bound.events.publish(RepeatedFailureEvent(bound.tool_name, bound.name, error.code, chosen.times))
        if step is not None and step.tool == bound.name and is_same_json(step.arguments, call.params):
            chosen.step = None
    return chosen


def remember(failure: Failure, call: Call, known: Begun | None) -> None:
    """Remember the next step that a caller is told, if there is one, to count whether it is followed."""
    step = failure.next_step
    if known is None or step is None:
        return
    bound = call.bound if step.tool == call.bound.name else call.toolbox.find(step.tool)
    if bound is not None and not call.told.is_replayed:
        caller, wait_s = call.scope.principal or LOCAL_PRINCIPAL, failure.retry.after_seconds
        bound.recent.named(caller, bound.name, step.arguments, failure.code, call.started_at, wait_s)
