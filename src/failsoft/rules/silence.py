"""Rules that a project silences, each with a reason: `[tool.failsoft.silence]` of `pyproject.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.errors import ConfigurationError, NotFound
from failsoft.framework.text import bounded
from failsoft.rules.catalogue import by_name

_TABLE = "[tool.failsoft.silence]"


@dataclass(frozen=True, slots=True)
class Silences:
    """The silenced rules of a project.

    Args:
        reasons: The reason by the rule's name and the tool; an empty tool stands for all.
    """

    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def from_table(cls, table: Any, *, place: str = "pyproject.toml") -> Silences:
        """Return the silences of a table `"NAME" | "NAME:TOOL" = "reason"`.

        Args:
            table: The value of `tool.failsoft.silence`.
            place: The file that it is from, for the error.

        Raises:
            CONFIG_ERROR: It is no table, a rule is unknown, or a reason is missing.
        """
        if not isinstance(table, Mapping):
            raise ConfigurationError(issue=f"{_TABLE} in {place} is no table")
        reasons: dict[tuple[str, str], str] = {}
        for key, reason in table.items():
            name, _, tool = str(key).partition(":")
            try:
                rule = by_name(name)
            except NotFound as error:
                raise ConfigurationError(
                    issue=f"{_TABLE} in {place} names no rule ({error.message})", resolution="failsoft rules lists them"
                ) from None
            if not isinstance(reason, str) or not reason.strip():
                raise ConfigurationError(
                    issue=f'{_TABLE} in {place} gives no reason for "{bounded(str(key))}"',
                    resolution=f'"{bounded(str(key))}" = "the reason"',
                )
            reasons[rule.name, tool.strip()] = reason.strip()
        return cls(reasons)

    def reason(self, name: str, tool: str = "") -> str | None:
        """Return why a rule is silenced for a tool, or None if it is not."""
        return self.reasons.get((name, tool)) or self.reasons.get((name, ""))
