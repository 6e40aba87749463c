"""What an author checks: references and checks before the handler, plausibility after it, each made fit to run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeAlias

from failsoft.framework.arguments import Parameter
from failsoft.framework.context import CallContext
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.links.check import Check
from failsoft.framework.operation import Operation
from failsoft.framework.toolset import Toolset
from failsoft.framework.violations import Violation

__all__ = ["checks_of", "reviews_of"]

_NEVER_POSITIONAL = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
Found: TypeAlias = Iterator[tuple[str, Any]]
"""Values to look up, each with its path in the arguments."""


def checks_of(
    declaration: Operation[..., Any], tool: Toolset, parameters: list[Parameter], schema: dict[str, Any]
) -> list[Check]:
    """Return the checks of stage 2 in their order: references first, then the `@op.check` methods.

    Raises:
        TypeError: A check asks for what its operation does not take.
    """
    defaults = {item.name: item.default for item in parameters if item.default is not inspect.Parameter.empty}
    if declaration.input_schema is not None:
        defaults = {name: item.get("default") for name, item in schema.get("properties", {}).items()}
    known = {*defaults, *(item.name for item in parameters)}
    methods = _own(declaration.checks, tool)
    return [
        *(item for parameter in parameters for item in _references(parameter, tool)),
        *(_check(method, tool, defaults, known) for method in methods),
    ]


def reviews_of(declaration: Operation[..., Any], tool: Toolset) -> tuple[Callable[[CallContext, Any], Any], ...]:
    """Return the plausibility checks of stage 3 in their order."""
    return tuple(_review(method, tool) for method in _own(declaration.reviews, tool))


def _references(parameter: Parameter, tool: Toolset) -> Iterator[Check]:
    name = parameter.name

    def value(call: CallContext) -> Found:
        if call.arguments.get(name) is not None:
            yield name, call.arguments[name]

    def items(call: CallContext) -> Found:
        for place, item in enumerate(call.arguments.get(name) or ()):
            yield f"{name}.{place}", item

    for mark in parameter.references:
        yield _reference(value, _lookup(mark.lookup, tool))
    for mark in parameter.item_references:
        yield _reference(items, _lookup(mark.lookup, tool))


def _lookup(lookup: Callable[..., Any], tool: Toolset) -> Callable[[Any], Any]:
    parameters = inspect.signature(lookup).parameters.values()
    needed = [item for item in parameters if item.default is item.empty and item.kind not in _NEVER_POSITIONAL]
    wants_tool = len(needed) > 1
    return functools.partial(lookup, tool) if wants_tool else lookup


def _reference(find: Callable[[CallContext], Found], lookup: Callable[[Any], Any]) -> Check:
    examine = _await_each if _is_async(lookup) else _call_each

    def of(call: CallContext) -> Callable[[], Any] | None:
        found = list(find(call))
        return functools.partial(examine, lookup, found) if found else None

    return Check(of, is_async=_is_async(lookup))


async def _await_each(lookup: Callable[[Any], Any], found: Iterable[tuple[str, Any]]) -> None:
    for path, value in found:
        verdict = lookup(value)
        _accept(path, await verdict if inspect.isawaitable(verdict) else verdict)


def _call_each(lookup: Callable[[Any], Any], found: Iterable[tuple[str, Any]]) -> Any:
    """Look up values in a thread; what turns out to be async after all is returned for the loop to await."""
    remaining = iter(found)
    for path, value in remaining:
        verdict = lookup(value)
        if inspect.isawaitable(verdict):
            return _await_rest(lookup, path, verdict, remaining)
        _accept(path, verdict)
    return None


async def _await_rest(
    lookup: Callable[[Any], Any], path: str, verdict: Awaitable[Any], remaining: Iterable[tuple[str, Any]]
) -> None:
    _accept(path, await verdict)
    await _await_each(lookup, remaining)


def _accept(path: str, verdict: Any) -> None:
    """Take False for a value that leads nowhere: whoever writes a predicate means it."""
    if verdict is False:
        raise InvalidParameter.from_violations([Violation(path=path, reason="reference", message="leads nowhere")])


def _own(methods: Iterable[Callable[..., Any]], tool: Toolset) -> Iterator[Callable[..., Any]]:
    """Yield the checks of an operation, each as this toolset's class has it: a subclass may override them by name."""
    family = type(tool).__mro__
    for method in methods:
        name = method.__name__
        is_attribute = any(vars(kind).get(name) is method for kind in family)
        yield getattr(type(tool), name) if is_attribute else method


def _check(method: Callable[..., Any], tool: Toolset, defaults: dict[str, Any], known: set[str]) -> Check:
    parameters = dict(list(inspect.signature(method).parameters.items())[1:])
    context = next((name for name, item in parameters.items() if _is_context(item.annotation)), None)
    names = [name for name in parameters if name != context]
    for name in names:
        if name not in known and parameters[name].default is inspect.Parameter.empty:
            msg = f"{method.__qualname__} asks for '{name}', which the operation it checks does not take"
            raise TypeError(msg)

    def of(call: CallContext) -> Callable[[], Any]:
        at_hand = {**defaults, **call.arguments}
        values = {name: at_hand[name] for name in names if name in at_hand}
        if context is not None:
            values[context] = call
        return functools.partial(method, tool, **values)

    return Check(of, is_async=_is_async(method))


def _is_context(annotation: Any) -> bool:
    return annotation is CallContext or annotation == CallContext.__name__


def _review(method: Callable[..., Any], tool: Toolset) -> Callable[[CallContext, Any], Any]:
    is_async = _is_async(method)

    async def review(call: CallContext, value: Any) -> Any:
        work = functools.partial(method, tool, value)
        warnings = work() if is_async else await call.bound.threads.run(work)
        return await warnings if inspect.isawaitable(warnings) else warnings

    return review


def _is_async(function: Callable[..., Any]) -> bool:
    """Return whether calling it is no more than making a coroutine; the function may be an object's `__call__`."""
    called = getattr(type(function), "__call__", None)  # noqa: B004 - asked for itself, not to see whether there is one
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
