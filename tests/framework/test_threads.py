"""Sync handlers run in daemon threads: with the caller's context, capped, and never waited for after a time-out."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, NotFound, Overloaded, operation
from tests.doors import CallScope, ThreadPool
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
BOUND_S = 60
"""How long a test waits for a thread at most."""


class Gate:
    """Holds threads until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.inside = threading.Semaphore(0)

    def pass_through(self) -> str:
        self.inside.release()
        self.opened.wait(BOUND_S)
        return "through"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


async def until(condition: Any) -> None:
    async with asyncio.timeout(BOUND_S):
        while not condition():  # noqa: ASYNC110 - threads set no event of the loop
            await asyncio.sleep(0.001)


class Sync(BaseTool):
    """Sync handlers."""

    gate: Gate

    @operation(read_only=True)
    def who(self) -> dict[str, Any]:
        """Return where and for whom this runs."""
        thread = threading.current_thread()
        found = {"tenant": tenant.get(), "daemon": thread.daemon, "main": thread is threading.main_thread()}
        tenant.set("changed in the thread")
        return found

    @operation(timeout=0.02)
    def hang(self) -> str:
        """Outlast the limit."""
        return self.gate.pass_through()

    @operation(read_only=True)
    def hold(self) -> str:
        """Hold a thread."""
        return self.gate.pass_through()

    @operation(read_only=True)
    def fail(self, kind: str) -> None:
        """Raise what is asked for."""
        raise {
            "exit": SystemExit(3),
            "generator": GeneratorExit(),
            "stop": StopIteration("value"),
            "async stop": StopAsyncIteration(),
            "interrupt": KeyboardInterrupt(),
            "typed": NotFound(message="There is no such thing."),
            "base": BaseException("base"),
            "group": BaseExceptionGroup("group", [SystemExit(), GeneratorExit()]),
        }[kind]

    @operation(read_only=True)
    def report(self, call: CallContext, steps: int) -> int:
        """Report progress from the thread."""
        for step in range(1, steps + 1):
            call.report_progress(step, steps, f"step {step}")
            call.report_progress(step - 1)
        return steps

    @operation(read_only=True)
    async def report_from_the_loop(self, call: CallContext, steps: int) -> int:
        """Report progress from the loop, some of it awaited."""
        for step in range(1, steps + 1):
            reported = call.report_progress(step, steps)
            if step % 2:
                await reported
        return steps


@pytest.fixture
def sync(gate: Gate) -> Sync:
    tool = Sync(runtime=quiet_runtime(max_threads=4, max_abandoned_threads=2))
    tool.gate = gate
    return tool


async def test_a_handler_runs_in_a_daemon_thread_with_the_callers_context(sync: Sync) -> None:
    tenant.set("somebody")
    assert (await sync.who()).data == {"tenant": "somebody", "daemon": True, "main": False}
    assert tenant.get() == "somebody"
    assert (await sync.who()).data == {"tenant": "somebody", "daemon": True, "main": False}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("exit", "UNKNOWN_ERROR"),
        ("generator", "UNKNOWN_ERROR"),
        ("stop", "UNKNOWN_ERROR"),
        ("async stop", "UNKNOWN_ERROR"),
        ("interrupt", "UNKNOWN_ERROR"),
        ("typed", "NOT_FOUND"),
        ("base", "UNKNOWN_ERROR"),
        ("group", None),
    ],
)
async def test_whatever_a_thread_raises_becomes_an_answer(sync: Sync, kind: str, code: str | None) -> None:
    response = await sync.fail(kind=kind)
    assert response.error is not None
    assert code in {None, response.error.code}
    assert (await sync.who()).success


async def test_threads_are_used_again(sync: Sync) -> None:
    before = threading.active_count()
    for _ in range(50):
        assert (await sync.who()).success
    assert threading.active_count() <= before + 1


async def test_a_call_that_finds_no_thread_fails_at_once(sync: Sync, gate: Gate) -> None:
    metrics = Recording()
    tool = Sync(runtime=quiet_runtime(metrics=metrics, max_threads=2))
    tool.gate = gate
    held = [asyncio.create_task(tool.hold()) for _ in range(2)]
    await until(lambda: gate.inside.acquire(blocking=False))
    await until(lambda: gate.inside.acquire(blocking=False))
    response = await tool.hold()
    assert response.error is not None
    assert (response.error.code, response.error.effect, response.error.rejected) == ("OVERLOADED", "none", True)
    assert response.error.retry.when == "after_delay"
    assert metrics.of("finished") == ["rejected"]
    assert metrics.of("attempted") == []
    gate.opened.set()
    assert [(await one).data for one in held] == ["through", "through"]
    assert (await tool.hold()).success


async def test_abandoned_threads_are_counted_capped_and_come_back(sync: Sync, gate: Gate) -> None:
    for number in range(2):
        response = await sync.hang()
        assert response.error is not None
        assert (response.error.code, response.error.effect) == ("DEADLINE_EXCEEDED", "unknown")
        assert sync.runtime.threads.abandoned == number + 1
    refused = await sync.hang()
    assert refused.error is not None
    assert refused.error.code == "OVERLOADED"
    gate.opened.set()
    await until(lambda: sync.runtime.threads.abandoned == 0)
    assert (await sync.who()).success


async def test_a_thread_that_cannot_be_started_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ThreadPool(limit=1)

    def refuse(_self: threading.Thread) -> None:
        msg = "can't start new thread"
        raise RuntimeError(msg)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            with pytest.raises(Overloaded):
                await pool.run(lambda: 1)
    assert await pool.run(lambda: 1) == 1


async def test_an_idle_thread_keeps_nothing_of_the_last_call() -> None:
    class Heavy:
        pass

    pool = ThreadPool()
    heavy = Heavy()
    gone = weakref.ref(heavy)
    assert await pool.run(lambda heavy=heavy: [heavy])  # type: ignore[misc]
    del heavy
    gc.collect()
    await until(lambda: gone() is None)


async def test_a_result_for_a_loop_that_is_gone_is_dropped(gate: Gate) -> None:
    pool = ThreadPool()

    def run() -> None:
        async def give_up() -> None:
            task = asyncio.create_task(pool.run(gate.pass_through))
            await until(lambda: gate.inside.acquire(blocking=False))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(give_up())

    await asyncio.to_thread(run)
    assert pool.abandoned == 1
    gate.opened.set()
    await until(lambda: pool.abandoned == 0)
    assert await pool.run(lambda: 2) == 2


class Reports:
    """Takes progress reports, and fails on the chosen ones."""

    def __init__(self, broken: int = 0) -> None:
        self.taken: list[float] = []
        self.broken = broken

    async def __call__(self, done: float, total: float | None, message: str | None) -> None:
        await asyncio.sleep(0)
        if done == self.broken:
            msg = "the client is gone"
            raise ConnectionError(msg)
        self.taken.append(done)


@pytest.mark.parametrize("name", ["report", "report_from_the_loop"])
@pytest.mark.parametrize("broken", [0, 2, 3])
async def test_progress_goes_up_and_never_fails_a_call(sync: Sync, name: str, broken: int) -> None:
    reports = Reports(broken)
    response = await sync.operations[name].call({"steps": 4}, CallScope(report_progress=reports))
    assert response.data == 4
    await until(lambda: len(reports.taken) == (3 if broken else 4))
    assert reports.taken == [step for step in range(1, 5) if step != broken]


@pytest.mark.parametrize("name", ["report", "report_from_the_loop"])
async def test_unrequested_progress_is_dropped(sync: Sync, name: str) -> None:
    assert (await sync.operations[name].call({"steps": 2})).data == 2


@pytest.mark.parametrize("how", ["async", "async object", "sync", "sync that returns a coroutine"])
async def test_a_function_of_an_author_runs_on_the_loop_if_it_is_async_and_in_a_thread_if_not(how: str) -> None:
    main = threading.current_thread()

    async def on_loop() -> bool:
        return threading.current_thread() is main

    class Callable:
        async def __call__(self) -> bool:
            return await on_loop()

    def in_thread() -> bool:
        return threading.current_thread() is main

    seen: list[bool] = []

    def returns_a_coroutine() -> Any:
        seen.append(in_thread())
        return on_loop()

    function = {"async": on_loop, "async object": Callable(), "sync": in_thread}.get(how, returns_a_coroutine)
    assert await ThreadPool(limit=1).run_author(function) is (how != "sync")
    assert seen == ([False] if how == "sync that returns a coroutine" else [])
