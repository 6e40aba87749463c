"""What a scraper gets: the format it prefers, valid to outside judges, while calls go on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest
from prometheus_client import Counter
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from failsoft import CircuitEvent
from failsoft.events import StoreLatencyEvent
from failsoft.metrics import PrometheusRecorder, render, scrape
from tests.doors import Gauges

PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.2"
)
CACHE = Gauges()
CACHE.add("mcp_circuit_state", lambda: {("cache",): 2})
CACHE.add("mcp_retry_budget_tokens", lambda: {("cache",): 3.0})


def busy_recorder(operations: int = 3) -> PrometheusRecorder:
    recorder = PrometheusRecorder()
    for number in range(operations):
        operation = recorder.bind("docs", f"operation_{number}")
        operation.started()
        operation.attempted("ok")
        operation.finished("ok", 0.02)
        operation.started()
        operation.failed("not_found", "DOC_NOT_FOUND")
        operation.recovery("retry", "failed")
    recorder.on_event(CircuitEvent(dependency="cache", state="open", was="closed", reason="made up"))
    recorder.on_event(StoreLatencyEvent(0.001))
    recorder.watch(CACHE)
    return recorder


def without_process(body: bytes) -> tuple[bytes, ...]:
    """Return the lines but those about the process, which change all the time."""
    return tuple(line for line in body.splitlines() if b"process_" not in line)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0"),
        ("application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.9", "text/plain"),
        ("text/plain;q=0.1, application/openmetrics-text;version=1.0.0;q=0.5", "application/openmetrics-text"),
        (PROMETHEUS_3, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8"),
        ("application/openmetrics-text;q=0", "text/plain"),
        ("application/openmetrics-text;version=x", "text/plain"),
        ("application/openmetrics-text;version=x;q=y,,;;=", "text/plain"),
        ("application/openmetrics-text;q=nan, " + "a," * 100_000, "text/plain"),
        ("text/html", "text/plain"),
        ("*/*", "text/plain"),
        ("", "text/plain"),
        (None, "text/plain"),
    ],
)
def test_the_format_is_the_one_the_scraper_prefers(accept: str | None, kind: str) -> None:
    body, content_type = render(busy_recorder(), accept)
    assert content_type.startswith(kind)
    parse = openmetrics_families if kind.startswith("application") else plain_families
    found = {sample.name for family in parse(body.decode()) for sample in family.samples}
    assert {"mcp_tool_inflight", "mcp_tool_calls_total", "mcp_tool_call_duration_seconds_bucket"} <= found


@pytest.mark.anyio
@pytest.mark.parametrize("accept", [None, "application/openmetrics-text; version=1.0.0"])
async def test_a_scrape_is_what_render_returns(accept: str | None) -> None:
    recorder = busy_recorder()
    scraped, rendered = await scrape(recorder, accept), render(recorder, accept)
    assert (without_process(scraped[0]), scraped[1]) == (without_process(rendered[0]), rendered[1])


@pytest.mark.anyio
async def test_a_scrape_is_rendered_in_a_thread_and_calls_go_on_meanwhile() -> None:
    """The registry waits in its thread until a call was counted, which only a free event loop can do."""
    recorder = busy_recorder()
    operation = recorder.bind("docs", "late")
    loop, asked, counted = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    class Slow:
        def collect(self) -> list[CounterMetricFamily]:
            loop.call_soon_threadsafe(asked.set)
            assert counted.wait(60)
            return []

        def describe(self) -> list[Any]:
            return []

    recorder.registry.register(Slow())
    scraping = asyncio.create_task(scrape(recorder))
    await asyncio.wait_for(asked.wait(), 10)
    operation.started()
    counted.set()
    await scraping
    assert 'mcp_tool_inflight{operation="late",tool="docs"} 1.0\n' in render(recorder)[0].decode()


@pytest.mark.anyio
async def test_several_scrapes_at_once_are_all_whole() -> None:
    recorder = busy_recorder(100)
    bodies = {without_process(body) for body, _ in await asyncio.gather(*(scrape(recorder) for _ in range(5)))}
    assert bodies == {without_process(render(recorder)[0])}


def test_what_else_is_on_the_registry_is_shown_too() -> None:
    recorder = busy_recorder()
    Counter("shop_orders_total", "Orders.", registry=recorder.registry).inc(3)
    assert "\nshop_orders_total 3.0\n" in render(recorder)[0].decode()


def test_promtool_finds_nothing_to_say(promtool: str) -> None:
    text = render(busy_recorder())[0]
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False, timeout=60)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_several_recorders_are_shown_as_one() -> None:
    first, second = busy_recorder(1), busy_recorder(2)
    Counter("shop_orders_total", "Orders.", registry=first.registry).inc(3)
    Counter("shop_orders_total", "Orders.", registry=second.registry).inc(3)
    text = render([first, second])[0].decode()
    found = {
        (sample.name, *sample.labels.values()): sample.value for one in plain_families(text) for sample in one.samples
    }
    assert found["mcp_tool_inflight", "operation_0", "docs"] == 2
    assert found["mcp_tool_inflight", "operation_1", "docs"] == 1
    assert found["mcp_circuit_state", "cache", "open"] == 1
    assert found["shop_orders_total",] == 3
    assert text.count("# TYPE mcp_build_info gauge") == text.count("\nmcp_build_info{") == 1


def test_the_process_is_shown() -> None:
    assert "\nprocess_resident_memory_bytes " in render(PrometheusRecorder())[0].decode()


def test_threads_that_a_handler_has_left_behind_are_shown() -> None:
    def threads() -> float:
        return next(
            sample.value
            for one in plain_families(render(PrometheusRecorder())[0].decode())
            for sample in one.samples
            if sample.name == "process_threads"
        )

    before, over = threads(), threading.Event()
    left = [threading.Thread(target=over.wait) for _ in range(100)]  # more than those of other tests that end meanwhile
    for thread in left:
        thread.start()
    assert threads() >= before + 50
    over.set()
    for thread in left:
        thread.join()


def test_the_files_of_a_process_that_may_open_no_more_are_shown() -> None:
    """When they are used up is when an operator asks for them."""
    script = """
import os, resource
from failsoft.metrics import PrometheusRecorder, render

recorder = PrometheusRecorder()
render(recorder)
soft = len(os.listdir("/proc/self/fd")) + 20
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
except OSError:
    print(render(recorder)[0].decode())
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout
    values = {sample.name: sample.value for one in plain_families(shown) for sample in one.samples}
    assert values["process_open_fds"] >= values["process_max_fds"] - 1
    assert values["process_threads"] >= 1


def test_a_call_of_a_sampled_trace_is_the_example_of_its_bucket_in_openmetrics_alone() -> None:
    recorder = PrometheusRecorder()
    operation = recorder.bind("docs", "read")
    operation.started()
    operation.finished("ok", 0.03)
    operation.exemplify(0.03, "0af7651916cd43dd8448eb211c80319c")
    text = render(recorder, PROMETHEUS_3)[0].decode()
    buckets = [
        sample
        for family in openmetrics_families(text)
        if family.name == "mcp_tool_call_duration_seconds"
        for sample in family.samples
        if sample.exemplar is not None
    ]
    assert [(sample.labels["le"], sample.exemplar.value) for sample in buckets] == [("0.05", 0.03)]
    assert buckets[0].exemplar.labels == {"trace_id": "0af7651916cd43dd8448eb211c80319c"}
    assert "trace_id" not in render(recorder)[0].decode()
