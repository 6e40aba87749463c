"""`StrategyFacts`: what a shipped strategy declares about itself, for configuration, start-up checks and its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["StrategyFacts", "facts_of"]


@dataclass(frozen=True, slots=True)
class StrategyFacts:
    """The `facts` of a strategy class.

    Args:
        options: The dataclass of its options; None if it has none.
        place: Its place in the chain.
        use: When to use it, as the rest of a sentence, in Markdown.
        not_for: What it is not for, likewise.
        example: The options in the example of its page.
        single_for: Whether an operation, or each of its dependencies, may have only one such strategy.
        is_made: Whether a recovery file can add it; otherwise it can only change one added in code.
    """

    options: type[Any] | None
    place: str
    use: str
    not_for: str
    example: Mapping[str, Any] = field(default_factory=dict)
    single_for: Literal["operation", "dependency"] | None = None
    is_made: bool = True


def facts_of(strategy: Any) -> StrategyFacts | None:
    """Return the facts of a strategy or its class; None if it declares none."""
    facts = getattr(strategy, "facts", None)
    return facts if isinstance(facts, StrategyFacts) else None
