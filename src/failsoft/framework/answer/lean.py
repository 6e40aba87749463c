"""Lean text: a failure as plain lines for a model, in place of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from failsoft.framework.answer.candidates import CANDIDATES_AT_MOST, are_in_step
from failsoft.framework.answer.failure import EFFECTS, Failure, said_again
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation, clause
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.text import is_named, json_on_one_line, named, quoted

_FAULTS_AT_MOST = 20
_QUESTION = re.compile(r"Did you mean: (.+)\?")
"""A candidate as seed 004 words it; the line names it as one already."""
_STEP_AT_MOST = 500
_ARGUMENT_AT_MOST = 200
_EXCERPTS_AT_MOST = 4
_HINTS_AT_MOST = 3
_CANDIDATE_AT_MOST = 120


def lean_text(failure: Failure, code: str) -> str:
    """Return the failure as lines: what failed, its effect, its repeats, each fault, what may help, and the next call.

    Args:
        failure: The failure; its texts are sanitized and bounded.
        code: Its code in the wire format.
    """
    return "\n".join(_lines(failure, code))


def _lines(failure: Failure, code: str) -> Iterator[str]:
    verb = "was refused" if failure.rejected else "failed"
    headline = _headline(failure)
    yield f"{failure.operation} {verb} ({code}): {headline}"
    if failure.effect != "none":
        yield f"{EFFECTS[failure.effect]}. {failure.repetition} {failure.remedy}".rstrip()
    elif not failure.read_only:
        yield f"{EFFECTS['none']}."
    if failure.times:
        yield said_again(failure.times)
    if failure.violations and not _is_one_line(failure):
        yield from _faults(failure.violations)
    if "context" in failure.exception.fields:
        yield from _excerpts(failure.public.get("context"))
    if failure.suggestions:
        yield from _candidates(failure, headline)
        yield from _hints(failure, headline)
    step = failure.next_step
    if step is not None:
        yield f"Next: {step.tool} {_arguments(step.arguments, failure.sent)}"
    is_look_first = step is not None and f"`{step.tool}` shows" in failure.repetition
    if failure.retry.after_seconds is not None and not is_look_first:
        yield f"Wait: {failure.retry.wait} s"
    if failure.is_for_person:
        yield f"Error id: {failure.error_id}"


def _arguments(given: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """Return the arguments of a step as JSON; long ones that stay as they were sent are only named behind it."""
    arguments = json_safe(dict(given))
    text = _on_one_line(arguments)
    if len(text) <= _STEP_AT_MOST:
        return text
    long = [name for name, value in arguments.items() if len(_on_one_line(value)) > _ARGUMENT_AT_MOST]
    same = [name for name in long if name in sent and sent[name] == arguments[name]]
    if not same:
        return text
    rest = {name: value for name, value in arguments.items() if name not in same}
    return f"{_on_one_line(rest)} with {', '.join(map(named, same))} as you sent {'it' if len(same) == 1 else 'them'}"


def _candidates(failure: Failure, headline: str) -> Iterator[str]:
    given = [item for item in failure.suggestions if item not in failure.hints]
    named_alone = [found[1] if (found := _QUESTION.fullmatch(item)) else item for item in given]
    names = [item for item in named_alone if not is_named(item, headline)]
    if names and not are_in_step(names, failure.exception, failure.next_step):
        yield f"Candidates: {', '.join([quoted(item, _CANDIDATE_AT_MOST) for item in names[:CANDIDATES_AT_MOST]])}"


def _hints(failure: Failure, headline: str) -> Iterator[str]:
    """Yield the class's hints where nothing more specific says what to do; they stand for it in `suggestions`."""
    is_said = failure.retry.when == "after_fix" and failure.remedy
    is_forbidden = failure.retry.when != failure.exception.retry  # then they say how to repeat what must not be
    if is_said or is_forbidden or isinstance(failure.exception, InvalidParameter):  # its message says what is expected
        return
    said = [item for item in failure.suggestions if item in failure.hints and item not in headline]
    if said:
        yield " ".join([item if item.endswith((".", "!", "?")) else f"{item}." for item in said[:_HINTS_AT_MOST]])


def _excerpts(context: Any) -> Iterator[str]:
    """Yield the parts of a file that the message speaks of, each as JSON text on one line."""
    if not isinstance(context, Mapping):
        return
    for item in [context, *(context.get("match_locations") or ())][:_EXCERPTS_AT_MOST]:
        if isinstance(item, Mapping) and isinstance(item.get("snippet"), str):
            place = f" (line {item['line']})" if "line" in item else ""
            yield f"Excerpt{place}: {_on_one_line(item['snippet'])}"


def _on_one_line(value: Any) -> str:
    return json_on_one_line(to_json(value).decode())


def _is_one_line(failure: Failure) -> bool:
    """Return whether the headline says all faults that the caller has to know of: the next step corrects the others."""
    return failure.is_corrected or failure.faults <= 1


def _headline(failure: Failure) -> str:
    """Return what failed; several faults of arguments have lines of their own, and the remedy that of an effect."""
    if _is_one_line(failure) or failure.violations[0].reason == "unknown_tool":
        return failure.said if failure.effect == "none" else failure.headline
    return f"{failure.faults} parameters are wrong."


def _faults(violations: Sequence[Violation]) -> Iterator[str]:
    """Yield `- PATH: what is wrong, what is accepted` for each fault."""
    for item in violations[:_FAULTS_AT_MOST]:
        if item.reason != "unknown_tool":
            yield f"- {_fault(item)}"
    more = len(violations) - _FAULTS_AT_MOST
    if more > 0:
        yield f"- and {more} more"


def _fault(item: Violation) -> str:
    name = _bare(item.path) if item.path else "arguments"
    place = f"{name} ({item.at})" if item.at else name
    text = clause(replace(item, at="", path=""))
    if item.reason == "missing":
        text = f"missing, expected {item.expected}" if item.expected else "missing"
    if item.reason == "unexpected":
        text = f"no such parameter{_alternatives(item)}"
    return f"{place}: {text}"


def _alternatives(item: Violation) -> str:
    if item.suggestion is not None:
        return f"; did you mean {_bare(item.suggestion)}?"
    accepted = ", ".join(map(_bare, item.allowed))
    return f"; accepted: {accepted}" if accepted else ""


def _bare(name: Any) -> str:
    """Return a name without backticks; other text is quoted."""
    return named(name).replace("`", "")
