"""Pictures of commands on a terminal, for the pages: each command runs on a pseudo-terminal of 80 columns."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COMMANDS = {"explain": "failsoft explain DOC_NOT_FOUND"}
"""Commands by the name of their picture in docs/assets."""
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def picture(name: str) -> str:
    """Return the SVG of a command and of what it prints."""
    command = COMMANDS[name]
    recorded = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    recorded.print(Text(f"$ {command}\n"))
    recorded.print(Text.from_ansi(_printed(command.split())))
    drawn = recorded.export_svg(title=command, theme=MONOKAI, unique_id=name)
    return _FONT.sub("", drawn).replace("Fira Code", "DejaVu Sans Mono")  # nothing is fetched by a page


def _printed(command: list[str]) -> str:
    ours, theirs = pty.openpty()
    surroundings = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
    surroundings.pop("NO_COLOR", None)
    program = [sys.executable, "-m", *command]
    with subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, env=surroundings) as started:  # noqa: S603 - one of the above
        os.close(theirs)
        read = b""
        while chunk := _next(ours):
            read += chunk
        os.close(ours)
    if started.returncode:
        raise subprocess.CalledProcessError(started.returncode, command, read)
    return read.decode().replace("\r\n", "\n").rstrip()


def _next(terminal: int) -> bytes:
    """Return what the terminal has, or nothing when the program has ended."""
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of a pseudo-terminal as EIO
        return b""
