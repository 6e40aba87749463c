"""A rolling restart of two replicas behind nginx at 30 calls a second: calls that fail, and how long the others take.

nginx runs with the settings that `docs/how-to/deploy.md` shows, taken from the page; only ports, certificate and the
names of the tools that only read are replaced. Each replica is `failsoft serve --workers 2`, both with one SQLite
store. One replica after the other is sent SIGTERM, started anew, and waited for until its `/readyz` answers 200. Calls
begin at a fixed rate, whether or not earlier ones have been answered, and how long one takes counts from the moment it
was due. Needs nginx and openssl.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import signal
import socket
import ssl
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from load import META, VERSION
from measure import Figure, benchmark, figure

from failsoft import BaseTool, operation

__all__ = ["Work"]

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/how-to/deploy.md"
HOST = "tools.example.org"
"""The name that the page's nginx serves."""
PORTS = (8321, 8322)
"""Where the page's replicas listen."""
RATE, WAITS_S = 30, (0.0, 0.2, 0.02, 0.1)
SETTLED_S = 2.0
WITHIN_S = 60.0
"""How long anything may take; nothing that works comes near it."""
SLOW_S = 1.0


class Work(BaseTool):
    """Calls that take their time."""

    @operation(read_only=True, timeout=30.0)
    async def work(self, seconds: float) -> int:
        """Wait, and return the id of the process."""
        await asyncio.sleep(seconds)
        return os.getpid()


def _nginx() -> str | None:
    return shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


def _configuration(folder: Path, port: int, ports: Sequence[int]) -> str:
    """Return the page's settings with these ports and the certificate of the folder."""
    found = re.search(r"^```nginx\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if found is None or any(f"127.0.0.1:{shown}" not in found[1] for shown in PORTS):
        msg = f"{PAGE} shows no nginx with replicas at {PORTS}"
        raise LookupError(msg)
    shown = found[1].replace("listen 443 ", f"listen 127.0.0.1:{port} ")
    shown = re.sub(r"/etc/ssl/\w+/[\w.]+\.(pem|key)", rf"{folder}/\1", shown)
    shown = shown.replace("tools/call get_book", "tools/call work")
    for usual, own in zip(PORTS, ports, strict=True):
        shown = shown.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{own}")
    temporary = "".join(f"{name}_temp_path {folder}/{name}; " for name in ("proxy", "fastcgi", "uwsgi", "scgi"))
    http = f"access_log off; client_body_temp_path {folder}/body; {temporary}{shown}"
    return f"daemon off; master_process off; pid {folder}/pid; events {{}} http {{ {http} }}"


class Replica:
    """One server with its workers."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        options = ("--transport", "http", "--port", str(self.port), "--workers", "2")
        with (self._folder / f"{self.port}.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "failsoft", "serve", "--app", "rolling_restart:Work", *options),
                cwd=HERE,
                env={
                    **os.environ,
                    "FAILSOFT_ALLOWED_HOSTS": HOST,
                    "FAILSOFT_STATE_URL": f"sqlite:{self._folder}/state.db",
                    "FAILSOFT_SHUTDOWN_GRACE_S": "20",
                },
                stderr=log,
            )
        async with asyncio.timeout(WITHIN_S), httpx2.AsyncClient(timeout=WITHIN_S) as client:
            while not await self._is_ready(client):  # noqa: ASYNC110 - another process starts
                await asyncio.sleep(0.05)

    async def _is_ready(self, client: httpx2.AsyncClient) -> bool:
        try:
            answer = await client.get(f"http://127.0.0.1:{self.port}/readyz", headers={"host": HOST})
        except httpx2.TransportError:
            return False
        return answer.status_code == 200

    async def stop(self) -> int:
        """Send it SIGTERM and return its exit code once it has ended."""
        if self._process is None:
            return 0
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(WITHIN_S):
            return await self._process.wait()

    async def restart(self) -> None:
        """Stop it and start it again."""
        if code := await self.stop():
            msg = f"a replica ended with {code}"
            raise RuntimeError(msg)
        await self.start()


class Calls:
    """Calls at a fixed rate, and what became of them."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self.taken_s: list[float] = []
        self.failures: Counter[str] = Counter()

    async def until(self, done: asyncio.Future[Any]) -> None:
        """Call until this is done, and wait for the last answers."""
        waits = itertools.cycle(WAITS_S)
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in itertools.count():
                due = began + number / RATE
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                if done.done():
                    return
                group.create_task(self._call(due, next(waits)))

    async def _call(self, due: float, seconds: float) -> None:
        params = {"name": "work", "arguments": {"seconds": seconds}, "_meta": META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        try:
            response = await self._client.post("/mcp", json=body)
            answer = response.json() if response.status_code == 200 else {}
            worked = answer.get("result", {}).get("structuredContent", {}).get("success") is True
            failure = "" if worked else f"status {response.status_code}"
        except (httpx2.HTTPError, ValueError) as error:
            failure = type(error).__name__
        if failure:
            self.failures[failure] += 1
        self.taken_s.append(time.perf_counter() - due)


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports


@asynccontextmanager
async def _behind_nginx(nginx: str) -> AsyncIterator[tuple[list[Replica], httpx2.AsyncClient]]:
    """Run the replicas and nginx, and yield them with a client of nginx."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port, *ports = _free_ports(3)
        certificate = ("-keyout", str(folder / "key"), "-out", str(folder / "pem"))
        subject = ("-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}")
        await _run("openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", *certificate, *subject)
        file = folder / "nginx.conf"
        file.write_text(_configuration(folder, port, ports), encoding="utf-8")
        replicas = [Replica(one, folder) for one in ports]
        for replica in replicas:
            stack.push_async_callback(replica.stop)
            await replica.start()
        words = (nginx, "-p", str(folder), "-c", str(file), "-e", str(folder / "error.log"))
        proxy = await asyncio.create_subprocess_exec(*words)
        stack.push_async_callback(proxy.wait)
        stack.callback(proxy.terminate)
        await _listens(port)
        headers = {
            "accept": "application/json, text/event-stream",
            "host": HOST,
            "mcp-protocol-version": VERSION,
            "mcp-method": "tools/call",
            "mcp-name": "work",
        }
        client = httpx2.AsyncClient(
            base_url=f"https://127.0.0.1:{port}",
            headers=headers,
            timeout=WITHIN_S,
            verify=_trusting(folder / "pem"),
        )
        yield replicas, await stack.enter_async_context(client)


async def _listens(port: int) -> None:
    """Wait until this port takes connections."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return


def _trusting(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(certificate))
    context.check_hostname = False  # the client connects to an address
    return context


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    if process.returncode:
        raise RuntimeError(said.decode())


async def _restart_in_turn(replicas: Sequence[Replica], times: int) -> float:
    """Restart each so many times, and return how many seconds one takes."""
    await asyncio.sleep(SETTLED_S)
    began = time.perf_counter()
    for replica in [*replicas] * times:
        await replica.restart()
    each_s = (time.perf_counter() - began) / (len(replicas) * times)
    await asyncio.sleep(SETTLED_S)
    return each_s


@benchmark("A rolling restart behind nginx", restarts=(3, 1))
async def measure(given: Any) -> list[Figure]:
    """Return how many calls failed and how long they took; nothing where nginx or openssl is missing."""
    nginx = _nginx()
    if nginx is None or shutil.which("openssl") is None:
        print("Nothing is measured: nginx or openssl is not installed.")
        return []
    async with _behind_nginx(nginx) as (replicas, client):
        restarting = asyncio.ensure_future(_restart_in_turn(replicas, given.restarts))
        calls = Calls(client)
        await calls.until(restarting)
        each_s = await restarting
    taken = calls.taken_s
    in_time = 100 * sum(one <= SLOW_S for one in taken) / len(taken)
    said = ", ".join(f"{count} x {failure}" for failure, count in calls.failures.items())
    note = f"of {len(taken)}{': ' if said else ''}{said}"
    cuts = statistics.quantiles(taken, n=1000, method="inclusive")
    return [
        figure("failed", [calls.failures.total()], "calls", goal="<= 0", note=note),
        figure("answered within a second", [in_time], "%", goal=">= 99.9"),
        *(figure(name, [1e3 * cuts[at]], "ms") for name, at in (("p50", 499), ("p99", 989), ("p99.9", 998))),
        figure("longest", [1e3 * max(taken)], "ms"),
        figure("restart of a replica", [each_s], "s"),
    ]
