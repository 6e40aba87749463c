"""Dashboards and alerts of a real server, in a real Prometheus and a real Alertmanager."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
import yaml

from tests.doors import alertmanager_file, dashboards
from tests.ports import reserved_ports
from tests.programs.no_orphan import NO_ORPHAN
from tests.slow.crashes.test_incidents import Site
from tests.slow.crashes.test_supervisor import comes_true

SCRAPES = 30
ADMIN = "the token of an operator"
SCHEMA = Path(__file__).parents[3] / "docs/schemas/status.schema.json"
TARGETS = {
    target["expr"]: f"{name}: {panel['title']}: {target['legendFormat']}"
    for name, board in dashboards().items()
    for panel in board["panels"]
    for target in panel["targets"]
}


def _sent(query: str) -> str:
    """Return a query of a dashboard as Grafana sends it when all jobs and operations are chosen."""
    return query.replace("$job", ".*").replace("$operation", ".*").replace("$__rate_interval", "10s")


def test_every_query_of_a_dashboard_returns_data(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = Site(tmp_path, stack)
        site.bank.flaps = True
        for tool in ("balance", "statement", "pay", "look_up", "total"):
            site.calls(tool)
        site.calls("balance", token="another")
        wanted, last = dict(TARGETS), site.prometheus.scrapes() + SCRAPES
        while wanted and site.prometheus.scrapes() <= last:
            wanted = {query: name for query, name in wanted.items() if not site.prometheus.ask(_sent(query))}
            time.sleep(0.2)
        assert sorted(wanted.values()) == []


def test_alerts_that_no_incident_waits_for_fire_on_a_real_server(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = Site(tmp_path, stack, variables={"FAILSOFT_STATE_QUOTA_BYTES": "20000"})
        for tool in ("second_attempt", "look_up", "pay"):
            site.calls(tool)
        site.answer("leak")
        site.begin("pay_slowly", key="order-1")
        comes_true(lambda: site.prometheus.ask('mcp_tool_inflight{operation="pay_slowly"} == 1'))
        for process in site.processes[1:]:
            os.kill(process, signal.SIGKILL)
        site.calls("pay_slowly", key="order-1")
        site.calls("hang", at_once=100)
        wanted = {"QuotaNearlyUsed", "KeyedWriteLost", "HandlerLeaks", "ClientRepeatsFailure", "RecoveriesRising"}
        wanted |= {"CallsRefused"}

        def missing() -> set[str]:
            firing = site.prometheus.ask('ALERTS{alertstate="firing"}')
            wanted.difference_update(one["metric"]["alertname"].removeprefix("Failsoft") for one in firing)
            return wanted

        comes_true(lambda: not missing(), within_s=30)
        assert missing() == set()


def test_the_status_is_that_of_all_workers(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = Site(tmp_path, stack)
        site.bank.status = 503
        for tool in ("balance", "total"):
            site.calls(tool, at_once=4)
        comes_true(lambda: site.prometheus.ask('mcp_circuit_state{state="open"} == 1'))
        os.kill(site.processes[1], signal.SIGKILL)

        def whole() -> dict[str, Any] | None:
            found = site.status()
            restarts = sorted(worker["restarts"] for worker in found["workers"] if worker["phase"] == "ready")
            is_seen = {call["code"] for call in found["recent"]} >= {"UNKNOWN_ERROR", "CIRCUIT_OPEN"}
            return found if restarts == [0, 1] and is_seen else None

        found = comes_true(whole)
        assert found, site.status()
        jsonschema.validate(found, json.loads(SCHEMA.read_text()))
        assert {one["name"]: one.get("circuit") for one in found["dependencies"]}["bank"] in {"open", "half_open"}
        assert found["objective"]["burn_5m"] > 10
        assert found["store"] == {"kind": "redis", "available": True}


def test_all_workers_follow_the_controls(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = Site(tmp_path, stack, variables={"FAILSOFT_ADMIN_TOKEN": ADMIN})
        command = [sys.executable, "-m", "failsoft", "state", "open", "bank", "--url", site.url, "--token", ADMIN]
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "bank: held open\n"
        assert site.control("operations/till/pay", {"paused": True, "reason": "Closed at noon"}) == 200
        comes_true(lambda: all("Closed at noon" in site.answer("pay") for _ in range(8)))
        assert all("Closed at noon" in site.answer("pay") for _ in range(8))
        assert all("CIRCUIT_OPEN" in site.answer("balance") for _ in range(8))
        assert site.control("drain", {}) == 200
        assert comes_true(lambda: {site.ready() for _ in range(8)} == {503})
        assert site.server.process.poll() is None


class Receiver(http.server.ThreadingHTTPServer):
    """The webhook that Alertmanager notifies."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Notified)
        self.alerts: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Notified(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["content-length"]))
        cast("Receiver", self.server).alerts += json.loads(text)["alerts"]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


def _notifying(folder: Path, stack: ExitStack, receiver: Receiver) -> int:
    """Run an Alertmanager with the exported configuration, which notifies at once, and return its port."""
    program = shutil.which("prometheus-alertmanager")
    if program is None:
        pytest.skip("prometheus-alertmanager is not installed (Debian: prometheus-alertmanager)")
    configuration = alertmanager_file()
    for entry in configuration["receivers"]:
        entry["webhook_configs"] = [{"url": f"http://127.0.0.1:{receiver.server_port}"}]
    configuration["route"]["group_wait"] = "0s"
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(configuration))
    (port,) = stack.enter_context(reserved_ports(1))
    command = [*NO_ORPHAN, program, f"--config.file={folder / 'alertmanager.yml'}", "--cluster.listen-address="]
    command += [f"--storage.path={folder / 'alertmanager'}", f"--web.listen-address=127.0.0.1:{port}"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    stack.callback(process.wait, 60)
    stack.callback(process.kill)
    return port


def test_alertmanager_is_sent_the_servers_own_alerts_and_those_of_prometheus(tmp_path: Path) -> None:
    with ExitStack() as stack:
        receiver = Receiver()
        stack.callback(receiver.server_close)
        stack.callback(receiver.shutdown)
        site = Site(tmp_path, stack, alertmanager=_notifying(tmp_path, stack, receiver))
        site.calls("total")
        wanted = {("FailsoftCriticalFailure", "critical"), ("FailsoftHandlerCrashes", "warning")}

        def notified() -> set[tuple[str, str]]:
            return {(alert["labels"]["alertname"], alert["labels"]["severity"]) for alert in receiver.alerts}

        assert comes_true(lambda: wanted <= notified()), (receiver.alerts, site.server.errors[-20:])
        assert {alert["annotations"]["summary"] for alert in receiver.alerts} >= {"total fails by a defect."}
