"""The system clock is set forward or back while programs run: nothing is older for it, and nothing waits for it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.programs.jumping import JumpingClock

PROGRAM = Path(__file__).with_name("clocked.py")
DAY_S = 86_400


@contextmanager
def running(clock: JumpingClock, folder: Path) -> Iterator[subprocess.Popen[str]]:
    with clock.start(PROGRAM, str(folder)) as program:
        yield program
        program.communicate()


def ask(program: subprocess.Popen[str], command: str) -> dict[str, Any]:
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{command}\n")
    answer: dict[str, Any] = json.loads(program.stdout.readline())
    return answer


@pytest.mark.parametrize("jump_s", [-2 * DAY_S, 31 * DAY_S])
def test_a_jump_makes_nothing_older_and_no_limit_longer(tmp_path: Path, jump_s: int) -> None:
    clock = JumpingClock(tmp_path)
    with ExitStack() as programs:
        first = programs.enter_context(running(clock, tmp_path))
        before = ask(first, "keep")
        assert before["is_granted"] == 1
        clock.jump(jump_s)
        second = programs.enter_context(running(clock, tmp_path))  # it knows the new time only
        for program in (first, second):
            answer = ask(program, "look")
            assert abs(answer["time"] - time.time() - jump_s) < DAY_S, "the clock did not jump"
            assert (answer["key"], answer["is_granted"]) == ("done", 0)
            assert 0.0 < answer["wait_s"] <= 60.0
        assert ask(first, "log")["files"] > before["files"] > 1, "files of the audit log that are young were removed"
