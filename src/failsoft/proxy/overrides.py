"""Operator overrides for the tools of an upstream: a TOML file, one table per tool."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.recovery.configuration.source import line_of


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Defaults(_Strict):
    """What holds for every tool."""

    timeout_s: float | None = Field(default=None, gt=0)
    refuse_unknown: bool = True


class ToolOverride(_Strict):
    """What holds for one tool; what is left out stays as the upstream says.

    `attempts` counts the first run. `stale_s` is the maximum age of a cached answer for a failed read-only tool.
    """

    hidden: bool = False
    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.-]{1,128}$")
    description: str | None = None
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    timeout_s: float | None = Field(default=None, gt=0)
    refuse_unknown: bool | None = None
    attempts: int | None = Field(default=None, ge=1, le=20)
    stale_s: float | None = Field(default=None, gt=0)

    def annotations(self) -> dict[str, bool]:
        """Return the tool annotations that are set here."""
        declared = {
            "readOnlyHint": self.read_only,
            "idempotentHint": self.idempotent,
            "destructiveHint": self.destructive,
        }
        return {name: value for name, value in declared.items() if value is not None}


class _File(_Strict):
    defaults: Defaults = Defaults()
    tools: dict[str, ToolOverride] = {}


@dataclass(frozen=True, slots=True)
class Overrides:
    """The file's content; without a file nothing is changed."""

    defaults: Defaults = field(default_factory=Defaults)
    tools: Mapping[str, ToolOverride] = field(default_factory=dict)

    def of(self, name: str) -> ToolOverride:
        """Return what holds for a tool, by the name that it has without this file."""
        return self.tools.get(name) or ToolOverride()


def read_overrides(path: Path | None) -> Overrides:
    """Return the overrides of a file.

    Raises:
        CONFIG_ERROR: It cannot be read, is no TOML, or says something that means nothing; lists all faults with their
            lines.
    """
    if path is None:
        return Overrides()
    try:
        text = path.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(issue=f"{path.name} cannot be read: {type(error).__name__}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(issue=f"{path.name} is not TOML: {bounded(str(error))}") from error
    try:
        file = _File.model_validate(tree)
    except ValidationError as error:
        violations = violations_from_pydantic(error, _File.model_json_schema(), tree)
        lines = [(line_of(text, violation.path.split(".")) or 0, _fault(violation)) for violation in violations]
        faults = "; ".join(f"line {line}: {fault}" for line, fault in sorted(lines))
        raise ConfigurationError(issue=f"{path.name}, {faults}", resolution="correct the file") from None
    return Overrides(file.defaults, file.tools)


def _fault(violation: Violation) -> str:
    if violation.reason != "unexpected":
        return f"{violation.path}: {violation.message}"
    if violation.suggestion:
        return f"{violation.path}: no such key; did you mean '{violation.suggestion}'?"
    return f"{violation.path}: no such key; there are {', '.join(violation.allowed)}"
