"""Judge a write by policies: findings in the new content, without those that the file already had."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias, runtime_checkable

from failsoft.framework.errors import ToolError, ToolSystemError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, enumerated
from failsoft.tools.workspace.errors import PolicyViolation, RustPolicyViolation


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a text breaks a rule. It never holds the text itself, which may be a secret.

    Args:
        rule: The id of the rule, in lower case (`merge-marker`), by which a plan may waive it.
        line: The first line, from 1.
        advice: What to do instead, as a clause that follows the rule.
        lines: How many lines it covers; their text decides whether the finding was in the file before.
        column: The first column, from 1, in characters.

    Examples:
        >>> Finding("merge-marker", line=3, advice="resolve the conflict").rule
        'merge-marker'
    """

    rule: str
    line: int
    advice: str
    lines: int = 1
    column: int = 1


@runtime_checkable
class Policy(Protocol):
    """Checks the whole new content of a file before it is written.

    A policy may also have `rules`, the ids of all its rules: then a plan that waives an unknown rule is refused.

    Examples:
        >>> class NoTasks:
        ...     name = "no_tasks"
        ...     def findings(self, path: str, text: str) -> list[Finding]:
        ...         lines = enumerate(text.splitlines(), 1)
        ...         return [Finding("task", number, "file an issue") for number, line in lines if "TODO" in line]
        >>> isinstance(NoTasks(), Policy), NoTasks().findings("a.py", "# TODO")[0].line
        (True, 1)
    """

    @property
    def name(self) -> str:
        """Its name in the settings."""

    def findings(self, path: str, text: str) -> Iterable[Finding]:
        """Return the findings in a text. Called in a worker thread; must not read files.

        Args:
            path: The file, relative to the workspace, with `/`.
            text: Its whole new content; bytes that are not UTF-8 are U+FFFD.
        """


class LineNumbers:
    """The lines of a text, each ended by a line feed."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        end = text.find("\n")
        while end >= 0:
            self._starts.append(end + 1)
            end = text.find("\n", end + 1)

    def number(self, offset: int) -> int:
        """Return the line, from 1, that an offset is in."""
        return bisect_right(self._starts, offset)

    def finding(self, rule: str, advice: str, start: int, end: int | None = None) -> Finding:
        """Return the finding at an offset; with `end`, it covers the lines up to that offset, which is excluded."""
        line = self.number(start)
        lines = 1 if end is None else self.number(max(start, end - 1)) - line + 1
        return Finding(rule=rule, line=line, advice=advice, lines=lines, column=start - self._starts[line - 1] + 1)


_FINDINGS_AT_MOST = 1_000
_LISTED_AT_MOST = 20
_IN_WORDS_AT_MOST = 5
_RULE_AT_MOST = 60
_ADVICE_AT_MOST = 200
_Key: TypeAlias = tuple[str, str, str]


def judge(
    policies: Sequence[Policy],
    path: str,
    new: bytes,
    old: bytes | None,
    *,
    parameter: str,
    waived: Collection[str] = (),
) -> list[str]:
    """Return warnings for findings that the file already had or that are waived; raise for all others.

    Args:
        policies: Called in this order; the first one that finds something gives the code.
        path: The file, relative to the workspace, with `/`.
        new: Its whole new content.
        old: Its current content; None for a new file.
        parameter: The argument that the content comes from.
        waived: Rules that the plan of the write waives.

    Raises:
        POLICY_VIOLATION: The write would add something that a policy forbids.
        RUST_POLICY_VIOLATION: The same, where the policy for Rust is the first to find something.
        SYSTEM_ERROR: A policy raised an exception, so its result is unknown.
    """
    text = new.decode(errors="replace")
    found = [(policy.name, finding) for policy in policies for finding in _findings(policy, path, text)]
    if not found:
        return []
    before = _known(policies, path, old) if old is not None else Counter()
    keys = _Keys(text)
    fresh: list[tuple[str, Finding]] = []
    kept: list[Finding] = []
    excused: list[Finding] = []
    for name, finding in found:
        key = keys.of(name, finding)
        if before[key] > 0:
            before[key] -= 1
            kept.append(finding)
        elif finding.rule in waived:
            excused.append(finding)
        else:
            fresh.append((name, finding))
    if fresh:
        raise _refused(fresh, parameter)
    return [
        *([f"The file had this before, and still has it: {_listed(kept)}."] if kept else []),
        *([f"The plan waives what this write adds: {_listed(excused)}."] if excused else []),
    ]


def _listed(findings: Sequence[Finding]) -> str:
    return enumerated(findings, _IN_WORDS_AT_MOST, write=lambda one: f"line {one.line}: {_rule(one)}")


def _findings(policy: Policy, path: str, text: str) -> Iterator[Finding]:
    """Yield the findings of a policy. An exception stops the write: skipping the policy would allow anything."""
    try:
        findings: Iterable[Any] = policy.findings(path, text)
        for finding in islice(findings, _FINDINGS_AT_MOST):
            if not isinstance(finding, Finding):
                msg = f"a policy yields Finding, not {type(finding).__name__}"
                raise TypeError(msg)  # noqa: TRY301 - handled like any other mistake of the policy
            yield finding
    except ToolError as error:
        error.effect = error.effect or "none"
        raise
    except BaseException as error:
        raise ToolSystemError(component=f"policy '{bounded(policy.name, _RULE_AT_MOST)}'", effect="none") from error


def _known(policies: Sequence[Policy], path: str, old: bytes) -> Counter[_Key]:
    """Return how often each finding is already in the file."""
    text = old.decode(errors="replace")
    keys = _Keys(text)
    return Counter(keys.of(policy.name, one) for policy in policies for one in _findings(policy, path, text))


class _Keys:
    """Keys of findings in one text: equal for the same rule on the same text, wherever it is.

    The text is hashed once for each line: a line may be long, and have many findings.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._hashes: dict[tuple[int, int], str] = {}

    def of(self, policy: str, finding: Finding) -> _Key:
        start, count = max(0, finding.line - 1), max(1, finding.lines)
        if (start, count) not in self._hashes:
            covered = "\n".join(line.strip() for line in self._lines[start : start + count])
            self._hashes[start, count] = hashlib.sha256(covered.encode(errors="replace")).hexdigest()
        return policy, finding.rule, self._hashes[start, count]


def _refused(fresh: Sequence[tuple[str, Finding]], parameter: str) -> ToolError:
    violations = [
        Violation(
            path=parameter,
            reason="value",
            message=f"line {finding.line}, column {finding.column}: {_rule(finding)}",
            expected=bounded(finding.advice, _ADVICE_AT_MOST),
        )
        for _, finding in fresh[:_LISTED_AT_MOST]
    ]
    places = [
        f"line {finding.line}, column {finding.column}: {_rule(finding)}, {bounded(finding.advice, _ADVICE_AT_MOST)}"
        for _, finding in fresh
    ]
    found = enumerated(places, _IN_WORDS_AT_MOST, separator="; ")
    names = ", ".join(dict.fromkeys(bounded(name, _RULE_AT_MOST) for name, _ in fresh))
    findings = [
        {
            "line": finding.line,
            "column": finding.column,
            "rule": _rule(finding),
            "policy": bounded(name, _RULE_AT_MOST),
            "code": _kind(name).code,
            "advice": bounded(finding.advice, _ADVICE_AT_MOST),
        }
        for name, finding in fresh[:_LISTED_AT_MOST]
    ]
    kind = _kind(fresh[0][0])
    return kind(policies=names, found=found, findings=findings, violations=violations, effect="none")


def _kind(policy: str) -> type[PolicyViolation | RustPolicyViolation]:
    return RustPolicyViolation if policy == "rust" else PolicyViolation


def _rule(finding: Finding) -> str:
    return bounded(str(finding.rule), _RULE_AT_MOST)
