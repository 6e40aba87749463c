"""`Source`: where a configuration of recovery comes from, so that every fault can be told with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failsoft.framework.errors import ConfigurationError
from failsoft.recovery.toml_places import line_of

__all__ = ["Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """The texts of a configuration, the one that counts more first.

    Args:
        texts: What they are called in messages, and the TOML in them.
    """

    texts: tuple[tuple[str, str], ...] = ()

    def place(self, path: Sequence[str]) -> str:
        """Return where a value stands: the source, the line and the keys."""
        keys = ".".join(path)
        for name, text in self.texts:
            line = line_of(text, path)
            if line is not None:
                return f"{name}, line {line}: {keys}"
        return keys

    def refused(self, path: Sequence[str], why: str) -> ConfigurationError:
        """Return the error for one fault."""
        return ConfigurationError(
            issue=f"{self.place(path)}: {why}", resolution="correct the recovery configuration there"
        )
