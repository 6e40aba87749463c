"""Events that an operator watches the log for: each has its name and keys, and one record.

Those of workers are published here; `tests/slow/crashes` has real workers start, stall and end.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft import (
    AuditLog,
    AuditLogFailed,
    BaseTool,
    CircuitBreaker,
    RecoveryManager,
    Runtime,
    Settings,
    Unavailable,
    configure_logging,
    operation,
)
from failsoft.errors import StateUnavailable
from failsoft.events import Events, StoreEvent, WorkerEvent
from failsoft.testing import InstantClock, connected
from tests.doors import AlertDispatcher, RepeatedDefects, log_events, open_state
from tests.ports import reserved_ports


class Away(BaseTool):
    """Works on something that is never there."""

    @operation(read_only=True)
    async def count(self, item: str) -> int:
        """Count what is there: a defect."""
        return 0 if item == "nothing" else {}[item]

    @operation(read_only=True, recovery=[CircuitBreaker("away")])
    async def fetch(self) -> int:
        """Fail."""
        raise Unavailable


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=stream)
    yield stream
    logger.remove()
    logger.disable("failsoft")


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


async def wait_for_nothing(url: str) -> Any:
    """Return the answer to a call over a store that cannot be reached."""
    events = Events()
    runtime = Runtime(settings=Settings(), events=events, state=open_state(url, events))
    async with connected(Away(runtime=runtime)) as client:
        answer = await client.call_tool("fetch", {})
    await runtime.state.close()
    return answer


def test_a_lost_store_is_one_record_that_says_which_fault(log: io.StringIO) -> None:
    with reserved_ports(1) as (port,):
        asyncio.run(wait_for_nothing(f"redis://127.0.0.1:{port}"))
    if not any("state store" in line["message"] for line in lines(log)):
        raise RuntimeError(log.getvalue())
    assert [line.get("fault") for line in lines(log) if line.get("event") == "store_lost"] == ["lost"]


def change_the_recovery_file(folder: Path, text: str) -> None:
    """Replace the recovery file of a running server, and wait until it was looked at."""
    file = folder / "recovery.toml"
    file.write_text("defaults.retry.attempts = 2")
    tool = Away(runtime=Runtime(settings=Settings(recovery_file=file), recovery=RecoveryManager()))

    async def main() -> None:
        async with connected(tool):
            file.write_text(text)
            await asyncio.sleep(3)

    InstantClock().run(main())


def test_a_recovery_file_that_is_not_loaded_is_one_record(log: io.StringIO, tmp_path: Path) -> None:
    change_the_recovery_file(tmp_path, "defaults.retri = true")
    if not any("defaults.retri" in line["message"] for line in lines(log)):
        raise RuntimeError(log.getvalue())
    assert [line["event"] for line in lines(log) if line.get("event") == "reload_failed"] == ["reload_failed"]


def test_a_recovery_file_for_one_operation_is_loaded_for_one_operation(log: io.StringIO, tmp_path: Path) -> None:
    change_the_recovery_file(tmp_path, "defaults.retry.attempts = 4")
    (message,) = [line["message"] for line in lines(log) if "reloaded" in line["message"]]
    assert "1 operations" not in message


def worker(kind: Any, **facts: Any) -> Callable[[Path], None]:
    """Return what publishes an event of a worker."""

    def publish(_folder: Path) -> None:
        events = Events()
        log_events(events)
        events.publish(WorkerEvent(kind=kind, pid=7, **facts))

    return publish


def lose_a_store_and_find_it(folder: Path) -> None:
    """Use a file whose name a folder has until it is removed."""
    (folder / "s.sqlite").mkdir()

    async def main() -> None:
        events, back = Events(), asyncio.Event()
        events.subscribe(lambda event: event.available and back.set(), StoreEvent)
        state = open_state(f"sqlite:{folder}/s.sqlite", events)
        await Away(runtime=Runtime(settings=Settings(), events=events, state=state)).fetch()
        (folder / "s.sqlite").rmdir()
        async with asyncio.timeout(30):
            await back.wait()
        await state.close()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("failsoft.recovery.state.watched._FIRST_S", 0.05)
        asyncio.run(main())


def fail_to_audit(folder: Path) -> None:
    """Have two entries refused."""

    async def main() -> None:
        log = AuditLog(folder / "gone" / "log.jsonl", key=b"a key of sixteen", head_path=folder / "head")
        for _ in range(2):
            with pytest.raises(AuditLogFailed):
                await log.record({"code": "X"})
        log.close()

    asyncio.run(main())


def repeat_a_defect(_folder: Path, times: int = 12) -> None:
    """Fail calls by one defect, with successes in between."""

    async def main() -> None:
        tool = Away(runtime=Runtime(settings=Settings()))
        for number in range(times):
            await tool.execute_with_error_handling("count", {"item": "nothing" if number % 3 == 0 else "x"})

    asyncio.run(main())


EVENTS: dict[str, tuple[set[str], Callable[[Path], None]]] = {
    "worker_started": ({"pid"}, worker("started")),
    "worker_ended": ({"pid", "exit_status", "reason"}, worker("ended", exit_status=-9, reason="exited")),
    "worker_stalled": ({"pid", "operation"}, worker("stalled", operation="fetch")),
    "store_lost": ({"fault", "reason"}, lose_a_store_and_find_it),
    "store_back": ({"fault"}, lose_a_store_and_find_it),
    "audit_failed": ({"reason"}, fail_to_audit),
    "reload_failed": (set(), lambda folder: change_the_recovery_file(folder, "defaults.retri = true")),
    "defect_repeated": ({"tool", "operation", "code", "origin", "count", "error_id"}, repeat_a_defect),
}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_one_record_with_its_keys(log: io.StringIO, tmp_path: Path, name: str) -> None:
    keys, happen = EVENTS[name]
    happen(tmp_path)
    (line,) = [line for line in lines(log) if line.get("event") == name]
    assert keys <= line.keys()
    assert all(line[key] is not None for key in keys)


def test_a_repeated_defect_names_its_line(log: io.StringIO, tmp_path: Path) -> None:
    repeat_a_defect(tmp_path)
    (line,) = [line for line in lines(log) if line.get("event") == "defect_repeated"]
    assert line["origin"].startswith(f"{__file__}:")
    assert (line["operation"], line["code"], line["count"]) == ("count", "UNKNOWN_ERROR", 5)


def test_a_defect_is_told_again_after_ten_minutes_with_what_it_did_meanwhile(log: io.StringIO) -> None:
    now, sent = [0.0], []

    class Sink:
        name = "kept"

        def send(self, failure: Any, *, suppressed: int) -> None:
            sent.append((failure.message.partition(" calls")[0], suppressed))

    alerts = AlertDispatcher([Sink()], dedup_s=0.0)
    tool = Away(runtime=Runtime(settings=Settings()))
    failure = asyncio.run(tool.execute_with_error_handling("count", {"item": "x"})).error
    defects = RepeatedDefects(lambda: now[0])
    for moment in (*range(60), 700, 701):
        now[0] = float(moment)
        defects.count(failure, alerts)
    assert alerts.close()
    assert sent == [("The same defect has failed 5", 0), ("The same defect has failed 56", 0)]


@pytest.mark.parametrize(("url", "said"), [("sqlite:{}", "in this process alone"), (None, "do not use it")])
def test_a_lost_store_is_said_to_cost_what_it_does(log: io.StringIO, tmp_path: Path, url: Any, said: str) -> None:
    (tmp_path / "s.sqlite").mkdir()

    async def main() -> None:
        path = tmp_path / "s.sqlite"
        state = open_state(url and url.format(path), Events(), durable=path)
        with pytest.raises(StateUnavailable):
            await state.records(Away()).get("key:x")
        await state.close()

    asyncio.run(main())
    (line,) = [line for line in lines(log) if line.get("event") == "store_lost"]
    assert said in line["message"]
