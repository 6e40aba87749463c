"""What our server adds to the SDK's: in memory and over HTTP, with the same tool behind both.

In memory, one client of the SDK and the server share a process, and CPU time is compared. Over HTTP each server is a
uvicorn process of its own on loopback; several clients call it over kept connections, and servers take turns. The
throughput is what the clients saw; the server's own CPU time for a call is printed beside it, because other
programs of the machine do not affect it. `--http` leaves out what is measured in memory. Another version of the SDK is
measured by installing it: `uv pip install mcp==VERSION`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Any

from load import Clients, request
from mcp import Client
from measure import Contender, Figure, benchmark, figure, interleave, ratios, us
from sample_tool import ARGUMENTS, Documents
from servers import HTTP_SERVERS, Running, bare, running

from failsoft import mcp_server

CLIENTS = 8
GOALS = {
    "ours without uvloop": "",
    "bare SDK": ">= 3",
    "FastMCP with middlewares": ">= 6",
    "FastMCP": "",
    "raw ASGI app": ">= 0.35",
}
"""What our throughput is compared with."""


async def in_memory(*, rounds: int, times: int) -> list[Figure]:
    """Return the cost of a call through the SDK's in-memory client, for both eras of the protocol."""
    found = []
    for era in ("auto", "legacy"):
        async with AsyncExitStack() as stack:
            ours = await stack.enter_async_context(Client(mcp_server(Documents), mode=era))
            bare_one = await stack.enter_async_context(Client(bare(), mode=era))
            contenders = {"ours": _client(ours), "bare": _client(bare_one)}
            seconds = await interleave(contenders, rounds=rounds, times=times, clock=time.process_time)
        name = "modern" if era == "auto" else era
        found += [
            figure(f"in memory, {name}: bare SDK server", us(seconds["bare"]), "us"),
            figure(f"in memory, {name}: ours", ratios(seconds["ours"], seconds["bare"]), "of bare", goal="<= 1.05"),
        ]
    return found


def _client(client: Client) -> Contender:
    async def call(times: int) -> None:
        for _ in range(times):
            await client.call_tool("get_document", ARGUMENTS["success"])

    return call


async def over_http(*, rounds: int, times: int) -> list[Figure]:
    """Return throughput and CPU time a call of the servers, and how even ours answers at half of its throughput."""
    async with AsyncExitStack() as stack:
        started: dict[str, tuple[Running, Clients]] = {}
        for name, factory in _installed().items():
            loop = {"UVICORN_LOOP": "asyncio"} if name.endswith("without uvloop") else {}
            server = await stack.enter_async_context(running(factory, **loop))
            sent = request("get_document", ARGUMENTS["success"], port=server.port)
            started[name] = server, await stack.enter_async_context(Clients(server.port, [sent] * CLIENTS))
        contenders: dict[str, Contender] = {name: clients.calls for name, (_, clients) in started.items()}
        before = {name: server.cpu_s() for name, (server, _) in started.items()}
        seconds = await interleave(contenders, rounds=rounds, times=times)
        made = (rounds + 1) * times
        cpu_us = {name: 1e6 * (server.cpu_s() - before[name]) / made for name, (server, _) in started.items()}
        latencies = {
            name: [
                await started[name][1].calls(times, rate=0.5 / statistics.median(seconds[name])) for _ in range(rounds)
            ]
            for name in ("ours", "raw ASGI app")
        }
    found = [
        figure(f"HTTP, {name}", [1 / value for value in seconds[name]], "calls/s", note=f"{cpu_us[name]:.0f} us of CPU")
        for name in started
    ]
    for name, goal in GOALS.items():
        if name in seconds:
            ratio = ratios(seconds[name], seconds["ours"])
            note = f"{cpu_us['ours'] / cpu_us[name]:.2f} of its CPU time"
            found.append(figure(f"HTTP throughput, {CLIENTS} clients", ratio, f"of {name}", goal=goal, note=note))
    return [*found, *(one for name in latencies for one in _evenness(name, latencies[name]))]


def _evenness(name: str, latencies: Sequence[Sequence[float]]) -> list[Figure]:
    """Return the median and the tail of the latencies of each round, at half of the server's own throughput."""
    cuts = [statistics.quantiles(one, n=100) for one in latencies]
    return [
        figure(f"HTTP at half load, {name}: p50", us([one[49] for one in cuts]), "us"),
        figure(f"HTTP at half load, {name}: p99", [one[98] / one[49] for one in cuts], "of p50", goal="<= 2"),
    ]


def _installed() -> dict[str, str]:
    try:
        import fastmcp  # noqa: F401, PLC0415 - it may be missing
    except ImportError:
        return {name: factory for name, factory in HTTP_SERVERS.items() if "FastMCP" not in name}
    return HTTP_SERVERS


@benchmark(
    f"Through MCP, with mcp {version('mcp')}",
    own={"--http": {"action": "store_true", "help": "over HTTP only"}},
    rounds=(30, 2),
    calls=(100, 10),
    http_calls=(800, 16),
)
async def measure(given: Any) -> list[Figure]:
    """Return all figures; each server has fewer turns over HTTP, since those are longer."""
    found = [] if vars(given).get("http") else await in_memory(rounds=given.rounds, times=given.calls)
    return found + await over_http(rounds=max(1, given.rounds * 2 // 5), times=given.http_calls)
