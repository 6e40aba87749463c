"""The chain of links around every call, assembled once per operation, outermost first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from failsoft.framework.asking import has_no_outcome
from failsoft.framework.call.call import Call
from failsoft.framework.errors import ConfigurationError, ToolError, ToolSystemError
from failsoft.framework.safe.tracebacks import declaring_line
from failsoft.framework.text import snake_case

if TYPE_CHECKING:
    from failsoft.framework.call.bound import BoundOperation
    from failsoft.framework.call.toolset import BaseTool


Proceed: TypeAlias = Callable[[Call], Awaitable[Any]]
"""The rest of the chain, which a middleware awaits: `await proceed(call)`."""


Step: TypeAlias = Callable[[Call, Proceed], Awaitable[Any]]
"""`async def step(call, proceed)`: do something, `return await proceed(call)`, or return or raise without it."""


class RunBudget(Protocol):
    """The number of further runs allowed, shared by several calls; provided by `RetryBudget`."""

    def count(self) -> None:
        """Count a run that succeeded."""

    async def withdraw(self) -> bool:
        """Take a token for one further run; return whether there was one."""


PLACES = (
    "observe",
    "repair",
    "validate",
    "admit",
    "deadline",
    "idempotency",
    "cache",
    "fallback",
    "recover",
    "confirm",
    "hedge",
    "breaker",
    "bulkhead",
    "attempt_timeout",
    "chaos",
    "check",
    "handler",
)
"""The places of the chain, outermost first (contract, section 5). A place may be empty."""


@dataclass(frozen=True, slots=True)
class Link:
    """One step at its place, with the name that `tool.describe()` shows."""

    name: str
    step: Step
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What a recovery engine adds to the chain of one operation.

    Args:
        links: The links of the strategies that wrap the call.
        strategies: The strategies in force.
        described: The names of those that react to an error, in the order in which they are tried.
        budget: Limits further runs; shared with other operations.
        most_runs: The maximum number of runs by the strategies; None if none of them repeats runs.
        derives_keys: Whether calls without an idempotency key may get one.
        shared: The strategies for a dependency by their names and its name, with the options that all operations on the
            dependency have to agree about.
    """

    links: Sequence[Link] = ()
    strategies: tuple[Any, ...] = ()
    described: Sequence[str] = ()
    budget: RunBudget | None = None
    most_runs: int | None = None
    derives_keys: bool = False
    shared: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chain:
    """The assembled chain of one operation.

    Args:
        links: Outermost first.
        proceed: Runs a call through all of them and the handler.
        timeout_s: The limit of a call, in seconds.
        recovery: What its strategies add.
    """

    links: tuple[Link, ...]
    proceed: Proceed
    timeout_s: float | None
    recovery: Recovery

    def describe(self) -> list[str]:
        """Return the names of the steps, outermost first; strategies follow `recover` in order."""
        names = []
        for link in self.links:
            names.append(link.name)
            if link.place == "recover":
                names += [f"recover:{strategy}" for strategy in self.recovery.described]
        return [*names, "handler"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Middleware:
    """A custom step in the chain.

    Args:
        name: Its name in `tool.describe()` and in errors.
        run: `async def run(call, proceed)`.
        before: Place it directly outside of this one of `PLACES`.
        after: Place it directly inside of this one. Give at most one of the two; the default is `after="observe"`.

    Raises:
        CONFIG_ERROR: Both places are given, or one that does not exist, or one outside `observe` or inside `handler`.

    Examples:
        >>> async def closed(call: Call, proceed: Proceed) -> Any:
        ...     raise Unavailable(message="The shop is closed.", retry_after_seconds=3600.0)
        >>> runtime = Runtime(middleware=[Middleware(name="closing_time", run=closed, after="validate")])
    """

    name: str
    run: Step
    before: str = ""
    after: str = ""

    def __post_init__(self) -> None:
        if self.before and self.after:
            raise ConfigurationError(issue=f"the middleware '{self.name}' names both a place before and one after")
        place = self.before or self.after
        if place and place not in PLACES:
            raise ConfigurationError(issue=f"the middleware '{self.name}' names no place of the chain: '{place}'")
        if self.before == "observe" or self.after == "handler":
            raise ConfigurationError(
                issue=f"the middleware '{self.name}' cannot be placed outside 'observe' or inside 'handler'"
            )

    @property
    def position(self) -> float:
        """Its sort key among `PLACES`."""
        if self.before:
            return PLACES.index(self.before) - 0.5
        return PLACES.index(self.after or "observe") + 0.5

    def as_link(self) -> Link:
        """Return the link, guarded so that its own failure becomes SYSTEM_ERROR instead of a lost call."""
        return Link(self.name, _guarded(self.name, self.run), "middleware")


def assemble(links: Sequence[Link], middleware: Sequence[Middleware]) -> tuple[Link, ...]:
    """Return the links and the middleware in one order, outermost first; equal places keep the order given."""
    placed = [(float(PLACES.index(link.place)), link) for link in links]
    placed += [(item.position, item.as_link()) for item in middleware]
    return tuple(link for _, link in sorted(placed, key=lambda pair: pair[0]))


def connect(links: Sequence[Link], innermost: Proceed) -> Proceed:
    """Return the links as one function, each holding the next; an empty sequence is just the innermost."""
    proceed = innermost
    for link in reversed(links):
        proceed = _bind(link.step, proceed)
    return proceed


def _bind(step: Step, proceed: Proceed) -> Proceed:
    def bound(call: Call) -> Awaitable[Any]:
        return step(call, proceed)

    return bound


def _guarded(name: str, run: Step) -> Step:
    async def guarded(call: Call, proceed: Proceed) -> Any:
        passed: list[BaseException] = []

        async def watched(call: Call) -> Any:
            try:
                return await proceed(call)
            except BaseException as error:
                passed.append(error)
                raise

        try:
            return await run(call, watched)
        except BaseException as error:
            is_own = error is not call.raised and not any(error is one for one in passed)  # `call.retry` passes by
            if not is_own or issubclass(type(error), ToolError) or has_no_outcome(error):
                raise
            raise ToolSystemError(component=f"the middleware '{name}'") from error
        finally:
            passed.clear()  # avoids a reference cycle: their tracebacks refer to this frame

    return guarded


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The result of a strategy that replaces an error.

    Args:
        value: The value to answer with.
        message: One sentence for the caller about what was done.
        changed: The changed arguments with the values used.
        degraded: Whether the value is of lower quality (stale, partial).
        rule: Which of the strategy's rules applied, for the receipt.

    Examples:
        >>> RecoveryResult(7, "Answered with yesterday's figure.", degraded=True).degraded
        True
    """

    value: Any
    message: str
    changed: dict[str, Any] = field(default_factory=dict)
    degraded: bool = False
    rule: str = ""


@runtime_checkable
class RecoveryStrategy(Protocol):
    """Protocol of a strategy that reacts to an error.

    A strategy may have a `name`, its label in receipts and metrics; by default it is the class's in snake case.

    Examples:
        >>> class Yesterday:
        ...     async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        ...         return RecoveryResult(7, "Answered with yesterday's figure.", degraded=True)
        >>> manager = RecoveryManager({Unavailable: Yesterday()})
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


class RecoveryConfigurationPort(Protocol):
    """Protocol of an operator's recovery options; implemented in `failsoft.recovery.recovery_file`."""

    def applied(
        self, bound: BoundOperation, engine: RecoveryEngine | None
    ) -> tuple[RecoveryEngine | None, float | None]:
        """Return the recovery engine of an operation with these options, and the limit of its calls, in seconds.

        Args:
            bound: The operation.
            engine: The engine set in code.

        Raises:
            CONFIG_ERROR: The options cannot be applied; the message says why and where they are.
        """

    def check(self, tools: Sequence[BaseTool], *, are_all: bool) -> None:
        """Reject options for what does not exist.

        Args:
            tools: Toolsets, for whose operations there may be options.
            are_all: Whether these are all toolsets of the server, so that other toolsets, and dependencies that none
                of them uses, are mistakes.

        Raises:
            CONFIG_ERROR: With the place and the closest name.
        """


def check_shared(chains: Mapping[BoundOperation, Chain]) -> None:
    """Reject different options of strategies that share one state, by the name of their dependency.

    Raises:
        CONFIG_ERROR: With both operations and the options in which they differ.
    """
    first: dict[tuple[str, str], tuple[BoundOperation, Mapping[str, Any]]] = {}
    for bound, chain in chains.items():
        for (name, dependency), options in chain.recovery.shared.items():
            other, known = first.setdefault((name, dependency), (bound, options))
            differing = [option for option, value in known.items() if options[option] != value]
            if differing:
                places = [f"'{one.tool_name}.{one.name}' ({declaring_line(one.function)})" for one in (other, bound)]
                shared = f"{' and '.join(places)} share the strategy '{name}' for the dependency '{dependency}'"
                raise ConfigurationError(
                    message=f"{shared} with different options ({', '.join(differing)}).",
                    resolution="give them the same options, or other names of dependencies",
                )
