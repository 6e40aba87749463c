"""What `failsoft serve` takes to start beside the bare SDK server with the same tool: time and memory to the answer.

The toolset `docs`, which indexes the pages of this project, is measured as well, without a goal.

Each start is a fresh process, and servers take turns; byte code is compiled before anything is measured. A server is
ready when it has answered its first request: `tools/list` over HTTP, `initialize` over stdio. CPU time is that of the
process until then, with all its threads; memory is what is resident then. Linux only.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from import_time import compile_packages
from load import body_of, message, request_for
from measure import Figure, benchmark, figure, ms, ratios

READY_WITHIN_S = 60.0
POLLED_EVERY_S = 0.005
HERE = Path(__file__).parent
BARE = [sys.executable, "-c"]
SERVE = [sys.executable, "-m", "failsoft", "serve"]
OURS = {"ours": [*SERVE, "--app", "text_tool:Texts"], "docs": [*SERVE, "docs", "--root", str(HERE.parent / "docs")]}
GOAL_RATIO, GOAL_MB = "<= 1.2", "<= 10"


@dataclass(frozen=True, slots=True)
class Start:
    """One start: seconds of time and of CPU time until the first answer, and megabytes resident then."""

    wall_s: float
    cpu_s: float
    resident_mb: float


def _start(command: Sequence[str], first_answer: Callable[[subprocess.Popen[bytes]], None]) -> Start:
    began = time.perf_counter()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=HERE, **pipes) as process:  # type: ignore[call-overload]  # noqa: S603 - our own commands
        try:
            first_answer(process)
            wall_s = time.perf_counter() - began
            folder = Path(f"/proc/{process.pid}")
            spent = sum(int(task.read_text().split()[0]) for task in folder.glob("task/*/schedstat"))
            pages = int((folder / "statm").read_text().split()[1])
            return Start(wall_s, spent / 1e9, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        finally:
            process.kill()


def _over_stdio(process: subprocess.Popen[bytes]) -> None:
    writing, reading = process.stdin, process.stdout
    if writing is None or reading is None:
        return
    info = {"name": "bench", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    writing.write(message("initialize", params) + b"\n")
    writing.flush()
    _require(reading.readline())


def _over_http(port: int) -> Callable[[subprocess.Popen[bytes]], None]:
    def ask(process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + READY_WITHIN_S
        while process.poll() is None and time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(request_for("tools/list", {}, port=port))
                    with connection.makefile("rb") as answer:
                        _require(body_of(answer))
                        return
            except ConnectionRefusedError:
                time.sleep(POLLED_EVERY_S)
        msg = "the server did not start"
        raise RuntimeError(msg)

    return ask


def _require(answer: bytes) -> None:
    if b'"result"' not in answer:
        msg = f"the first request was not answered: {answer[:500]!r}"
        raise RuntimeError(msg)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _one(name: str, transport: str) -> Start:
    if transport == "stdio":
        bare = [*BARE, "import bare_server; bare_server.over_stdio()"]
        return _start(OURS.get(name, bare), _over_stdio)
    port = _free_port()
    bare = [*BARE, f"import bare_server; bare_server.over_http({port})"]
    ours = [*OURS[name], "--transport", "http", "--port", str(port)] if name in OURS else bare
    return _start(ours, _over_http(port))


@benchmark("Start-up, byte code compiled", rounds=(15, 1))
def measure(given: Any) -> list[Figure]:
    """Return the time and memory of each start, and their ratios."""
    compile_packages()
    found = []
    for transport in ("stdio", "http"):
        starts: dict[str, list[Start]] = {name: [] for name in ("bare", *OURS)}
        for number in range(given.rounds + 1):
            for name, those in starts.items():
                one = _one(name, transport)
                if number:
                    those.append(one)
        bare = starts["bare"]
        found += [
            figure(f"{transport}, bare SDK server: time", ms([one.wall_s for one in bare]), "ms"),
            figure(f"{transport}, bare SDK server: resident", [one.resident_mb for one in bare], "MB"),
            *_figures(transport, bare, starts["ours"], GOAL_RATIO, GOAL_MB),
            *_figures(f"{transport}, docs", bare, starts["docs"], "", ""),
        ]
    return found


def _figures(name: str, bare: Sequence[Start], ours: Sequence[Start], ratio: str, megabytes: str) -> list[Figure]:
    memory = [own.resident_mb - other.resident_mb for own, other in zip(ours, bare, strict=True)]
    wall = ratios([one.wall_s for one in ours], [one.wall_s for one in bare])
    cpu = ratios([one.cpu_s for one in ours], [one.cpu_s for one in bare])
    return [
        figure(f"{name}: time", wall, "of bare", goal=ratio),
        figure(f"{name}: CPU time", cpu, "of bare", goal=ratio),
        figure(f"{name}: resident over bare", memory, "MB", goal=megabytes),
    ]
