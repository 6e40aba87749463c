"""The interface of policies. Third parties register policies in the entry-point group `failsoft.policies`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a text breaks a rule. It never holds the text itself, which may be a secret.

    Args:
        rule: The id of the rule, in lower case (`merge-marker`), by which a plan may waive it.
        line: The first line, from 1.
        advice: What to do instead, as a clause that follows the rule.
        lines: How many lines it covers; their text decides whether the finding was in the file before.
        column: The first column, from 1, in characters.
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
