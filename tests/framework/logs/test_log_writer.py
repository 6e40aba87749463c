"""A log that nobody reads holds up nobody: lines are kept, then dropped and counted, and the count is told."""

from __future__ import annotations

import json
import os
import pty
import select
import socket
import subprocess
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.doors import LogWriter, may_wait
from tests.zygote import PYTHON

BOUND_S = 60
KEPT_BYTES = 10_000
LINES = [b"line %06d %s\n" % (number, b"x" * 200) for number in range(4_000)]


class Ends(NamedTuple):
    """Where lines go in, and where they come out."""

    write: int
    read: int


def _pipe() -> tuple[int, int]:
    read, write = os.pipe()
    return write, read


def _sockets() -> tuple[int, int]:
    here, there = socket.socketpair()
    return here.detach(), there.detach()


def _terminal() -> tuple[int, int]:
    there, here = pty.openpty()
    tty.setraw(here)
    return here, there


@pytest.fixture(params=[_pipe, _sockets, _terminal])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    pair = Ends(*request.param())
    yield pair
    for end in pair:
        try:
            os.close(end)
        except OSError:
            continue


@pytest.fixture
def writer(ends: Ends) -> Iterator[LogWriter]:
    writer = LogWriter(ends.write, account=lambda lost: b"lost %d\n" % lost, kept_bytes=KEPT_BYTES)
    yield writer
    writer.close(0)


def await_data(end: Any) -> None:
    assert select.select([end], [], [], BOUND_S)[0], "nothing came"


def read_lines(ends: Ends, until: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Return the lines that come out, up to the first one that satisfies."""
    text = b""
    while not (text.endswith(b"\n") and until(text.splitlines())):
        await_data(ends.read)
        text += os.read(ends.read, 65_536)
    return text.splitlines(keepends=True)


def whole(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if not line.startswith(b"lost")]


def lost(lines: list[bytes]) -> int:
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"lost"))


def test_unread_lines_are_kept_then_dropped_and_counted(ends: Ends, writer: LogWriter) -> None:
    for line in LINES:
        writer.write(line)
    reported = read_lines(ends, lambda lines: len(whole(lines)) + lost(lines) == len(LINES))
    assert whole(reported) == sorted(whole(reported))
    assert set(whole(reported)) < set(LINES)
    writer.write(b"again\n")
    assert read_lines(ends, lambda lines: lines[-1] == b"again") == [b"again\n"]


def test_lines_that_are_read_arrive_in_their_order(ends: Ends, writer: LogWriter) -> None:
    for first in range(0, 200, 20):
        for line in LINES[first : first + 20]:
            writer.write(line)
        last = LINES[first + 19].strip()
        assert read_lines(ends, lambda lines, last=last: lines[-1] == last) == LINES[first : first + 20]  # type: ignore[misc]


def test_the_end_writes_what_is_kept_if_it_is_read(ends: Ends, writer: LogWriter) -> None:
    writer.write(b"last\n")
    writer.close(BOUND_S)
    assert os.read(ends.read, 100) == b"last\n"


def test_the_end_does_not_wait_for_a_reader_who_never_comes(writer: LogWriter) -> None:
    for line in LINES:
        writer.write(line)
    writer.close(0.01)


def test_a_reader_who_has_left_costs_nothing(ends: Ends, writer: LogWriter) -> None:
    os.close(ends.read)
    for line in LINES[:10]:
        writer.write(line)
    writer.close(BOUND_S)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of the thread that runs
def test_a_fork_writes_its_own_lines_and_none_of_its_parents(ends: Ends, writer: LogWriter) -> None:
    for line in LINES[:20]:
        writer.write(line)
    child = os.fork()
    if child == 0:
        writer.write(b"child\n")
        writer.close(BOUND_S)
        os._exit(0)
    os.waitpid(child, 0)
    lines = read_lines(ends, lambda lines: len(lines) == 21)
    assert sorted(lines) == sorted([*LINES[:20], b"child\n"])


def test_files_are_written_directly(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        assert may_wait(file) is None


PROGRAM = """
import sys
from loguru import logger
from failsoft import configure_logging

configure_logging("INFO", json_lines=True)
for number in range(int(sys.argv[1])):
    logger.info("x" * 1_000)
print("here", flush=True)
sys.stdin.read()
"""


def test_a_process_whose_standard_error_is_not_read_goes_on_and_ends(tmp_path: Path) -> None:
    read, write = os.pipe()
    program = subprocess.Popen(
        [PYTHON, "-c", PROGRAM, "3000"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=write,
        cwd=tmp_path,
    )
    os.close(write)
    assert program.stdout is not None
    await_data(program.stdout)
    assert program.stdout.readline() == b"here\n"
    with os.fdopen(read, "rb") as errors:
        lines = [json.loads(errors.readline())]
        while "lines_lost" not in lines[-1]:
            lines.append(json.loads(errors.readline()))
        program.communicate(timeout=BOUND_S)
        assert program.returncode == 0
        assert errors.read() == b""
    assert lines[-1]["event"] == "log_lines_lost"
    assert len(lines) - 1 + lines[-1]["lines_lost"] == 3_000
