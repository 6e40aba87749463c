"""What `failsoft proxy` costs before another server: over stdio against the bare server, over HTTP against a relay.

The server is npm's `server-everything`, the relay is PyPI's `mcp-proxy`; `scripts/fetch.sh foreign_servers` installs
both. Over HTTP each has a process of the server behind it, and clients of the legacy era call over kept connections.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from load import Clients
from mcp import Client, StdioServerParameters
from measure import Contender, Figure, benchmark, figure, interleave, ms, ratios

CLIENTS = 8
VERSION = "2025-06-18"
FOLDER = Path(os.environ.get("FOREIGN_SERVERS", Path.home() / ".cache" / "failsoft-foreign-servers"))
SERVER = ["node", str(FOLDER / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js")]
PROXY = [sys.executable, "-m", "failsoft", "proxy"]
RELAY = [str(FOLDER / "relay" / "bin" / "mcp-proxy"), "--pass-environment", "--log-level", "ERROR"]
ECHO = {"name": "echo", "arguments": {"message": "hello"}}
LISTENING_S, ENDING_S = 120.0, 5.0


async def over_stdio(*, rounds: int, times: int) -> list[Figure]:
    """Return what the proxy adds to a call of the SDK's client, at the median."""
    latencies: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        contenders: dict[str, Contender] = {}
        for name, command in {"bare": SERVER, "proxied": [*PROXY, "--", *SERVER]}.items():
            parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
            client = await stack.enter_async_context(Client(parameters, mode="legacy", cache=None))
            contenders[name] = _timed(client, latencies.setdefault(name, []))
        await interleave(contenders, rounds=rounds, times=times)
    bare, proxied = (
        ms([statistics.median(one[number : number + times]) for number in range(times, len(one), times)])
        for one in (latencies["bare"], latencies["proxied"])
    )
    added = [with_us - without for with_us, without in zip(proxied, bare, strict=True)]
    return [
        figure("stdio, bare server, p50", bare, "ms"),
        figure("stdio, the proxy adds, p50", added, "ms", goal="<= 1.5"),
    ]


def _timed(client: Client, latencies: list[float]) -> Contender:
    async def call(times: int) -> None:
        for _ in range(times):
            began = time.perf_counter()
            await client.call_tool("echo", {"message": "hello"})
            latencies.append(time.perf_counter() - began)

    return call


async def over_http(*, rounds: int, times: int) -> list[Figure]:
    """Return the throughput of the proxy and of the relay, each before a server over stdio."""
    async with AsyncExitStack() as stack:
        contenders: dict[str, Contender] = {}
        for name, command in {
            "failsoft proxy": [*PROXY, "--transport", "http", "--port", "PORT", "--", *SERVER],
            "mcp-proxy": [*RELAY, "--port", "PORT", "--", *SERVER],
        }.items():
            port = await stack.enter_async_context(_listening(command))
            # The ids of requests are those of a session.
            sessions = [await asyncio.to_thread(_session, port) for _ in range(CLIENTS)]
            contenders[name] = _together(port, [_request(port, ECHO, session) for session in sessions])
        seconds = await interleave(contenders, rounds=rounds, times=times)
    ratio = ratios(seconds["mcp-proxy"], seconds["failsoft proxy"])
    found = [figure(f"HTTP, {name}", [1 / value for value in taken], "calls/s") for name, taken in seconds.items()]
    return [*found, figure(f"HTTP throughput, {CLIENTS} clients", ratio, "of mcp-proxy", goal=">= 0.9")]


def _together(port: int, requests: Sequence[bytes]) -> Contender:
    async def call(times: int) -> None:
        async with Clients(port, requests) as clients:  # a server closes connections that are idle in others' turns
            await clients.calls(times)

    return call


@asynccontextmanager
async def _listening(command: list[str]) -> AsyncIterator[int]:
    """Run a server and yield its port once it accepts connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    words = [str(port) if word == "PORT" else word for word in command]
    process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(LISTENING_S):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    break
        yield port
    finally:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), ENDING_S)
        except TimeoutError:  # the relay waits for its clients
            process.kill()
            await process.wait()


def _session(port: int) -> str:
    """Return the id of a session, begun as a legacy client does; empty for a server without sessions."""
    info = {"name": "bench", "version": "1"}
    params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": info}
    with _post(port, {"id": 0, "method": "initialize", "params": params}, "") as answer:
        session = str(answer.headers.get("mcp-session-id", ""))
    _post(port, {"method": "notifications/initialized"}, session).close()
    return session


def _post(port: int, message: dict[str, Any], session: str) -> Any:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, _headers(session))
    return urllib.request.urlopen(request, timeout=30)  # noqa: S310 - loopback


def _request(port: int, params: dict[str, Any], session: str) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {"Host": f"127.0.0.1:{port}", **_headers(session), "Content-Length": str(len(body))}
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    return f"POST /mcp HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + body


def _headers(session: str) -> dict[str, str]:
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": VERSION,
    }
    return {**headers, "Mcp-Session-Id": session} if session else headers


def _missing() -> list[str]:
    return [path for path in (SERVER[1], RELAY[0]) if not Path(path).exists()]


@benchmark("The proxy", rounds=(20, 1), calls=(50, 8), http_calls=(240, 16))
async def measure(given: Any) -> list[Figure]:
    """Return all figures."""
    if missing := _missing():
        print(f"The proxy: skipped, for there is no {' and no '.join(missing)}; run scripts/fetch.sh foreign_servers")
        return []
    stdio = await over_stdio(rounds=given.rounds, times=given.calls)
    return stdio + await over_http(rounds=given.rounds, times=given.http_calls)
