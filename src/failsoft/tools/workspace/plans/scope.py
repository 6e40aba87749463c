"""Match files against the paths and globs of a plan. Pure; in doubt a file is not covered.

Names that begin with a dot are covered only where the plan spells the dot, as in a shell: `**` must not open
`.git/hooks`. Case and composition of letters count, also on file systems that ignore them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

from failsoft.framework.errors.corrections import slip_of
from failsoft.framework.errors.violations import Reason, Violation

FILES_AT_MOST = 200
"""Paths and globs of one plan."""
_LENGTH_AT_MOST = 1_000
_ALL_AT_MOST = 20_000
"""Characters of all files of a plan, which must fit into one answer to its approver."""
_EXPECTED = "a path or glob, relative to the workspace"
_DEEP = "**"


def normal(pattern: str) -> str:
    """Return the one spelling of a path or glob: without empty names and `.`."""
    return "/".join(name for name in pattern.split("/") if name not in {"", "."})


def faults_of(files: Sequence[str], waive: Sequence[str] = (), rules: frozenset[str] | None = None) -> list[Violation]:
    """Return the faults of a plan that is to be submitted.

    Args:
        files: Its paths and globs.
        waive: The policy rules that it waives.
        rules: Those that it may waive; None where they are not all known.
    """
    return [*_faults_of_files(files), *(_faults_of_waivers(waive, rules) if rules is not None else ())]


def _faults_of_waivers(waive: Sequence[str], rules: frozenset[str]) -> Iterator[Violation]:
    for index, rule in enumerate(waive):
        if rule not in rules:
            yield Violation(
                path=f"waive.{index}",
                reason="enum",
                message="no policy of this server has this rule",
                expected="a rule of a policy",
                allowed=tuple(sorted(rules)),
                suggestion=slip_of(rule, rules),
            )


def _faults_of_files(files: Sequence[str]) -> list[Violation]:
    if not 1 <= len(files) <= FILES_AT_MOST:
        said = f"expected 1 to {FILES_AT_MOST} paths or globs"
        return [Violation(path="files", reason="length", message=said, expected=said.removeprefix("expected "))]
    if sum(map(len, files)) > _ALL_AT_MOST:
        said = f"expected at most {_ALL_AT_MOST} characters in all"
        return [Violation(path="files", reason="length", message=said, expected=said.removeprefix("expected "))]
    faults = [(index, fault_of(pattern)) for index, pattern in enumerate(files)]
    return [
        Violation(path=f"files.{index}", reason=fault[0], message=fault[1], expected=_EXPECTED)
        for index, fault in faults
        if fault is not None
    ]


def fault_of(pattern: str) -> tuple[Reason, str] | None:  # noqa: PLR0911 - one a fault
    """Return why a path or glob cannot be part of a plan; None if it can."""
    names = pattern.split("/")
    if len(pattern) > _LENGTH_AT_MOST:
        return "length", f"it has more than {_LENGTH_AT_MOST} characters"
    if not pattern.isprintable():
        return "format", "it contains characters that cannot be printed"
    if pattern.startswith("/"):
        return "pattern", "it is absolute"
    if ".." in names:
        return "pattern", "it contains '..'"
    if names[-1] in {"", "."}:
        return "pattern", "it does not name a file: end it with a name, or with /** for all files below a folder"
    if any(_DEEP in name and name != _DEEP for name in names):
        return "pattern", "'**' has to be a whole name between slashes"
    return None


def covers(files: Sequence[str], path: str) -> bool:
    """Return whether one of the paths and globs is for this file.

    `*`, `?` and `[...]` match within one name, `**` any number of folders. A path that the plan lists literally is
    covered even if it contains such characters.

    >>> [covers(["src/**", "a?.md"], path) for path in ("src/x/y.py", "src", "ab.md", "src/.env")]
    [True, False, True, False]

    Args:
        files: Paths and globs as `normal` spells them.
        path: Relative to the workspace, as `normal` spells it.
    """
    names = path.split("/")
    return path in files or any(_fits(pattern.split("/"), names) for pattern in files)


def _fits(pattern: list[str], names: list[str]) -> bool:
    """Match the names against the parts of the pattern, all alternatives of `**` at once."""
    if pattern[-1] == _DEEP:
        pattern = [*pattern, "*"]  # the files beneath a folder, and not the folder
    reached = {0}
    for part in pattern:
        if part == _DEEP:
            for index in range(min(reached, default=len(names)), len(names)):
                if index in reached and not names[index].startswith("."):
                    reached.add(index + 1)
        else:
            reached = {index + 1 for index in reached if index < len(names) and _is_like(names[index], part)}
    return len(names) in reached


def _is_like(name: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, part)
