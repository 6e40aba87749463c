"""What only tells (logs, metrics, events, reports, alerts, progress) changes no answer, whatever it meets."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any

import pytest
from loguru import logger

from failsoft import (
    BaseTool,
    CallContext,
    ConfigurationError,
    Fallback,
    NotFound,
    RecoveryManager,
    Reference,
    Runtime,
    Settings,
    ToolError,
    configure_logging,
    operation,
)
from failsoft.events import Events
from failsoft.testing import without_recovery
from tests.doors import AlertDispatcher, CallScope
from tests.laws.test_containment import Lying, Silent, answered, circle, group

pytestmark = pytest.mark.anyio


def hostile(raised: type[BaseException], *, text: str = "__str__") -> type[Exception]:
    """Return a class of exceptions whose text cannot be had."""

    def refuse(_self: object) -> str:
        raise raised

    return type(f"No{text.strip('_').title()}", (Exception,), {"__str__": refuse, "__repr__": refuse, text: refuse})


def chained(cause: BaseException) -> BaseException:
    error = ValueError("outer")
    error.__cause__ = cause
    return error


KINDS: dict[str, Callable[[], BaseException]] = {
    "text exits": hostile(SystemExit),
    "text interrupts": hostile(KeyboardInterrupt),
    "text divides by zero": hostile(ZeroDivisionError),
    "text recurses": hostile(RecursionError),
    "representation raises": type("NoRepr", (Exception,), {"__repr__": lambda _self: 1 / 0}),
    "cause without a text": lambda: chained(hostile(SystemExit)()),
    "cycle of causes": circle,
    "huge text": lambda: ValueError("x" * 1_000_000),
    "lone surrogates": lambda: ValueError("\ud800{}{name}"),
    "breaks in every attribute": Silent,
    "lies about itself": Lying,
    "group of such": lambda: group(hostile(KeyboardInterrupt)(), ValueError("\udfff")),
    "exit": SystemExit,
    "cancelled by itself": asyncio.CancelledError,
}


class Bomb:
    """Raises at one place."""

    def __init__(self) -> None:
        self.place, self.make = "", Exception

    def __call__(self, place: str) -> None:
        if place == self.place:
            raise self.make()


bomb: Any = Bomb()


def look_up(_tool: Any, _value: str) -> None:
    bomb("reference")


class Notes(BaseTool):
    """Writes notes."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime=runtime)
        self.written: list[str] = []

    @operation
    async def write(self, text: Annotated[str, Reference(look_up)], context: CallContext) -> str:
        """Write a note."""
        bomb("handler")
        context.logger.info("A note", length=len(text))
        context.logger.bind(note=text).opt(exception=ValueError("no trouble")).debug("It is written")
        if bomb.place == "warning":
            context.warn(bomb.make())
        self.written.append(text)
        await context.report_progress(1, 2, "half")
        bomb("handler, when it is done")
        return text

    @operation
    def write_in_thread(self, text: str) -> str:
        """Write a note from a thread."""
        bomb("sync handler")
        self.written.append(text)
        return text

    @operation(read_only=True)
    async def fail(self) -> str:
        """Fail."""
        raise NotFound(message="There is no such note.")

    @operation(read_only=True)
    async def fail_critically(self) -> str:
        """Fail so that an alert is sent."""
        raise ConfigurationError(issue="nothing is set up")

    @operation(read_only=True, recovery=[Fallback(lambda _error, _call: "instead")])
    async def crash(self) -> str:
        """Crash, and answer all the same."""
        raise bomb.make()

    @write.check
    def look_before(self, text: str) -> None:
        bomb("check")

    @write.plausibility
    def look_after(self, result: Any) -> str | None:
        bomb("plausibility")
        return None

    @write.plausibility
    async def look_later(self, result: Any) -> None:
        bomb("async plausibility")

    async def on_failure(self, failure: Any, call: Any) -> None:
        bomb("on_failure")

    def failure_facts(self, error: ToolError, call: Any) -> None:
        bomb("failure_facts")


class Recorder:
    """A recorder that raises."""

    def bind(self, _tool: str, _operation: str) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return lambda *_: bomb("recorder")


class AlertSink:
    """An alert sink that raises."""

    name = "hostile"

    def send(self, failure: Any, *, suppressed: int) -> None:
        bomb("alert sink")


class Strategy:
    """A strategy that raises."""

    name = "strategy"

    async def attempt(self, error: ToolError, call: Any) -> None:
        bomb("strategy")


async def progress(_done: float, _total: float | None, _message: str | None) -> None:
    bomb("progress")


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("write", {"text": "a"}),
    ("write_in_thread", {"text": "b"}),
    ("write", {"text": 1}),
    ("fail", {}),
    ("fail_critically", {}),
    ("crash", {}),
    ("unknown", {}),
]
TELLING = [
    *("plausibility", "async plausibility", "listener", "recorder", "alert sink", "on_failure", "failure_facts"),
    *("progress", "strategy", "sink"),
]
"""Places that only tell, or come when the outcome is certain: they change nothing at all."""
OTHERS = ["handler", "handler, when it is done", "sync handler", "check", "reference", "warning"]


def json_sink() -> None:
    configure_logging("DEBUG", json_lines=True, stream=io.StringIO())


def text_sink() -> None:
    configure_logging("DEBUG", json_lines=False, stream=io.StringIO())


def bare_sink() -> None:
    """Add a sink of loguru's own that shows everything and catches nothing."""
    logger.add(io.StringIO(), level=0, format="{message} {extra}", backtrace=True, diagnose=True, catch=False)
    logger.enable("failsoft")


def refusing_sink() -> None:
    """Add a sink that raises whatever it is given."""

    def refuse(_message: Any) -> None:
        bomb.place, place = "sink", bomb.place
        try:
            bomb("sink")
        finally:
            bomb.place = place

    logger.add(refuse, level=0, catch=False)
    logger.enable("failsoft")


SINKS = [json_sink, text_sink, bare_sink, refusing_sink]


@contextmanager
def no_sinks() -> Iterator[None]:
    logger.remove()
    logger.disable("failsoft")
    yield
    logger.remove()
    logger.disable("failsoft")


async def told(place: str, kind: str, sink: Callable[[], Any] | None) -> tuple[list[Any], list[str]]:
    """Return what each call says of its outcome, and which notes were written."""
    bomb.place, bomb.make = place, KINDS.get(kind, Exception)
    events, alerts = Events(), AlertDispatcher([AlertSink()], dedup_s=0)
    events.subscribe(lambda _: bomb("listener"))
    manager = RecoveryManager()
    manager.register(NotFound, Strategy())
    parts = {"events": events, "alerts": alerts, "recovery": manager, "metrics": Recorder()}
    tool = Notes(Runtime(settings=Settings(), **parts))
    scope = CallScope(report_progress=progress)
    outcomes = []
    with ExitStack() as cleaning:
        cleaning.callback(alerts.close)
        cleaning.enter_context(no_sinks())
        if sink is not None:
            sink()
        for name, arguments in CALLS:
            bound = tool.operations.get(name)
            call = tool.execute_with_error_handling(name, arguments) if bound is None else bound.call(arguments, scope)
            outcomes.append((name, *_outcome(await answered(call))))
    bomb.place = ""
    return outcomes, tool.written


def _outcome(response: Any) -> tuple[Any, ...]:
    error = response.error
    if error is None:
        return True, response.data, tuple(response.metadata.warnings)
    message = error.message.replace(error.error_id, "ID")
    return False, error.code, error.effect, error.category, error.retry, message, error.next_step


@pytest.mark.parametrize("place", OTHERS)
@pytest.mark.parametrize(("number", "kind"), list(enumerate(KINDS)))
async def test_an_answer_is_the_same_with_and_without_log_sinks(place: str, kind: str, number: int) -> None:
    each_sink_in_turn = SINKS[(number + OTHERS.index(place)) % len(SINKS)]
    assert await told(place, kind, each_sink_in_turn) == await told(place, kind, None)


@pytest.mark.parametrize("place", TELLING)
@pytest.mark.parametrize(("number", "kind"), list(enumerate(KINDS)))
async def test_what_only_tells_changes_no_answer(place: str, kind: str, number: int) -> None:
    undisturbed = await told("", kind, None)
    each_sink_in_turn = SINKS[(number + TELLING.index(place)) % len(SINKS)]
    outcomes = await told(place, kind, each_sink_in_turn)
    assert outcomes == undisturbed
    assert outcomes[1] == ["a", "b"]
    assert [outcome[1] for outcome in outcomes[0][:2]] == [True, True]


@pytest.mark.parametrize("place", ["plausibility", "async plausibility", "progress", "on_failure"])
async def test_a_real_cancellation_passes(place: str) -> None:
    entered = asyncio.Event()

    async def wait(*_: Any) -> None:
        entered.set()
        await asyncio.Event().wait()

    class Waiting(Notes):
        on_failure = wait if place == "on_failure" else Notes.on_failure

        @Notes.write.plausibility
        async def look(self, result: Any) -> None:
            if "plausibility" in place:
                await wait()

    tool = Waiting(Runtime(settings=Settings()))
    scope = CallScope(report_progress=wait if place == "progress" else progress)
    name, arguments = ("fail", {}) if place == "on_failure" else ("write", {"text": "a"})
    with without_recovery(tool):
        calling = asyncio.ensure_future(tool.operations[name].call(arguments, scope))
        async with asyncio.timeout(60):
            await entered.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling


async def test_a_sink_of_the_application_gets_a_line_about_an_exception_without_a_text() -> None:
    stream = io.StringIO()
    bomb.place, bomb.make = "plausibility", hostile(SystemExit)
    with no_sinks():
        configure_logging("DEBUG", json_lines=True, stream=stream)
        response = await Notes(Runtime(settings=Settings())).write(text="a")
    bomb.place = ""
    assert response.success
    assert "A plausibility check failed" in stream.getvalue()
    assert "NoStr" in stream.getvalue()
