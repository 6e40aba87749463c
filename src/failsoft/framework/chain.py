"""The chain that every call passes: one link signature, linked once per operation, outermost first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError, ToolError, ToolSystemError

__all__ = ["PLACES", "Chain", "Link", "Middleware", "Proceed", "Step", "assemble", "connect"]

Proceed: TypeAlias = Callable[[CallContext], Awaitable[Any]]
Step: TypeAlias = Callable[[CallContext, Proceed], Awaitable[Any]]
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
    """One step at its place. The name is what `tool.describe()` shows."""

    name: str
    step: Step
    place: str


@dataclass(frozen=True, slots=True)
class Chain:
    """The links of one operation, linked.

    Args:
        links: Outermost first.
        strategies: The names of those behind `recover`, in the order in which they are tried.
        proceed: Runs a call through all of them and the handler.
        timeout_s: The limit of a call, in seconds.
    """

    links: tuple[Link, ...]
    strategies: tuple[str, ...]
    proceed: Proceed
    timeout_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Middleware:
    """A step of your own in the chain.

    Args:
        name: What `tool.describe()` and an error about it call it.
        run: `async def run(call, proceed)`.
        before: The place it stands directly outside of, one of `PLACES`.
        after: The place it stands directly inside of. Give one of the two; without either it stands inside `observe`.

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
                issue=f"the middleware '{self.name}' cannot stand outside 'observe' or inside 'handler'"
            )

    @property
    def position(self) -> float:
        """Where it sorts among `PLACES`."""
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
    def bound(call: CallContext) -> Awaitable[Any]:
        return step(call, proceed)

    return bound


def _guarded(name: str, run: Step) -> Step:
    async def guarded(call: CallContext, proceed: Proceed) -> Any:
        passed: list[BaseException] = []

        async def watched(call: CallContext) -> Any:
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
            passed.clear()  # their tracebacks hold this frame: only the garbage collector could part them

    return guarded
