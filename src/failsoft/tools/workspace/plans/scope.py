"""Files that a plan covers: its globs matched and checked, and the guard of a write.

In doubt a file is not covered. Names that begin with a dot are covered only where the plan spells the dot, as in a
shell: `**` must not open `.git/hooks`. Case and composition of letters count, also on file systems that ignore them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from typing_extensions import TypedDict

from failsoft.framework.answer.failure import CONTEXT_KEY
from failsoft.framework.call.call import Call
from failsoft.framework.errors import NextStep, ToolError
from failsoft.framework.errors.corrections import slip_of
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.text import enumerated, quoted
from failsoft.tools.workspace.errors import PlanNotApproved, PlanScopeViolation
from failsoft.tools.workspace.sessions import Session

if TYPE_CHECKING:
    from failsoft.tools.workspace.plans.register import Plan

FILES_AT_MOST = 200
"""Paths and globs of one plan."""
_LENGTH_AT_MOST = 1_000
_SHOWN_AT_MOST = 10
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


Guard: TypeAlias = Callable[[str, str], None]
"""`guard(path, real_path)` raises the ToolError for a file that may not be written. Both paths are relative to the
workspace: as the caller named it, and without links."""
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


def plan_of(call: Call, plan_hash: str | None) -> str | None:
    """Return the plan that a call names, as an argument or else in its `_meta`; None if it names none."""
    if plan_hash is not None:
        return plan_hash
    facts = call.scope.meta.get(CONTEXT_KEY)
    named = facts.get("plan_hash") if isinstance(facts, Mapping) else None
    return None if named is None else str(named)


def list_step(session: Session) -> NextStep:
    """Return the call that lists the plans of a session's workspace."""
    return NextStep("list_plans", {"session_id": session.session_id})


def plan_guard(plans: Sequence[Plan], on_plan: Callable[[Plan], None], session: Session) -> Guard:
    """Return the guard that allows paths which a plan covers, both as named and without links.

    Of several plans that cover a path, one that waives rules takes precedence.

    Args:
        plans: The approved plans that may cover the write.
        on_plan: Called with the plan that covers the path.
        session: The session that writes.
    """
    ordered = sorted(plans, key=lambda plan: not plan.waive)

    def guard(path: str, real_path: str) -> None:
        for plan in ordered:
            if covers(plan.files, path) and covers(plan.files, real_path):
                on_plan(plan)
                return
        patterns = list(dict.fromkeys(pattern for plan in plans for pattern in plan.files))
        listed = enumerated(patterns, _SHOWN_AT_MOST, write=quoted)
        message = f"{quoted(path)} was not written: no approved plan covers it. Covered: {listed}."
        if "/." in f"/{path}":
            message += " A name that begins with a dot has to be spelled out in the plan."
        raise PlanScopeViolation(path=path, message=message, next_step=list_step(session), effect="none")

    return guard


def refusal_guard(error: ToolError) -> Guard:
    """Return the guard of a write without a plan: it raises this error, after the faults of the path."""

    def guard(path: str, real_path: str) -> None:  # noqa: ARG001 - a guard is given both
        if isinstance(error, PlanNotApproved):
            error.message = f"{quoted(path)} was not written: {error.message}"
        raise error

    return guard
