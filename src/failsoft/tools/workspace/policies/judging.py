"""The judgement on one write: what the policies find in the new content, less what the file had before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

from failsoft.framework.errors import ToolError, ToolSystemError
from failsoft.framework.text import bounded
from failsoft.framework.violations import Violation
from failsoft.tools.workspace.policies.port import Finding, Policy
from failsoft.tools.workspace.policy_errors import PolicyViolation, RustPolicyViolation

__all__ = ["judge"]

_FINDINGS_AT_MOST = 1_000
_LISTED_AT_MOST = 20
_IN_WORDS_AT_MOST = 5
_RULE_AT_MOST = 60
_ADVICE_AT_MOST = 200
_Key: TypeAlias = tuple[str, str, str]


def judge(policies: Sequence[Policy], path: str, new: bytes, old: bytes | None, *, parameter: str) -> list[str]:
    """Return warnings on what the file has already and keeps; raise for what the write would bring in.

    Args:
        policies: Asked in this order; the first one that finds something gives the code.
        path: The file, relative to the workspace, with `/`.
        new: Its whole new content.
        old: What is in it now; None for a new file.
        parameter: The argument that the content comes from.

    Raises:
        POLICY_VIOLATION: The write would bring something in that a policy forbids.
        RUST_POLICY_VIOLATION: The same, where the policy for Rust is the first to say so.
        SYSTEM_ERROR: A policy broke, so that nobody knows what it would have said.
    """
    text = new.decode(errors="replace")
    found = [(policy.name, finding) for policy in policies for finding in _asked(policy, path, text)]
    if not found:
        return []
    before = _known(policies, path, old) if old is not None else Counter()
    lines = text.split("\n")
    fresh: list[tuple[str, Finding]] = []
    kept: list[tuple[str, Finding]] = []
    for name, finding in found:
        key = _key(name, finding, lines)
        is_known = before[key] > 0
        before[key] -= is_known
        (kept if is_known else fresh).append((name, finding))
    if fresh:
        raise _refused(fresh, parameter)
    listed = ", ".join(f"line {one.line}: {bounded(one.rule, _RULE_AT_MOST)}" for _, one in kept[:_IN_WORDS_AT_MOST])
    more = f" and {len(kept) - _IN_WORDS_AT_MOST} more" if len(kept) > _IN_WORDS_AT_MOST else ""
    return [f"The file had this before, and still has it: {listed}{more}."]


def _asked(policy: Policy, path: str, text: str) -> Iterator[Finding]:
    """Yield what a policy finds. One that breaks stops the write: silence would pass for consent."""
    try:
        told: Iterable[Any] = policy.findings(path, text)
        for finding in islice(told, _FINDINGS_AT_MOST):
            if not isinstance(finding, Finding):
                msg = f"a policy yields Finding, not {type(finding).__name__}"
                raise TypeError(msg)  # noqa: TRY301 - told like any other mistake of the policy's
            yield finding
    except ToolError as error:
        error.effect = error.effect or "none"
        raise
    except BaseException as error:
        raise ToolSystemError(component=f"policy '{bounded(policy.name, _RULE_AT_MOST)}'", effect="none") from error


def _known(policies: Sequence[Policy], path: str, old: bytes) -> Counter[_Key]:
    """Return how often each finding is in the file already."""
    text = old.decode(errors="replace")
    lines = text.split("\n")
    return Counter(_key(policy.name, one, lines) for policy in policies for one in _asked(policy, path, text))


def _key(policy: str, finding: Finding, lines: Sequence[str]) -> _Key:
    """Return what makes two findings the same: the rule, and the text that it is about, wherever it stands now."""
    start = max(0, finding.line - 1)
    covered = lines[start : start + max(1, finding.lines)]
    return policy, finding.rule, "\n".join(line.strip() for line in covered)


def _refused(fresh: Sequence[tuple[str, Finding]], parameter: str) -> ToolError:
    violations = [
        Violation(
            path=parameter,
            reason="value",
            message=f"line {finding.line}: {_rule(finding)}",
            expected=bounded(finding.advice, _ADVICE_AT_MOST),
        )
        for _, finding in fresh[:_LISTED_AT_MOST]
    ]
    told = "; ".join(
        f"line {finding.line}: {_rule(finding)}, {bounded(finding.advice, _ADVICE_AT_MOST)}"
        for _, finding in fresh[:_IN_WORDS_AT_MOST]
    )
    more = f"; and {len(fresh) - _IN_WORDS_AT_MOST} more" if len(fresh) > _IN_WORDS_AT_MOST else ""
    names = ", ".join(dict.fromkeys(bounded(name, _RULE_AT_MOST) for name, _ in fresh))
    kind = RustPolicyViolation if fresh[0][0] == "rust" else PolicyViolation
    return kind(policies=names, found=told + more, violations=violations, effect="none")


def _rule(finding: Finding) -> str:
    return bounded(str(finding.rule), _RULE_AT_MOST)
