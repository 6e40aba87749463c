"""Nothing that a tool, or anything around it, raises or returns may leave a call as an exception."""

from __future__ import annotations

import asyncio
import math
from functools import cache
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, BeforeValidator, ValidationError, field_serializer

from failsoft import (
    BaseTool,
    DocumentNotFound,
    Middleware,
    NotFound,
    RateLimited,
    RecoveryManager,
    Reference,
    ToolError,
    ToolResponse,
    ValidationFailed,
    operation,
)
from tests.doors import CallScope
from tests.each import each
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio


class Silent(Exception):
    """Breaks in every attribute that is read."""

    def __str__(self) -> str:
        raise SystemExit

    __repr__ = __str__

    def __getattribute__(self, name: str) -> Any:
        raise KeyboardInterrupt(name)


class Lying(Exception):
    """Says that it is something else, and has a traceback of its own."""

    __class__ = property(lambda _self: 1 / 0)  # type: ignore[assignment]
    __traceback__ = property(lambda _self: 1 / 0)  # type: ignore[assignment]
    __cause__ = property(lambda _self: 1 / 0)  # type: ignore[assignment]


class HalfMade(NotFound):
    """An error whose author forgot what the base needs."""

    code = "TEST_HALF_MADE"

    def __init__(self) -> None: ...


class Mangled(NotFound):
    """An error whose author put other things where the base has its own."""

    code = "TEST_MANGLED"

    def __init__(self, **odd: Any) -> None:
        super().__init__(message="There is nothing here.")
        for name, value in odd.items():
            setattr(self, name, value)


def invalid() -> BaseException:
    try:
        Model(number="x")  # type: ignore[arg-type]
    except ValidationError as error:
        return error
    raise AssertionError


class Model(BaseModel):
    number: int


def group(*members: BaseException) -> BaseException:
    return BaseExceptionGroup("several", members)


def circle() -> BaseException:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    first.__context__, second.__context__ = second, first
    return first


RAISED: dict[str, Any] = {
    "value": lambda: ValueError("text"),
    "no class of ours": Exception,
    "exit": lambda: SystemExit(1),
    "interrupt": KeyboardInterrupt,
    "generator": GeneratorExit,
    "stop": StopIteration,
    "async stop": StopAsyncIteration,
    "cancelled": asyncio.CancelledError,
    "time-out": TimeoutError,
    "os": lambda: FileNotFoundError(2, "no such file", "/home/somebody/secret.txt"),
    "recursion": RecursionError,
    "memory": MemoryError,
    "surrogate": lambda: ValueError("\ud800"),
    "long": lambda: ValueError("x" * 1_000_000),
    "pydantic": invalid,
    "group": lambda: group(ValueError("a"), KeyError("b")),
    "group of exits": lambda: group(SystemExit(), GeneratorExit(), group(asyncio.CancelledError())),
    "circle": circle,
    "silent": Silent,
    "lying": Lying,
    "typed": lambda: DocumentNotFound(path="\ud800\u202e{}", suggestions=["`x`"], details={"a": math.nan}),
    "wait": lambda: RateLimited(retry_after_seconds=math.inf),
    "half made": HalfMade,
    "no text": lambda: Mangled(message=5, suggestions=[None, 5]),
    "odd effect": lambda: Mangled(effect="maybe"),
    "odd step": lambda: Mangled(next_step={"tool": "take"}),
    "odd violations": lambda: ValidationFailed(message="This is wrong.", violations=[{"path": "a"}]),  # type: ignore[list-item]
    "odd details": lambda: Mangled(details=object()),
    "odd wait": lambda: RateLimited(retry_after_seconds="5"),  # type: ignore[arg-type]
}


class Bomb:
    """Raises what it is armed with, wherever it is asked to."""

    def __init__(self) -> None:
        self.place = ""
        self.make: Any = None

    def __call__(self, place: str) -> None:
        if place == self.place:
            raise self.make()


bomb = Bomb()


def refer(_tool: Any, _value: str) -> None:
    bomb("sync reference")


async def refer_later(_value: str) -> None:
    bomb("async reference")


def look(value: Any) -> Any:
    bomb("validator")
    return value


class Fragile(BaseModel):
    number: int = 1

    @field_serializer("number")
    def write(self, number: int) -> int:
        bomb("serializer")
        return number


class Target(BaseTool):
    """Raises at the configured point."""

    @operation(idempotent=True)
    async def take(
        self,
        word: Annotated[str, BeforeValidator(look), Reference(refer)] = "a",
        others: list[Annotated[str, Reference(refer_later)]] | None = None,
    ) -> Fragile:
        """Return something."""
        bomb("async handler")
        return Fragile(number=len(word) + len(others or ()))

    @operation(read_only=True)
    def take_in_thread(self) -> list[int]:
        """Return something from a thread."""
        bomb("sync handler")
        return [1]

    @take.check
    def look_first(self, word: str) -> None:
        bomb("sync check")

    @take.check
    async def look_second(self, word: str) -> None:
        bomb("async check")

    @take.plausibility
    def look_after(self, result: Any) -> None:
        bomb("sync review")

    @take.plausibility
    async def look_later(self, result: Any) -> None:
        bomb("async review")


async def around(call: Any, proceed: Any) -> Any:
    bomb("middleware before")
    value = await proceed(call)
    bomb("middleware after")
    return value


class Strategy:
    name = "strategy"

    async def attempt(self, error: ToolError, call: Any) -> None:
        bomb("strategy")


@cache
def target(*, middleware: bool) -> Target:
    manager = RecoveryManager()
    manager.register(ToolError, Strategy())
    steps = [Middleware(name="around", run=around, before="check")] if middleware else []
    return Target(runtime=quiet_runtime(middleware=steps, recovery=manager, detail="full", debug_stack=True))


@cache
def plain_target() -> Target:
    return Target(runtime=quiet_runtime())


PLACES = [
    *("validator", "sync reference", "async reference", "sync check", "async check"),
    *("async handler", "sync handler", "given handler", "given sync handler", "sync review", "async review"),
    *("middleware before", "middleware after", "strategy", "serializer"),
]
HARMLESS = {"sync review", "async review"}
"""Places where the result is there already: what breaks there costs a remark, not the call."""


@pytest.mark.parametrize("place", PLACES)
@each("kind", RAISED)
async def test_whatever_is_raised_becomes_an_answer(place: str, kind: str) -> None:
    tool = target(middleware=place.startswith("middleware"))
    name = "take_in_thread" if place == "sync handler" else "take"
    params = {} if place == "sync handler" else {"word": "a", "others": ["b"]}

    async def given() -> None:
        bomb("given handler")

    handlers: dict[str, Any] = {"given handler": given, "given sync handler": lambda: bomb("given sync handler")}
    bomb.place, bomb.make = place, RAISED[kind]
    try:
        handler = handlers.get(place) or (_failing if place == "strategy" else None)
        call = tool.operations[name].call(params, CallScope(max_response_bytes=1_000_000), handler=handler)
        response = await answered(call)
        check_wellformed(response, tool.operations[name])
    finally:
        bomb.place = ""
    assert response.success is (place in HARMLESS)
    assert (await tool.execute_with_error_handling(name, params)).success
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def answered(call: Any) -> ToolResponse[Any]:
    """Return the answer. What leaves the call instead may break pytest itself, so only its name goes on."""
    leaked = ""
    try:
        return await call  # type: ignore[no-any-return]
    except BaseException as error:  # noqa: BLE001 - that is the question
        leaked = type(error).__qualname__
    pytest.fail(f"{leaked} left the call")


async def _failing() -> None:
    raise NotFound(message="There is no such thing.")


@each("kind", RAISED)
async def test_answers_in_production_give_nothing_away(kind: str) -> None:
    tool = plain_target()
    bomb.place, bomb.make = "async handler", RAISED[kind]
    try:
        wire = check_wellformed(await answered(tool.take()), tool.operations["take"])
    finally:
        bomb.place = ""
    assert not wire["error"].keys() & {"details", "cause", "stack_trace"}
    for secret in ("/home/somebody", "secret.txt", "Traceback"):
        assert secret not in str(wire)


class Odd:
    def __getattr__(self, name: str) -> Any:
        raise SystemExit(name)


cycle: list[Any] = []
cycle.append(cycle)

RETURNED: list[Any] = [
    math.nan,
    [math.inf, -math.inf],
    "\ud800",
    {"\ud800": "\udfff"},
    b"\xff",
    10**5_000,
    cycle,
    object(),
    Odd(),
    Odd,
    lambda: 1,
    (number for number in range(3)),
    {1: 2, None: 3, (1, 2): 4},
    ValueError("returned, not raised"),
    Fragile(),
    {1, "a"},
    "x" * 2_000_000,
]


class Returning(BaseTool):
    """Returns the configured value, whatever it declares."""

    value: Any = None

    @operation(read_only=True)
    async def anything(self) -> Any:
        """Return anything."""
        return self.value

    @operation(read_only=True)
    async def number(self) -> float:
        """Return a number."""
        return self.value  # type: ignore[no-any-return]

    @operation(read_only=True)
    async def text(self) -> str:
        """Return text."""
        return self.value  # type: ignore[no-any-return]

    @operation(read_only=True)
    async def model(self) -> Fragile:
        """Return a model."""
        return self.value  # type: ignore[no-any-return]

    @operation(read_only=True)
    async def listed(self) -> list[Any]:
        """Return a list."""
        return self.value  # type: ignore[no-any-return]

    @operation(read_only=True)
    async def mapping(self) -> dict[str, Any]:
        """Return a mapping."""
        return self.value  # type: ignore[no-any-return]

    @operation(read_only=True)
    async def nothing(self) -> None:
        """Return nothing."""
        return self.value  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["anything", "number", "text", "model", "listed", "mapping", "nothing"])
async def test_whatever_is_returned_becomes_an_answer(name: str) -> None:
    tool = Returning(runtime=quiet_runtime())

    @each("value", RETURNED)
    async def law(value: Any) -> None:
        tool.value = value
        response = await answered(tool.execute_with_error_handling(name, {}))
        check_wellformed(response, tool.operations[name])

    await law()


class Broken:
    """A recorder whose every method breaks, or only one of them."""

    def __init__(self, only: str = "") -> None:
        self.only = only

    def bind(self, _tool: str, _operation: str) -> Broken:
        return self

    def __getattr__(self, name: str) -> Any:
        def method(*_: Any) -> None:
            if self.only in {"", name}:
                msg = "the disk is full"
                raise OSError(msg)

        return method


@pytest.mark.parametrize("only", ["", "started", "finished", "attempted", "failed", "recovery"])
async def test_a_recorder_that_breaks_costs_no_answer(only: str) -> None:
    manager = RecoveryManager()
    manager.register(ToolError, Strategy())
    tool = Target(runtime=quiet_runtime(metrics=Broken(only), recovery=manager))
    for name, params, handler, code in [
        ("take", {}, None, None),
        ("take_in_thread", {}, None, None),
        ("take", {"word": 1}, None, "INVALID_PARAM"),
        ("take", {}, _failing, "NOT_FOUND"),
        ("nothing", {}, None, "UNKNOWN_TOOL"),
    ]:
        response = await answered(tool.execute_with_error_handling(name, params, handler))
        assert (response.error.code if response.error else None) == code
    waiting = asyncio.create_task(tool.execute_with_error_handling("take", {}, asyncio.Event().wait))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
