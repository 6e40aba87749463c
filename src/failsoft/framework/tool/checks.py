"""An author's checks: references and checks before the handler, plausibility after it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from failsoft.framework.arguments.marks import NameKind
from failsoft.framework.arguments.signature import Parameter
from failsoft.framework.call.call import Call
from failsoft.framework.call.context import CallContext
from failsoft.framework.call.scope import FailedReference
from failsoft.framework.errors import InvalidParameter, ToolError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.pipeline.check import Check
from failsoft.framework.services.threads import runs_on_loop
from failsoft.framework.tool.operation import Operation

if TYPE_CHECKING:
    from failsoft.framework.tool.base import BaseTool

_NEVER_POSITIONAL = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
Found: TypeAlias = Iterator[tuple[str, Any]]
"""Values to look up, each with its path in the arguments."""


def checks_of(
    declaration: Operation, tool: BaseTool, parameters: Sequence[Parameter], schema: dict[str, Any]
) -> list[Check]:
    """Return the checks of stage 2 in their order: references first, then the `@op.check` methods.

    Raises:
        TypeError: A check has a parameter that its operation does not have.
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


def reviews_of(declaration: Operation, tool: BaseTool) -> tuple[Callable[[Call, Any], Awaitable[Any]], ...]:
    """Return the plausibility checks of stage 3 in their order."""
    return tuple(_review(method, tool) for method in _own(declaration.reviews, tool))


def _references(parameter: Parameter, tool: BaseTool) -> Iterator[Check]:
    name = parameter.name

    def value(call: Call) -> Found:
        if call.arguments.get(name) is not None:
            yield name, call.arguments[name]

    def items(call: Call) -> Found:
        for index, item in enumerate(call.arguments.get(name) or ()):
            yield f"{name}.{index}", item

    for find, marks in ((value, parameter.references), (items, parameter.item_references)):
        for mark in marks:
            if mark.lookup is not None:
                yield _reference(find, _lookup(mark.lookup, tool), mark.kind)


def _lookup(lookup: Callable[..., Any], tool: BaseTool) -> Callable[[Any], Any]:
    parameters = inspect.signature(lookup).parameters.values()
    needed = [item for item in parameters if item.default is item.empty and item.kind not in _NEVER_POSITIONAL]
    wants_tool = len(needed) > 1
    return functools.partial(lookup, tool) if wants_tool else lookup


def _reference(find: Callable[[Call], Found], lookup: Callable[[Any], Any], kind: NameKind) -> Check:
    is_async = runs_on_loop(lookup)

    def of(call: Call) -> Callable[[], Any] | None:
        found = list(find(call))
        if not found:
            return None
        search = _ReferenceSearch(lookup, kind, call)
        return functools.partial(search.await_each if is_async else search.call_each, found)

    return Check(of, is_async=is_async)


@dataclass(frozen=True, slots=True)
class _ReferenceSearch:
    """The look-up of some values of one call; records the first one that is not found."""

    lookup: Callable[[Any], Any]
    kind: NameKind
    call: Call

    async def await_each(self, found: Iterable[tuple[str, Any]]) -> None:
        for path, value in found:
            try:
                verdict = self.lookup(value)
                _accept(path, await verdict if inspect.isawaitable(verdict) else verdict)
            except ToolError as error:
                self._note(error, path, value)
                raise

    def call_each(self, found: Iterable[tuple[str, Any]]) -> Any:
        """Look up values in a thread; an awaitable result is returned, to be awaited on the loop."""
        remaining = iter(found)
        for path, value in remaining:
            try:
                verdict = self.lookup(value)
                if inspect.isawaitable(verdict):
                    return self._await_rest(path, value, verdict, remaining)
                _accept(path, verdict)
            except ToolError as error:
                self._note(error, path, value)
                raise
        return None

    async def _await_rest(
        self, path: str, value: Any, verdict: Awaitable[Any], remaining: Iterable[tuple[str, Any]]
    ) -> None:
        try:
            _accept(path, await verdict)
        except ToolError as error:
            self._note(error, path, value)
            raise
        await self.await_each(remaining)

    def _note(self, error: ToolError, path: str, value: Any) -> None:
        if self.call.failed_reference is None:  # later values are those of a strategy, not the caller's
            self.call.failed_reference = FailedReference(error, path, self.kind, value)


def _accept(path: str, verdict: Any) -> None:
    """Treat False as not found, for look-ups that are predicates."""
    if verdict is False:
        raise InvalidParameter.from_violations([Violation(path=path, reason="reference", message="leads nowhere")])


def _own(methods: Iterable[Callable[..., Any]], tool: BaseTool) -> Iterator[Callable[..., Any]]:
    """Yield the checks of an operation from this toolset's class: a subclass may override them by name."""
    family = type(tool).__mro__
    for method in methods:
        name = method.__name__
        is_attribute = any(vars(kind).get(name) is method for kind in family)
        yield getattr(type(tool), name) if is_attribute else method


def _check(method: Callable[..., Any], tool: BaseTool, defaults: dict[str, Any], known: set[str]) -> Check:
    parameters = dict(list(inspect.signature(method).parameters.items())[1:])
    context = next((name for name, item in parameters.items() if _is_context(item.annotation)), None)
    names = [name for name in parameters if name != context]
    for name in names:
        if name not in known and parameters[name].default is inspect.Parameter.empty:
            msg = f"{method.__qualname__} asks for '{name}', which the operation it checks does not take"
            raise TypeError(msg)

    def of(call: Call) -> Callable[[], Any]:
        at_hand = {**defaults, **call.arguments}
        values = {name: at_hand[name] for name in names if name in at_hand}
        if context is not None:
            values[context] = call
        return functools.partial(method, tool, **values)

    return Check(of, is_async=runs_on_loop(method))


def _is_context(annotation: Any) -> bool:
    return annotation in (Call, CallContext, Call.__name__, CallContext.__name__)


def _review(method: Callable[..., Any], tool: BaseTool) -> Callable[[Call, Any], Awaitable[Any]]:
    is_async = runs_on_loop(method)

    def review(call: Call, value: Any) -> Awaitable[Any]:
        return call.bound.threads.run_author(functools.partial(method, tool, value), is_async=is_async)

    return review
