"""What a model would stumble over: descriptions and schemas of tools, and the texts of their failures."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.arguments.schemas import subschemas
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.call import Call
from failsoft.framework.call.explain import explain
from failsoft.framework.errors import InvalidArgument, ToolError
from failsoft.framework.errors.catalogue import entries
from failsoft.framework.text import PYTHON_SECTION, quoted
from failsoft.rules.catalogue import by_name

WORDS_AT_MOST = 60
"""Maximum number of words of a tool's description, which is part of every conversation."""
_SAYS = frozenset({"description", "enum", "const", "$ref"})
_MARKUP = re.compile(r":(?:class|meth|func)\b[^:]*:")


def description_faults(
    title: str | None, description: str, schema: Mapping[str, Any], annotations: Mapping[str, bool]
) -> Iterator[tuple[str, str]]:
    """Yield rule and finding for everything that a model would have to guess about a tool in `tools/list`."""
    if not title:
        yield "title", "the tool has no title, which clients show to people: @operation(title=...)"
    if not description:
        yield "description", "the operation has no docstring"
    words = len(description.split())
    if words > WORDS_AT_MOST:
        yield "description", f"the description has {words} words; at most {WORDS_AT_MOST}"
    if PYTHON_SECTION.search(description) or _MARKUP.search(description):
        yield "description", "the description holds sections of a Python docstring, which no caller needs"
    for name in _undescribed(schema):
        yield "parameter", f"the parameter '{name}' has no description: Annotated[..., Field(description=...)]"
    is_read_only = annotations.get("readOnlyHint", False)
    if not is_read_only and "destructiveHint" not in annotations:
        yield "annotations", "say destructive=True or destructive=False: clients assume the worst"
    if "openWorldHint" not in annotations:
        yield "annotations", "say open_world=True or open_world=False: whether it reaches beyond this server's own data"


def introduction_faults(introduction: str) -> Iterator[tuple[str, str]]:
    """Yield rule and finding for the part of the server instructions that describes a toolset."""
    if not introduction or introduction.startswith("Root: "):
        yield "instructions", "the toolset has no docstring, so the server instructions do not describe it"
    if PYTHON_SECTION.search(introduction) or _MARKUP.search(introduction):
        yield "instructions", "the introduction holds sections of a Python docstring, which no caller needs"


def _undescribed(schema: Any) -> Iterator[str]:
    """Yield the names of parameters, at any depth, that have neither a description nor listed values."""
    for part in subschemas(schema):
        properties = part.get("properties")
        for name, own in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(own, Mapping) and all(_SAYS.isdisjoint(one) for one in (own, *own.get("anyOf", ()))):
                yield name


MESSAGE_AT_MOST = 1_200
"""Maximum length of a message: some clients truncate longer ones, whose end says what to do."""
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
class LintFinding:
    """One rule that one failure breaks.

    Args:
        operation: The tool; empty for the whole toolset.
        code: The code of the failure, if it is one.
        name: The rule's name.
        text: What is wrong.
    """

    operation: str
    code: str
    name: str
    text: str

    @property
    def rule(self) -> str:
        """The number of the rule."""
        return by_name(self.name).number


def lint_failure(failure: Failure, toolbox: Toolbox) -> list[LintFinding]:
    """Return the faults of the message and the next step of a failure; empty if a caller can act on it."""
    served = [str(root) for tool in toolbox.tools if tool.name == failure.tool for root in getattr(tool, "roots", ())]
    found = [*_wording(failure, served), *_next_step(failure, toolbox), *_way_out(failure, toolbox)]
    return [LintFinding(failure.operation, failure.code, rule, text) for rule, text in found]


def lint_toolbox(toolbox: Toolbox) -> list[LintFinding]:
    """Return the findings about every failure that these tools can return without running a handler.

    Each operation is called with invalid arguments, and a failure is rendered for every error of the catalogue and
    each operation, once without an effect and once with an unknown one.
    """
    scope = CallScope(toolbox=toolbox)
    findings: list[LintFinding] = []
    for bound in toolbox:
        if not bound.description:
            findings.append(LintFinding(bound.name, "", "description", "the operation has no docstring"))
        if not bound.marks_effects and _marks_an_effect(bound):
            text = "marks an effect, which is refused without effects=True in its @operation"
            findings.append(LintFinding(bound.name, "CONFIG_ERROR", "effects", text))
        if bound.declaration.confirm and not bound.needs_consent:
            says = "read_only=True" if bound.read_only else "destructive=False"
            text = f"confirm='when destructive' never asks, because it says {says}: remove it, or say confirm=True"
            findings.append(LintFinding(bound.name, "", "confirm", text))
        if lacking := _lacking(bound, toolbox):
            text = f"verify_with='{bound.verify_with}' needs '{lacking}', which a call of this operation does not have"
            findings.append(LintFinding(bound.name, "", "verify-with", text))
        for failure in (*_refusals(bound, scope), *_catalogue_failures(bound, scope)):
            findings += lint_failure(failure, toolbox)
    return list(dict.fromkeys(findings))


def _lacking(bound: BoundOperation, toolbox: Toolbox) -> str:
    """Return an argument that the `verify_with` operation needs and this one has not; empty if there is none."""
    verifier = toolbox.find(bound.verify_with) if bound.verify_with else None
    needed = () if verifier is None else verifier.input_schema.get("required", ())
    return next((name for name in needed if name not in bound.input_schema.get("properties", {})), "")


def _marks_an_effect(bound: BoundOperation) -> bool:
    """Return whether the source of a handler calls `effect` of its context parameter."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(bound.function)))
    except (OSError, TypeError, SyntaxError):  # no source, or not one that stands alone
        return False
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(
        isinstance(function, ast.Attribute)
        and function.attr == "effect"
        and isinstance(function.value, ast.Name)
        and function.value.id == bound.context_parameter
        for function in called
    )


def lint_descriptions(toolbox: Toolbox) -> list[LintFinding]:
    """Return the findings about descriptions, schemas and instructions; see `lint_descriptions`."""
    found = [
        LintFinding(bound.name, "", rule, text)
        for bound in toolbox
        for rule, text in description_faults(bound.title, bound.description, bound.input_schema, bound.annotations)
    ]
    for tool in toolbox.tools:
        said = getattr(tool, "introduction", str)()
        found += [LintFinding("", "", rule, f"{tool.name}: {text}") for rule, text in introduction_faults(said)]
    return found


def _wording(failure: Failure, served: Sequence[str]) -> Iterator[tuple[str, str]]:
    message = failure.message
    cause = failure.exception.message
    if len(cause) < _CAUSE_AT_LEAST or _VAGUE.match(cause):
        yield "cause", f"does not say what failed: {cause!r}"
    if len(message) > MESSAGE_AT_MOST:
        yield "length", f"{len(message)} characters; at most {MESSAGE_AT_MOST}"
    callers_own = [text for fault in failure.violations for text in (quoted(fault.path, 80), f"`{fault.path}`")]
    for text in (message, *failure.suggestions):
        elsewhere = text
        for told_back in (*served, *callers_own):  # a caller's own names may be anything
            elsewhere = elsewhere.replace(told_back, "")
        for rule, pattern in _FORBIDDEN:
            if pattern.search(elsewhere):
                yield rule, f"names what a caller cannot use ({rule}): {text!r}"


def _next_step(failure: Failure, toolbox: Toolbox) -> Iterator[tuple[str, str]]:
    step = failure.next_step
    if failure.dropped_step:
        yield "next-step", f"the next step that the error brought was dropped: {failure.dropped_step}"
    if step is None:
        return
    bound = toolbox.find(step.tool)
    if bound is None:
        yield "next-step", f"names the tool '{step.tool}', which this server does not have"
        return
    try:
        bound.arguments.validate(step.arguments)
    except InvalidArgument as error:
        yield "next-step", f"its arguments do not validate: {error.message}"
    if failure.retry.when != failure.exception.retry and not bound.read_only:
        yield "next-step", f"'{step.tool}' changes something, and it is unknown whether that was done already"


def _way_out(failure: Failure, toolbox: Toolbox) -> Iterator[tuple[str, str]]:
    if failure.retry.when == "after_delay":
        named = _WAIT.search(failure.message)
        if failure.retry.after_seconds is None or named is None or toolbox.find(named["tool"]) is None:
            yield "wait", "waiting helps, and the message does not say: call `tool` again in N seconds"
        return
    if failure.next_step is not None:
        return
    names_tool = any(f"`{name}`" in failure.message for name in toolbox.names)
    if failure.retry.when == "after_fix" and failure.violations and not names_tool:
        yield "way-out", "a corrected call helps, and the message names no tool of this server"
    names_who = failure.error_id in failure.message or failure.exception.actor == "caller"
    if failure.retry.when == "never" and not names_tool and not names_who:
        yield "who", "nothing here helps, and the message does not say who has to act, with the error id"


def _refusals(bound: BoundOperation, scope: CallScope) -> Iterator[Failure]:
    """Yield the failures for arguments that stage 1 rejects, so that the handler never runs."""
    properties = bound.input_schema.get("properties", {})
    probes: list[dict[str, Any]] = [{}, {"no_such_parameter": 1}, *({name: {"wrong": []}} for name in properties)]
    probes += [{name: 3.5} for name in properties]
    for params in probes:
        call = Call(bound, params, scope)
        try:
            bound.arguments.validate(params)
        except ToolError as error:
            yield explain(error, call)


def _catalogue_failures(bound: BoundOperation, scope: CallScope) -> Iterator[Failure]:
    for kind in entries():
        for attempts in (0, 1):
            call = Call(bound, {}, scope)
            call.attempt = attempts
            yield explain(_sample(kind), call)


def _sample(kind: type[ToolError]) -> ToolError:
    """Return an error of the class with a sample value for every field that has no default."""
    needed: dict[str, Any] = {name: "sample" for name in kind.fields if name not in kind.field_defaults}
    try:
        return kind(**needed)
    except (TypeError, ValueError):
        return kind(message=f"A sample of {kind.code}.")
