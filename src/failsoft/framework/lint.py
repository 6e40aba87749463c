"""Messages that mend: the rules for what a caller is told, as checks over real failures of a server's own tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.catalogue import entries
from failsoft.framework.context import CallContext, CallScope
from failsoft.framework.errors import InvalidArgument, ToolError
from failsoft.framework.failure import Failure
from failsoft.framework.guidance import explain
from failsoft.framework.operation import BoundOperation
from failsoft.framework.toolbox import Toolbox

__all__ = ["Finding", "lint_failure", "lint_toolbox"]

MESSAGE_AT_MOST = 1_200
"""Characters that a message may have; longer ones are cut by some clients, and the end says what to do."""
_CAUSE_AT_LEAST = 12

_VAGUE = re.compile(
    r"^(an? )?(unexpected |unknown )?(error|failure|problem|invalid input|something went wrong)\b[.! ]*$", re.IGNORECASE
)
_FORBIDDEN: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("url", re.compile(r"\b(?:https?|ftp|file)://", re.IGNORECASE)),
    ("stack", re.compile(r"Traceback \(most recent|File \"[^\"]+\", line \d|\bat 0x[0-9a-f]{6,}")),
    ("path", re.compile(r"(?:^|[\s'\"(=])(?:/(?:home|usr|var|tmp|etc|root|opt|srv|Users)/|[A-Za-z]:\\)")),
    (
        "command",
        re.compile(
            r"(?:^|[\s`(])(?:sudo|pip install|npm install|apt(?:-get)? install|export|chmod|kill)\s"
            r"|(?:^|[.:(]\s*)\$\s+[a-z]",  # a prompt
            re.IGNORECASE,
        ),
    ),
    ("variable", re.compile(r"\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+=|\$\{?[A-Z_]{3,}|\bFAILSOFT_[A-Z]")),
    ("control", re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069]")),
)
_WAIT = re.compile(r"[Cc]all `(?P<tool>[^`]+)` again in \d+(?:\.\d+)? seconds?")


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that one failure breaks."""

    operation: str
    code: str
    rule: str
    text: str


def lint_failure(failure: Failure, toolbox: Toolbox) -> list[Finding]:
    """Return what is wrong with the words of a failure; an empty list if a caller can act on it."""
    served = [str(root) for tool in toolbox.tools if tool.name == failure.tool for root in getattr(tool, "roots", ())]
    found = [*_wording(failure, served), *_next_step(failure, toolbox), *_way_out(failure, toolbox)]
    return [Finding(failure.operation, failure.code, rule, text) for rule, text in found]


def lint_toolbox(toolbox: Toolbox) -> list[Finding]:
    """Return the findings over every failure these tools can be made to tell without running a handler.

    Each operation is called with arguments that its validation refuses, and every error of the catalogue is put
    through the guidance of each operation, once as if nothing was done and once as if that is not known.
    """
    scope = CallScope(toolbox=toolbox)
    findings: list[Finding] = []
    for bound in toolbox:
        if not bound.description:
            findings.append(Finding(bound.name, "", "description", "the operation has no docstring"))
        for failure in (*_refusals(bound, scope), *_catalogue_failures(bound, scope)):
            findings += lint_failure(failure, toolbox)
    return list(dict.fromkeys(findings))


def _wording(failure: Failure, served: Sequence[str]) -> Iterator[tuple[str, str]]:
    message = failure.message
    cause = failure.exception.message
    if len(cause) < _CAUSE_AT_LEAST or _VAGUE.match(cause):
        yield "cause", f"does not say what failed: {cause!r}"
    if len(message) > MESSAGE_AT_MOST:
        yield "length", f"{len(message)} characters; at most {MESSAGE_AT_MOST}"
    callers_own = [f"{quote}{fault.path}{quote}" for fault in failure.violations for quote in "'`"]
    for text in (message, *failure.suggestions):
        elsewhere = text
        for told_back in (*served, *callers_own):  # a caller's own names may be anything
            elsewhere = elsewhere.replace(told_back, "")
        for rule, pattern in _FORBIDDEN:
            if pattern.search(elsewhere):
                yield rule, f"names what a caller cannot use ({rule}): {text!r}"


def _next_step(failure: Failure, toolbox: Toolbox) -> Iterator[tuple[str, str]]:
    step = failure.next_step
    if step is None:
        return
    bound = toolbox.find(step.tool)
    if bound is None:
        yield "next_step", f"names the tool '{step.tool}', which this server does not have"
        return
    try:
        bound.arguments.validate(step.arguments)
    except InvalidArgument as error:
        yield "next_step", f"its arguments do not validate: {error.message}"
    if failure.retry.when != failure.exception.retry and not bound.read_only:
        yield "next_step", f"'{step.tool}' changes something, and nobody knows whether that was done already"


def _way_out(failure: Failure, toolbox: Toolbox) -> Iterator[tuple[str, str]]:
    if failure.retry.when == "after_delay":
        named = _WAIT.search(failure.message)
        if failure.retry.after_seconds is None or named is None or toolbox.find(named["tool"]) is None:
            yield "wait", "waiting helps, and the message does not say: call `tool` again in N seconds"
        return
    if failure.next_step is not None:
        return
    names_tool = any(f"`{name}`" in failure.message for name in toolbox.names)
    if failure.retry.when == "after_fix" and not names_tool:
        yield "way_out", "a corrected call helps, and the message names no tool of this server"
    names_who = failure.error_id in failure.message or failure.exception.actor == "caller"
    if failure.retry.when == "never" and not names_tool and not names_who:
        yield "who", "nothing here helps, and the message does not say who has to act, with the error id"


def _refusals(bound: BoundOperation[..., Any], scope: CallScope) -> Iterator[Failure]:
    """Yield the failures for arguments that stage 1 refuses; the handler is out of reach."""
    properties = bound.input_schema.get("properties", {})
    probes: list[dict[str, Any]] = [{}, {"no_such_parameter": 1}, *({name: {"wrong": []}} for name in properties)]
    probes += [{name: 3.5} for name in properties]
    for params in probes:
        call = CallContext(bound, params, scope)
        try:
            bound.arguments.validate(params)
        except ToolError as error:
            yield explain(error, call)


def _catalogue_failures(bound: BoundOperation[..., Any], scope: CallScope) -> Iterator[Failure]:
    for kind in entries():
        for attempts in (0, 1):
            call = CallContext(bound, {}, scope)
            call.attempt = attempts
            yield explain(_sample(kind), call)


def _sample(kind: type[ToolError]) -> ToolError:
    """Return an error of the class with a stand-in for every field that has no default."""
    needed: dict[str, Any] = {name: "sample" for name in kind.fields if name not in kind.field_defaults}
    try:
        return kind(**needed)
    except (TypeError, ValueError):
        return kind(message=f"A sample of {kind.code}.")
