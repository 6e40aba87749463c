"""How toolsets start and stop together, and how a server lets its calls finish."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Any

import anyio
import pytest
from loguru import logger
from mcp import Client

from failsoft import AuditLog, BaseTool, CallContext, InitializationError, mcp_server, operation
from tests.doors import META_KEY, Lifecycle, assemble_server as assemble
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


class Noted(BaseTool):
    """Notes when it starts and stops."""

    def __init__(self, label: str, notes: list[str], *, start: Any = None, stop: Any = None) -> None:
        super().__init__()
        self.label = label
        self.notes = notes
        self.faults = {"start": start, "stop": stop}

    async def startup(self) -> None:
        await self._note("start")

    async def shutdown(self) -> None:
        await self._note("stop")

    async def _note(self, what: str) -> None:
        self.notes.append(f"{what} {self.label}")
        fault = self.faults[what]
        if fault == "hang":
            await anyio.sleep_forever()
        if fault is not None:
            raise fault

    @operation(read_only=True)
    async def noted(self) -> int:
        """Return a number."""
        return 1


class Writer(BaseTool):
    """Changes something."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.begun = asyncio.Event()

    @operation(verify_with="look")
    async def write(self) -> None:
        """Never finish."""
        self.begun.set()
        await anyio.sleep_forever()

    @operation()
    async def write_badly(self) -> None:
        """Fail."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @operation(read_only=True)
    async def look(self) -> str:
        """Return the state."""
        return "unknown"


def life(*tools: BaseTool, limit_s: float = 5.0) -> Lifecycle:
    return Lifecycle(tools, shutdown_limit_s=limit_s)


async def test_toolsets_start_in_order_and_stop_in_reverse() -> None:
    notes: list[str] = []
    async with life(Noted("a", notes), Noted("b", notes)).running() as lifecycle:
        phases = [lifecycle.phase]
    phases.append(lifecycle.phase)
    assert phases == ["ready", "stopped"]
    assert notes == ["start a", "start b", "stop b", "stop a"]


@pytest.mark.parametrize("fault", [OSError(), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_what_fails_to_start_stops_those_before_it_and_becomes_a_typed_error(fault: BaseException) -> None:
    notes: list[str] = []
    lifecycle = life(Noted("a", notes), Noted("b", notes, start=fault), Noted("c", notes))
    with pytest.raises(InitializationError) as caught:
        async with lifecycle.running():
            pytest.fail("the server must not start half")
    assert caught.value.code == "INIT_ERROR"
    assert caught.value.__cause__ is fault
    assert lifecycle.failure is caught.value
    assert notes == ["start a", "start b", "stop a"]
    assert not lifecycle.is_ready


async def test_a_start_that_is_cancelled_is_cancelled_and_stops_what_had_started() -> None:
    notes: list[str] = []
    lifecycle = life(Noted("a", notes), Noted("b", notes, start="hang"))
    with anyio.move_on_after(0) as scope:
        async with lifecycle.running():
            pytest.fail("the server must not start half")
    assert scope.cancelled_caught
    assert notes == ["start a", "start b", "stop a"]


@pytest.mark.parametrize("fault", [OSError(), SystemExit(1), "hang"])
async def test_a_toolset_that_does_not_stop_cleanly_does_not_keep_the_others(fault: Any) -> None:
    notes: list[str] = []
    async with life(Noted("a", notes), Noted("b", notes, stop=fault), limit_s=0.01).running():
        pass
    assert notes[-2:] == ["stop b", "stop a"]


async def test_toolsets_stop_even_when_the_server_is_cancelled() -> None:
    notes: list[str] = []
    with anyio.CancelScope() as scope:
        async with life(Noted("a", notes)).running():
            scope.cancel()
            await anyio.sleep_forever()
    assert notes == ["start a", "stop a"]


async def test_clients_in_memory_share_one_start_and_the_last_one_stops_it() -> None:
    notes: list[str] = []
    server = mcp_server(Noted("a", notes))
    async with Client(server, mode="2026-07-28") as first:
        async with Client(server, mode="2026-07-28"):
            pass
        assert notes == ["start a"]
        assert (await first.call_tool("noted")).is_error is False
    assert notes == ["start a", "stop a"]
    async with Client(server, mode="2026-07-28"):
        assert notes == ["start a", "stop a", "start a"]


async def test_nothing_in_flight_is_not_waited_for() -> None:
    lifecycle = life()
    with anyio.fail_after(60):
        await lifecycle.finish(3600)


async def test_finishing_waits_for_the_last_request() -> None:
    lifecycle = life()
    lifecycle.enter()
    lifecycle.enter()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(lifecycle.finish, 3600)
            await anyio.lowlevel.checkpoint()
            lifecycle.leave()
            await anyio.lowlevel.checkpoint()
            lifecycle.leave()
    assert lifecycle.in_flight == 0


async def cut_off(tool: Writer, name: str = "write", **meta: Any) -> dict[str, Any]:
    """Return the error of a call that the server does not wait for when it ends."""
    assembly = assemble(tool)
    answers: list[Any] = []
    with anyio.fail_after(60):
        async with Client(assembly.server, mode="2026-07-28") as client, anyio.create_task_group() as group:

            async def write() -> None:
                answers.append(await client.call_tool(name, meta=meta))
                assembly.lifecycle.leave()

            assembly.lifecycle.enter()
            group.start_soon(write)
            await tool.begun.wait()
            await assembly.lifecycle.finish(0)
    error: dict[str, Any] = answers[0].structured_content["error"]
    return error


async def test_a_changing_call_that_is_cut_off_says_that_its_effect_is_unknown_and_where_to_look() -> None:
    error = await cut_off(Writer())
    assert (error["code"], error["effect"], error["retry"]) == ("UNAVAILABLE", "unknown", {"when": "never"})
    assert error["next_step"] == {"tool": "look", "arguments": {}}


async def test_a_call_that_is_cut_off_is_counted_once_under_the_code_that_its_caller_gets() -> None:
    metrics = Recording()
    await cut_off(Writer(runtime=quiet_runtime(metrics=metrics)))
    assert metrics.events == [
        ("started",),
        ("attempted", "cancelled"),
        ("finished", "error"),
        ("failed", "unavailable", "UNAVAILABLE"),
    ]


class Trail:
    """An audit trail that never comes to an end of writing."""

    def __init__(self) -> None:
        self.writing = asyncio.Event()

    async def record(self, facts: Any) -> None:
        self.writing.set()
        await anyio.sleep_forever()

    def note(self, facts: Any) -> None:
        """Take no notice."""


async def test_a_call_that_is_cut_off_while_it_is_put_on_record_is_counted_once() -> None:
    metrics = Recording()
    tool = Writer(runtime=quiet_runtime(metrics=metrics))
    tool.audit = trail = Trail()
    tool.bind_operations()
    tool.begun = trail.writing
    error = await cut_off(tool, "write_badly")
    assert error["code"] == "UNAVAILABLE"
    assert [kind for kind, *_ in metrics.events].count("finished") == 1


class Books(Writer):
    """Writes what is put on record."""

    governed = True

    @operation(atomic=True)
    async def book(self) -> str:
        """Book something."""
        return "booked"

    @operation(effects=True)
    async def send(self, call: CallContext) -> str:
        """Send something."""
        return str(await call.effect("send", run=lambda: "sent"))


@pytest.mark.parametrize("name", ["book", "send"])
async def test_work_that_is_cut_off_while_it_is_put_on_record_may_have_been_done(name: str) -> None:
    for meta, advised in (({}, "never"), ({META_KEY: "key-1"}, "after_delay")):
        tool = Books(runtime=quiet_runtime())
        tool.audit = trail = Trail()
        tool.bind_operations()
        tool.begun = trail.writing
        error = await cut_off(tool, name, **meta)
        assert (error["code"], error["effect"], error["retry"]["when"]) == ("UNAVAILABLE", "unknown", advised)


# Audit logs.


async def test_audit_logs_are_opened_before_the_first_call_and_a_broken_one_keeps_no_server_down(tmp_path) -> None:
    good, bad = AuditLog(tmp_path / "audit-log.jsonl"), AuditLog(tmp_path / "gone" / "audit-log.jsonl")
    tools = [Noted("a", []), Noted("b", []), Noted("c", [])]
    for tool, log in zip(tools, (bad, good, good), strict=True):
        tool.audit = log
    said: list[str] = []
    sink = logger.add(lambda line: said.append(line.record["extra"].get("event", "")), level="ERROR")
    logger.enable("failsoft")
    async with Lifecycle(tools, shutdown_limit_s=30).running() as lifecycle:
        assert lifecycle.is_ready
        assert (tmp_path / "audit-log.jsonl").exists()
    logger.disable("failsoft")
    logger.remove(sink)
    assert said == ["audit_failed"]
