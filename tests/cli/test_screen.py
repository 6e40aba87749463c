"""What a person at a terminal sees, through a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.doors import ExitCode
from tests.zygote import PYTHON

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
APP = ("--app", "library:Library")
BOUND_S = 60


class Terminal:
    """A command whose streams are all a terminal, and what is on its screen."""

    def __init__(self, folder: Path, *arguments: str, columns: int = 80, env: Mapping[str, str] | None = None) -> None:
        surroundings = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        for name in ("COLUMNS", "LINES", *(() if env else ("NO_COLOR",))):
            surroundings.pop(name, None)
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        command = [PYTHON, "-m", "failsoft", *arguments]
        self._process = subprocess.Popen(
            command, cwd=folder, env=surroundings, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)

    def read_until(self, expected: bytes) -> bytes:
        """Return what appears up to some text, or to the end."""
        seen = b""
        while expected not in seen and (chunk := self._read()):
            seen += chunk
        return seen

    def read_on(self) -> tuple[int, bytes]:
        """Return the exit code, and what appears up to the end."""
        seen = b"".join(iter(self._read, b""))
        os.close(self.terminal)
        return self._process.wait(BOUND_S), seen

    def _read(self) -> bytes:
        try:
            return os.read(self.terminal, 65_536)
        except OSError:  # Linux raises it when the command has ended
            return b""


def _at_terminal(folder: Path, *arguments: str, **options: Any) -> tuple[int, str]:
    """Run `failsoft` with a terminal for all its streams; return its exit code and what was on the screen."""
    code, seen = Terminal(folder, *arguments, **options).read_on()
    return code, seen.decode()


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [(["demo"], 80), (["codes"], 80), (["codes"], 120), (["doctor"], 80), (["explain", "DOC_NOT_FOUND"], 80)],
)
def test_tables_have_colors_and_fit_the_terminal(folder, arguments, columns):
    code, seen = _at_terminal(folder, *arguments, columns=columns)
    assert code == ExitCode.OK
    assert "\x1b[" in seen
    assert [line for line in ESCAPES.sub("", seen).splitlines() if len(line) > columns] == []


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colors_the_text_is_plain(folder, env):
    code, seen = _at_terminal(folder, "codes", env=env)
    assert (code, "\x1b" in seen) == (ExitCode.OK, False)


def test_a_failed_call_says_under_its_json_what_to_type(folder):
    code, seen = _at_terminal(folder, "call", "get_book", "title=Duna", *APP)
    plain = ESCAPES.sub("", seen)
    assert code == ExitCode.FAILED
    assert '"code": "BOOK_NOT_FOUND"' in plain
    assert "next: failsoft call list_books --app library:Library" in plain
    assert "more: failsoft explain BOOK_NOT_FOUND" in plain


def test_the_command_that_is_advised_can_be_pasted(folder):
    (folder / "docs" / "two words.md").write_text("# Two words\n")
    _, seen = _at_terminal(folder, "call", "get_documentation", "path=no such page.md", "--root", "docs", columns=200)
    advised = re.search(r"next: failsoft (.*)", ESCAPES.sub("", seen))
    assert advised is not None
    assert _at_terminal(folder, *shlex.split(advised[1]))[0] == ExitCode.OK


def test_a_server_that_waits_for_its_client_says_so(folder):
    server = Terminal(folder, "serve", "docs")
    seen = server.read_until(b"Ctrl-D")
    os.write(server.terminal, b"\x04")
    assert (server.read_on()[0], b"Ctrl-D" in seen) == (ExitCode.OK, True)


LOGGED = {"FAILSOFT_DEBUG_STACK": "true"}
"""A server of this setting has a warning in its log."""


def test_the_log_at_a_terminal_is_text_unless_json_is_asked_for(folder):
    for env, is_json in (({}, False), ({"FAILSOFT_LOG_JSON": "true"}, True)):
        server = Terminal(folder, "serve", *APP, env={**LOGGED, **env})
        seen = server.read_until(b"Ctrl-D")
        os.write(server.terminal, b"\x04")
        code, rest = server.read_on()
        lines = ESCAPES.sub("", (seen + rest).decode()).replace("^D\b\b", "").splitlines()
        assert code == ExitCode.OK
        assert [line for line in lines if line and line.startswith("{") is not is_json] == []
        assert ('"production"' in "".join(lines)) is is_json
        assert any("WARNING" in line for line in lines)


SLOW = """
import asyncio
from pathlib import Path
from failsoft import BaseTool, CallContext, operation
from tests.doors import screen_module

screen_module._SHOWN_AFTER_S = 0.01

class Slow(BaseTool):
    \"\"\"Slow.\"\"\"

    @operation(read_only=True)
    async def dig(self, call: CallContext) -> str:
        \"\"\"Dig until the test has seen the progress.\"\"\"
        await call.report_progress(3, 7, "metres")
        while not Path("seen").exists():
            await asyncio.sleep(0.05)
        return "done"
"""


def test_a_call_that_takes_long_shows_its_progress_and_clears_it_again(folder):
    (folder / "slow.py").write_text(SLOW)
    calling = Terminal(folder, "call", "dig", "--app", "slow")
    seen = calling.read_until(b"3 of 7, metres")
    (folder / "seen").touch()
    code, rest = calling.read_on()
    assert b"dig: 3 of 7, metres" in seen
    assert b"\x1b[2K" in rest
    assert (code, b'"done"' in rest) == (ExitCode.OK, True)
