"""`@operation`: turns a method of a toolset into an MCP tool whose every call goes through the chain."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    cast,
    get_type_hints,
    overload,
)

from typing_extensions import ParamSpec, TypedDict, TypeVar, Unpack

from failsoft.framework.answer.result import Result
from failsoft.framework.arguments.json_schema import JsonSchemaArguments
from failsoft.framework.arguments.marks import Parameter
from failsoft.framework.arguments.schemas import check_tool_name
from failsoft.framework.arguments.signature import SignatureArguments, check_annotations, read_parameters
from failsoft.framework.call import CallContext
from failsoft.framework.call.call import Call
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import check_options

if TYPE_CHECKING:
    from failsoft.framework.arguments import Arguments
    from failsoft.framework.call.bound import BoundOperation
    from failsoft.framework.call.chain import PlacedStrategy, RecoveryStrategy
    from failsoft.framework.call.toolset import BaseTool

P = ParamSpec("P", default=...)
R_co = TypeVar("R_co", covariant=True, default=Any)
"""The return value of the handler; for an async one, the coroutine."""
CONTEXTS = (Call, CallContext)
"""The classes of a handler's parameter that gets the call."""
Interface: TypeAlias = "tuple[Arguments, Result, tuple[Parameter, ...], str | None]"
"""The arguments that callers give, the result, the handler's parameters that are arguments (none with a JSON Schema of
the author's and `**arguments`), and the parameter that gets the `CallContext`."""


class OfferOptions(TypedDict, total=False):
    """The options that operations, resources and prompts share."""

    name: str | None
    title: str | None
    timeout: float | None


class Options(OfferOptions, total=False):
    """The options of `@operation`, which describes them."""

    read_only: bool
    destructive: bool | None
    idempotent: bool
    atomic: bool
    effects: bool
    open_world: bool | None
    verify_with: str | None
    recovery: Sequence[RecoveryStrategy | PlacedStrategy] | None
    confirm: bool | Literal["when destructive"]
    job: bool | Literal["required"]
    sensitive: bool


class Operation(Generic[P, R_co]):
    """The declaration of one operation, made by `@operation` in the class body.

    On an instance the attribute is a `BoundOperation`: calling it runs the chain and answers with a `ToolResponse`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        input_schema: Mapping[str, Any] | None = None,
        names: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> None:
        check_handler(function)
        check_annotations(function)
        self.function = function
        self.attribute = function.__name__
        self.name = options.get("name") or function.__name__
        self.title = options.get("title")
        self.description = inspect.cleandoc(function.__doc__ or "")
        self.read_only = options.get("read_only", False)
        self.destructive = options.get("destructive")
        self.idempotent = options.get("idempotent", False)
        self.atomic = options.get("atomic", False)
        self.effects = options.get("effects", False)
        self.open_world = options.get("open_world")
        self.verify_with = options.get("verify_with")
        self.timeout = options.get("timeout")
        self.recovery = options.get("recovery")
        self.confirm = options.get("confirm", False)
        self.job = options.get("job", False)
        self.sensitive = options.get("sensitive", False)
        self.input_schema = input_schema
        self.is_async = inspect.iscoroutinefunction(function)
        self.checks: list[Callable[..., Any]] = []
        self.reviews: list[Callable[..., Any]] = []
        self._names = dict(names or {})
        self._signature: tuple[SignatureArguments, Result, str | None] | None = None
        check_tool_name(self.name)
        self._check_options()
        self._hints = self._try_hints()

    def _check_options(self) -> None:
        problem, timeout = "", cast("Any", self.timeout)
        number = str(timeout).removesuffix("s").strip() if isinstance(timeout, str) else ""
        if timeout is not None and not (isinstance(timeout, (int, float)) and timeout is not True and timeout > 0):
            meant = f"; did you mean timeout={number}?" if number.isdecimal() else ""
            problem = f"timeout is a number of seconds above 0, not {timeout!r}{meant}"
        elif self.confirm not in (False, True, "when destructive"):
            problem = f"confirm is True, False or 'when destructive', not {self.confirm!r}"
        elif self.job not in (False, True, "required"):
            problem = f"job is True, False or 'required', not {self.job!r}"
        elif self.effects and self.read_only:
            problem = "it is read_only, so it has no effects to mark; remove effects=True"
        if problem:
            msg = f"{self.function.__qualname__}: {problem}"
            raise TypeError(msg)

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

    def interface(self, owner: str) -> Interface:
        """Return the arguments and the result of the operation.

        A signature is read once, which takes milliseconds; each toolset gets an input schema that it may complete.

        Args:
            owner: The class and the method, for messages.

        Raises:
            TypeError: MCP cannot represent the signature or a schema.
        """
        if self._signature is None:
            hints = self.hints()
            parameters, context, keywords = read_parameters(self.function, hints, CONTEXTS)
            if self.input_schema is not None:
                declared = JsonSchemaArguments(owner, self.input_schema, changes=not self.read_only)
                self._check_names(owner, declared.schema.get("properties", {}), context, takes_any=keywords is not None)
                return declared, Result(hints.get("return", Any)), tuple(parameters), context
            if keywords is not None:
                msg = f"{owner} takes **{keywords}: give it an input_schema, so that callers know what it accepts"
                raise TypeError(msg)
            arguments = SignatureArguments.from_parameters(owner, parameters)
            self._signature = arguments, Result(hints.get("return", Any)), context
        arguments, result, context = self._signature
        return arguments.copied(changes=not self.read_only), result, tuple(arguments.parameters), context

    def hints(self) -> dict[str, Any]:
        """Return the handler's type hints.

        Raises:
            TypeError: A name in an annotation is not defined.
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
        """Read the hints now, while local names are available; forward references wait until the tool is created."""
        try:
            hints = get_type_hints(self.function, localns=self._names, include_extras=True)
        except NameError:
            return None
        self._names = {}
        return hints

    def _check_names(self, owner: str, names: Iterable[str], context: str | None, *, takes_any: bool) -> None:
        """Reject a schema with a name that cannot be passed to the handler."""
        signature = inspect.signature(self.function).parameters
        itself = next(iter(signature.values()))
        taken = {context} if itself.kind is itself.POSITIONAL_ONLY else {context, itself.name}
        for name in names:
            if name in taken or not (takes_any or name in signature):
                msg = f"{owner} cannot be given '{name}', which its input schema lists; write `self, /`"
                raise TypeError(msg)


def check_handler(function: Any) -> None:
    """Reject functions that cannot run as a method with one return value.

    Raises:
        TypeError: A static or a class method, or one that yields.
    """
    if isinstance(function, (staticmethod, classmethod, property)) or not callable(function):
        msg = f"@operation decorates a {type(function).__name__}: it needs a method that takes `self`"
        raise TypeError(msg)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        msg = f"{function.__qualname__} yields: an operation returns one value; use report_progress for the way there"
        raise TypeError(msg)


@contextmanager
def located(function: Any) -> Iterator[None]:
    """Note on an error about a declaration which method it is, and in which file and line."""
    try:
        yield
    except (TypeError, ConfigurationError) as refused:
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is not None:
            refused.add_note(f"declared by {function.__qualname__}: {code.co_filename}:{code.co_firstlineno}")
        raise


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

    def __call__(self, function: Callable[..., Any], /) -> Operation: ...


@overload
def operation(function: Callable[Concatenate[Any, object, P], R_co], /) -> Operation[..., R_co]: ...


@overload
def operation(function: Callable[Concatenate[Any, Call, P], R_co], /) -> Operation[P, R_co]: ...


@overload
def operation(function: Callable[Concatenate[Any, P], R_co], /) -> Operation[P, R_co]: ...


@overload
def operation(*, input_schema: None = None, **options: Unpack[Options]) -> _Decorator: ...


@overload
def operation(*, input_schema: Mapping[str, Any], **options: Unpack[Options]) -> _SchemaDecorator: ...


def operation(
    function: Callable[..., Any] | None = None,
    /,
    *,
    input_schema: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Any:
    """Declare a method as an operation: an MCP tool that runs only through the chain.

    Args:
        function: The method, if used without arguments.
        input_schema: A JSON Schema for a handler that takes `**arguments`.
        **options: All optional:

            - `name`: The MCP tool name, by default the method's.
            - `title`: A name for people.
            - `read_only`: It changes nothing, so it may be run again, and failures always have `effect: none`.
            - `destructive`: It may delete or overwrite; by default not declared.
            - `idempotent`: Running it twice has the effect of once, so it may be run again.
            - `atomic`: If the handler raises, nothing was changed, as in a transaction: the failure has
              `effect: none`, and its idempotency key is released.
            - `effects`: The handler marks everything that it changes with `call.effect`: until the first mark nothing
              was changed, and it may be run again. Without it, a handler that changes something has begun at its start.
            - `open_world`: It accesses systems that this server does not control.
            - `verify_with`: The read-only operation that shows, by arguments of the same names, if the work was done.
            - `timeout`: The time limit of the whole call in seconds, above 0; by default that of the settings.
            - `recovery`: The strategies of this operation, in place of the runtime's; an empty list disables recovery.
            - `confirm`: The person who uses the client has to allow each call; one that is not allowed, or where nobody
              can be asked, fails with APPROVAL_REQUIRED. `"when destructive"`: only of operations that say
              `destructive=True`, or neither that nor `read_only`, unless a check sets `call.read_only`. The outcome of
              an earlier call, by its key or from a cache, is given without a question.
            - `job`: A call longer than FAILSOFT_JOB_INLINE_S gets a `job_id` and runs on; `"required"`: every call.
            - `sensitive`: What it is given is never captured for `failsoft replay` (FAILSOFT_CAPTURE).

    Raises:
        TypeError: There is no such option, the name is not allowed in MCP, the time-out is not above 0, or `effects`
            contradicts `read_only`.
    """
    check_options("@operation", options, [*Options.__optional_keys__, "input_schema"])
    frame = sys._getframe(1)  # noqa: SLF001 - local names of the class body, for annotations written as strings
    names = {**(frame.f_back.f_locals if frame.f_back is not None else {}), **frame.f_locals}

    def declare(function: Callable[..., Any]) -> Operation:
        with located(function):
            return Operation(function, input_schema=input_schema, names=names, **options)

    return declare if function is None else declare(function)


class Offer(Operation):
    """A read-only declaration that is not a tool."""

    def __init__(self, function: Callable[..., Any], names: Mapping[str, Any], **options: Unpack[OfferOptions]) -> None:
        super().__init__(function, names=names, read_only=True, open_world=False, **options)
