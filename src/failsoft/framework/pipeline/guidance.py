"""Builds the `Failure` of a call from its error: effect, retry advice, next step, and a message that says what to do.

The rules are in section 3 of the contract. In measurements with agents, "wait before retrying" made them give up while
"call X again in 2 seconds" did not, and a next step that does not exist on the server was worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.governance import governance_of
from failsoft.framework.call.call import Call
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.diagnostics.reports import report_mistake
from failsoft.framework.diagnostics.tracebacks import stack_of
from failsoft.framework.errors import ToolError, UnknownError
from failsoft.framework.errors.corrections import how_far, near_names
from failsoft.framework.errors.violations import Violation, collapsed, once_each
from failsoft.framework.ids import new_id
from failsoft.framework.normalize.outcomes import type_name
from failsoft.framework.normalize.reasons import normalized_cause
from failsoft.framework.observability.logs import log_broken
from failsoft.framework.pipeline.advice import advise, near_or_listed
from failsoft.framework.pipeline.next_step import Proposal, propose
from failsoft.framework.pipeline.verdict import stop_reason_of
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact, redact_paths, redact_text, withhold_contents
from failsoft.framework.text import bounded

_MESSAGE_AT_MOST = 1_000
_TEXT_AT_MOST = 2_000
_SUGGESTIONS_AT_MOST = 8
_VIOLATIONS_AT_MOST = 200
_CANDIDATE_AT_MOST = 120
_SENT_DEPTH = 4
_SENT_AT_MOST = 200


def explain(error: ToolError, call: Call, *, error_id: str | None = None, proposal: Proposal | None = None) -> Failure:
    """Return the failure of this call with everything that its caller may see.

    Args:
        error: The error.
        call: The call that failed.
        error_id: The id of the failure; a new one if left out.
        proposal: The next step; by default that of `propose`, without running references and checks.
    """
    bound, scope, settings = call.bound, call.scope, call.bound.settings
    proposal = propose(error, call) if proposal is None else proposal
    effect, retry, step = proposal.effect, proposal.retry, proposal.step
    if proposal.dropped and error.next_step is not None:
        tool = bounded(error.next_step.tool, _CANDIDATE_AT_MOST)
        text = f"the next step `{tool}` of {type(error).__name__} was dropped: {proposal.dropped}"
        report_mistake(text, error=error, operation=bound.name, is_known=error.code in bound.dropped_steps)
        bound.dropped_steps.add(error.code)
    error_id = error_id or new_id()
    detail = settings.detail_level
    faults = error.violations[:_VIOLATIONS_AT_MOST]
    violations, guesses = _without_guesses(faults, call) if faults else (faults, [])
    own = [text for text in (*error.own_suggestions(), *guesses) if not _is_unrelated(text, error, call)]
    hints = error.rendered_hints()
    shown = list(dict.fromkeys(own if own or violations or step else hints))[:_SUGGESTIONS_AT_MOST]
    headline = _sentence(error.message)
    near = "" if step is not None else _candidates(error, guesses, call, headline)
    advice = advise(error, call, proposal, error_id)
    fault_texts = [text for item in violations for text in (str(item.message), str(item.path))]
    given = [f"{headline} {near}" if near else headline, *shown, *hints, *fault_texts]
    texts = _without_paths(given, call) if detail == "minimal" else given
    message = f"{texts[0]} {advice.said}".rstrip()
    if not _is_clean(texts, message):
        message, *texts = map(_cleaned, [message, *texts])
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
        stop_reason=stop_reason_of(error, call),
        suggestions=tuple(suggestions),
        hints=hints,
        next_step=step,
        dropped_step=proposal.dropped,
        violations=collapsed(violations),
        faults=len(once_each(error.violations)) if faults else 0,
        details=redact(withhold_contents(json_safe(error.all_details()))) or None if detail != "minimal" else None,
        cause=_cause(error, withheld=settings.detail is None) if detail == "full" else None,
        stack_trace=_stack(error) if settings.debug_stack else None,
        request_id=scope.request_id,
        session_id=scope.session_id,
        principal=scope.principal,
        governance=governance_of(error, call.governance, scope.session_id, scope.meta),
        rejected=call.attempt == 0,
        read_only=call.read_only,
        about=_about(error, call),
    )


def _without_guesses(violations: Sequence[Violation], call: Call) -> tuple[tuple[Violation, ...], list[str]]:
    """Move suggested ids and handles from the violations to the candidates: a similar id means something else."""
    if "reference" not in [item.reason for item in violations]:
        return tuple(violations), []
    kept, guesses = [], []
    for item in violations:
        if item.reason == "reference" and item.suggestion is not None and not _is_spelled(item, call):
            guesses.append(str(item.suggestion))
            item = replace(item, suggestion=None)  # noqa: PLW2901 - the same fault, without the guess
        kept.append(item)
    return tuple(kept), guesses


def _is_spelled(item: Violation, call: Call) -> bool:
    return call.bound.name_kinds.get(item.path.partition(".")[0]) == "spelled"


def _is_unrelated(text: str, error: ToolError, call: Call) -> bool:
    """Return whether a suggestion is an id or handle that has nothing in common with the one that was looked up."""
    failed = call.failed_reference
    if failed is None or failed.error is not error or any(map(str.isspace, text)):
        return False
    kind: Any = failed.kind
    return kind != "spelled" and how_far(failed.value, text, what="reference", changes=False, kind=kind) == "drop"


def _candidates(error: ToolError, guesses: list[str], call: Call, headline: str) -> str:
    """Return in words the suggestions that are names and not sentences, the near ones only where there are any."""
    if error.category not in {"not_found", "invalid_argument"} or not (error.suggestions or guesses):
        return ""
    failed = call.failed_reference
    is_spelled = failed is not None and failed.error is error and failed.kind == "spelled"
    texts = [str(item) for item in error.suggestions]
    named = [text for text in texts if is_spelled or not any(map(str.isspace, text))]
    named = [text for text in named if not _is_unrelated(text, error, call)]
    near: list[str] = []
    if failed is not None and failed.error is error and isinstance(failed.value, str):
        near = near_names(failed.value, named)
    texts = [*(near or named), *guesses]
    names = [text for text in texts if 0 < len(text) <= _CANDIDATE_AT_MOST and text[-1] not in ".?!:"]
    return near_or_listed(names, headline, are_near=bool(near or guesses))


def _about(error: ToolError, call: Call) -> Mapping[str, Any] | None:
    """Return the toolset's own facts on the failure, redacted; empty if the author's code raises."""
    try:
        facts = call.toolset.failure_facts(error, call)
        return redact(json_safe(dict(facts))) if facts else None
    except BaseException as broken:  # noqa: BLE001 - the failure itself is sent in any case
        log_broken(call, "A toolset's failure_facts failed", broken)
        return None


def _sentence(text: Any) -> str:
    text = bounded(str(text).strip(), _MESSAGE_AT_MOST)
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
    others = " ".join([text for text in texts[1:] if text not in message])
    whole = f"{texts[0]} {others}"
    is_printable = message.isascii() and message.isprintable() and others.isascii() and others.isprintable()
    return is_printable and len(message) + len(whole) <= _TEXT_AT_MOST and redact_text(whole) == whole


def _cleaned(text: str) -> str:
    return redact_text(bounded(text, _TEXT_AT_MOST))


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
