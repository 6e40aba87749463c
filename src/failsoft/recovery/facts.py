"""`StrategyFacts`: what a shipped strategy declares about itself, for configuration, start-up checks and its page."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from failsoft.framework.errors.corrections import closest_name


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

    def __set_name__(self, owner: type[Any], name: str) -> None:
        """Let the constructor of the strategy name the closest option to one that is misspelt."""
        construct = vars(owner).get("__init__")
        if construct is None:
            return

        @functools.wraps(construct)
        def named(self: Any, *arguments: Any, **options: Any) -> None:
            try:
                construct(self, *arguments, **options)
            except TypeError as refused:
                known = list(inspect.signature(construct).parameters)[1:]
                for option in sorted(options.keys() - set(known)):
                    if closest := closest_name(option, known):
                        refused.add_note(f"{owner.__name__} has no option '{option}'; did you mean '{closest}'?")
                raise

        owner.__init__ = named


def facts_of(strategy: Any) -> StrategyFacts | None:
    """Return the facts of a strategy or its class; None if it declares none."""
    facts = getattr(strategy, "facts", None)
    return facts if isinstance(facts, StrategyFacts) else None
