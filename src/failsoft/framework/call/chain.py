"""The chain of links around every call, assembled once per operation, outermost first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.call.call import Call
from failsoft.framework.call.ports import RunBudget
from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.errors import ConfigurationError, ToolError, ToolSystemError

Proceed: TypeAlias = Callable[[Call], Awaitable[Any]]
"""The rest of the chain, which a middleware awaits: `await proceed(call)`."""
Step: TypeAlias = Callable[[Call, Proceed], Awaitable[Any]]
"""`async def step(call, proceed)`: do something, `return await proceed(call)`, or return or raise without it."""

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
    """

    links: Sequence[Link] = ()
    strategies: tuple[Any, ...] = ()
    described: Sequence[str] = ()
    budget: RunBudget | None = None
    most_runs: int | None = None
    derives_keys: bool = False


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
            is_own = not any(error is one for one in passed)
            if not is_own or issubclass(type(error), ToolError) or is_real_cancellation(error):
                raise
            raise ToolSystemError(component=f"the middleware '{name}'") from error
        finally:
            passed.clear()  # avoids a reference cycle: their tracebacks refer to this frame

    return guarded
