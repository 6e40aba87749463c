"""What the call path needs of recovery, as protocols; `failsoft.recovery` and users implement them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.text import snake_case

if TYPE_CHECKING:
    from failsoft.framework.chain import Link
    from failsoft.framework.ports import CalledOperation

__all__ = [
    "PlacedStrategy",
    "RecoveryConfiguration",
    "RecoveryEngine",
    "RecoveryResult",
    "RecoveryStrategy",
    "strategy_name",
]


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What a strategy found in place of the error.

    Args:
        value: The value to answer with.
        message: One sentence that tells the caller what was done.
        changed: Arguments that were changed, with the values that were used.
        degraded: Whether the value is second best (stale, partial).
    """

    value: Any
    message: str
    changed: dict[str, Any] = field(default_factory=dict)
    degraded: bool = False


@runtime_checkable
class RecoveryStrategy(Protocol):
    """One way out of an error.

    A strategy may have a `name`, its label in receipts and metrics; by default it is the class's in snake case.
    """

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        """Return a result in place of the error, or None if this strategy has nothing to offer.

        It may raise a `ToolError`, which takes the place of the error from then on (better suggestions, for example).
        """


def strategy_name(strategy: RecoveryStrategy) -> str:
    """Return the label of a strategy in receipts and metrics."""
    return str(getattr(strategy, "name", "")) or snake_case(type(strategy).__name__)


@runtime_checkable
class PlacedStrategy(Protocol):
    """A strategy with a place in the chain: a breaker, a bulkhead, a cache. It may be a `RecoveryStrategy` too."""

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return its links for one operation, each at its place.

        Raises:
            CONFIG_ERROR: The strategy and the operation do not go together; the message says why.
        """


class RecoveryConfiguration(Protocol):
    """What an operator says about recovery; `failsoft.recovery.configuration` is ours."""

    def timeout_s(self, tool: str, operation: str) -> float | None:
        """Return the limit of a call in seconds, where one is set for its operation or its tool."""

    def default_timeout_s(self) -> float | None:
        """Return the limit of calls whose operation names none, where one is set."""

    def engine(
        self, engine: RecoveryEngine | None, tool: str, operation: str, *, is_default: bool
    ) -> RecoveryEngine | None:
        """Return the engine of one operation as it is configured.

        Raises:
            CONFIG_ERROR: What is configured cannot be done; the message says why and where it stands.
        """

    def explain(self, error: ConfigurationError, tool: str, operation: str) -> ConfigurationError:
        """Return the error of a chain that could not be linked, with the place that has a part in it."""

    def check_operations(self, tool: str, operations: Iterable[str]) -> None:
        """Refuse what is said about operations that a toolset does not have.

        Raises:
            CONFIG_ERROR: With the place.
        """

    def check_tools(self, tools: Iterable[str]) -> None:
        """Refuse what is said about toolsets that are not served.

        Raises:
            CONFIG_ERROR: With the place.
        """


class RecoveryEngine(Protocol):
    """Chooses and runs the strategies for an error. `failsoft.recovery.RecoveryManager` is ours."""

    async def recover(self, error: ToolError, call: CallContext) -> Any:
        """Return the value that takes the error's place, its receipt noted on the call, or raise a `ToolError`."""

    def with_strategies(self, strategies: Sequence[RecoveryStrategy | PlacedStrategy]) -> RecoveryEngine:
        """Return an engine that has just these strategies, for every error."""

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the links of the placed strategies for one operation."""

    def describe(self) -> list[str]:
        """Return the names of the strategies, in the order in which they are tried, for `tool.describe()`."""
