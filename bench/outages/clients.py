"""The callers under comparison: each makes a call out of a request, as its documentation shows it."""

from __future__ import annotations

import importlib.util
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from failsoft import BaseTool, Retry, Runtime, Settings, operation
from failsoft.framework.state.store import LocalState
from failsoft.recovery import CircuitBreaker

__all__ = ["BREAKER", "BREAKER_ALONE", "DEFAULT", "PEERS", "PLAIN", "Call", "Client", "clients", "tool"]

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
        class Remote(BaseTool):
            """A service."""

            @operation(read_only=True, timeout=30, recovery=recovery)
            async def ask(self) -> None:
                """Send a request."""
                await request()

        remote = Remote(runtime=Runtime(settings=Settings(), state=LocalState()))

        async def call() -> bool:
            return bool((await remote.ask()).success)

        return call

    return client


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
