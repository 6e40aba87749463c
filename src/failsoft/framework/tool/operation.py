"""`@operation`: turns a method of a toolset into an MCP tool whose every call goes through the chain."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from failsoft.framework.call.call import Call
from failsoft.framework.tool.bound_operation import BoundOperation
from failsoft.framework.tool.declaration import Declaration

if TYPE_CHECKING:
    from failsoft.framework.call.recovery_port import PlacedStrategy, RecoveryStrategy
    from failsoft.framework.tool.base import BaseTool

__all__ = ["Operation", "operation"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
"""The return value of the handler; for an async one, the coroutine."""


class Operation(Declaration, Generic[P, R_co]):
    """The declaration of one operation, made by `@operation` in the class body.

    On an instance the attribute is a `BoundOperation`: calling it runs the chain and answers with a `ToolResponse`.
    """

    checks: list[Callable[..., Any]]
    reviews: list[Callable[..., Any]]

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    @overload
    def __get__(self, instance: None, owner: type) -> Operation[P, R_co]: ...
    @overload
    def __get__(self, instance: BaseTool, owner: type) -> BoundOperation[P, R_co]: ...
    def __get__(self, instance: BaseTool | None, owner: type) -> Operation[P, R_co] | BoundOperation[P, R_co]:
        return self if instance is None else cast("BoundOperation[P, R_co]", instance.bound(self))

    def check(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Register a stage 2 check: a method that takes some of the arguments by name and raises a typed error.

        A sync check runs in a worker thread; an async one is cheaper if it only computes.
        """
        self.checks.append(method)
        return method

    def plausibility(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Register a stage 3 check: `method(self, result)`, which returns warnings (strings) or None; see `check`."""
        self.reviews.append(method)
        return method

    def inherited_by(self, owner: type) -> Operation[P, R_co]:
        """Return the declaration for a subclass: a copy if it added checks, which its parent does not get."""
        added = set(map(id, vars(owner).values()))
        if added.isdisjoint(map(id, (*self.checks, *self.reviews))):
            return self
        copied = copy.copy(self)
        copied.checks, copied.reviews = list(self.checks), list(self.reviews)
        self.checks = [method for method in self.checks if id(method) not in added]
        self.reviews = [method for method in self.reviews if id(method) not in added]
        setattr(owner, self.attribute, copied)
        return copied


class _Decorator(Protocol):
    """The type of `@operation(...)`: a context as the first parameter is dropped from the signature.

    An untyped first parameter also matches a context, so that overload comes first and does not check arguments.
    """

    @overload
    def __call__(self, function: Callable[Concatenate[Any, object, P], R_co], /) -> Operation[..., R_co]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, Call, P], R_co], /) -> Operation[P, R_co]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], R_co], /) -> Operation[P, R_co]: ...


class _SchemaDecorator(Protocol):
    """The type of `@operation(input_schema=...)`: arguments and results are known at run time only."""

    def __call__(self, function: Callable[..., Any], /) -> Operation[..., Any]: ...


@overload
def operation(function: Callable[Concatenate[Any, object, P], R_co], /) -> Operation[..., R_co]: ...
@overload
def operation(function: Callable[Concatenate[Any, Call, P], R_co], /) -> Operation[P, R_co]: ...
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
    atomic: bool = False,
    effects: bool = False,
    open_world: bool | None = None,
    verify_with: str | None = None,
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
    atomic: bool = False,
    effects: bool = False,
    open_world: bool | None = None,
    verify_with: str | None = None,
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
    atomic: bool = False,
    effects: bool = False,
    open_world: bool | None = None,
    verify_with: str | None = None,
    timeout: float | None = None,
    recovery: Sequence[RecoveryStrategy | PlacedStrategy] | None = None,
    input_schema: Mapping[str, Any] | None = None,
) -> Any:
    """Declare a method as an operation: an MCP tool that runs only through the chain.

    Args:
        function: The method, if used without arguments.
        name: The MCP tool name, by default the method's.
        title: A name for people.
        read_only: It changes nothing, so it may be run again, and failures always have `effect: none`.
        destructive: It may delete or overwrite; by default not declared.
        idempotent: Running it twice has the effect of once, so it may be run again.
        atomic: If the handler raises, nothing was changed, as in a transaction: the failure has `effect: none`, and its
            idempotency key is released.
        effects: The handler marks everything that it changes with `call.effect`: until the first mark nothing was
            changed, and it may be run again. Without it, a handler that changes something is taken to have begun when
            it starts.
        open_world: It accesses systems that this server does not control.
        verify_with: The read-only operation that shows whether the work was done, for arguments of the same names.
        timeout: The time limit of the whole call in seconds, above 0; by default that of the settings.
        recovery: The strategies of this operation, which replace the runtime's; an empty list disables recovery.
        input_schema: A JSON Schema for a handler that takes `**arguments`.

    Raises:
        TypeError: The name is not allowed in MCP, the time-out is not above 0, or `effects` contradicts `read_only`.
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
            atomic=atomic,
            effects=effects,
            open_world=open_world,
            verify_with=verify_with,
            timeout=timeout,
            recovery=recovery,
            input_schema=input_schema,
            names=names,
        )

    return declare if function is None else declare(function)
