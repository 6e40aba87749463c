"""What `failsoft doctor` has found: facts by section, and remarks; a missing extra is one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from failsoft.framework.errors import ConfigurationError, ToolError


@dataclass(frozen=True, slots=True)
class Remark:
    """A fault (`error`), or a setting that works but is probably not intended (`warning`)."""

    severity: Literal["error", "warning"]
    about: str
    message: str


@dataclass(slots=True)
class Checkup:
    """All facts as JSON values by section, with remarks."""

    sections: dict[str, Any] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        """Whether there are no errors; warnings do not count."""
        return all(remark.severity != "error" for remark in self.remarks)

    def broken(self, about: str, message: str) -> None:
        """Remark on a fault."""
        self.remarks.append(Remark("error", about, message))

    def warn(self, about: str, message: str) -> None:
        """Remark on what works."""
        self.remarks.append(Remark("warning", about, message))

    def report(self, about: str, error: ToolError, *, is_left_out: bool = False) -> None:
        """Remark on an error; a missing extra is one row, whatever needs it, and the gravest remark on it stays.

        Args:
            about: What the error is about.
            error: The error.
            is_left_out: Whether it is that of a toolset which was not asked for.
        """
        note = self.warn if is_left_out else self.broken
        cause = error.__cause__ if isinstance(error.__cause__, ConfigurationError) else error
        extra = (cause.details or {}).get("extra")
        if extra is None or not isinstance(cause, ConfigurationError):
            note(about, error.message)
            return
        row = f"extra {extra}"
        if is_left_out and any(remark.about == row for remark in self.remarks):
            return
        self.remarks = [remark for remark in self.remarks if remark.about != row]
        note(row, f"{cause.issue}: {cause.resolution}")
