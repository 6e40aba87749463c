"""From an address to a state store: what `FAILSOFT_STATE_URL` means."""

from __future__ import annotations

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.events import Events
from failsoft.framework.state_port import LocalState, StateStore
from failsoft.recovery.state.resilient import ResilientState

__all__ = ["open_state"]


def open_state(url: str | None, events: Events, *, prefix: str = "failsoft", limit_s: float = 0.25) -> StateStore:
    """Return the store behind an address; without one, the states of this process.

    Nothing is connected yet: a server that is down at the start is one that comes later.

    Args:
        url: See `RedisState`.
        events: Where the loss of a shared store is announced.
        prefix: What every key begins with.
        limit_s: How long connecting may take, and an answer, before the store counts as lost, in seconds.

    Raises:
        CONFIG_ERROR: The address cannot be used, or the client for it is not installed.
    """
    if not url:
        return LocalState()
    try:
        from failsoft.recovery.state.redis import RedisState  # noqa: PLC0415 - an extra, and 100 ms
    except ImportError as error:
        raise ConfigurationError(
            issue="FAILSOFT_STATE_URL needs the Redis client, which is not installed",
            resolution="pip install 'failsoft[redis]'",
        ) from error
    return ResilientState(RedisState(url, prefix=prefix, limit_s=limit_s), events)
