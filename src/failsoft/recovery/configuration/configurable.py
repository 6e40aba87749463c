"""Strategies that a recovery configuration can name, with their options."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import failsoft.recovery
from failsoft.recovery.facts import StrategyFacts, facts_of


@dataclass(frozen=True, slots=True)
class Configurable:
    """A strategy that can be configured.

    Args:
        strategy: Its class.
        facts: What the class declares.
    """

    strategy: type[Any]
    facts: StrategyFacts | None

    @property
    def options(self) -> type[Any] | None:
        """The dataclass of its options; None if it has none."""
        return self.strategy if self.facts is None else self.facts.options

    @property
    def is_made(self) -> bool:
        """Whether a recovery file can add it."""
        return getattr(self.strategy, "added_in", "file") == "file" if self.facts is None else self.facts.is_made

    @property
    def fields(self) -> dict[str, dataclasses.Field[Any]]:
        """The options that can be set, by name."""
        if self.options is None or not dataclasses.is_dataclass(self.options):
            return {}
        return {field.name: field for field in dataclasses.fields(self.options) if "in_code" not in field.metadata}

    @property
    def has_dependency(self) -> bool:
        """Whether it can be shared by several operations through a named dependency."""
        return "dependency" in self.fields

    def check(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return valid options if they go together.

        Raises:
            ValueError: They do not; the message says why.
        """
        if self.is_made and not self.missing(given):
            self.make(given)
        return given

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        """Return the names of required options that are missing."""
        needed = [name for name, field in self.fields.items() if field.default is dataclasses.MISSING]
        return [name for name in needed if name not in given]

    def make(self, given: Mapping[str, Any]) -> Any:
        """Return the strategy with these options."""
        return self.strategy(**given)

    def changed(self, strategy: Any, given: Mapping[str, Any]) -> Any:
        """Return a copy of a strategy with these options replaced."""
        if not given or self.options is None:
            return strategy
        if self.facts is None:
            return dataclasses.replace(strategy, **given)
        twin = copy.copy(strategy)
        twin.options = dataclasses.replace(strategy.options, **given)
        return twin


def _all() -> Iterator[Configurable]:
    for name in failsoft.recovery.__all__:
        strategy = getattr(failsoft.recovery, name)
        if isinstance(strategy, type) and (facts := facts_of(strategy)) is not None:
            yield Configurable(strategy, facts)
        elif dataclasses.is_dataclass(strategy) and isinstance(getattr(strategy, "name", None), str):
            known: Any = strategy
            yield Configurable(known, None)


CONFIGURABLE: dict[str, Configurable] = {known.strategy.name: known for known in _all()}
"""By strategy name, as in receipts, metrics and `describe()`."""
