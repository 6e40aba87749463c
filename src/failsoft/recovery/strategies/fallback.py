"""`Fallback`: a substitute answer from a function when the call fails."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast, overload

from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.asking import has_no_outcome
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.call.time_limits import run_with_reserve
from failsoft.framework.errors import ApprovalRequired, ConfigurationError, InternalError, ToolError
from failsoft.framework.events import RecoveryOutcome
from failsoft.framework.safe.author_reports import logger
from failsoft.recovery.strategy import IN_CODE, note_recovery, strategy

_RESERVE_RATIO = 0.1
_RESERVE_AT_MOST_S = 1.0
_ASKS_FOR_ERROR = "error"
_ASKS_FOR_CALL = "call"
_Kinds: TypeAlias = type[ToolError] | Iterable[type[ToolError]] | None


@strategy
class Fallback:
    """Answers with the result of a function when everything else has failed; the answer says `degraded: true`.

    An operation that is not read-only falls back only while nothing can have been changed: a substitute would hide that
    the effect is unknown. If the function raises or returns an invalid value, the original error is returned.

    Args:
        function: Sync or async. Arguments are passed by parameter name: `error` the typed error, `call` the
            `Call`, `self` the toolset, any other name the argument of that name, `**arguments` the rest.
            A sync one runs in a worker thread; make it async if it has to work when all threads are busy.
        on: The error classes that it covers, one or several. None covers every error except those that the caller can
            fix or a person has to decide on: a missing page must not be replaced by another answer. Set in code.
        reserve_s: The part of the deadline reserved for the function, in seconds: the inner call is stopped that much
            earlier. None is a tenth of the call's limit, at most 1 second.

    Examples:
        >>> @operation(read_only=True, recovery=[Retry(), Fallback(lambda city: {"city": city, "celsius": None})])
        ... async def weather(self, city: str) -> dict[str, Any]: "Return the weather in a city."
    """

    name: ClassVar[str] = "fallback"
    added_in: ClassVar[str] = "code"
    function: Callable[..., Any] = field(metadata=IN_CODE)
    _: KW_ONLY
    on: _Kinds = field(default=None, metadata=IN_CODE)
    reserve_s: float | None = None

    if TYPE_CHECKING:  # type checkers infer the parameters of a lambda only for a fixed number of them

        @overload
        def __init__(
            self, function: Callable[[], Any], *, on: _Kinds = None, reserve_s: float | None = None
        ) -> None: ...
        @overload
        def __init__(
            self, function: Callable[[Any], Any], *, on: _Kinds = None, reserve_s: float | None = None
        ) -> None: ...
        @overload
        def __init__(
            self, function: Callable[[Any, Any], Any], *, on: _Kinds = None, reserve_s: float | None = None
        ) -> None: ...
        @overload
        def __init__(  # type: ignore[overload-cannot-match]  # functions with more parameters do
            self, function: Callable[..., Any], *, on: _Kinds = None, reserve_s: float | None = None
        ) -> None: ...
        def __init__(
            self, function: Callable[..., Any], *, on: _Kinds = None, reserve_s: float | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        given: object = self.function  # whatever the annotation says
        if not callable(given):
            msg = f"Fallback takes a function that returns the substitute, not {self.function!r}"
            raise TypeError(msg)
        if self.reserve_s is not None and not (self.reserve_s >= 0 and math.isfinite(self.reserve_s)):
            msg = f"Fallback needs a finite reserve_s >= 0, not {self.reserve_s}"
            raise ValueError(msg)
        if self.on is not None:
            kinds: tuple[Any, ...] = tuple(self.on) if isinstance(self.on, Iterable) else (self.on,)
            if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
                msg = f"Fallback takes one or several error classes, not on={self.on!r}"
                raise TypeError(msg)
            object.__setattr__(self, "on", kinds)

    def covers(self, error: ToolError) -> bool:
        """Return whether the fallback covers this error."""
        if self.on is not None:
            kinds = cast("tuple[type[ToolError], ...]", self.on)
            if isinstance(error, ApprovalRequired):  # what a person does not allow is not done in another way
                kinds = tuple(kind for kind in kinds if issubclass(kind, ApprovalRequired))
            return isinstance(error, kinds)
        return error.actor not in {"caller", "person"}

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link.

        Raises:
            CONFIG_ERROR: The function has a parameter that the operation does not have, or the reserve is all its time.
        """
        reserve_s = self._reserve(bound)
        return [Link(self.name, _falling_back(self, reserve_s, _Substitute(self.function, bound)), "fallback")]

    def _reserve(self, bound: BoundOperation) -> float:
        if bound.timeout_s is None:
            return 0.0
        if self.reserve_s is None:
            return min(_RESERVE_AT_MOST_S, bound.timeout_s * _RESERVE_RATIO)
        if self.reserve_s >= bound.timeout_s:
            raise ConfigurationError(
                issue=f"'{bound.name}' has {bound.timeout_s:g} seconds, and its Fallback reserves all of them",
                resolution="lower reserve_s, or raise the operation's timeout",
            )
        return self.reserve_s


class _Substitute:
    """The function with its parameters, inspected once."""

    def __init__(self, function: Callable[..., Any], bound: BoundOperation) -> None:
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)
        parameters = inspect.signature(function).parameters.values()
        self._names = [item.name for item in parameters if item.kind in {item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY}]
        self._takes_all = any(item.kind is item.VAR_KEYWORD for item in parameters)
        needed = {item.name for item in parameters if item.name in self._names and item.default is item.empty}
        known = {*bound.input_schema.get("properties", {}), _ASKS_FOR_ERROR, _ASKS_FOR_CALL, "self"}
        unknown = ", ".join(sorted(name for name in needed if _meant(name) not in known))
        if unknown:
            name = getattr(function, "__qualname__", repr(function))
            raise ConfigurationError(
                issue=f"the fallback {name} asks for {unknown}, which '{bound.name}' does not have"
            )

    async def value(self, error: ToolError, call: Call) -> Any:
        """Return the function's value, conformed to the operation's result type."""
        at_hand = {**call.arguments, _ASKS_FOR_ERROR: error, _ASKS_FOR_CALL: call, "self": call.toolset}
        given = {name: at_hand[_meant(name)] for name in self._names if _meant(name) in at_hand}
        if self._takes_all:
            given = {**call.arguments, **given}
        if self._is_async:
            value = await self._function(**given)
        else:
            value = await call.bound.threads.run(lambda: self._function(**given))
            if inspect.isawaitable(value):
                value = await value
        return call.bound.result.conform(value)


def _meant(name: str) -> str:
    """Return the name that a parameter refers to, without the underscore of unused ones (`_error`, `_call`)."""
    bare = name.removeprefix("_")
    return bare if bare in {_ASKS_FOR_ERROR, _ASKS_FOR_CALL} else name


def _falling_back(fallback: Fallback, reserve_s: float, substitute: _Substitute) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        try:
            return await run_with_reserve(call, proceed, reserve_s)
        except BaseException as raised:
            if call.expired or has_no_outcome(raised):
                raise
            call.error = call.typed(raised)
        # No local name for the error: its traceback holds this frame, so it would be a reference cycle.
        return await _substitute_or_raise(fallback, substitute, call)

    return step


async def _substitute_or_raise(fallback: Fallback, substitute: _Substitute, call: Call) -> Any:
    """Return the substitute for the call's error, or raise the error itself."""
    error: Any = call.error
    result, value = await _substituted(fallback, substitute, error, call)
    note_recovery(call, Fallback.name, result, error)
    if result == "recovered":
        said = f"Answered with a substitute, because of {error.code}"
        call.recovered(RecoveryReceipt(Fallback.name, said, call.attempt, {}, degraded=True))
        return value
    try:
        raise error
    finally:
        del error  # as above


async def _substituted(
    fallback: Fallback, substitute: _Substitute, error: ToolError, call: Call
) -> tuple[RecoveryOutcome, Any]:
    if not fallback.covers(error) or call.effect_of(error) != "none":
        return "skipped", None
    try:
        value = await substitute.value(error, call)
    except BaseException as raised:
        if call.expired or has_no_outcome(raised):
            raise
        logger.opt(exception=raised).error("A recovery strategy failed", strategy=Fallback.name)
        return "failed", None
    if error.category == InternalError.category:
        # The call succeeds, so the crash would not be logged anywhere else.
        logger.opt(exception=error).error("A fallback replaced the result of a crash", operation=call.operation)
    return "recovered", value
