"""`@operation`: a method of a toolset becomes an MCP tool, and the only way to run it is through the chain."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    get_type_hints,
    overload,
)

from failsoft.framework.context import NO_SCOPE, CallContext, CallScope
from failsoft.framework.schemas import check_tool_name

if TYPE_CHECKING:
    from failsoft.framework.arguments import Parameter
    from failsoft.framework.chain import Chain, Link, Proceed
    from failsoft.framework.events import Events
    from failsoft.framework.failure import Failure
    from failsoft.framework.ports import Arguments, AuditTrail, OperationMetrics, RunBudget
    from failsoft.framework.recovery_port import PlacedStrategy, RecoveryStrategy
    from failsoft.framework.response import ToolResponse
    from failsoft.framework.result import Result
    from failsoft.framework.settings import Settings
    from failsoft.framework.state_port import StateStore
    from failsoft.framework.threads import ThreadPool
    from failsoft.framework.toolset import Toolset
    from failsoft.framework.wire.base import WireFormat

__all__ = ["BoundOperation", "Operation", "operation"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
"""What the handler returns; of an async one, the coroutine."""
T = TypeVar("T")


class Operation(Generic[P, R_co]):
    """The declaration of one operation, made by `@operation` in the class body.

    On an instance the attribute is a `BoundOperation`: calling it runs the chain and answers with a `ToolResponse`.
    """

    def __init__(  # noqa: PLR0913 - a declaration has as many facts as MCP knows of a tool
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        read_only: bool = False,
        destructive: bool | None = None,
        idempotent: bool = False,
        open_world: bool | None = None,
        timeout: float | None = None,
        recovery: Sequence[RecoveryStrategy | PlacedStrategy] | None = None,
        input_schema: Mapping[str, Any] | None = None,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        _check_handler(function)
        self.function = function
        self.attribute = function.__name__
        self.name = name or function.__name__
        check_tool_name(self.name)
        if timeout is not None and not timeout > 0:
            msg = f"{function.__qualname__}: timeout is in seconds and must be above 0, not {timeout}"
            raise TypeError(msg)
        self.title = title
        self.description = inspect.cleandoc(function.__doc__ or "")
        self.read_only = read_only
        self.destructive = destructive
        self.idempotent = idempotent
        self.open_world = open_world
        self.timeout = timeout
        self.recovery = recovery
        self.input_schema = input_schema
        self.is_async = inspect.iscoroutinefunction(function)
        self.checks: list[Callable[..., Any]] = []
        self.reviews: list[Callable[..., Any]] = []
        self._names = dict(names or {})
        self._hints = self._try_hints()

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    @overload
    def __get__(self, instance: None, owner: type) -> Operation[P, R_co]: ...
    @overload
    def __get__(self, instance: Toolset, owner: type) -> BoundOperation[P, R_co]: ...
    def __get__(self, instance: Toolset | None, owner: type) -> Operation[P, R_co] | BoundOperation[P, R_co]:
        return self if instance is None else cast("BoundOperation[P, R_co]", instance.bound(self))

    def check(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Register a stage 2 check: a method that takes some of the arguments by name and raises a typed error.

        One that is not async runs in a worker thread; an async one is cheaper where it only computes.
        """
        self.checks.append(method)
        return method

    def plausibility(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Register a stage 3 check: `method(self, result)`, which returns warnings (strings) or None; see `check`."""
        self.reviews.append(method)
        return method

    def inherited_by(self, owner: type) -> Operation[P, R_co]:
        """Return the declaration for a subclass: a copy if it added checks, so that its parent has none of them."""
        added = set(map(id, vars(owner).values()))
        if added.isdisjoint(map(id, (*self.checks, *self.reviews))):
            return self
        copied = copy.copy(self)
        copied.checks, copied.reviews = list(self.checks), list(self.reviews)
        self.checks = [method for method in self.checks if id(method) not in added]
        self.reviews = [method for method in self.reviews if id(method) not in added]
        setattr(owner, self.attribute, copied)
        return copied

    def hints(self) -> dict[str, Any]:
        """Return the handler's type hints.

        Raises:
            TypeError: A name in an annotation leads nowhere.
        """
        if self._hints is None:
            try:
                self._hints = get_type_hints(self.function, localns=self._names, include_extras=True)
            except NameError as error:
                msg = f"{self.function.__qualname__}: an annotation uses a name that is not defined: {error}"
                raise TypeError(msg) from error
            finally:
                self._names = {}
        return self._hints

    def _try_hints(self) -> dict[str, Any] | None:
        """Read the hints at once, while local names are at hand; a forward reference waits until the tool is made."""
        try:
            hints = get_type_hints(self.function, localns=self._names, include_extras=True)
        except NameError:
            return None
        self._names = {}
        return hints


def _check_handler(function: Any) -> None:
    """Refuse what can never run as a method that returns one value.

    Raises:
        TypeError: A static or a class method, or one that yields.
    """
    if isinstance(function, (staticmethod, classmethod, property)) or not callable(function):
        msg = f"@operation stands on a {type(function).__name__}: it needs a method that takes `self`"
        raise TypeError(msg)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        msg = f"{function.__qualname__} yields: an operation returns one value; use report_progress for the way there"
        raise TypeError(msg)


class BoundOperation(Generic[P, R_co]):
    """One operation of one toolset, linked: what a server offers and what a direct call runs."""

    def __init__(self, declaration: Operation[P, R_co], tool: Toolset, arguments: Arguments, result: Result) -> None:
        self.declaration = declaration
        self.tool = tool
        self.tool_name = tool.name
        self.name = declaration.name
        self.title = declaration.title
        self.description = declaration.description
        self.read_only = declaration.read_only
        self.destructive = declaration.destructive
        self.idempotent = declaration.idempotent
        self.open_world = declaration.open_world
        self.function = declaration.function
        self.is_async = declaration.is_async
        self.arguments = arguments
        self.result = result
        self.timeout_s: float | None = None
        self.reviews: tuple[Callable[[CallContext, Any], Any], ...] = ()
        self.parameters: tuple[Parameter, ...] = ()
        self.context_parameter: str | None = None
        self._spellings: dict[str, frozenset[str]] | None = None
        self.budget: RunBudget | None = None
        # Filled in by `failsoft.framework.binding`, which links the chain.
        self.audit: AuditTrail | None = None
        self.governed = False
        self.settings: Settings
        self.metrics: OperationMetrics
        self.threads: ThreadPool
        self.state: StateStore
        self.events: Events
        self.wire: WireFormat
        self.links: tuple[Link, ...] = ()
        self.strategies: tuple[str, ...] = ()
        self.proceed: Proceed
        self.clock: Callable[[], float]
        self.make_chain: Callable[[], Chain]

    # Were the two told apart by the decorator, mypy would see both in a handler that has `Any` somewhere.
    @overload
    def __call__(
        self: BoundOperation[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, ToolResponse[T]]: ...
    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, ToolResponse[R_co]]: ...
    async def __call__(self, /, *args: Any, **kwargs: Any) -> ToolResponse[Any]:
        """Run the operation with these arguments and return its answer; never raises for a failure of the tool."""
        params: dict[str, Any] = dict(kwargs)
        names = [parameter.name for parameter in self.parameters]
        for position, value in enumerate(args):
            # One too many, or one that is named besides: a name that stage 1 refuses.
            is_free = position < len(names) and names[position] not in kwargs
            params[names[position] if is_free else f"argument_{position + 1}"] = value
        return await self.call(params)

    def call(
        self,
        params: Mapping[str, Any] | None,
        scope: CallScope | None = None,
        *,
        handler: Callable[..., Any] | None = None,
    ) -> Awaitable[ToolResponse[Any]]:
        """Run the operation for a transport: arguments as received, and what is known about the caller."""
        given: Mapping[str, Any] = {} if params is None else params
        return self.proceed(CallContext(self, given, scope or NO_SCOPE, handler))

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.arguments.schema

    def output_schema(self, wire_format: str | None = None) -> dict[str, Any]:
        """Return the JSON Schema of the answer in its wire format, the shape of a failure included."""
        from failsoft.framework.wire import find_format  # noqa: PLC0415 - a format is looked up by name once

        wire = self.wire if wire_format is None else find_format(wire_format)
        return wire.output_schema(self.result.schema)

    @property
    def annotations(self) -> dict[str, bool]:
        """The MCP tool annotations, without the ones that were not declared."""
        declared = {
            "readOnlyHint": self.read_only,
            "destructiveHint": False if self.read_only else self.destructive,
            "idempotentHint": self.idempotent or self.read_only,
            "openWorldHint": self.open_world,
        }
        return {name: value for name, value in declared.items() if value is not None}

    def handler_arguments(self, call: CallContext) -> dict[str, Any]:
        """Return what the handler is called with."""
        if self.context_parameter is None:
            return call.arguments
        return {**call.arguments, self.context_parameter: call}

    def with_changes(self, params: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with changes in them, under any name of their parameters."""
        from failsoft.framework.spellings import spellings, with_changes  # noqa: PLC0415 - only a recovery needs it

        if self._spellings is None:
            self._spellings = spellings(self.parameters)
        return with_changes(params, changed, self._spellings)

    def describe(self) -> list[str]:
        """Return the names of the linked chain, outermost first; strategies stand behind `recover` in their order."""
        names: list[str] = []
        for link in self.links:
            names.append(link.name)
            if link.place == "recover":
                names += [f"recover:{strategy}" for strategy in self.strategies]
        return [*names, "handler"]

    def use(self, chain: Chain) -> None:
        """Send calls through this chain from now on; those under way finish on the one they began with."""
        self.links, self.strategies, self.timeout_s = chain.links, chain.strategies, chain.timeout_s
        self.proceed = chain.proceed

    def alert(self, failure: Failure) -> None:
        """Pass a critical failure on to the alert sinks, off this call's path."""
        if failure.exception.critical and not failure.recoverable and self.tool.runtime.alerts is not None:
            self.tool.runtime.alerts.dispatch(failure)


class _Decorator(Protocol):
    """What `@operation(...)` returns: a context that comes first is dropped from the signature.

    A first parameter that takes anything would pass for a context, so it stands before; its arguments go unchecked.
    """

    @overload
    def __call__(self, function: Callable[Concatenate[Any, object, P], R_co], /) -> Operation[..., R_co]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, CallContext, P], R_co], /) -> Operation[P, R_co]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], R_co], /) -> Operation[P, R_co]: ...


class _SchemaDecorator(Protocol):
    """What `@operation(input_schema=...)` returns: arguments and results are known at run time only."""

    def __call__(self, function: Callable[..., Any], /) -> Operation[..., Any]: ...


@overload
def operation(function: Callable[Concatenate[Any, object, P], R_co], /) -> Operation[..., R_co]: ...
@overload
def operation(function: Callable[Concatenate[Any, CallContext, P], R_co], /) -> Operation[P, R_co]: ...
@overload
def operation(function: Callable[Concatenate[Any, P], R_co], /) -> Operation[P, R_co]: ...
@overload
def operation(
    *,
    name: str | None = None,
    title: str | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: bool = False,
    open_world: bool | None = None,
    timeout: float | None = None,
    recovery: Sequence[RecoveryStrategy | PlacedStrategy] | None = None,
    input_schema: None = None,
) -> _Decorator: ...
@overload
def operation(
    *,
    name: str | None = None,
    title: str | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: bool = False,
    open_world: bool | None = None,
    timeout: float | None = None,
    recovery: Sequence[RecoveryStrategy | PlacedStrategy] | None = None,
    input_schema: Mapping[str, Any],
) -> _SchemaDecorator: ...
def operation(  # noqa: PLR0913 - the same facts, for the author to state
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: bool = False,
    open_world: bool | None = None,
    timeout: float | None = None,
    recovery: Sequence[RecoveryStrategy | PlacedStrategy] | None = None,
    input_schema: Mapping[str, Any] | None = None,
) -> Any:
    """Declare a method as an operation: one MCP tool, reached only through the chain.

    `@operation` alone is `@operation()`.

    Args:
        function: The method, where nothing else is said.
        name: The MCP tool name, by default the method's.
        title: A name for people.
        read_only: It changes nothing, so it may be run again and answers always say `effect: none`.
        destructive: It may delete or overwrite; left out, nothing is said about it.
        idempotent: Twice has the effect of once, so it may be run again.
        open_world: It reaches out to systems that this server does not control.
        timeout: The limit of the whole call in seconds, above 0; by default the one of the settings.
        recovery: The strategies for any error of this operation, in place of the runtime's; an empty list for none.
        input_schema: A JSON Schema for a handler that takes `**arguments`.

    Raises:
        TypeError: The name is not allowed in MCP, or the time-out is not above 0.
    """
    frame = sys._getframe(1)  # noqa: SLF001 - local names of the class body, for annotations written as strings
    names = {**(frame.f_back.f_locals if frame.f_back is not None else {}), **frame.f_locals}

    def declare(function: Callable[..., Any]) -> Operation[..., Any]:
        return Operation(
            function,
            name=name,
            title=title,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            timeout=timeout,
            recovery=recovery,
            input_schema=input_schema,
            names=names,
        )

    return declare if function is None else declare(function)
