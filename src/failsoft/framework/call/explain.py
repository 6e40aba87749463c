"""From the error to the `Failure`: what failed, its effect, what to do, all bounded and redacted for the caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failsoft.framework.answer.candidates import Candidates, candidates, without_guesses
from failsoft.framework.answer.failure import EFFECTS, Failure, RetryAdvice, governance_of, said_again
from failsoft.framework.call.call import Call
from failsoft.framework.call.next_step import NextCall, choose, verifier_of
from failsoft.framework.call.rerun import UNDECIDED, repetition_of, stop_reason_of
from failsoft.framework.clock import new_id, utc_timestamp
from failsoft.framework.errors import NextStep, ToolError, UnknownError, UnknownTool
from failsoft.framework.errors.unknown_tools import tools_meant
from failsoft.framework.errors.violations import Violation, collapsed, once_each
from failsoft.framework.logs.logs import log_broken
from failsoft.framework.normalize import cause_told
from failsoft.framework.normalize.outcomes import type_name
from failsoft.framework.normalize.reasons import normalized_cause
from failsoft.framework.safe.author_reports import report_mistake
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact, redact_paths, withhold_contents
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tracebacks import stack_of
from failsoft.framework.text import bounded, named

_NAMED_AT_MOST = 3
_ADVICE_AT_MOST = 1_000
_TEXT_AT_MOST = 2_000
_SUGGESTIONS_AT_MOST = 8
_VIOLATIONS_AT_MOST = 200
_NAME_AT_MOST = 120
_SENT_DEPTH = 4
_SENT_AT_MOST = 200

_WHO = {
    "caller": "See what was done with a tool that only reads; if none shows it a person has to look into this.",
    "operator": "The operator of this server has to fix this.",
    "author": "The author of this tool has to fix this.",
    "person": "A person has to decide this.",
    "framework": "The operator of this server has to look into this.",
}
_IN_VAIN = "Repeating the call does not help."
_NO_CANDIDATES = Candidates()
_PREREQUISITES = frozenset({"precondition_failed", "unauthenticated"})


def explain(error: ToolError, call: Call, *, error_id: str | None = None, chosen: NextCall | None = None) -> Failure:
    """Return the failure of this call with everything that its caller may see.

    Args:
        error: The error.
        call: The call that failed.
        error_id: The id of the failure; a new one if left out.
        chosen: The next step; by default that of `choose`, without running references and checks.
    """
    bound, scope, settings = call.bound, call.scope, call.bound.settings
    chosen = choose(error, call) if chosen is None else chosen
    effect, retry, step = chosen.effect, chosen.retry, chosen.step
    if chosen.dropped and error.next_step is not None:
        _report_dropped(error, error.next_step.tool, call, why=chosen.dropped)
    error_id = error_id or new_id()
    detail = settings.detail_level
    faults = once_each(error.violations) if error.violations else ()
    violations, guesses = without_guesses(faults[:_VIOLATIONS_AT_MOST], bound.name_kinds) if faults else (faults, [])
    found = _NO_CANDIDATES
    if error.suggestions or guesses:
        found = candidates(error, guesses, call.told.failed_reference, call.params)
    hints, own = error.rendered_hints(), found.suggestions
    shown = list(dict.fromkeys(own if own or violations or step else hints))[:_SUGGESTIONS_AT_MOST]
    limit = call.toolset.message_at_most
    headline = _what_failed(error, limit)
    near = found.unsaid(headline, error, step) if found.names else ""
    advice = _advise(error, call, chosen, error_id)
    if chosen.times:
        advice = _advise_again(advice, error, chosen, error_id, has_hints=bool(shown))
    given = [f"{headline} {near}" if near else headline, *shown, *hints]
    for item in violations:
        given += (str(item.message), str(item.path))
    texts = _without_paths(given, call) if detail == "minimal" else given
    message = f"{texts[0]} {advice.said}".rstrip()
    if not _is_clean(texts, message):
        message, *texts = [_cleaned(text, limit + _ADVICE_AT_MOST) for text in (message, *texts)]
    headline, suggestions = texts[0].removesuffix(f" {near}") if near else texts[0], shown
    if texts is not given:  # something in them must not be sent
        after_shown, after_hints = 1 + len(shown), 1 + len(shown) + len(hints)
        suggestions, hints = texts[1:after_shown], tuple(texts[after_shown:after_hints])
        violations = _rewritten(violations, texts[after_hints:])
    if "suggestions" in error.content_fields:
        suggestions = [bounded(text, _TEXT_AT_MOST) for text in shown]
    return Failure(
        message=message,
        headline=headline,
        remedy=advice.remedy,
        repetition=advice.repetition,
        is_for_person=advice.is_for_person,
        code=error.code,
        category=error.category,
        tool=bound.tool_name,
        operation=bound.name,
        retry=retry,
        effect=effect,
        error_id=error_id,
        timestamp=utc_timestamp(),
        exception=error,
        times=chosen.times,
        stop_reason="repeated" if chosen.times else stop_reason_of(error, call, effect),
        suggestions=tuple(suggestions),
        hints=hints,
        next_step=step,
        dropped_step=chosen.dropped,
        violations=collapsed(violations),
        faults=len(faults),
        details=redact(withhold_contents(json_safe(error.all_details()))) or None if detail != "minimal" else None,
        cause=_cause(error, withheld=settings.detail is None) if detail == "full" else None,
        stack_trace=_stack(error) if settings.debug_stack else None,
        request_id=scope.request_id,
        session_id=scope.session_id,
        principal=scope.principal,
        governance=governance_of(error, call.told.governance, scope.session_id, scope.meta),
        rejected=call.attempt == 0,
        read_only=call.read_only,
        sent=call.params,
        toolset_facts=_toolset_facts(error, call),
    )


def _report_dropped(error: ToolError, tool: str, call: Call, *, why: str) -> None:
    """Tell the author, once for each operation and code, that the next step of an error was not sent."""
    text = f"the next step `{bounded(tool, _NAME_AT_MOST)}` of {type(error).__name__} was dropped: {why}"
    known = call.bound.dropped_steps
    report_mistake(text, error=error, operation=call.bound.name, is_known=error.code in known)
    known.add(error.code)


@dataclass(slots=True)
class _Advice:
    """What to do about a failure.

    Args:
        remedy: Who has to act, or what to change; empty if the next step or the wait says it.
        said: What the message says after what failed: the effect, the wait, and the remedy.
        is_for_person: Whether a person has to act, who needs the error id.
        repetition: After an effect, whether the call may be sent again.
    """

    remedy: str = ""
    said: str = ""
    is_for_person: bool = False
    repetition: str = ""


def _advise(error: ToolError, call: Call, chosen: NextCall, error_id: str) -> _Advice:
    """Return the effect, if there may be one, and what to do; empty if there is nothing to add."""
    retry, step = chosen.retry, chosen.step
    again = f"call `{call.operation}` again in {retry.wait_in_words}." if retry.when == "after_delay" else ""
    if chosen.effect != "none":
        verifier = verifier_of(call)
        repetition = repetition_of(call, retry, chosen.effect, None if verifier is None else verifier.name)
        remedy, is_for_person = _after_effect(error, call, retry, step)
        told = _with_id(remedy, error_id) if is_for_person else remedy
        is_look = step is not None and f"`{step.tool}` shows" in repetition
        end = f": {again}" if again and not is_look else "."
        said = f"{EFFECTS[chosen.effect]}. {repetition}{end} {told}".rstrip()
        return _Advice(remedy, said, is_for_person, f"{repetition}.")
    if again:
        return _Advice(said=f"To go on, {again}")
    if chosen.left_open and step is None and error.next_step is not None:
        return _Advice(remedy := _completed_by_caller(error.next_step.tool, chosen.left_open, error, call), remedy)
    remedy, is_for_person = _after_fix(error, call, step) if retry.when == "after_fix" else _never(error, step)
    return _Advice(remedy, _with_id(remedy, error_id) if is_for_person else remedy, is_for_person)


def _after_effect(error: ToolError, call: Call, retry: RetryAdvice, step: NextStep | None) -> tuple[str, bool]:
    """Return how to find out what was changed, or who can; arguments are corrected only where that is safe."""
    remedy, is_for_person = "", False
    if retry.when == "never" and (step is None or _has_to_be_fixed(error)):
        remedy, is_for_person = _who(error), True
    elif retry.when == "after_fix" and (call.idempotent or isinstance(error, UNDECIDED)):
        remedy, is_for_person = _after_fix(error, call, None if isinstance(error, UNDECIDED) else step)
    return remedy, is_for_person


def _advise_again(advice: _Advice, error: ToolError, chosen: NextCall, error_id: str, *, has_hints: bool) -> _Advice:
    """Return the advice after identical failures: it says how often, and who can help if nothing else does."""
    who, remedy, is_for_person = "", advice.remedy, advice.is_for_person
    if not is_for_person and error.actor != "caller":
        is_for_person, who = True, _who(error)
    elif not (has_hints or remedy or chosen.step is not None or chosen.retry.when == "after_delay"):
        who = _IN_VAIN
    told = _with_id(who, error_id) if is_for_person and who else who
    said = " ".join(filter(None, (said_again(chosen.times), advice.said, told)))
    return replace(advice, remedy=f"{remedy} {who}".strip(), said=said, is_for_person=is_for_person)


def _with_id(remedy: str, error_id: str) -> str:
    """Return the remedy with the id by which a person finds the failure."""
    if not remedy:
        return f"The error id is {error_id}."
    first, mark, rest = remedy.partition(",")
    return f"{first} (error id {error_id}){mark}{rest}" if mark else f"{remedy[:-1]} (error id {error_id})."


def _completed_by_caller(tool: str, left_open: Sequence[str], error: ToolError, call: Call) -> str:
    """Return in words the call that the error asks for, with arguments that only the caller can choose."""
    names = f" with {' and '.join(map(named, left_open))}" if len(left_open) <= _NAMED_AT_MOST else ""
    if error.category in _PREREQUISITES:
        return f"Call `{tool}` first{names}, then call `{call.operation}` again."
    return f"Call `{tool}`{names}."


def _never(error: ToolError, step: NextStep | None) -> tuple[str, bool]:
    if isinstance(error, UnknownTool):
        return tools_meant(error), False
    if step is not None and not _has_to_be_fixed(error):
        return "", False
    if error.actor == "caller":  # where a permission is missing, the message says what is allowed
        return ("" if error.category == "permission_denied" else _IN_VAIN), False
    if error.actor == "person" and " person " in error.message:  # it says who decides, or has decided
        return "", True
    return _who(error), True


def _who(error: ToolError) -> str:
    """Return who has to act."""
    is_login = error.category == "unauthenticated" and error.actor == "person"
    return "A person has to renew the access." if is_login else _WHO[error.actor]


def _has_to_be_fixed(error: ToolError) -> bool:
    """Return whether somebody has to fix the tool or the server, whatever the caller can do meanwhile."""
    return error.retry == "never" and error.actor in ("author", "operator")


def _after_fix(error: ToolError, call: Call, step: NextStep | None) -> tuple[str, bool]:
    if step is not None:
        if step.tool == call.operation or error.category == "unsupported" or "repeat the call" in error.message:
            return "", False
        bound = call.toolbox.find(step.tool)
        is_prepared = bound is not None and not bound.read_only
        return (f"After the next step, call `{call.operation}` again." if is_prepared else ""), False
    if error.actor == "person":
        return _never(error, None)
    if error.violations and error.violations[0].line is not None:
        return f"Correct the file, then call `{call.operation}` again.", False
    if error.violations:
        return f"{_changes(error.violations, error.message)} and call `{call.operation}` again.", False
    return (f"{error.remedy} call `{call.operation}` again." if error.remedy else ""), False


def _changes(violations: Sequence[Violation], said: str) -> str:
    """Return how to fix the faults: `Add it`, `Correct them`; with names if the first part does not have them."""
    violations = once_each(violations)
    if len(violations) > 1:
        few = violations if len(violations) <= _NAMED_AT_MOST else ()
        unsaid = [item for item in few if item.path and named(item.path) not in said]
        names = [named(item.path) for item in collapsed(unsaid)] if unsaid else ()
        unnamed = [name for name in dict.fromkeys(names) if name not in said]
        return f"Correct {', '.join(unnamed)}" if unnamed else "Correct them"
    (fault,) = violations
    verb = "Add" if fault.reason == "missing" else "Correct"
    if fault.path and (name := named(fault.path)) not in said:
        return f"{verb} {name}"
    return f"{verb} it"


def _toolset_facts(error: ToolError, call: Call) -> Mapping[str, Any] | None:
    """Return the toolset's own facts on the failure, redacted; empty if the author's code raises."""
    try:
        facts = call.toolset.failure_facts(error, call)
        return redact(json_safe(dict(facts))) if facts else None
    except BaseException as broken:  # noqa: BLE001 - the failure itself is sent in any case
        log_broken(call, "A toolset's failure_facts failed", broken)
        return None


def _what_failed(error: ToolError, limit: int) -> str:
    """Return the message as a sentence, and the reason that a library gave for it."""
    sentence = _sentence(error.message, limit)
    if error.__cause__ is None and error.__context__ is None:
        return sentence
    return f"{sentence} {cause_told(error)}".rstrip()


def _sentence(text: Any, limit: int) -> str:
    text = str(text).strip()
    text = text if len(text) <= limit else bounded(text, limit)  # characters that must not be sent are found at the end
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _rewritten(violations: tuple[Violation, ...], texts: list[str]) -> tuple[Violation, ...]:
    """Return the violations with sanitized messages and paths."""
    pairs = zip(violations, texts[::2], texts[1::2], strict=True)
    return tuple([replace(item, message=message, path=path) for item, message, path in pairs])


def _without_paths(texts: list[str], call: Call) -> list[str]:
    """Return the texts without absolute paths, except those that the caller sent or that lie in served folders."""
    whole = "\n".join(texts)
    if redact_paths(whole) == whole:
        return texts
    try:
        served = [str(root) for root in call.toolset.roots]
    except Exception:  # noqa: BLE001 - an author's property may break; nothing is shown then
        served = []
    sent = frozenset(_texts_in(call.params))
    return [redact_paths(text, served, sent) for text in texts]


def _texts_in(tree: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in arguments, a few levels deep: what the caller sent is no secret to it."""
    if isinstance(tree, str):
        yield tree
    elif depth < _SENT_DEPTH and isinstance(tree, (dict, list)):
        for item in list(tree.values() if isinstance(tree, dict) else tree)[:_SENT_AT_MOST]:
            yield from _texts_in(item, depth + 1)


def _is_clean(texts: list[str], message: str) -> bool:
    """Return whether the texts may be sent as they are: bounded, printable, no secrets. One check for all of them.

    The message is the first text with our own advice behind it, whose arguments were redacted before.
    """
    others = " ".join([text for text in texts[1:] if text not in message]) if len(texts) > 1 else ""
    whole = f"{texts[0]} {others}"
    is_printable = message.isascii() and message.isprintable() and others.isascii() and others.isprintable()
    return is_printable and len(message) + len(whole) <= _TEXT_AT_MOST and redact_text(whole) == whole


def _cleaned(text: str, limit: int) -> str:
    return redact_text(bounded(text, limit))


def _cause(error: ToolError, *, withheld: bool) -> str | dict[str, Any] | None:
    """Return the cause as JSON.

    The text of an exception that no rule knows may hold anything: it is `withheld` unless the detail was asked for.
    """
    cause = normalized_cause(error.__cause__)
    is_unknown = withheld and isinstance(error, UnknownError) and isinstance(cause, dict)
    return {**cause, "message": ""} if is_unknown else cause  # type: ignore[dict-item]  # it is a dict


def _stack(error: ToolError) -> str:
    try:
        return stack_of(error)
    except BaseException:  # noqa: BLE001 - an exception may break in every attribute that is read
        return f"The stack of {type_name(error)} cannot be written."
