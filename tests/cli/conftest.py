"""Fixtures that run commands, each in a process and a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.doors import run as run_inside
from tests.zygote import PYTHON

LIBRARY = '''
from failsoft import BaseTool, NotFound, Public, operation

BOOKS = {"Dune": 2, "Emma": 1}


class BookNotFound(NotFound):
    """The shelf has no such book.

    Raised when: the title is not on the shelf.
    Caller: look at the list of books.
    Operator: nothing to do.
    """

    title: Public[str]
    code = "BOOK_NOT_FOUND"
    message = "The shelf has no book '{title}'."


class Library(BaseTool):
    """Books on a shelf."""

    @operation(read_only=True)
    async def get_book(self, title: str) -> int:
        """Return how many copies there are."""
        if title not in BOOKS:
            raise BookNotFound(title=title, suggestions=list(BOOKS), next_step={"tool": "list_books", "arguments": {}})
        return BOOKS[title]

    @operation(read_only=True)
    async def list_books(self, limit: int = 5) -> list[str]:
        """Return the titles."""
        return sorted(BOOKS)[:limit]


class Mute(BaseTool):
    """A toolset without a description of its operation."""

    @operation(read_only=True)
    async def hum(self) -> str:
        return "hm"


class Stuck(BaseTool):
    """A toolset that never comes up."""

    @operation(read_only=True)
    async def wait(self) -> str:
        """Return nothing, ever."""
        return ""

    async def startup(self) -> None:
        raise RuntimeError("no fuel")


class Crashing(BaseTool):
    """A toolset with a bug."""

    @operation(read_only=True)
    async def peek(self, title: str) -> int:
        """Look up a title, and print what a debugging author prints."""
        import os

        print("looking for", title)
        os.system("echo a child process prints as well")
        return BOOKS[title]


number = 5
'''


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the output as JSON."""
        return json.loads(self.out)


Run: TypeAlias = Callable[..., Ran]


def application_in(folder: Path) -> Path:
    """Return the folder, with an application in it, and with documents."""
    (folder / "library.py").write_text(LIBRARY)
    (folder / "docs").mkdir()
    (folder / "docs" / "intro.mdx").write_text("# Introduction\n\nWhere everything begins.\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an application in it, and with documents."""
    return application_in(tmp_path)


def run_in(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, stdin: str = "", python: str = PYTHON
) -> Ran:
    """Run `failsoft` with some arguments, in a folder, in a process of its own."""
    ended = subprocess.run(
        [python, "-m", "failsoft", *arguments],
        cwd=folder,
        env={**os.environ, **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture
def run(folder: Path) -> Run:
    """Return what runs `failsoft` with some arguments, in that folder, in a process of its own."""
    return partial(run_in, folder)


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs `failsoft` within this process: for commands that leave nothing behind in it."""

    def run_command(*arguments: str, env: Mapping[str, str] | None = None) -> Ran:
        monkeypatch.chdir(folder)
        with monkeypatch.context() as surroundings:
            for name, value in (env or {}).items():
                surroundings.setenv(name, value)
            code = run_inside(arguments)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run_command
