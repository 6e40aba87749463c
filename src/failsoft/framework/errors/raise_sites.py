"""Mistakes in code that raises errors, found in its source: unknown or missing fields, wrong next steps and effects."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

from failsoft.framework.errors.base import ToolError
from failsoft.framework.errors.raising import NextStep, as_effect, as_next_step, field_faults, wrong_types
from failsoft.framework.errors.violations import Violation

__all__ = ["raise_site_faults"]

_KEYWORDS = frozenset(
    {"message", "suggestions", "next_step", "retry_after_seconds", "effect", "details", "operator_hint", "violations"}
)
"""The keywords that every error takes."""
_UNKNOWN = object()
"""The value of an expression that is not a literal."""


Check: TypeAlias = Callable[[str, Mapping[str, Any]], Sequence[Violation]]
"""Returns the faults of a tool's arguments."""


def raise_site_faults(
    module: ModuleType, tools: Collection[str], check: Check | None = None
) -> Iterator[tuple[int, type[ToolError], str]]:
    """Yield line, class and finding for each mistake in constructing an error of the catalogue.

    Only classes that the module's names refer to are found, and only literal arguments are checked.

    Args:
        module: A module with source code; without it nothing is found.
        tools: The accepted names of tools in a next step.
        check: Checks the arguments of a next step; only their literal values are judged.
    """
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := _error_class(node.func, module)) is not None:
            yield from ((node.lineno, kind, fault) for fault in _faults(node, kind, module, tools, check))


def _named(expression: ast.expr, module: ModuleType) -> Any:
    """Return the object that a dotted name refers to in the module, or None."""
    if isinstance(expression, ast.Name):
        return vars(module).get(expression.id)
    if isinstance(expression, ast.Attribute) and (owner := _named(expression.value, module)) is not None:
        return vars(owner).get(expression.attr) if isinstance(owner, ModuleType) else None
    return None


def _error_class(expression: ast.expr, module: ModuleType) -> type[ToolError] | None:
    found = _named(expression, module)
    is_made_as_usual = isinstance(found, type) and issubclass(found, ToolError) and found.__init__ is ToolError.__init__
    return found if is_made_as_usual else None


def _faults(
    node: ast.Call, kind: type[ToolError], module: ModuleType, tools: Collection[str], check: Check | None
) -> Iterator[str]:
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    fields = {name: value for name, value in given.items() if name not in _KEYWORDS}
    is_whole = len(given) == len(node.keywords)  # no **more
    yield from field_faults(kind, fields, has_message="message" in given or bool(node.args) or not is_whole)
    literals = {name: found for name, value in fields.items() if (found := _literal(value)) is not _UNKNOWN}
    yield from wrong_types(kind, literals)
    effect = _literal(given["effect"]) if "effect" in given else None
    if effect is not _UNKNOWN:
        yield from as_effect(effect)[1]
    if "next_step" in given:
        yield from _step_faults(given["next_step"], module, tools)
        if check is not None:
            yield from _argument_faults(given["next_step"], module, tools, check)


def _step_faults(value: ast.expr, module: ModuleType, tools: Collection[str]) -> Iterator[str]:
    step: Any = _literal(value)
    if isinstance(value, ast.Dict) and step is _UNKNOWN:  # its arguments are made at run time, its keys are not
        step = {
            _literal(key): _literal(item) for key, item in zip(value.keys, value.values, strict=True) if key is not None
        }
        step["arguments"] = {}
    elif isinstance(value, ast.Call) and _named(value.func, module) is NextStep and value.args:
        tool = _literal(value.args[0])
        step = NextStep(tool) if isinstance(tool, str) else _UNKNOWN
    if step is _UNKNOWN or (isinstance(step, dict) and _UNKNOWN in (*step, step.get("tool"))):
        return
    found, faults = as_next_step(step)
    yield from faults
    if found is not None and found.tool not in tools:
        yield f"names the tool '{found.tool}' as next_step, which this server does not have"


def _argument_faults(value: ast.expr, module: ModuleType, tools: Collection[str], check: Check) -> Iterator[str]:
    """Yield what the named tool would refuse of the arguments, as far as the source shows them."""
    parts: dict[Any, ast.expr] = {}
    if isinstance(value, ast.Dict):
        parts = {_literal(key): item for key, item in zip(value.keys, value.values, strict=True) if key is not None}
    elif isinstance(value, ast.Call) and _named(value.func, module) is NextStep:
        parts = dict(zip(("tool", "arguments"), value.args, strict=False))
        parts |= {keyword.arg: keyword.value for keyword in value.keywords}
    tool: Any = _literal(parts["tool"]) if "tool" in parts else _UNKNOWN
    if not parts.keys() <= {"tool", "arguments"}:  # which is a finding of its own
        return
    given = parts.get("arguments", ast.Dict(keys=[], values=[]))
    if not isinstance(tool, str) or tool not in tools or not isinstance(given, ast.Dict) or None in given.keys:
        return
    arguments = {_literal(key): _literal(item) for key, item in zip(given.keys, given.values, strict=True) if key}
    if any(not isinstance(name, str) for name in arguments):
        return
    for fault in check(tool, arguments):
        is_known = fault.reason in {"missing", "unexpected"} or arguments.get(_top(fault.path)) is not _UNKNOWN
        if is_known:
            yield f"has a next_step that `{tool}` refuses: {_top(fault.path)} {fault.message or fault.reason}"


def _top(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _literal(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError):
        return _UNKNOWN
