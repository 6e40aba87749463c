"""Check the paths and globs of a plan against the files of a workspace before it is submitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from failsoft.framework.text import quoted
from failsoft.tools.workspace.plans.scope import FILES_AT_MOST, covers, fault_of, normal

PlanRule: TypeAlias = Literal["invalid", "matches-nothing", "overlap", "too-wide"]

_WIDE_FROM = 200
"""Files that one glob may match before it counts as too wide."""
_GLOB = frozenset("*?[")


class PlanFinding(TypedDict):
    """One finding: `index` and `file` of the entry, the `rule`, and what is wrong."""

    index: int
    file: str
    rule: PlanRule
    message: str


class PlanCheck(TypedDict):
    """The findings on a plan, how many files of the workspace it covers, and whether all files were looked at."""

    findings: list[PlanFinding]
    files_covered: int
    complete: bool


def lint(files: Sequence[str], names: Sequence[str], *, complete: bool) -> PlanCheck:
    """Return the findings on the files of a plan. Call it from a worker thread: it may take seconds.

    Args:
        files: The paths and globs.
        names: The files of the workspace, relative to it.
        complete: Whether these are all.
    """
    valid = {index: normal(pattern) for index, pattern in enumerate(files) if fault_of(pattern) is None}
    matched = {index: {name for name in names if covers([pattern], name)} for index, pattern in valid.items()}
    findings = [
        *_invalid(files),
        *_matching_nothing(files, matched, complete=complete),
        *_too_wide(files, valid, matched),
        *_overlapping(files, valid, matched),
    ]
    findings.sort(key=lambda finding: finding["index"])
    return {"findings": findings, "files_covered": len(set().union(*matched.values())), "complete": complete}


def _finding(index: int, file: str, rule: PlanRule, message: str) -> PlanFinding:
    return {"index": index, "file": file, "rule": rule, "message": message}


def _invalid(files: Sequence[str]) -> Iterator[PlanFinding]:
    if len(files) > FILES_AT_MOST:
        yield _finding(FILES_AT_MOST, files[FILES_AT_MOST], "invalid", f"a plan has at most {FILES_AT_MOST} files")
    for index, pattern in enumerate(files):
        fault = fault_of(pattern)
        if fault is not None:
            yield _finding(index, pattern, "invalid", fault[1])


def _matching_nothing(files: Sequence[str], matched: dict[int, set[str]], *, complete: bool) -> Iterator[PlanFinding]:
    for index, names in matched.items():
        if not names and complete:
            is_glob = not _GLOB.isdisjoint(files[index])
            said = "no file of the workspace matches" if is_glob else "there is no such file; a write would make it"
            yield _finding(index, files[index], "matches-nothing", said)


def _too_wide(files: Sequence[str], valid: dict[int, str], matched: dict[int, set[str]]) -> Iterator[PlanFinding]:
    for index, pattern in valid.items():
        if not _GLOB.isdisjoint(pattern.split("/")[0]) and set(pattern) <= set("*?/"):
            yield _finding(
                index, files[index], "too-wide", "it covers every file of the workspace or of its top folder"
            )
        elif len(matched[index]) > _WIDE_FROM:
            said = f"it covers {len(matched[index])} files, more than {_WIDE_FROM}"
            yield _finding(index, files[index], "too-wide", said)


def _overlapping(files: Sequence[str], valid: dict[int, str], matched: dict[int, set[str]]) -> Iterator[PlanFinding]:
    """Yield each entry that another one covers, or that shares files with an earlier one."""
    for index, pattern in valid.items():
        for other, wider in valid.items():
            is_earlier = other < index
            if other == index or (pattern == wider and not is_earlier):
                continue
            if pattern == wider or covers([wider], pattern):
                said = f"entry {other}, {quoted(files[other])}, covers it already"
            elif is_earlier and matched[index] & matched[other]:
                said = (
                    f"it shares {len(matched[index] & matched[other])} files with entry {other}, {quoted(files[other])}"
                )
            else:
                continue
            yield _finding(index, files[index], "overlap", said)
            break
