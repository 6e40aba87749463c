"""The processes of an upstream end with the proxy, and with a program that uses the client, however those end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.proxy.test_operating import INITIALIZE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups")
SERVER = str(Path(__file__).with_name("tree_server.py"))
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


def wait_until(condition) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    assert condition()


@contextmanager
def started(reader: str, pids: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """Yield a running proxy or client, and the pids of the processes that it has started."""
    pids.touch()
    command = [*READERS[reader], sys.executable, SERVER, str(pids)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found: list[int] = []
    try:
        if reader == "proxy":
            process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            process.stdin.flush()
        wait_until(lambda: len(pids.read_text(encoding="utf-8").splitlines()) == PARTS)
        found += map(int, pids.read_text(encoding="utf-8").split())
        yield process, found
    finally:
        process.kill()
        process.communicate()
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("reader", READERS)
def test_no_process_of_a_server_outlives_what_started_it(reader, number, tmp_path):
    with started(reader, tmp_path / "pids") as (process, pids):
        assert all(map(is_running, pids))
        process.send_signal(number)
        process.wait(PATIENCE_S)
        wait_until(lambda: not any(map(is_running, pids)))
