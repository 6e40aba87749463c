"""The callers under comparison: each makes a call out of a request, as its documentation shows it."""

from __future__ import annotations

import importlib.util
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from failsoft import BaseTool, Retry, Runtime, Settings, ToolResponse, operation
from failsoft.framework.state.store import LocalState, StateStore
from failsoft.recovery import CircuitBreaker

__all__ = [
    "BREAKER",
    "BREAKER_ALONE",
    "DEFAULT",
    "PEERS",
    "PLAIN",
    "Call",
    "Client",
    "Request",
    "clients",
    "replicas",
    "tool",
]

Request: TypeAlias = Callable[[], Awaitable[None]]
Call: TypeAlias = Callable[[], Awaitable[bool]]
"""Makes one call; returns whether it succeeded."""
Client: TypeAlias = Callable[[Request], Call]
"""Takes a request, which raises if it fails, and returns the call."""

PLAIN = "time-out only"
DEFAULT = "failsoft, default policy"
BREAKER = "failsoft, with CircuitBreaker()"
BREAKER_ALONE = "failsoft, only CircuitBreaker()"
PEERS = ("tenacity, 3 attempts", "stamina, 3 attempts")


def clients() -> dict[str, Client]:
    """Return all of them; peers that are not installed are left out."""
    found: dict[str, Client] = {
        PLAIN: _plain,
        DEFAULT: tool(None),
        BREAKER: tool([Retry(), CircuitBreaker()]),
        BREAKER_ALONE: tool([CircuitBreaker()]),
    }
    peers = dict(zip(PEERS, (_tenacity, _stamina), strict=True))
    return found | {name: peer for name, peer in peers.items() if importlib.util.find_spec(name.split(",")[0])}


def tool(recovery: list[Any] | None) -> Client:
    """Return a client with these strategies; None: those of the default runtime, `Retry()` and `RetryBudget()`."""

    def client(request: Request) -> Call:
        [ask] = replicas(request, recovery, [LocalState()])

        async def call() -> bool:
            return bool((await ask()).success)

        return call

    return client


def replicas(
    request: Request, recovery: list[Any] | None, states: Sequence[StateStore]
) -> list[Callable[[], Awaitable[ToolResponse[None]]]]:
    """Return a call for each of these stores: what as many processes of one server do.

    Args:
        request: What their operation does.
        recovery: Its strategies, as in `tool`.
        states: The store of each process.
    """

    class Remote(BaseTool):
        """A service."""

        @operation(read_only=True, timeout=30, recovery=recovery)
        async def ask(self) -> None:
            """Send a request."""
            await request()

    return [Remote(runtime=Runtime(settings=Settings(), state=state)).ask for state in states]


def _plain(request: Request) -> Call:
    """One request."""
    return _succeeds(request)


def _tenacity(request: Request) -> Call:
    """Three attempts with the backoff of `Retry()`."""
    from tenacity import retry, stop_after_attempt, wait_random_exponential  # noqa: PLC0415 - a peer may be missing

    wait = wait_random_exponential(multiplier=0.1, max=5)
    return _succeeds(retry(stop=stop_after_attempt(3), wait=wait, reraise=True)(request))


def _stamina(request: Request) -> Call:
    """Three attempts with stamina's own backoff."""
    from stamina import retry  # noqa: PLC0415 - a peer may be missing

    return _succeeds(retry(on=OSError, attempts=3, timeout=None)(request))


def _succeeds(work: Callable[[], Awaitable[Any]]) -> Call:
    async def call() -> bool:
        try:
            await work()
        except OSError:  # TimeoutError is one
            return False
        return True

    return call
