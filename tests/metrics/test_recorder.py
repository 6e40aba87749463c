"""The recorder: exact counts, bounded labels, and one exposition whichever way the numbers are kept."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from failsoft.metrics import PrometheusRecorder, forget_worker, render, scrape
from failsoft.metrics.definitions import DEFINITIONS
from failsoft.metrics.recorder import OTHER

WORKER = """
import sys
from failsoft.metrics import PrometheusRecorder
operation = PrometheusRecorder().bind("docs", "get")
for _ in range(int(sys.argv[1])):
    operation.started()
    operation.attempted("ok")
    operation.finished("ok", 0.004)
operation.started()
operation.failed("not_found", "DOC_NOT_FOUND")
operation.recovery("retry", "failed")
"""


def _samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in plain_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def _exercise(recorder: PrometheusRecorder) -> None:
    operation = recorder.bind("docs", "get")
    for outcome, seconds in (("ok", 0.0005), ("ok", 0.001), ("error", 0.3), ("rejected", 400.0)):
        operation.started()
        operation.finished(outcome, seconds)
    operation.started()
    for result in ("ok", "ok", "timeout"):
        operation.attempted(result)
    operation.failed("not_found", "DOC_NOT_FOUND")
    operation.recovery("alternate_path", "recovered")


def test_every_defined_metric_is_exposed_with_its_exact_name_and_help() -> None:
    text = render(PrometheusRecorder())[0].decode()
    for metric in DEFINITIONS:
        assert f"# TYPE {metric.name} {metric.kind}\n" in text
        assert f"# HELP {metric.name} {metric.help}\n" in text


def test_a_call_is_counted_once_under_its_outcome_and_in_its_bucket() -> None:
    recorder = PrometheusRecorder()
    _exercise(recorder)
    samples = _samples(render(recorder)[0].decode())
    call = (("operation", "get"), ("tool", "docs"))

    def value(name: str, **labels: str) -> float:
        return samples[name, tuple(sorted((*call, *labels.items())))]

    assert value("mcp_tool_calls_total", outcome="ok") == 2
    assert value("mcp_tool_calls_total", outcome="rejected") == 1
    assert value("mcp_tool_attempts_total", result="timeout") == 1
    assert value("mcp_tool_errors_total", category="not_found", code="DOC_NOT_FOUND") == 1
    assert value("mcp_tool_recoveries_total", strategy="alternate_path", result="recovered") == 1
    assert value("mcp_tool_inflight") == 1
    assert value("mcp_tool_call_duration_seconds_bucket", le="0.001") == 2
    assert value("mcp_tool_call_duration_seconds_bucket", le="300.0") == 3
    assert value("mcp_tool_call_duration_seconds_count") == 4
    assert value("mcp_tool_call_duration_seconds_sum") == pytest.approx(400.3015)


def test_kept_children_and_slots_expose_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slots = PrometheusRecorder()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    children = PrometheusRecorder()
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR")
    _exercise(slots)
    _exercise(children)
    assert _samples(render(slots)[0].decode()) == _samples(render(children)[0].decode())


def test_eight_threads_lose_no_count() -> None:
    recorder = PrometheusRecorder()
    operation = recorder.bind("docs", "get")

    def work() -> None:
        for _ in range(5_000):
            operation.started()
            operation.attempted("ok")
            operation.finished("ok", 0.01)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    samples = _samples(render(recorder)[0].decode())
    call = (("operation", "get"), ("tool", "docs"))
    assert samples["mcp_tool_calls_total", (call[0], ("outcome", "ok"), call[1])] == 40_000
    assert samples["mcp_tool_call_duration_seconds_count", call] == 40_000
    assert samples["mcp_tool_inflight", call] == 0


def test_operations_beyond_the_limit_share_one_label() -> None:
    recorder = PrometheusRecorder(label_limit=2)
    for name in ("a", "b", "c", "d"):
        operation = recorder.bind("docs", name)
        operation.started()
        operation.finished("ok", 0.1)
    shown = {
        (dict(labels)["tool"], dict(labels)["operation"], value)
        for (name, labels), value in _samples(render(recorder)[0].decode()).items()
        if name == "mcp_tool_calls_total"
    }
    assert shown == {("docs", "a", 1), ("docs", "b", 1), (OTHER, OTHER, 2)}


def test_one_operation_bound_twice_has_one_recorder() -> None:
    recorder = PrometheusRecorder()
    assert recorder.bind("docs", "get") is recorder.bind("docs", "get")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text"),
        ("application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.9", "text/plain"),
        ("text/plain;q=0.1, application/openmetrics-text;version=1.0.0;q=0.5", "application/openmetrics-text"),
        ("application/openmetrics-text;q=0", "text/plain"),
        ("application/openmetrics-text;version=x;q=y,,;;=", "text/plain"),
        ("*/*", "text/plain"),
        (None, "text/plain"),
    ],
)
def test_the_format_is_the_one_the_scraper_prefers(accept: str | None, kind: str) -> None:
    recorder = PrometheusRecorder()
    _exercise(recorder)
    body, content_type = render(recorder, accept)
    assert content_type.startswith(kind)
    parse = openmetrics_families if kind.startswith("application") else plain_families
    assert "mcp_tool_inflight" in {family.name for family in parse(body.decode())}


@pytest.mark.anyio
async def test_a_scrape_is_rendered_in_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    recorder = PrometheusRecorder()

    def collect() -> list[object]:
        seen.append(threading.get_ident())
        return []

    monkeypatch.setattr(recorder.registry, "collect", collect)
    await scrape(recorder)
    assert seen
    assert threading.get_ident() not in seen


def test_workers_add_up_and_a_dead_one_leaves_the_live_gauges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(count)]) for count in (30, 12)]
    assert [worker.wait() for worker in workers] == [0, 0]
    recorder = PrometheusRecorder()
    call = (("operation", "get"), ("tool", "docs"))
    samples = _samples(render(recorder)[0].decode())
    assert samples["mcp_tool_calls_total", (call[0], ("outcome", "ok"), call[1])] == 42
    assert samples["mcp_tool_call_duration_seconds_count", call] == 42
    assert samples["mcp_tool_inflight", call] == 2
    forget_worker(workers[0].pid)
    samples = _samples(render(recorder)[0].decode())
    assert samples["mcp_tool_inflight", call] == 1
    assert samples["mcp_tool_calls_total", (call[0], ("outcome", "ok"), call[1])] == 42


def test_promtool_finds_nothing_to_say(promtool: str) -> None:
    recorder = PrometheusRecorder()
    _exercise(recorder)
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=render(recorder)[0], capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
