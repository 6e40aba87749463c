"""A storage backend of the `limits` library in the state store, for its moving window."""

from __future__ import annotations

from limits.aio.storage import MovingWindowSupport, Storage
from limits.aio.strategies import MovingWindowRateLimiter

from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.state import StateStore
from failsoft.recovery.strategies.rate_limit.steps import TAKE


class TooMany(PicklableError):
    """A limit is exceeded; unlike the library's answer, this has the wait."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


def limiter(store: StateStore) -> MovingWindowRateLimiter:
    """Return the library's moving-window strategy over a state store."""
    return MovingWindowRateLimiter(StateStorage(store))


class StateStorage(Storage, MovingWindowSupport):
    """Stores the library's moving windows in a state store; its other strategies are not supported."""

    STORAGE_SCHEME = None

    def __init__(self, store: StateStore) -> None:
        super().__init__()
        self._store = store

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """None: a state store handles its own outages."""
        return ()

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count calls and return True.

        Raises:
            TooMany: They exceed the limit.
        """
        store, name = self._store, f"rate:{key}"
        if store.is_local:
            granted, wait_s = store.change_now(TAKE, name, limit, expiry, amount)
        else:
            granted, wait_s = await store.change(TAKE, name, limit, expiry, amount)
        if not granted:
            raise TooMany(wait_s)
        return True

    async def check(self) -> bool:
        """Return True: during an outage the state store uses local state."""
        return True

    async def clear(self, key: str) -> None:
        """Forget one limit."""
        await self._store.delete(f"rate:{key}")

    async def reset(self) -> int | None:
        """Not supported: the store is shared."""
        raise NotImplementedError

    async def get(self, key: str) -> int:
        """Not supported: fixed windows."""
        raise NotImplementedError

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Not supported: fixed windows."""
        raise NotImplementedError

    async def get_expiry(self, key: str) -> float:
        """Not supported: fixed windows."""
        raise NotImplementedError

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Not supported: calls are always counted."""
        raise NotImplementedError
