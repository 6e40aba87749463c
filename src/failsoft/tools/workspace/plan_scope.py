"""Which files a plan covers: its paths and globs, pure. What is not surely covered is not.

Names that begin with a dot are covered only where the plan itself begins them so, as in a shell: `**` must not let
anybody write `.git/hooks`. Case and composition of letters count, also on file systems that ignore them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from failsoft.framework.violations import Reason, Violation

__all__ = ["FILES_AT_MOST", "covers", "faults_of", "normal"]

FILES_AT_MOST = 200
"""Paths and globs of one plan."""
_LENGTH_AT_MOST = 1_000
_ALL_AT_MOST = 20_000
"""Characters of all files of a plan: whoever approves it has to get it in one answer."""
_EXPECTED = "a path or glob, relative to the workspace"
_DEEP = "**"


def normal(pattern: str) -> str:
    """Return the one spelling of a path or glob: without empty names and `.`."""
    return "/".join(name for name in pattern.split("/") if name not in {"", "."})


def faults_of(files: Sequence[str]) -> list[Violation]:
    """Return what is wrong with the files of a plan that shall be submitted."""
    if not 1 <= len(files) <= FILES_AT_MOST:
        said = f"expected 1 to {FILES_AT_MOST} paths or globs"
        return [Violation(path="files", reason="length", message=said, expected=said.removeprefix("expected "))]
    if sum(map(len, files)) > _ALL_AT_MOST:
        said = f"expected at most {_ALL_AT_MOST} characters in all"
        return [Violation(path="files", reason="length", message=said, expected=said.removeprefix("expected "))]
    faults = [(place, _fault_of(pattern)) for place, pattern in enumerate(files)]
    return [
        Violation(path=f"files.{place}", reason=fault[0], message=fault[1], expected=_EXPECTED)
        for place, fault in faults
        if fault is not None
    ]


def _fault_of(pattern: str) -> tuple[Reason, str] | None:  # noqa: PLR0911 - one a fault
    names = pattern.split("/")
    if len(pattern) > _LENGTH_AT_MOST:
        return "length", f"it has more than {_LENGTH_AT_MOST} characters"
    if not pattern.isprintable():
        return "format", "it has characters in it that cannot be printed"
    if pattern.startswith("/"):
        return "pattern", "it is absolute"
    if ".." in names:
        return "pattern", "it has '..' in it"
    if names[-1] in {"", "."}:
        return "pattern", "it names no file: end it with a name, or with /** for all files beneath a folder"
    if any(_DEEP in name and name != _DEEP for name in names):
        return "pattern", "'**' has to stand alone between slashes"
    return None


def covers(files: Sequence[str], path: str) -> bool:
    """Return whether one of the paths and globs is for this file.

    `*` and `?` and `[...]` stand for what is in one name, `**` for any number of folders. A path that is in the plan
    letter by letter is covered whatever its letters would mean in a glob.

    >>> [covers(["src/**", "a?.md"], path) for path in ("src/x/y.py", "src", "ab.md", "src/.env")]
    [True, False, True, False]

    Args:
        files: Paths and globs as `normal` spells them.
        path: Relative to the workspace, as `normal` spells it.
    """
    names = path.split("/")
    return path in files or any(_fits(pattern.split("/"), names) for pattern in files)


def _fits(pattern: list[str], names: list[str]) -> bool:
    """Follow all ways at once to divide the names among the parts of the pattern."""
    if pattern[-1] == _DEEP:
        pattern = [*pattern, "*"]  # the files beneath a folder, and not the folder
    reached = {0}
    for part in pattern:
        if part == _DEEP:
            for place in range(min(reached, default=len(names)), len(names)):
                if place in reached and not names[place].startswith("."):
                    reached.add(place + 1)
        else:
            reached = {place + 1 for place in reached if place < len(names) and _is_like(names[place], part)}
    return len(names) in reached


def _is_like(name: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, part)
