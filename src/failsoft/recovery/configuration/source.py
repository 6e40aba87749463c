"""`ConfigurationSource`: the texts of a recovery configuration, to report the location of each problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failsoft.framework.errors import ConfigurationError
from failsoft.recovery.configuration.toml_places import line_of

__all__ = ["ConfigurationSource"]


@dataclass(frozen=True, slots=True)
class ConfigurationSource:
    """The texts of a configuration, in order of precedence.

    Args:
        texts: Pairs of a name for messages and the TOML text.
    """

    texts: tuple[tuple[str, str], ...] = ()

    def place(self, path: Sequence[str]) -> str:
        """Return the location of a value: the source, the line and the keys."""
        keys = ".".join(path)
        for name, text in self.texts:
            line = line_of(text, path)
            if line is not None:
                return f"{name}, line {line}: {keys}"
        return keys

    def refused(self, path: Sequence[str], why: str) -> ConfigurationError:
        """Return the error for one problem."""
        return ConfigurationError(
            issue=f"{self.place(path)}: {why}", resolution="correct the recovery configuration there"
        )
