"""Several processes, one exposition: counts are added up, gauges merged by their meaning and gone with their worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as plain_families

from failsoft.metrics import PrometheusRecorder, render
from tests.doors import Board, Boards, use_board

WORKER = """
import sys
from pathlib import Path
from tests.doors import Gauges
from failsoft.metrics import PrometheusRecorder
from tests.doors import Board, use_board

count, slot = int(sys.argv[2]), int(sys.argv[3])
board = Board.create(Path(sys.argv[1]), slot=slot)
use_board(board)
recorders = PrometheusRecorder(), PrometheusRecorder()
for number in range(count):
    operation = recorders[number % 2].bind("docs", "get")
    operation.started()
    operation.attempted("ok")
    operation.finished("ok", 0.004)
operation.started()
operation.failed("not_found", "DOC_NOT_FOUND")
gauges = Gauges()
gauges.add("mcp_workers", lambda: {(): 1.0})
gauges.add("mcp_connections", lambda: {(): 2.0})
gauges.add("mcp_event_loop_lag_seconds", lambda: {(): float(slot)})
gauges.add("mcp_circuit_state", lambda: {("cache",): 2})
gauges.add("mcp_retry_budget_tokens", lambda: {("cache",): 4.0}, refresh=print)
for recorder in recorders[:1]:
    recorder.watch(gauges)
board.beat(phase="ready")
print("there", flush=True)
input()
"""
CALL = {"tool": "docs", "operation": "get"}


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Two workers, while this process has the board of a third."""
    started = []
    for slot, count in ((1, 30), (2, 12)):
        command = [sys.executable, "-c", WORKER, str(tmp_path), str(count), str(slot)]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, **pipes))
    for worker in started:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "there\n"
    use_board(Board.create(tmp_path, slot=0))
    yield started
    use_board(None)
    for worker in started:
        worker.kill()
        worker.communicate()


def scraped(recorder: PrometheusRecorder) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in plain_families(render(recorder)[0].decode())
        for sample in family.samples
    }


def value(seen: Any, name: str, **labels: str) -> Any:
    return seen.get((name, frozenset(labels.items())))


def test_a_scrape_of_one_worker_shows_all(workers: list[subprocess.Popen[str]]) -> None:
    own = PrometheusRecorder()
    operation = own.bind("docs", "get")
    operation.started()
    operation.finished("ok", 0.004)
    seen = scraped(own)
    assert value(seen, "mcp_tool_calls_total", **CALL, outcome="ok") == 43
    assert value(seen, "mcp_tool_attempts_total", **CALL, result="ok") == 42
    assert value(seen, "mcp_tool_call_duration_seconds_count", **CALL) == 43
    assert value(seen, "mcp_tool_errors_total", **CALL, category="not_found", code="DOC_NOT_FOUND") == 2
    assert value(seen, "mcp_tool_inflight", **CALL) == 2
    assert value(seen, "mcp_connections") == 4
    assert value(seen, "mcp_event_loop_lag_seconds") == 2
    assert value(seen, "mcp_circuit_state", dependency="cache", state="open") == 1
    assert value(seen, "mcp_circuit_state", dependency="cache", state="closed") == 0
    assert value(seen, "mcp_retry_budget_tokens", dependency="cache") is None  # this worker would ask the store
    assert value(seen, "mcp_workers") == 2
    assert [count for (name, _), count in seen.items() if name == "mcp_build_info"] == [1]
    for of_process in ("process_resident_memory_bytes", "process_threads"):
        slots = sorted(dict(labels)["worker"] for name, labels in seen if name == of_process)
        assert slots == ["0", "1", "2"]
    assert len(workers) == 2


def test_a_killed_worker_leaves_its_counts_alone(tmp_path: Path, workers: list[subprocess.Popen[str]]) -> None:
    own = PrometheusRecorder()
    workers[0].send_signal(signal.SIGKILL)
    workers[0].wait()
    for _ in range(2):
        seen = scraped(own)
        assert value(seen, "mcp_tool_calls_total", **CALL, outcome="ok") == 42
        assert value(seen, "mcp_tool_inflight", **CALL) == 1
        assert value(seen, "mcp_connections") == 2
        assert value(seen, "mcp_workers") == 1
        Boards(tmp_path).retire(1)


def test_a_worker_alone_shows_what_a_single_process_shows(tmp_path: Path) -> None:
    def used() -> dict[Any, float]:
        recorder = PrometheusRecorder()
        operation = recorder.bind("docs", "get")
        operation.started()
        operation.finished("ok", 0.004)
        operation.started()
        operation.failed("not_found", "DOC_NOT_FOUND")
        operation.recovery("retry", "failed")
        return {key: found for key, found in scraped(recorder).items() if not key[0].startswith("process_")}

    single = used()
    use_board(Board.create(tmp_path, slot=0))
    try:
        assert used() == single
    finally:
        use_board(None)


def test_promtool_finds_nothing_to_say(promtool: str, workers: list[subprocess.Popen[str]]) -> None:
    assert len(workers) == 2
    text = render(PrometheusRecorder())[0]
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False, timeout=60)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
