"""Several processes, one exposition: counts are added up, live gauges end with their worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families as plain_families

from failsoft.metrics import PrometheusRecorder, render
from tests.zygote import PYTHON

CALLS = """
import os, sys
from failsoft.metrics import PrometheusRecorder
first, second = PrometheusRecorder(), PrometheusRecorder()
for number in range(int(sys.argv[1])):
    operation = (first, second)[number % 2].bind("docs", "get")
    operation.started()
    operation.attempted("ok")
    operation.finished("ok", 0.004)
operation = first.bind("docs", "get")
operation.started()
operation.failed("not_found", "DOC_NOT_FOUND")
operation.recovery("retry", "failed")
first.circuit_state("cache", "closed")
first.circuit_state("cache", "open")
first.retry_budget("cache", 4)
print(os.getpid())
"""
SCRAPE = """
import sys
from failsoft.metrics import PrometheusRecorder, forget_worker, render
if len(sys.argv) > 1:
    forget_worker(int(sys.argv[1]))
sys.stdout.buffer.write(render(PrometheusRecorder())[0])
"""
FULL_DISK = """
import os, sys
from failsoft.metrics import PrometheusRecorder
operation = PrometheusRecorder().bind("docs", "get")
import prometheus_client.values as values
def full(self, *arguments):
    raise OSError(28, "no space left on device")
values.ValueClass.inc = full
operation.started()
operation.attempted("ok")
operation.failed("internal", "NEW_CODE")
operation.finished("ok", 0.1)
"""
CALL = {"tool": "docs", "operation": "get"}


def environment(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path), "PROMETHEUS_MULTIPROC_DIR": str(folder), "PATH": os.environ["PATH"]}


def scraped(folder: Path, *arguments: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return what a worker of its own shows of all of them."""
    text = subprocess.run(
        [PYTHON, "-c", SCRAPE, *arguments],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in plain_families(text)
        for sample in family.samples
    }


def test_workers_add_up_and_a_dead_one_leaves_the_live_gauges(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [PYTHON, "-c", CALLS, str(count)], env=environment(tmp_path), stdout=subprocess.PIPE, text=True
        )
        for count in (30, 12)
    ]
    process_ids = [worker.communicate(timeout=60)[0].strip() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]

    seen = scraped(tmp_path)
    assert seen["mcp_tool_calls_total", frozenset({**CALL, "outcome": "ok"}.items())] == 42
    assert seen["mcp_tool_attempts_total", frozenset({**CALL, "result": "ok"}.items())] == 42
    assert seen["mcp_tool_call_duration_seconds_count", frozenset(CALL.items())] == 42
    assert (
        seen["mcp_tool_errors_total", frozenset({**CALL, "category": "not_found", "code": "DOC_NOT_FOUND"}.items())]
        == 2
    )
    assert seen["mcp_tool_inflight", frozenset(CALL.items())] == 2
    assert seen["mcp_circuit_state", frozenset({"dependency": "cache", "state": "open"}.items())] == 2
    assert seen["mcp_circuit_transitions_total", frozenset({"dependency": "cache", "to": "open"}.items())] == 2
    assert seen["mcp_retry_budget_tokens", frozenset({"dependency": "cache"}.items())] == 4  # they share it
    assert [count for (name, _), count in seen.items() if name == "mcp_build_info"] == [1]

    seen = scraped(tmp_path, process_ids[0])
    assert seen["mcp_tool_inflight", frozenset(CALL.items())] == 1
    assert seen["mcp_tool_calls_total", frozenset({**CALL, "outcome": "ok"}.items())] == 42


def test_a_worker_alone_shows_what_a_single_process_shows(tmp_path: Path) -> None:
    subprocess.run([PYTHON, "-c", CALLS, "4"], env=environment(tmp_path), check=True, timeout=60)
    single = PrometheusRecorder()
    operation = single.bind("docs", "get")
    for _ in range(4):
        operation.started()
        operation.attempted("ok")
        operation.finished("ok", 0.004)
    operation.started()
    operation.failed("not_found", "DOC_NOT_FOUND")
    operation.recovery("retry", "failed")
    single.circuit_state("cache", "closed")
    single.circuit_state("cache", "open")
    single.retry_budget("cache", 4)
    expected = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in plain_families(render(single)[0].decode())
        for sample in family.samples
    }
    assert scraped(tmp_path) == expected


def test_a_full_disk_does_not_fail_calls(tmp_path: Path) -> None:
    subprocess.run([PYTHON, "-c", FULL_DISK], env=environment(tmp_path), check=True, timeout=60)
