"""The type of an entry of the catalogue of rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Half: TypeAlias = Literal["static", "probe"]
Severity: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a tool's declaration or an answer must hold.

    Args:
        number: `FS` and three digits; never given to another rule. From 101 on they are static.
        name: Words with hyphens, as findings, pages and silences name the rule.
        half: `static` if `failsoft lint` finds it without running a handler, `probe` if `failsoft probe` finds it in
            answers.
        severity: `error` if a caller is misled or harmed, `warning` if it cannot go on, `note` if it is only slower.
        summary: What must hold, in one sentence.
        why: What happens to a caller otherwise.
        bad: An example that breaks the rule.
        good: The same example as it should be.
    """

    number: str
    name: str
    half: Half
    severity: Severity
    summary: str
    why: str
    bad: str
    good: str
