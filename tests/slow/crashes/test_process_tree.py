"""The processes of an upstream end with the proxy, and with a program that uses the client, however those end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.proxy.test_operating import INITIALIZE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups")
SERVER = str(Path(__file__).parents[2] / "proxy/tree_server.py")
PARTS = 3
PATIENCE_S = 60.0
CLIENT = """
import asyncio, sys
from failsoft.client import Client

async def main():
    async with Client(sys.argv[1:], mode="legacy") as client:
        print(await client.call("works"), flush=True)
        await asyncio.sleep(3_600)

asyncio.run(main())
"""
READERS = {
    "proxy": [sys.executable, "-m", "failsoft", "proxy", "--"],
    "client": [sys.executable, "-c", CLIENT],
}


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition, case=None) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    assert condition(), case


@contextmanager
def started(reader: str, file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a proxy or client that starts, and end it and the processes whose pids are in the file."""
    file.touch()
    command = [*READERS[reader], sys.executable, SERVER, str(file)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        if reader == "proxy":
            process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.communicate()
        for pid in pids_in(file):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def pids_in(file: Path) -> list[int]:
    return [*map(int, file.read_text(encoding="utf-8").split())]


def test_no_process_of_a_server_outlives_what_started_it(tmp_path):
    """All at once, since each takes its time to start, and waits for processes that ignore SIGTERM."""
    with ExitStack() as stack:
        cases = {}
        for reader in READERS:
            for number in (signal.SIGKILL, signal.SIGTERM):
                file = tmp_path / f"{reader}-{number}"
                cases[reader, number] = stack.enter_context(started(reader, file)), file
        for case, (_, file) in cases.items():
            wait_until(lambda file=file: len(pids_in(file)) == PARTS, case)
            assert all(map(is_running, pids_in(file))), case
        for (_, number), (process, _) in cases.items():
            process.send_signal(number)
        for case, (process, file) in cases.items():
            process.wait(PATIENCE_S)
            wait_until(lambda file=file: not any(map(is_running, pids_in(file))), case)
