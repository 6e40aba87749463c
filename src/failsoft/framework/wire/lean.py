"""Lean text: a failure as plain lines for a model, in place of JSON (`FAILSOFT_TEXT=lean`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from json import dumps
from typing import Any

from pydantic_core import to_json

from failsoft.framework.answer.failure import Failure
from failsoft.framework.errors.base import Effect
from failsoft.framework.errors.violations import Violation, clause
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.text import named, quoted

__all__ = ["lean_text"]

EFFECTS: dict[Effect, str] = {
    "none": "Nothing was changed.",
    "applied": "Something was changed.",
    "unknown": "It is unknown whether anything was changed.",
}
_FAULTS_AT_MOST = 20
_CANDIDATES_AT_MOST = 5
_EXCERPTS_AT_MOST = 4
_BY_PERSON = frozenset({"operator", "author", "person", "framework"})


def lean_text(failure: Failure, code: str) -> str:
    """Return the failure as lines: what failed, its effect, each fault, excerpts, candidates, and the next call.

    Args:
        failure: The failure; its texts are sanitized and bounded.
        code: Its code in the wire format.
    """
    return "\n".join(_lines(failure, code))


def _lines(failure: Failure, code: str) -> Iterator[str]:
    verb = "was refused" if failure.rejected else "failed"
    yield f"{failure.operation} {verb} ({code}): {_headline(failure)}"
    if not failure.read_only:
        yield EFFECTS[failure.effect]
    if failure.retry.when == "never" and failure.effect != "none":
        yield "Do not repeat the call."
    yield from _faults(failure.violations)
    step = failure.next_step
    yield from _excerpts(failure.public.get("context"))
    candidates = [
        *(item for item in failure.suggestions if item not in failure.hints),
        *(item.suggestion for item in failure.violations if item.reason == "unknown_tool"),
    ]
    if step is None and any(candidates):
        yield f"Candidates: {', '.join([quoted(item, 120) for item in candidates[:_CANDIDATES_AT_MOST] if item])}"
    if step is not None:
        yield f"Next: {step.tool} {_on_one_line(json_safe(dict(step.arguments)))}"
    if failure.retry.after_seconds is not None:
        yield f"Wait: {failure.retry.after_seconds:g} s"
    if step is None and failure.retry.when == "never" and failure.exception.actor in _BY_PERSON:
        yield f"Error id: {failure.error_id}"


def _excerpts(context: Any) -> Iterator[str]:
    """Yield the parts of a file that the message speaks of, each as JSON text on one line."""
    if not isinstance(context, Mapping):
        return
    for item in [context, *(context.get("match_locations") or ())][:_EXCERPTS_AT_MOST]:
        if isinstance(item, Mapping) and isinstance(item.get("snippet"), str):
            place = f" (line {item['line']})" if "line" in item else ""
            yield f"Excerpt{place}: {_on_one_line(item['snippet'])}"


def _on_one_line(value: Any) -> str:
    """Return JSON in which everything that could break, hide or reorder a line is escaped."""
    text = to_json(value).decode()
    return text if text.isprintable() else "".join([one if one.isprintable() else dumps(one)[1:-1] for one in text])


def _headline(failure: Failure) -> str:
    """Return what failed; faults of arguments have lines of their own."""
    if not failure.violations or failure.violations[0].reason == "unknown_tool":
        remedy = failure.exception.remedy if failure.retry.when == "after_fix" and failure.next_step is None else ""
        return f"{failure.headline} {remedy} call again." if remedy else failure.headline
    count = max(failure.faults, len(failure.violations))
    return f"{count} {'parameter is' if count == 1 else 'parameters are'} wrong."


def _faults(violations: Sequence[Violation]) -> Iterator[str]:
    """Yield `- PATH: what is wrong, what is accepted` for each fault."""
    for item in violations[:_FAULTS_AT_MOST]:
        if item.reason != "unknown_tool":
            yield f"- {_fault(item)}"
    more = len(violations) - _FAULTS_AT_MOST
    if more > 0:
        yield f"- and {more} more"


def _fault(item: Violation) -> str:
    name = named(item.path).replace("`", "") if item.path else "arguments"
    place = f"{name} ({item.at})" if item.at else name
    text = clause(replace(item, at="", path=""))
    if item.reason == "missing":
        text = f"missing, expected {item.expected}" if item.expected else "missing"
    if item.reason == "unexpected":
        accepted = ", ".join([named(option).replace("`", "") for option in item.allowed])
        meant = item.suggestion is not None
        text = f"no such parameter{f'; did you mean {item.suggestion}?' if meant else f', accepted: {accepted}'}"
    return f"{place}: {text}"
