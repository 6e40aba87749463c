"""The recorder: exact counts, bounded labels, nothing raised, and one exposition whichever way the numbers are kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition
from prometheus_client.parser import text_string_to_metric_families as plain_families

from failsoft import CircuitEvent, ConfigurationError, StateStoreEvent
from failsoft.events import BudgetEvent
from failsoft.metrics import PrometheusRecorder, render
from tests.doors import (
    ATTEMPTS,
    BUILD_INFO,
    CALLS,
    DEFINITIONS,
    DURATION,
    OTHER,
    Children,
    DependencyChildren,
    StateStoreChildren,
    make_families,
)

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
        "mcp_circuit_state": ("dependency", "state"),
        "mcp_circuit_transitions_total": ("dependency", "to"),
        "mcp_retry_budget_tokens": ("dependency",),
        "mcp_bulkhead_running": ("dependency",),
        "mcp_bulkhead_waiting": ("dependency",),
        "mcp_hedges_running": ("dependency",),
        "mcp_idempotency_leases": ("dependency",),
        "mcp_state_store_unavailable": (),
        "mcp_state_store_losses_total": (),
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


def test_slots_and_prometheus_own_children_expose_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the text format and in OpenMetrics; without the moments of creation, which workers do not have either."""
    monkeypatch.setattr("prometheus_client.metrics._use_created", False)
    recorder, registry = PrometheusRecorder(), CollectorRegistry()
    families = make_families(registry)
    for name in ("get", "list"):
        exercise(recorder.bind("docs", name))
        exercise(Children(families, "docs", name, 100))
    circuit = DependencyChildren(families, "cache")
    for state in ("closed", "open", "open", "half_open", "closed", "nonsense"):
        recorder.circuit_state("cache", state)
        circuit.enter(state)
    recorder.retry_budget("cache", 7.5)
    circuit.allow(7.5)
    store = StateStoreChildren(families)
    for available in (True, False, False, True, False):
        recorder.on_event(StateStoreEvent(available=available, reason="x"))
        store.note(is_available=available)
    versions = next(labels for name, labels in samples(recorder) if name == BUILD_INFO.name)
    families[BUILD_INFO].labels(**dict(versions)).set(1)
    assert render(recorder)[0] == generate_latest(registry)
    openmetrics: Any = exposition.generate_latest
    assert render(recorder, "application/openmetrics-text; version=1.0.0")[0] == openmetrics(registry)


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
        assert count == seen["mcp_tool_calls_total", frozenset({**CALL, "outcome": "ok"}.items())]
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
    for name in ("a", "b", "c", "d"):
        recorder.retry_budget(name, 5)
    assert series(recorder, "mcp_retry_budget_tokens", "dependency") == {("a",): 5, ("b",): 5, (OTHER,): 5}


def test_a_circuit_is_in_one_state_and_only_changes_count() -> None:
    recorder = PrometheusRecorder()
    for state in ("closed", "open", "open", "half_open", "open"):
        recorder.circuit_state("cache", state)
    assert series(recorder, "mcp_circuit_state", "state") == {("open",): 1}
    assert series(recorder, "mcp_circuit_transitions_total", "to") == {("open",): 2, ("half_open",): 1}


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


@pytest.mark.parametrize("make", ["slots", "children"])
def test_nothing_that_is_counted_wrongly_reaches_the_call(make: str) -> None:
    operation: Any = PrometheusRecorder().bind("docs", "get")
    if make == "children":
        operation = Children(make_families(None), "docs", "get", 100)
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


def test_sharing_that_cannot_work_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path / "gone"))
    with pytest.raises(ConfigurationError):
        PrometheusRecorder()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError):
        PrometheusRecorder()


def test_metrics_of_dependencies_come_from_events() -> None:
    recorder = PrometheusRecorder()
    for event in (
        CircuitEvent(dependency="api", state="closed", was=None, reason="made"),
        CircuitEvent(dependency="api", state="open", was="closed", reason="3 of 5 calls failed"),
        BudgetEvent(dependency="api", tokens=7.5),
    ):
        recorder.on_event(event)
    assert value(recorder, "mcp_circuit_state", dependency="api", state="open") == 1
    assert value(recorder, "mcp_circuit_state", dependency="api", state="closed") == 0
    assert value(recorder, "mcp_circuit_transitions_total", dependency="api", to="open") == 1
    assert value(recorder, "mcp_retry_budget_tokens", dependency="api") == 7.5


def test_a_lost_state_store_shows_until_it_is_found_again_and_is_counted() -> None:
    recorder = PrometheusRecorder()
    seen = []
    for available in (None, True, False, False, True, False):
        if available is not None:
            recorder.on_event(StateStoreEvent(available=available, reason="ConnectionError"))
        seen.append((value(recorder, "mcp_state_store_unavailable"), value(recorder, "mcp_state_store_losses_total")))
    assert seen == [(0, 0), (0, 0), (1, 1), (1, 1), (0, 1), (1, 2)]
