"""Renames of documents in the history of the git work tree that holds them."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from failsoft.framework.safe.author_reports import logger

_TIMEOUT_S = 10.0
_COMMITS_AT_MOST = 20_000
_OUTPUT_BYTES_AT_MOST = 20_000_000
_CERTAIN_FROM = 75
"""Percent of the text that a rename has to keep before the new document counts as the old one."""
_STEPS_AT_MOST = 50
_RENAMES = (
    *("log", f"--max-count={_COMMITS_AT_MOST}", "-M50%", "-l1000", "--diff-filter=R", "--name-status", "--relative"),
    *("--format=", "-z", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--", "."),
)
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


class Renamed(NamedTuple):
    """Where a document went, and the least percentage of its text that a step of the way kept."""

    path: str
    likeness: int

    @property
    def is_certain(self) -> bool:
        """Whether it is the same document, and not merely a similar one."""
        return self.likeness >= _CERTAIN_FROM


class GitHistory:
    """The renames below a folder, read from `git log` once for each commit that is checked out.

    Args:
        root: The folder; outside a git work tree, or without git, there are no renames.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._turn = threading.Lock()
        self._head: str | None = None
        self._moves: tuple[int, int] | None = None
        self._renames: Mapping[str, Renamed] = {}

    def renamed(self, path: str) -> Renamed | None:
        """Return where the document of a path was moved to, through all its renames; None if it was not."""
        renames = self._current()
        found, likeness = path, 100
        for _ in range(_STEPS_AT_MOST):
            step = renames.get(found)
            if step is None:
                break
            found, likeness = step.path, min(likeness, step.likeness)
        return Renamed(found, likeness) if found != path else None

    def _current(self) -> Mapping[str, Renamed]:
        with self._turn:
            work_tree = next(
                (folder for folder in (self._root, *self._root.parents) if (folder / ".git").exists()), None
            )
            if work_tree is None:
                return {}
            moves = _moves_of_head(work_tree)
            if moves is not None and moves == self._moves:
                return self._renames
            head = self._git("rev-parse", "HEAD")
            if head is not None and head != self._head:
                self._renames = dict(_parsed(self._git(*_RENAMES) or ""))
                self._head = head
            self._moves = moves
            return self._renames if head is not None else {}

    def _git(self, *arguments: str) -> str | None:
        """Return what git prints; None if it fails."""
        # No network and no program that the work tree's own configuration names.
        command = ["git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never", *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - a fixed command; the paths are its own output
                command,
                cwd=self._root,
                env={**os.environ, **_QUIET},
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            logger.opt(exception=error).debug("The git history of the documents cannot be read")
            return None
        if done.returncode or len(done.stdout) > _OUTPUT_BYTES_AT_MOST:
            return None
        return done.stdout.decode("utf-8", "replace")


def _moves_of_head(work_tree: Path) -> tuple[int, int] | None:
    """Return time and size of the log of all that was checked out; None without one: then git has to be asked."""
    try:
        facts = (work_tree / ".git" / "logs" / "HEAD").stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def _parsed(log: str) -> Iterator[tuple[str, Renamed]]:
    """Yield old path and new place of each rename, the oldest first, so that in a dictionary the newest stays."""
    parts = [part.lstrip("\n") for part in log.split("\0")]
    found: list[tuple[str, Renamed]] = []
    place = 0
    while place + 2 < len(parts):
        status, old, new = parts[place : place + 3]
        if status[:1] == "R" and status[1:].isdecimal():
            found.append((old, Renamed(new, int(status[1:]))))
            place += 3
        else:
            place += 1
    return reversed(found)
