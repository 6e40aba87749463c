"""The recorder: exact counts, bounded labels, nothing raised, and gauges that are read at the scrape."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families as plain_families

from failsoft import CircuitEvent
from failsoft.events import AuditEvent, RefusalEvent, ReloadEvent, StoreEvent, StoreLatencyEvent, WorkerEvent
from failsoft.metrics import PrometheusRecorder, render
from tests.doors import ATTEMPTS, CALLS, DEFINITIONS, DURATION, OTHER, PRINCIPAL_CALLS, REPEATED_FAILURES, Gauges

CALL = {"tool": "docs", "operation": "get"}


def samples(recorder: PrometheusRecorder) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return every sample as Prometheus' own rules read it."""
    text = render(recorder)[0].decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in plain_families(text)
        for sample in family.samples
    }


def value(recorder: PrometheusRecorder, name: str, **labels: str) -> float | None:
    return samples(recorder).get((name, frozenset(labels.items())))


def series(recorder: PrometheusRecorder, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """Return the samples of a name that are not zero, by the labels that are named."""
    return {
        tuple(dict(found)[label] for label in labels): count
        for (found_name, found), count in samples(recorder).items()
        if found_name == name and count
    }


def exercise(operation: Any) -> None:
    for outcome, seconds in (("ok", 0.0005), ("ok", 0.001), ("error", 0.3), ("rejected", 400.0), ("cancelled", 0)):
        operation.started()
        operation.finished(outcome, seconds)
    operation.started()
    for result in ("ok", "ok", "timeout"):
        operation.attempted(result)
    operation.failed("not_found", "DOC_NOT_FOUND")
    operation.failed("not_found", "DOC_NOT_FOUND")
    operation.failed("internal", 'ODD"\\\n')
    operation.recovery("alternate_path", "recovered")


def test_every_metric_is_exposed_under_its_exact_name_and_help() -> None:
    text = render(PrometheusRecorder())[0].decode()
    for metric in DEFINITIONS:
        assert f"# TYPE {metric.name} {metric.kind}\n" in text
        assert f"# HELP {metric.name} {metric.help}\n" in text


def test_the_names_and_labels_are_those_of_the_contract() -> None:
    assert {metric.name: metric.labels for metric in DEFINITIONS} == {
        "mcp_tool_calls_total": ("tool", "operation", "outcome"),
        "mcp_tool_call_duration_seconds": ("tool", "operation"),
        "mcp_tool_errors_total": ("tool", "operation", "category", "code"),
        "mcp_tool_attempts_total": ("tool", "operation", "result"),
        "mcp_tool_recoveries_total": ("tool", "operation", "strategy", "result"),
        "mcp_tool_inflight": ("tool", "operation"),
        "mcp_principal_calls_total": ("principal", "outcome"),
        "mcp_repeated_failures_total": ("code",),
        "mcp_next_steps_total": ("code", "result"),
        "mcp_circuit_state": ("dependency", "state"),
        "mcp_circuit_transitions_total": ("dependency", "to"),
        "mcp_retry_budget_tokens": ("dependency",),
        "mcp_bulkhead_running": ("dependency",),
        "mcp_bulkhead_waiting": ("dependency",),
        "mcp_hedges_running": ("dependency",),
        "mcp_idempotency_leases": ("dependency",),
        "mcp_state_store_unavailable": ("fault",),
        "mcp_state_store_losses_total": (),
        "mcp_state_store_latency_seconds": (),
        "mcp_state_quota_used_ratio": (),
        "mcp_jobs": ("state",),
        "mcp_workers": (),
        "mcp_worker_restarts_total": ("reason",),
        "mcp_event_loop_lag_seconds": (),
        "mcp_threads_busy": (),
        "mcp_threads_waiting": (),
        "mcp_connections": (),
        "mcp_http_refused_total": ("status",),
        "mcp_audit_failures_total": (),
        "mcp_alert_failures_total": ("sink",),
        "mcp_recovery_reload_ok": (),
        "mcp_build_info": ("version", "python"),
    }
    assert DURATION.buckets[:4] == (0.001, 0.0025, 0.005, 0.01)
    assert DURATION.buckets[-3:] == (300.0, 900.0, 1_800.0)
    assert list(DURATION.buckets) == sorted(DURATION.buckets)


def test_a_call_is_counted_once_under_its_outcome_and_in_its_bucket() -> None:
    recorder = PrometheusRecorder()
    exercise(recorder.bind("docs", "get"))
    assert series(recorder, "mcp_tool_calls_total", "outcome") == {
        ("ok",): 2,
        ("error",): 1,
        ("rejected",): 1,
        ("cancelled",): 1,
    }
    assert series(recorder, "mcp_tool_attempts_total", "result") == {("ok",): 2, ("timeout",): 1}
    assert series(recorder, "mcp_tool_errors_total", "category", "code") == {
        ("not_found", "DOC_NOT_FOUND"): 2,
        ("internal", 'ODD"\\ '): 1,
    }
    assert series(recorder, "mcp_tool_recoveries_total", "strategy", "result") == {("alternate_path", "recovered"): 1}
    assert value(recorder, "mcp_tool_inflight", **CALL) == 1
    assert value(recorder, "mcp_tool_call_duration_seconds_bucket", **CALL, le="0.001") == 3
    assert value(recorder, "mcp_tool_call_duration_seconds_bucket", **CALL, le="0.2") == 3
    assert value(recorder, "mcp_tool_call_duration_seconds_bucket", **CALL, le="300.0") == 4
    assert value(recorder, "mcp_tool_call_duration_seconds_bucket", **CALL, le="+Inf") == 5
    assert value(recorder, "mcp_tool_call_duration_seconds_count", **CALL) == 5
    assert value(recorder, "mcp_tool_call_duration_seconds_sum", **CALL) == pytest.approx(400.3015)


def test_known_outcomes_and_results_are_there_before_the_first_call() -> None:
    recorder = PrometheusRecorder()
    recorder.bind("docs", "get")
    for outcome in CALLS.values:
        assert value(recorder, "mcp_tool_calls_total", **CALL, outcome=outcome) == 0
    for result in ATTEMPTS.values:
        assert value(recorder, "mcp_tool_attempts_total", **CALL, result=result) == 0


def test_a_bucket_holds_what_is_equal_to_its_bound() -> None:
    recorder = PrometheusRecorder()
    operation = recorder.bind("docs", "get")
    for bound in DURATION.buckets:
        operation.started()
        operation.finished("ok", bound)
    for number, bound in enumerate(DURATION.buckets, start=1):
        assert value(recorder, "mcp_tool_call_duration_seconds_bucket", **CALL, le=str(bound)) == number


def test_eight_threads_lose_no_count() -> None:
    recorder = PrometheusRecorder()
    operation = recorder.bind("docs", "get")

    def work() -> None:
        for number in range(5_000):
            operation.started()
            operation.attempted("ok")
            operation.failed("not_found", f"C{number % 3}")
            operation.recovery("retry", "failed")
            operation.finished("ok", 0.25)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen = samples(recorder)
        count = seen["mcp_tool_call_duration_seconds_count", frozenset(CALL.items())]
        assert abs(count - seen["mcp_tool_calls_total", frozenset({**CALL, "outcome": "ok"}.items())]) <= 8
    assert series(recorder, "mcp_tool_calls_total", "outcome") == {("ok",): 40_000}
    assert series(recorder, "mcp_tool_attempts_total", "result") == {("ok",): 40_000}
    assert sum(series(recorder, "mcp_tool_errors_total", "code").values()) == 40_000
    assert series(recorder, "mcp_tool_recoveries_total", "result") == {("failed",): 40_000}
    assert value(recorder, "mcp_tool_call_duration_seconds_sum", **CALL) == 10_000
    assert value(recorder, "mcp_tool_inflight", **CALL) == 0


def test_operations_beyond_the_limit_share_one_label() -> None:
    recorder = PrometheusRecorder(label_limit=2)
    for name in ("a", "b", "c", "d", "a"):
        operation = recorder.bind("docs", name)
        operation.started()
        operation.finished("ok", 0.1)
    assert series(recorder, "mcp_tool_calls_total", "tool", "operation") == {
        ("docs", "a"): 2,
        ("docs", "b"): 1,
        (OTHER, OTHER): 2,
    }


def test_codes_and_strategies_beyond_the_limit_share_one_label_within_their_operation() -> None:
    recorder = PrometheusRecorder(code_limit=2)
    for name in ("get", "list"):
        operation = recorder.bind("docs", name)
        for code in ("A", "B", "C", "D", "A"):
            operation.failed("internal", code)
            operation.recovery(code, "failed")
    for name in ("get", "list"):
        for metric, labels in (
            ("mcp_tool_errors_total", ("operation", "category", "code")),
            ("mcp_tool_recoveries_total", ("operation", "strategy", "result")),
        ):
            found = {key[1:]: count for key, count in series(recorder, metric, *labels).items() if key[0] == name}
            assert sorted(found.values()) == [1, 2, 2]
            assert found[OTHER, OTHER] == 2


def test_dependencies_beyond_the_limit_share_one_label() -> None:
    recorder = PrometheusRecorder(label_limit=2)
    kept = watched(recorder, {(name,): 5 for name in "abcd"}, name="mcp_retry_budget_tokens")
    assert series(recorder, "mcp_retry_budget_tokens", "dependency") == {("a",): 5, ("b",): 5, (OTHER,): 10}
    assert kept


def test_one_operation_bound_twice_has_one_recorder() -> None:
    recorder = PrometheusRecorder()
    assert recorder.bind("docs", "get") is recorder.bind("docs", "get")


def test_a_label_that_no_format_can_carry_is_made_printable_and_short() -> None:
    recorder = PrometheusRecorder()
    recorder.bind("do\ud800cs", "x" * 1_000)
    ((tool, operation),) = {
        (dict(labels)["tool"], dict(labels)["operation"])
        for name, labels in samples(recorder)
        if name == "mcp_tool_inflight"
    }
    assert (tool, len(operation)) == ("do\ufffdcs", 128)


def test_nothing_that_is_counted_wrongly_reaches_the_call() -> None:
    operation: Any = PrometheusRecorder().bind("docs", "get")
    operation.finished("no such outcome", 1.0)
    operation.finished("ok", "long")
    operation.finished("ok", None)
    operation.attempted(None)
    operation.attempted([])
    operation.failed(None, 7)
    operation.recovery(object(), [])
    operation.started()


def test_a_call_that_was_counted_wrongly_still_leaves_the_gauge() -> None:
    recorder = PrometheusRecorder()
    operation: Any = recorder.bind("docs", "get")
    operation.started()
    operation.finished("no such outcome", 1.0)
    assert value(recorder, "mcp_tool_inflight", **CALL) == 0


def test_a_registry_of_ones_own_shows_the_families_and_takes_them_once() -> None:
    registry = CollectorRegistry()
    recorder = PrometheusRecorder(registry)
    exercise(recorder.bind("docs", "get"))
    assert recorder.registry is registry
    assert registry.get_sample_value("mcp_tool_inflight", CALL) == 1
    restricted = list(registry.restricted_registry(["mcp_tool_inflight"]).collect())
    assert [(family.name, len(family.samples), family.samples[0].value) for family in restricted] == [
        ("mcp_tool_inflight", 1, 1)
    ]
    with pytest.raises(ValueError, match="mcp_tool_calls"):
        PrometheusRecorder(registry)


def test_recorders_do_not_meet_unless_they_share_a_registry() -> None:
    first, second = PrometheusRecorder(), PrometheusRecorder()
    first.bind("docs", "get").started()
    assert series(second, "mcp_tool_inflight", "tool") == {}
    assert "mcp_tool" not in generate_latest(prometheus_client.REGISTRY).decode()


def test_prometheus_client_is_loaded_by_the_first_scrape_and_not_by_counting() -> None:
    program = """
import sys
from failsoft.metrics import PrometheusRecorder, render
recorder = PrometheusRecorder()
recorder.bind("docs", "get").started()
assert "prometheus_client" not in sys.modules
render(recorder)
assert "prometheus_client" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True, timeout=60)


def test_what_else_happens_is_counted_from_events() -> None:
    recorder = PrometheusRecorder()
    for event in (
        CircuitEvent(dependency="api", state="closed", was=None, reason="made"),
        CircuitEvent(dependency="api", state="open", was="closed", reason="3 of 5 calls failed"),
        WorkerEvent(kind="started", pid=1),
        WorkerEvent(kind="stalled", pid=1, operation="shop.pay"),
        WorkerEvent(kind="ended", pid=1, exit_status=-9, reason="stalled"),
        WorkerEvent(kind="ended", pid=2, exit_status=3, reason="exited"),
        WorkerEvent(kind="ended", pid=3, exit_status=0, reason="stopped"),
        AuditEvent(ok=False, reason="full"),
        AuditEvent(ok=True),
        RefusalEvent(503),
        RefusalEvent(503),
        RefusalEvent(421),
        StoreLatencyEvent(0.0002),
        StoreLatencyEvent(9.0),
    ):
        recorder.on_event(event)
    assert value(recorder, "mcp_circuit_transitions_total", dependency="api", to="open") == 1
    assert value(recorder, "mcp_circuit_transitions_total", dependency="api", to="closed") == 0
    assert series(recorder, "mcp_worker_restarts_total", "reason") == {("exited",): 1, ("stalled",): 1}
    assert value(recorder, "mcp_audit_failures_total") == 1
    assert series(recorder, "mcp_http_refused_total", "status") == {("503",): 2, ("421",): 1}
    assert value(recorder, "mcp_state_store_latency_seconds_bucket", le="0.00025") == 1
    assert value(recorder, "mcp_state_store_latency_seconds_count") == 2
    assert value(recorder, "mcp_state_store_latency_seconds_sum") == pytest.approx(9.0002)


def test_a_reload_that_failed_shows_until_one_succeeds() -> None:
    recorder = PrometheusRecorder()
    seen = [value(recorder, "mcp_recovery_reload_ok")]
    for ok in (False, True):
        recorder.on_event(ReloadEvent(ok=ok))
        seen.append(value(recorder, "mcp_recovery_reload_ok"))
    assert seen == [1, 0, 1]


def test_losses_of_the_state_store_are_counted() -> None:
    lost, found = (StoreEvent(available=is_there, fault="lost", reason="x") for is_there in (False, True))
    recorder = PrometheusRecorder()
    seen = []
    for event in (None, found, lost, found, lost):
        if event is not None:
            recorder.on_event(event)
        seen.append(value(recorder, "mcp_state_store_losses_total"))
    assert seen == [0, 0, 1, 1, 2]


def test_what_has_no_event_is_counted_by_its_metric() -> None:
    recorder = PrometheusRecorder(label_limit=2)
    for principal, outcome in (("ann", "ok"), ("ann", "error"), ("bob", "ok"), ("eve", "ok"), ("dan", "no such")):
        recorder.count(PRINCIPAL_CALLS, principal, outcome)
    recorder.count(REPEATED_FAILURES, "OUTAGE")
    assert series(recorder, "mcp_principal_calls_total", "principal", "outcome") == {
        ("ann", "ok"): 1,
        ("ann", "error"): 1,
        ("bob", "ok"): 1,
        (OTHER, "ok"): 1,
    }
    assert series(recorder, "mcp_repeated_failures_total", "code") == {("OUTAGE",): 1}


def test_a_metric_without_open_labels_is_0_before_anything_happened() -> None:
    recorder = PrometheusRecorder()
    for name in (
        *("mcp_event_loop_lag_seconds", "mcp_threads_busy", "mcp_threads_waiting", "mcp_connections"),
        *("mcp_audit_failures_total", "mcp_state_quota_used_ratio", "mcp_state_store_losses_total"),
        "mcp_state_store_latency_seconds_count",
    ):
        assert value(recorder, name) == 0, name
    faults = [dict(labels)["fault"] for name, labels in samples(recorder) if name == "mcp_state_store_unavailable"]
    assert sorted(faults) == ["busy", "damaged", "denied", "full", "loading", "lost", "read_only"]
    assert value(recorder, "mcp_worker_restarts_total", reason="stalled") == 0
    assert value(recorder, "mcp_workers") == 1


def watched(recorder: PrometheusRecorder, *readings: Mapping[tuple[str, ...], float], name: str) -> list[Gauges]:
    """Let the recorder watch a runtime for each reading."""
    made = []
    for reading in readings:
        gauges = Gauges()
        gauges.add(name, lambda reading=reading: reading)
        recorder.watch(gauges)
        made.append(gauges)
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mcp_connections", 7.0), ("mcp_event_loop_lag_seconds", 4.0), ("mcp_recovery_reload_ok", 3.0)],
)
def test_gauges_of_several_runtimes_are_merged_by_their_meaning(name: str, expected: float) -> None:
    recorder = PrometheusRecorder()
    kept = watched(recorder, {(): 3.0}, {(): 4.0}, name=name)
    assert value(recorder, name) == expected
    kept.clear()
    gc.collect()
    assert value(recorder, name) in {0, 1}


def test_a_breaker_is_in_one_state_however_many_see_it() -> None:
    recorder = PrometheusRecorder()
    kept = watched(recorder, {("api",): 0}, {("api",): 2}, {("api",): 1}, name="mcp_circuit_state")
    assert series(recorder, "mcp_circuit_state", "dependency", "state") == {("api", "open"): 1}
    assert value(recorder, "mcp_circuit_state", dependency="api", state="closed") == 0
    assert len(kept) == 3


def test_a_gauge_without_a_definition_is_left_out() -> None:
    recorder = PrometheusRecorder()
    kept = watched(recorder, {(): 3.0}, name="mcp_no_such_thing")
    assert "no_such" not in render(recorder)[0].decode()
    assert kept
