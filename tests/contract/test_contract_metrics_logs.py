"""Contract, section 6: what is counted under which labels, what is logged at which level, and what is alerted."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from loguru import logger
from prometheus_client.parser import text_string_to_metric_families

from failsoft import (
    BaseTool,
    CallContext,
    ConfigurationError,
    DocumentLoadError,
    NotFound,
    Public,
    RecoveryManager,
    RecoveryResult,
    Retry,
    Runtime,
    Settings,
    ToolError,
    Unavailable,
    configure_logging,
    operation,
)
from failsoft.metrics import PrometheusRecorder, render
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio


class Second:
    """Serves something else."""

    def __init__(self, *, degraded: bool) -> None:
        self.degraded = degraded

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        return RecoveryResult(2, "Took the second one.", degraded=self.degraded)


class KeyLost(NotFound):
    """A key is lost.

    Raised when: the tests say so.
    Caller: look for it.
    Operator: nothing to do.
    """

    lock: Public[str]
    sequence: str = ""
    code = "TEST_CONTRACT_KEY_LOST"
    message = "The key to '{lock}' is lost."


class Keys(BaseTool):
    """Keys."""

    def __init__(self, *, recovery: Any = None, alerts: Any = None, **settings: Any) -> None:
        self.recorder = PrometheusRecorder()
        self.began = asyncio.Event()
        manager = RecoveryManager({ToolError: recovery} if recovery else None)
        super().__init__(
            runtime=Runtime(settings=Settings(**settings), metrics=self.recorder, recovery=manager, alerts=alerts)
        )

    @operation(read_only=True)
    async def turn(self, call: CallContext, key: str) -> int:
        """Turn a key."""
        if key == "lost":
            raise KeyLost(lock="door", sequence="ACGT" * 50, details={"password": "hunter2-hunter2"})
        if key == "crash":
            raise RuntimeError("a text of the crash")
        if key == "config":
            raise ConfigurationError(issue="no lock")
        if key == "damaged":
            raise DocumentLoadError(path="a.md", reason="it is torn")
        if key == "stuck" and call.attempt < 3:
            raise Unavailable
        if key == "slow":
            self.began.set()
            await asyncio.sleep(60)
        if key == "rusty":
            call.warn("It is rusty.")
        return 1

    @operation(read_only=True, timeout=0.02)
    async def force(self) -> int:
        """Force it."""
        await asyncio.sleep(60)
        return 1

    def samples(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the samples above zero of one metric, by the values of its labels in order of their names."""
        text = render(self.recorder)[0].decode()
        return {
            tuple(sample.labels[label] for label in sorted(sample.labels)): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and sample.value
        }


# Metrics.


def test_the_metrics_have_the_names_and_labels_of_the_contract() -> None:
    text = render(Keys().recorder)[0].decode()
    families = {family.name for family in text_string_to_metric_families(text)}
    assert families == {
        "mcp_tool_calls",
        "mcp_tool_call_duration_seconds",
        "mcp_tool_errors",
        "mcp_tool_attempts",
        "mcp_tool_recoveries",
        "mcp_tool_inflight",
        "mcp_circuit_state",
        "mcp_circuit_transitions",
        "mcp_retry_budget_tokens",
        "mcp_build_info",
        *("mcp_workers", "mcp_worker_restarts", "mcp_event_loop_lag_seconds", "mcp_threads_busy"),
        *("mcp_threads_waiting", "mcp_connections", "mcp_http_refused", "mcp_audit_failures", "mcp_recovery_reload_ok"),
        *("mcp_state_store_unavailable", "mcp_state_store_latency_seconds", "mcp_state_quota_used_ratio", "mcp_jobs"),
        *("mcp_principal_calls", "mcp_repeated_failures", "mcp_next_steps"),
        *(family for family in families if family.startswith("process_")),
        # Beyond the contract:
        *("mcp_bulkhead_running", "mcp_bulkhead_waiting", "mcp_hedges_running", "mcp_idempotency_leases"),
        *("mcp_state_store_losses", "mcp_alert_failures"),
    }


@pytest.mark.parametrize(
    ("key", "recovery", "outcome"),
    [
        ("front", None, "ok"),
        ("lost", Second(degraded=False), "recovered"),
        ("lost", Second(degraded=True), "degraded"),
        ("lost", None, "error"),
        ("crash", None, "error"),
        (5, None, "rejected"),
    ],
)
async def test_a_call_is_counted_under_its_outcome(key: Any, recovery: Any, outcome: str) -> None:
    keys = Keys(recovery=recovery)
    await keys.execute_with_error_handling("turn", {"key": key})
    assert keys.samples("mcp_tool_calls_total") == {("turn", outcome, "keys"): 1}
    assert keys.samples("mcp_tool_call_duration_seconds_count") == {("turn", "keys"): 1}
    assert keys.samples("mcp_tool_inflight") == {}


async def test_a_cancelled_call_is_counted_as_one() -> None:
    keys = Keys()
    task = asyncio.ensure_future(keys.turn(key="slow"))
    await keys.began.wait()
    assert keys.samples("mcp_tool_inflight") == {("turn", "keys"): 1}
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert keys.samples("mcp_tool_calls_total") == {("turn", "cancelled", "keys"): 1}
    assert keys.samples("mcp_tool_attempts_total") == {("turn", "cancelled", "keys"): 1}


async def test_returned_errors_are_counted_by_category_and_code_bad_arguments_too() -> None:
    keys = Keys()
    await keys.turn(key="lost")
    await keys.execute_with_error_handling("turn", {})
    assert keys.samples("mcp_tool_errors_total") == {
        ("not_found", "TEST_CONTRACT_KEY_LOST", "turn", "keys"): 1,
        ("invalid_argument", "INVALID_PARAM", "turn", "keys"): 1,
    }


async def test_attempts_are_counted_by_their_result() -> None:
    keys = Keys(recovery=Retry(attempts=3, base_s=0.0, cap_s=0.0))
    await keys.turn(key="stuck")
    await keys.force()
    assert keys.samples("mcp_tool_attempts_total") == {
        ("turn", "error", "keys"): 2,
        ("turn", "ok", "keys"): 1,
        ("force", "timeout", "keys"): 1,
    }


async def test_recoveries_are_counted_by_strategy_and_result() -> None:
    keys = Keys(recovery=[Retry(attempts=2, base_s=0.0, cap_s=0.0), Second(degraded=True)])
    await keys.turn(key="lost")
    await keys.turn(key="stuck")
    assert keys.samples("mcp_tool_recoveries_total") == {
        ("turn", "skipped", "retry", "keys"): 1,
        ("turn", "failed", "retry", "keys"): 1,
        ("turn", "recovered", "second", "keys"): 2,
    }


async def test_no_text_of_a_caller_is_ever_a_label() -> None:
    keys = Keys()
    for number in range(50):
        await keys.execute_with_error_handling(f"made_up_{number}", {})
    assert "made_up" not in render(keys.recorder)[0].decode()


# Logs.


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return what is logged, as JSON lines."""
    stream = io.StringIO()
    sink = configure_logging("DEBUG", json_lines=True, stream=stream)
    yield stream
    logger.remove(sink)
    logger.disable("failsoft")


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    """Return what was logged, without what the alerts of an earlier test log from their thread."""
    found = [json.loads(line) for line in log.getvalue().splitlines()]
    return [line for line in found if not line["logger"].endswith(".alerts")]


def test_importing_logs_nothing_and_adds_no_sink() -> None:
    script = (
        "import failsoft, loguru, asyncio, sys\n"
        "class T(failsoft.BaseTool):\n"
        "    '''T.'''\n"
        "    @failsoft.operation(read_only=True)\n"
        "    async def f(self) -> int:\n"
        "        '''F.'''\n"
        "        raise RuntimeError\n"
        "asyncio.run(T().f())\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_an_application_logs_json_lines_to_standard_error() -> None:
    script = "import failsoft, loguru\nfailsoft.configure_logging('INFO')\nloguru.logger.info('hello')\n"
    ran = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == ""
    assert json.loads(ran.stderr)["message"] == "hello"


async def test_a_failed_call_is_one_line_with_everything_in_it(log: io.StringIO) -> None:
    response = await Keys().turn(key="lost")
    (line,) = lines(log)
    assert response.error is not None
    for name in ("tool", "operation", "code", "category", "error_id"):
        assert line[name] == getattr(response.error, name)
    assert (line["level"], line["environment"]) == ("WARNING", "production")
    assert (line["error_type"], line["numeric_code"]) == ("not_found_error", -32001)
    assert (line["recoverable"], line["recovered"]) == (True, False)
    assert line["details"]["lock"] == "door"
    assert {"timestamp", "service", "message", "request_id", "duration_ms"} <= set(line)
    assert "stack_trace" not in line


async def test_session_and_user_are_logged_where_there_are_any(log: io.StringIO) -> None:
    from failsoft import ErrorHandler  # noqa: PLC0415 - only here

    context = {"tool": "keys", "operation": "turn", "session_id": "s1", "principal": "me", "request_id": "r1"}
    await ErrorHandler().handle_error(KeyLost(lock="door"), context)
    (line,) = lines(log)
    assert (line["session_id"], line["user"], line["request_id"]) == ("s1", "me", "r1")


async def test_secrets_and_contents_are_never_logged(log: io.StringIO) -> None:
    await Keys().turn(key="lost")
    assert "hunter2" not in log.getvalue()
    assert "ACGTACGT" not in log.getvalue()


@pytest.mark.parametrize(
    ("key", "recovery", "settings", "levels"),
    [
        ("front", None, {}, ["DEBUG"]),
        ("rusty", None, {}, ["WARNING"]),
        ("front", None, {"slow_call_s": 1e-9}, ["WARNING"]),
        ("lost", None, {}, ["WARNING"]),
        ("crash", None, {}, ["ERROR"]),
        ("lost", Second(degraded=False), {}, ["INFO", "INFO"]),
        (5, None, {}, ["WARNING"]),
    ],
    ids=["plain", "warnings", "slow", "expected", "crash", "recovered", "refused"],
)
async def test_a_line_has_the_level_of_the_contract(
    key: Any, recovery: Any, settings: dict[str, Any], levels: list[str], log: io.StringIO
) -> None:
    await Keys(recovery=recovery, **settings).execute_with_error_handling("turn", {"key": key})
    assert [line["level"] for line in lines(log)] == levels


async def test_only_a_crash_is_logged_with_its_stack(log: io.StringIO) -> None:
    await Keys().turn(key="crash")
    (line,) = lines(log)
    assert "a text of the crash" in line["stack_trace"]


# Alerts.


class Hook(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    posted: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.posted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Return the address of a webhook, and what was posted to it."""
    posted: list[dict[str, Any]] = []
    with HTTPServer(("127.0.0.1", 0), type("Own", (Hook,), {"posted": posted})) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/alerts", posted
        server.shutdown()
        thread.join()


async def test_a_critical_failure_is_posted_once_to_the_webhook_of_the_settings(
    webhook: tuple[str, list[dict[str, Any]]],
) -> None:
    url, posted = webhook
    keys = Keys(alert_webhook_url=url)
    for _ in range(3):
        await keys.turn(key="config")
    for key in ("damaged", "lost", "crash"):
        await keys.turn(key=key)
    alerts = keys.runtime.alerts
    assert alerts is not None
    assert alerts.close()
    assert [(alert["code"], alert["tool"], alert["operation"]) for alert in posted] == [
        ("CONFIG_ERROR", "keys", "turn")
    ]


async def test_a_call_does_not_wait_for_a_webhook_that_never_answers() -> None:
    with HTTPServer(("127.0.0.1", 0), Hook) as silent:  # it accepts, and reads nothing
        keys = Keys(alert_webhook_url=f"http://127.0.0.1:{silent.server_port}/")
        response = await keys.turn(key="config")
        assert response.error is not None
        assert response.error.code == "CONFIG_ERROR"
