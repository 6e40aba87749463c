"""Calls over stdio with and without captures of failed calls: what a failing call and one that works pay.

Three processes with the same tool are called in turn, two of them with FAILSOFT_CAPTURE=off: the second one shows the
noise. The captures are at their bound of 200, so that each new one removes another. Linux only.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from load import message
from measure import Contender, Figure, benchmark, figure, interleave, ms, ratios

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-m", "failsoft", "serve", "--app", "failing_tool:Failing"]
MODES = {"off": "off", "off again": "off", "failures": "failures"}
KINDS = {"failing": "fail", "working": "work"}
CALLS, QUICK_CALLS = 300, 8


class _Client:
    """A server process, called one call after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._number = 0

    async def begin(self) -> None:
        """Open the session."""
        info = {"name": "bench", "version": "1"}
        await self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self._write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def cpu_s(self) -> tuple[float, float]:
        """Return the CPU time of the thread with the event loop, and that of all threads, in seconds."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        used = {task.parent.name: int(task.read_text().split()[0]) / 1e9 for task in tasks}
        return used[str(self._process.pid)], sum(used.values())

    async def _ask(self, method: str, params: dict[str, Any]) -> bytes:
        self._number += 1
        self._write(message(method, params, number=self._number))
        return b"" if self._process.stdout is None else await self._process.stdout.readline()

    def _write(self, line: bytes) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(line + b"\n")

    def calls(self, name: str) -> Contender:
        """Return what calls a tool one call after the other."""
        params = {"name": name, "arguments": {"title": "a title of some length", "limit": 5}}

        async def contender(times: int) -> None:
            for _ in range(times):
                line = await self._ask("tools/call", params)
                if (b'"isError":true' in line) != (name == "fail"):
                    raise RuntimeError(line[:500])

        return contender


async def _served(stack: AsyncExitStack, folder: str, mode: str) -> _Client:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        cwd=HERE,
        env={**os.environ, "FAILSOFT_CAPTURE": mode, "FAILSOFT_REPEATS": "off", "XDG_STATE_HOME": folder},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    stack.callback(process.kill)
    client = _Client(process)
    await client.begin()
    return client


@benchmark("Captures", rounds=(15, 1))
async def measure(given: Any) -> list[Figure]:
    """Return all figures."""
    found = []
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        clients = {name: await _served(stack, folder, mode) for name, mode in MODES.items()}
        times = QUICK_CALLS if given.quick else CALLS
        for kind, tool in KINDS.items():
            contenders = {name: client.calls(tool) for name, client in clients.items()}
            before = {name: client.cpu_s() for name, client in clients.items()}
            seconds = await interleave(contenders, rounds=given.rounds, times=times)
            made = (given.rounds + 1) * times
            cpu_us = {name: _spent_us(before[name], client.cpu_s(), made) for name, client in clients.items()}
            found.append(figure(f"a {kind} call, off", ms(seconds["off"]), "ms"))
            for name, goal in (("off again", ""), ("failures", "<= 1.05")):
                compared = ratios(seconds[name], seconds["off"])
                loop, every = (now / off for now, off in zip(cpu_us[name], cpu_us["off"], strict=True))
                note = f"{loop:.2f} of the CPU time of its event loop, {every:.2f} of that of all threads"
                found.append(figure(f"a {kind} call, {name}", compared, "of off", goal=goal, note=note))
    return found


def _spent_us(before: tuple[float, float], now: tuple[float, float], calls: int) -> tuple[float, float]:
    return 1e6 * (now[0] - before[0]) / calls, 1e6 * (now[1] - before[1]) / calls
