"""The store of `FAILSOFT_STATE_URL`: shared with other processes while it answers, memory while it is lost."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.events import Events
from failsoft.framework.files import state_folder
from failsoft.framework.plugins import missing_extra
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.state.backend import Backend, Step, StoreLost, UnreadableValue
from failsoft.framework.state.memory import MemoryBackend
from failsoft.framework.state.records import QUOTA_BYTES
from failsoft.framework.state.steps import Steps, forgotten
from failsoft.framework.state.store import Companions, LocalState, RecordsOf, StateStore, StoreGauges
from failsoft.recovery.state.watched import WatchedBackend

T = TypeVar("T")
_SQLITE = "sqlite:"
_SLOWEST_S = 1.0
"""The longest time for one operation on a state in SQLite, where other processes' commits take milliseconds."""


class SharedStore(Companions):
    """States that processes share, as long as its watch says that it is there.

    During an outage states are local to this process and the lost store is not called, so no call waits for it. Once it
    answers again, its states count, and the local ones are forgotten.

    Args:
        backend: The shared store, watched.
        prefix: The prefix of state keys in the store; records have scopes instead.
        quota_bytes: The quota of records per principal.
        is_checked: Whether an unusable store is an error at start-up.
        limit_s: The time limit of an operation on a state before the store counts as lost, in seconds.
    """

    is_local = False

    def __init__(
        self,
        backend: WatchedBackend,
        *,
        prefix: str = "",
        quota_bytes: int = QUOTA_BYTES,
        is_checked: bool = False,
        limit_s: float | None = None,
    ) -> None:
        super().__init__()
        self._backend = backend
        self._steps = Steps(backend)
        self._prefix = prefix
        self._is_checked = is_checked
        self._limit_s = limit_s
        self.records = RecordsOf(backend, quota_bytes, backend.clock)
        self._meanwhile = MemoryBackend(backend.clock)
        self._is_apart = False
        self._of_servers: dict[str, _OfOneServer] = {}
        self.clock = backend.clock
        self.gauges: StoreGauges = {**backend.gauges, **self.records.gauges}

    @property
    def is_available(self) -> bool:
        """Whether the shared store is used, as far as is known."""
        return self._backend.fault is None

    async def check(self) -> None:
        """See `StateStore`."""
        if not self._is_checked:
            return
        try:
            await self._backend.ping()
        except StoreLost as lost:
            raise ConfigurationError(
                issue=f"the state store of FAILSOFT_STATE_URL cannot be used ({lost})",
                resolution="repair it, move it away (its records are then not known), or name another one",
            ) from lost

    async def change(self, step: Step, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        key = self._prefix + key
        if self._backend.fault is None:
            if self._is_apart:
                self._meanwhile.clear()
                self._is_apart = False
            try:
                return await self._readable(step, key, *arguments)
            except StoreLost:  # which its watch has announced
                pass
        self._backend.keep_probing()
        self._is_apart = True
        return self._meanwhile.change(step, key, *arguments)

    def change_now(self, step: Step, key: str, *arguments: Any) -> Any:
        """Raise NotImplementedError: a shared store needs I/O."""
        msg = "a shared store cannot be queried synchronously"
        raise NotImplementedError(msg)

    def private_to(self, owner: Any) -> StateStore:
        """See `StateStore`: replicas share by name, those of a foreign server by its identity, too."""
        identity = getattr(owner, "server_identity", "")
        if not identity:
            return self
        found = self._of_servers.get(identity)
        if found is None:
            found = self._of_servers[identity] = _OfOneServer(self, identity)
        return found

    async def close(self) -> None:
        """See `StateStore`."""
        await self._backend.close()

    async def _readable(self, step: Step, key: str, *arguments: Any) -> Any:
        """Run a step; a value that cannot be read is deleted, since counted state is built up again."""
        try:
            return await self._in_time(self._steps.run(step, key, *arguments))
        except UnreadableValue:
            digest = hashlib.sha256(key.encode(errors="replace")).hexdigest()[:12]
            logger.bind(key=digest).warning("A value in the state store cannot be read: it counts as missing")
            await self._in_time(self._steps.run(forgotten, key))
            return await self._in_time(self._steps.run(step, key, *arguments))

    async def _in_time(self, asked: Awaitable[T]) -> T:
        if self._limit_s is None:  # the store enforces its own limit
            return await asked
        returns = self._backend.returns
        try:
            async with asyncio.timeout(self._limit_s):
                return await asked
        except TimeoutError as error:
            lost = StoreLost("it takes too long", fault="busy")
            self._backend.lose(lost, returns)
            raise lost from error


class _OfOneServer(Companions):
    """The states of one foreign server in a store that others share.

    Args:
        whole: The store.
        identity: What identifies the server; put before each key.
    """

    is_local = False

    def __init__(self, whole: SharedStore, identity: str) -> None:
        super().__init__()
        self._whole = whole
        self._prefix = f"@{identity}:"
        self.clock, self.records, self.check, self.close = whole.clock, whole.records, whole.check, whole.close
        self.private_to, self.change_now = whole.private_to, whole.change_now

    async def change(self, step: Step, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        return await self._whole.change(step, self._prefix + key, *arguments)


def default_file() -> Path:
    """Return the SQLite file in the user's state folder."""
    return state_folder() / "state.sqlite"


def open_state(
    url: str | None,
    events: Events,
    *,
    prefix: str = "failsoft",
    limit_s: float = 0.25,
    quota_bytes: int = QUOTA_BYTES,
    durable: Path | None = None,
) -> StateStore:
    """Return the store for an address; without one, an in-memory store.

    Nothing is opened yet: `StateStore.check` opens a file that the operator has named, and a Redis server that is down
    at the start is connected later.

    Args:
        url: `memory:`; `sqlite:PATH`, without a path the file in the user's state folder; or the address of a Redis
            server, see `RedisBackend`.
        events: Receives an event when a shared store is lost.
        prefix: The prefix of every key.
        limit_s: The time limit for connecting and for each answer before the store counts as lost, in seconds.
        quota_bytes: The quota of records per principal.
        durable: An SQLite file for records where there is no address; it is opened by the first of them.

    Raises:
        CONFIG_ERROR: The address is invalid, or its client is not installed.
    """
    found = backend_at(url or (f"{_SQLITE}{durable}" if durable else None), prefix=prefix, limit_s=limit_s)
    if found is None:
        return LocalState(quota_bytes=quota_bytes)
    backend = WatchedBackend(found[0], events, probe=f"{found[1]}probe:write", is_counting=bool(url))
    if not url:
        return LocalState(records=backend, quota_bytes=quota_bytes)
    key_prefix = found[1]
    is_file = url.startswith(_SQLITE)
    return SharedStore(
        backend,
        prefix=key_prefix,
        quota_bytes=quota_bytes,
        is_checked=is_file and url != _SQLITE,
        limit_s=max(limit_s, _SLOWEST_S) if is_file else None,
    )


def backend_at(url: str | None, *, prefix: str, limit_s: float) -> tuple[Backend, str] | None:
    """Return the shared store for an address and the prefix of its state keys; None for `memory:`.

    Args:
        url: See `open_state`.
        prefix: See `open_state`.
        limit_s: See `open_state`.
    """
    if not url or url == "memory:":
        return None
    if url.startswith(_SQLITE):
        from failsoft.recovery.state.sqlite import SqliteBackend  # noqa: PLC0415 - sqlite3 is for those who use it

        # All servers of a user share this file, so keys of breakers and budgets include a hash of the working folder.
        place = "" if url != _SQLITE else "@" + hashlib.sha256(os.fsencode(os.path.realpath("."))).hexdigest()[:8]
        return SqliteBackend(file_of(url)), f"{prefix}{place}:"
    try:
        from failsoft.recovery.state.redis import RedisBackend  # noqa: PLC0415 - an extra, and 100 ms
    except ImportError as error:
        raise missing_extra(extra="redis", what="FAILSOFT_STATE_URL", package="redis") from error
    return RedisBackend(url, prefix=prefix, limit_s=limit_s), ""


def file_of(url: str) -> Path:
    """Return the path in the address of a file; `sqlite:///x` and `sqlite:/x` are the same."""
    named = url.removeprefix(_SQLITE)
    if not named:
        return default_file()
    path = Path("/" + named.lstrip("/")) if named.startswith("///") else Path(named)
    return path.expanduser().absolute()
