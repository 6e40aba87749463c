"""The catalogue of rules: looked up by number or name, silenced by a project with a reason, and rendered as pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.errors import ConfigurationError, NotFound
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.text import bounded
from failsoft.rules.answered import ANSWERED
from failsoft.rules.declared import DECLARED
from failsoft.rules.rule import Rule

RULES: tuple[Rule, ...] = (*ANSWERED, *DECLARED)
"""All rules by number, those of `failsoft probe` first."""
_BY_NAME = {rule.name: rule for rule in RULES}
_BY_NUMBER = {rule.number: rule for rule in RULES}
_TABLE = "[tool.failsoft.silence]"
_FOUND_BY = {"static": "failsoft lint", "probe": "failsoft probe"}


def find_rule(text: str) -> Rule | None:
    """Return the rule of a number or a name, in whatever case, with hyphens or underscores; None if there is none."""
    wanted = text.strip().replace("_", "-")
    return _BY_NAME.get(wanted.lower()) or _BY_NUMBER.get(wanted.upper())


def by_name(name: str) -> Rule:
    """Return the rule of this name or number.

    Raises:
        NOT_FOUND: There is none; the closest name is in the message.
    """
    rule = find_rule(name)
    if rule is None:
        closest = closest_name(name, _BY_NAME)
        asked = f"; did you mean '{closest}'?" if closest else "."
        raise NotFound(message=f"There is no rule '{bounded(name)}'{asked}", suggestions=[closest] if closest else [])
    return rule


@dataclass(frozen=True, slots=True)
class Silences:
    """The rules that a project silences, in `[tool.failsoft.silence]` of its `pyproject.toml`.

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
            CONFIG_ERROR: It is not a table, a rule is unknown, or a reason is missing.
        """
        if not isinstance(table, Mapping):
            raise ConfigurationError(issue=f"{_TABLE} in {place} is not a table")
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


def page_of_rule(rule: Rule) -> str:
    """Return the page of a rule as Markdown."""
    return f"""# {rule.name}

{rule.summary}

`{rule.number}`, {rule.severity}, found by `{_FOUND_BY[rule.half]}`.

## Why

{rule.why}

## Bad

```text
{rule.bad}
```

## Good

```text
{rule.good}
```

## Silence it

In `pyproject.toml`, with the reason; for one tool, or for all without `:TOOL`:

```toml
[tool.failsoft.silence]
"{rule.name}:TOOL" = "why it does not matter here"
```
"""


def index_of_rules() -> str:
    """Return the page that lists all rules as Markdown."""
    lines = [
        "# Rules",
        "",
        "What `failsoft lint` checks without running a handler, and what `failsoft probe` checks in the answers of",
        "any MCP server. `failsoft explain RULE` prints a page, by number or by name.",
    ]
    for half, title in (("probe", "Answers"), ("static", "Declarations and texts")):
        lines += ["", f"## {title}", "", f"Found by `{_FOUND_BY[half]}`:", ""]
        lines += ["| Rule | Name | Severity | What must hold |", "|---|---|---|---|"]
        lines += [
            f"| `{rule.number}` | [{rule.name}]({rule.name}.md) | {rule.severity} | {rule.summary} |"
            for rule in RULES
            if rule.half == half
        ]
    return "\n".join(lines) + "\n"


def rule_pages() -> dict[str, str]:
    """Return the pages of all rules and their index, by file name."""
    return {"index.md": index_of_rules(), **{f"{rule.name}.md": page_of_rule(rule) for rule in RULES}}
