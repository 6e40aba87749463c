"""Every incident of the page about incidents, in a real server: what the page shows of it is seen within five seconds.

Prometheus scrapes every second and answers the queries of the page, so the bound is five scrapes.
"""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from tests.ports import reserved_ports
from tests.programs.incidents import alerts_of, is_query, seen_of
from tests.programs.prometheus import scraping
from tests.programs.redis import RedisServer
from tests.recovery.state.test_sqlite_faults import as_root
from tests.server.http.process.ledger import VERSION
from tests.server.processes import BOUND_S
from tests.slow.crashes.test_supervisor import comes_true
from tests.slow.soak.test_behind_nginx import Replica, processes_of

SCRAPES, SCRAPES_OF_ALERTS = 5, 15
TOKEN = "a-token-of-the-callers"


class Till(Replica):
    """`failsoft serve --workers 2` with the tools."""

    program = ("-m", "failsoft", "serve", "--app", "tests.slow.crashes.bank_tools:Till", "--workers", "2")


class Bank(http.server.ThreadingHTTPServer):
    """The dependency: fast, slow, or out of order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Window)
        self.status, self.wait_s, self.flaps, self.asked = 200, 0.0, False, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Window(http.server.BaseHTTPRequestHandler):
    """Answers as the bank is."""

    def do_GET(self) -> None:
        bank = cast("Bank", self.server)
        time.sleep(bank.wait_s)
        bank.asked += 1
        if bank.flaps:
            bank.status = 503 if bank.asked % 3 else 200
        self.send_response(bank.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


class Site:
    """A server of two workers with its Redis, its bank, its disk and its Prometheus."""

    def __init__(
        self,
        folder: Path,
        stack: ExitStack,
        *,
        alertmanager: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.gate, self.disk, self.recovery = folder / "gate", folder / "disk", folder / "recovery.toml"
        self.disk.mkdir()
        self.recovery.write_text("")
        self.redis = RedisServer()
        stack.callback(self.redis.close)
        self.bank = Bank()
        stack.callback(self.bank.server_close)
        stack.callback(self.bank.shutdown)
        (self._port,) = stack.enter_context(reserved_ports(1))
        self.environment = {
            "BANK": f"http://127.0.0.1:{self.bank.server_port}",
            "GATE": str(self.gate),
            "FAILSOFT_AUTH_TOKENS": f"caller:{TOKEN}",
            "FAILSOFT_AUDIT_PATH": str(self.disk / "audit.jsonl"),
            "FAILSOFT_RECOVERY_FILE": str(self.recovery),
            "FAILSOFT_SHUTDOWN_GRACE_S": "0",
            "FAILSOFT_STATE_URL": self.redis.url,
            "FAILSOFT_WORKER_STALL_S": "1",
            "XDG_STATE_HOME": str(folder / "state"),
            **(variables or {}),
        }
        if alertmanager is not None:
            self.environment["FAILSOFT_ALERT_ALERTMANAGER_URL"] = f"http://127.0.0.1:{alertmanager}"
        self.stack = stack
        self.url = f"http://127.0.0.1:{self._port}"
        limits = httpx2.Limits(max_connections=None)
        self._client = httpx2.Client(base_url=self.url, timeout=BOUND_S, limits=limits)
        stack.callback(self._client.close)
        self._threads = ThreadPoolExecutor(150)
        self._over = threading.Event()
        stack.callback(self._threads.shutdown, cancel_futures=True)
        self.server = self.start()
        self.processes = processes_of(self.server)
        stack.callback(self._over.set)
        for tool in ("balance", "look_up", "pay", "process_id"):
            self.answer(tool)
        self.prometheus = stack.enter_context(scraping(folder, self._port, TOKEN, alertmanager=alertmanager))
        self.prometheus.waits(2)

    def start(self) -> Till:
        """Start a server at the same port."""
        server = Till("--port", str(self._port), **self.environment)
        self.stack.callback(server.close)
        return server

    def answer(self, tool: str, *, token: str = TOKEN, host: str = "127.0.0.1", key: str = "") -> str:
        """Make a call, and return what comes of it."""
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
            "dev.failsoft/idempotency-key": key or str(uuid.uuid4()),
        }
        arguments = {"order": "1"} if tool in {"pay", "pay_slowly", "look_up"} else {}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        headers = {
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {token}",
            "host": host,
            "mcp-protocol-version": VERSION,
            "mcp-method": "tools/call",
            "mcp-name": tool,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        with suppress(httpx2.HTTPError):
            return self._client.post("/mcp", json=body, headers=headers).text
        return ""

    def begin(self, tool: str, **how: str) -> None:
        """Make a call, and do not wait for what comes of it."""
        self._threads.submit(self.answer, tool, **how)

    def control(self, path: str, body: dict[str, Any]) -> int:
        """Use a control, and return the status."""
        headers = {"authorization": f"Bearer {self.environment['FAILSOFT_ADMIN_TOKEN']}"}
        return self._client.post(f"/admin/{path}", json=body, headers=headers).status_code

    def ready(self) -> int:
        """Return the status of `/readyz`, of the worker that takes a new connection."""
        return httpx2.get(f"{self.url}/readyz").status_code

    def status(self) -> dict[str, Any]:
        """Return what `/status.json` says."""
        answer = httpx2.get(f"{self.url}/status.json", headers={"authorization": f"Bearer {TOKEN}"}, timeout=BOUND_S)
        return cast("dict[str, Any]", answer.json())

    def named(self) -> set[str]:
        """Return the incidents that the headline names; none if the worker that is asked is killed meanwhile."""
        with suppress(httpx2.HTTPError):
            return {finding.get("incident", "") for finding in self.status()["headline"]["findings"]}
        return set()

    def calls(self, tool: str, *, at_once: int = 1, **how: str) -> None:
        """Go on making calls, so many at once, until the test is over."""

        def go_on() -> None:
            while not self._over.wait(0.02):
                self.answer(tool, **how)

        for _ in range(at_once):
            self._threads.submit(go_on)

    def events(self) -> set[str]:
        """Return the events in the log; of failed calls those at level ERROR alone."""
        found: set[str] = set()
        for line in tuple(self.server.errors):
            record: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if record.get("event") != "call_failed" or record["level"] == "ERROR":
                found.add(str(record.get("event")))
        return found

    def assert_seen(self, wanted: set[str], alerts: list[str]) -> None:
        """Compare what Prometheus and the log show, until they have shown all of it, for five scrapes.

        One of the alerts fires as well, some scrapes later: several of them compare counts over five minutes.
        """
        last = self.prometheus.scrapes() + SCRAPES
        while wanted and self.prometheus.scrapes() <= last:
            wanted -= self.events()
            wanted -= {shown for shown in wanted if is_query(shown) and self.prometheus.ask(shown)}
            time.sleep(0.1)
        assert wanted == set(), self.server.errors[-20:]
        firing = f'ALERTS{{alertname=~"{"|".join(alerts)}",alertstate="firing"}}'
        while alerts and not self.prometheus.ask(firing):
            assert self.prometheus.scrapes() <= last + SCRAPES_OF_ALERTS, self.prometheus.ask("ALERTS")
            time.sleep(0.1)


def down(site: Site) -> None:
    site.bank.status = 503
    site.calls("balance")


def slow(site: Site) -> None:
    site.bank.wait_s = 5.5
    site.answer("balance")


def flapping(site: Site) -> None:
    site.bank.flaps = True
    site.calls("balance")


def held(site: Site) -> None:
    command = [sys.executable, "-m", "failsoft", "state", "open", "bank"]
    subprocess.run(command, env={**os.environ, **site.environment}, check=True, capture_output=True)
    site.calls("balance")


def store(fault: Callable[[RedisServer], Any]) -> Callable[[Site], None]:
    def inject(site: Site) -> None:
        fault(site.redis)
        site.calls("pay")

    return inject


def store_slow(site: Site) -> None:
    site.calls("pay")
    for _ in range(2):
        site.redis.ask(b"CLIENT PAUSE 500 ALL")
        assert comes_true(lambda: "store_lost" in site.events())
        site.redis.ask(b"PING")  # is answered after the pause


def change(file: Path, text: str) -> None:
    file.write_text(text)


def full(site: Site) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(site.disk)], check=True)
    site.stack.callback(subprocess.run, ["umount", "--lazy", str(site.disk)], check=True)
    with suppress(OSError), (site.disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(b"x" * 4096):
            pass
    site.calls("look_up")


def headless(site: Site) -> None:
    site.server.close()
    for head in Path(site.environment["XDG_STATE_HOME"]).glob("failsoft/audit/heads/*"):
        head.unlink()
    site.server = site.start()
    processes_of(site.server)
    site.calls("look_up")


def killed(site: Site) -> None:
    os.kill(site.processes[1], signal.SIGKILL)


def blocked(site: Site) -> None:
    site.server.close()
    site.environment["FAILSOFT_WORKER_STALL_S"] = "30"
    site.server = site.start()
    processes_of(site.server)
    site.calls("block_briefly")


def looping(site: Site) -> None:
    site.gate.touch()
    os.kill(site.processes[1], signal.SIGKILL)


def replica_killed(site: Site) -> None:
    for process in site.processes:
        os.kill(process, signal.SIGKILL)


def bad_deployment(site: Site) -> None:
    site.gate.touch()
    site.server.close()
    site.server = site.start()


def hanging(site: Site) -> None:
    site.calls("hang", at_once=120)
    assert comes_true(lambda: "recovery_tried" in site.events())


LATER = {
    'increase(mcp_worker_restarts_total{reason="exited"}[1m]) > 3',  # when the pauses between the starts have passed
    'rate(mcp_tool_errors_total{code="OVERLOADED"}[1m]) > 0',  # when the calls have been repeated in vain
}
"""What confirms an incident that another sign shows at once."""
UNNAMED = {"A replica is down", "The state store is slow", "A dependency is slow"}
"""Incidents that the headline of this server cannot name: it is gone, or what was slow has been answered."""
Injection = Callable[[Site], None]
INCIDENTS: dict[str, tuple[str, Injection]] = {
    "dependency down": ("A dependency is down", down),
    "dependency flapping": ("A dependency flaps", flapping),
    "breaker held": ("An operator has stopped calls", held),
    "dependency slow": ("A dependency is slow", slow),
    "store down": ("The state store cannot be used", store(RedisServer.kill)),
    "store read-only": ("The state store cannot be used", store(lambda redis: redis.ask(b"REPLICAOF 127.0.0.1 1"))),
    "store full": ("The state store cannot be used", store(lambda redis: redis.ask(b"CONFIG SET maxmemory 1"))),
    "store slow": ("The state store is slow", store_slow),
    "disk full": ("The audit log cannot be written", full),
    "audit log without its head": ("The audit log cannot be written", headless),
    "worker killed": ("A worker was killed", killed),
    "worker stalled": ("A worker stalls", lambda site: site.calls("block")),
    "loop blocked": ("The event loop is blocked", blocked),
    "worker crash-looping": ("Workers crash in a loop", looping),
    "replica killed": ("A replica is down", replica_killed),
    "deployment that does not start": ("A replica is down", bad_deployment),
    "deployment that crashes": ("A handler crashes", lambda site: site.calls("total")),
    "bad TOML": ("The recovery file has a mistake", lambda site: change(site.recovery, "[defaults")),
    "401 flood": ("A flood of 401", lambda site: site.calls("balance", at_once=4, token="another")),
    "requests with another host": ("Requests are refused", lambda site: site.calls("balance", host="example.org")),
    "threads exhausted": ("Threads are used up", hanging),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[as_root] if name == "disk full" else []) for name in INCIDENTS]
)
def test_an_incident_is_seen_as_the_page_says(name: str, tmp_path: Path) -> None:
    row, inject = INCIDENTS[name]
    with ExitStack() as stack:
        site = Site(tmp_path, stack)
        inject(site)
        if row not in UNNAMED:
            assert comes_true(lambda: row in site.named())
        site.assert_seen({*seen_of()[row]} - LATER, alerts_of()[row])
