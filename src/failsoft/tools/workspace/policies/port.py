"""What a policy is, and what it finds. Third parties register theirs in the entry-point group `failsoft.policies`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["Finding", "Policy"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a text breaks a rule. It never holds what stands there: that may be a secret.

    Args:
        rule: The name of the rule, in lower case (`merge-marker`).
        line: The first line, from 1.
        advice: What to do instead, in words that go on after the rule.
        lines: How many lines it covers; they decide whether it was in the file before.
    """

    rule: str
    line: int
    advice: str
    lines: int = 1


@runtime_checkable
class Policy(Protocol):
    """Judges the whole new content of a file before it is written."""

    @property
    def name(self) -> str:
        """What the settings call it."""

    def findings(self, path: str, text: str) -> Iterable[Finding]:
        """Return where the text breaks the rules; it runs in a worker thread, and touches no file.

        Args:
            path: The file, relative to the workspace, with `/`.
            text: Its whole new content; what is no UTF-8 stands in it as U+FFFD.
        """
