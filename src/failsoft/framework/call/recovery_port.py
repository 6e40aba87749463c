"""Protocols of recovery, implemented by `failsoft.recovery` and by users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from failsoft.framework.call.call import Call
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.text import snake_case

if TYPE_CHECKING:
    from failsoft.framework.call.chain import Chain, Link, Recovery
    from failsoft.framework.tool.bound_operation import BoundOperation

__all__ = [
    "PlacedStrategy",
    "RecoveryConfigurationPort",
    "RecoveryEngine",
    "RecoveryResult",
    "RecoveryStrategy",
    "RuledResult",
    "strategy_name",
]


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The result of a strategy that replaces an error.

    Args:
        value: The value to answer with.
        message: One sentence for the caller about what was done.
        changed: The changed arguments with the values used.
        degraded: Whether the value is of lower quality (stale, partial).
    """

    value: Any
    message: str
    changed: dict[str, Any] = field(default_factory=dict)
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class RuledResult(RecoveryResult):
    """A result of a strategy with several rules; the receipt names the one that applied.

    Args:
        rule: The rule.
    """

    rule: str = ""


@runtime_checkable
class RecoveryStrategy(Protocol):
    """Protocol of a strategy that reacts to an error.

    A strategy may have a `name`, its label in receipts and metrics; by default it is the class's in snake case.
    """

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return a result in place of the error, or None if this strategy does not apply.

        It may raise a `ToolError`, which then replaces the error, for example with better suggestions.
        """


def strategy_name(strategy: RecoveryStrategy) -> str:
    """Return the label of a strategy in receipts and metrics."""
    return str(getattr(strategy, "name", "")) or snake_case(type(strategy).__name__)


@runtime_checkable
class PlacedStrategy(Protocol):
    """Protocol of a strategy that wraps the call: a breaker, a bulkhead, a cache. May be a `RecoveryStrategy`, too."""

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return its links for one operation, each at its place.

        Raises:
            CONFIG_ERROR: The strategy and the operation do not go together; the message says why.
        """


class RecoveryConfigurationPort(Protocol):
    """Protocol of an operator's recovery options; implemented in `failsoft.recovery.configuration.configuration`."""

    def timeout_s(self, tool: str, operation: str) -> float | None:
        """Return the time limit of a call in seconds, if its operation or its tool sets one."""

    def default_timeout_s(self) -> float | None:
        """Return the default time limit of a call in seconds, if set."""

    def engine(
        self, engine: RecoveryEngine | None, tool: str, operation: str, *, is_default: bool
    ) -> RecoveryEngine | None:
        """Return the recovery engine of one operation with the configuration applied.

        Args:
            engine: The engine set in code.
            tool: The toolset.
            operation: The MCP tool name.
            is_default: Whether the engine is the runtime's own, so that `defaults` applies.

        Raises:
            CONFIG_ERROR: The configuration cannot be applied; the message gives the reason and the location.
        """

    def explain(self, error: ConfigurationError, tool: str, operation: str) -> ConfigurationError:
        """Return the error of a chain that could not be assembled, with the location in the configuration."""

    def check_operations(self, tool: str, operations: Iterable[str]) -> None:
        """Reject options for operations that the toolset does not have.

        Raises:
            CONFIG_ERROR: With the location and the closest name.
        """

    def check_shared(self, chains: Mapping[BoundOperation, Chain]) -> None:
        """Reject circuit breakers of one dependency with different options: they share one circuit.

        Raises:
            CONFIG_ERROR: With both operations and the options in which they differ.
        """

    def check_dependencies(self, used: Iterable[str]) -> None:
        """Reject options for dependencies that no operation uses.

        Raises:
            CONFIG_ERROR: With the location and the closest name.
        """

    def check_tools(self, tools: Iterable[str]) -> None:
        """Reject options for toolsets that are not served.

        Raises:
            CONFIG_ERROR: With the location and the closest name.
        """


class RecoveryEngine(Protocol):
    """Protocol of the engine that runs the strategies; implemented by `failsoft.recovery.RecoveryManager`."""

    async def recover(self, error: ToolError, call: Call) -> Any:
        """Return the value that replaces the error and set the receipt of the call, or raise a `ToolError`."""

    def with_strategies(self, strategies: Sequence[RecoveryStrategy | PlacedStrategy]) -> RecoveryEngine:
        """Return an engine with only these strategies, for every error."""

    def protect(self, bound: BoundOperation) -> Recovery:
        """Return what the strategies add to the chain of one operation.

        Raises:
            CONFIG_ERROR: The strategies conflict, or do not suit the operation; the message says why.
        """

    def check_shared(self, chains: Mapping[BoundOperation, Chain]) -> None:
        """See `RecoveryConfigurationPort`; for the operations of one toolset."""

    def describe(self) -> list[str]:
        """Return the names of the strategies, in the order in which they are tried, for `tool.describe()`."""
