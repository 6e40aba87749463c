"""The store of `FAILSOFT_STATE_URL`: shared with other processes while it answers, memory while it is lost."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.events import Events, StateStoreEvent
from failsoft.framework.files import state_folder
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.state.backend import Backend, Changed, Step, StoreLost, UnreadableValue
from failsoft.framework.state.memory import MemoryBackend
from failsoft.framework.state.records import QUOTA_BYTES
from failsoft.framework.state.steps import Steps, forgotten
from failsoft.framework.state.store import Companions, LocalState, RecordsOf, StateStore

T = TypeVar("T")
_SQLITE = "sqlite:"
_ON_DEMAND = "memory+sqlite:"
_PROBE_S, _PROBE_AT_MOST_S = 0.25, 5.0
_SLOWEST_S = 1.0
"""The longest time for one operation on a state in SQLite, where other processes' commits take milliseconds."""


class SharedStore(Companions):
    """States that processes share, behind a circuit breaker: the first failure opens it, a background probe closes it.

    During an outage states are local to this process and the lost store is not called, so no call waits for it. Once it
    answers again, its states count, and the local ones are forgotten.

    Args:
        backend: The shared store.
        events: Receives an event when the store is lost or found again.
        prefix: The prefix of state keys in the store; records have scopes instead.
        quota_bytes: The quota of records per principal.
        is_checked: Whether an unusable store is an error at start-up.
        limit_s: The time limit of an operation on a state before the store counts as lost, in seconds.
        probe_s: The pause before the first probe, in seconds; it doubles up to five seconds.
    """

    is_local = False

    def __init__(
        self,
        backend: Backend,
        events: Events,
        *,
        prefix: str = "",
        quota_bytes: int = QUOTA_BYTES,
        is_checked: bool = False,
        limit_s: float | None = None,
        probe_s: float = _PROBE_S,
    ) -> None:
        super().__init__()
        self._backend = backend
        self._steps = Steps(backend)
        self._prefix = prefix
        self._is_checked = is_checked
        self._limit_s = limit_s
        self.records = RecordsOf(backend, quota_bytes, backend.clock)
        self._events = events
        self._probe_s = probe_s
        self._meanwhile = MemoryBackend(backend.clock)
        self._probe: asyncio.Task[None] | None = None
        self._is_known = False
        self._of_servers: dict[str, _OfOneServer] = {}
        self.clock = backend.clock
        self.is_available = True
        """Whether the shared store is used, as far as is known."""

    async def check(self) -> None:
        """See `StateStore`."""
        if not self._is_checked:
            return
        try:
            await self._backend.ping()
        except StoreLost as lost:
            raise ConfigurationError(
                issue=f"the state store of FAILSOFT_STATE_URL cannot be used: {lost}",
                resolution="repair it, move it away (its records are then not known), or name another one",
            ) from lost

    async def change(self, step: Step, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        key = self._prefix + key
        if self.is_available:
            try:
                answer = await self._readable(step, key, *arguments)
            except StoreLost as lost:
                self._lose(str(lost))
            else:
                if not self._is_known:
                    self._announce(reason="connected")
                return answer
        self._keep_probing()
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
        probe, self._probe = self._probe, None
        if probe is not None and probe.get_loop() is asyncio.get_running_loop():
            probe.cancel()
            await asyncio.wait([probe])
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
        try:
            async with asyncio.timeout(self._limit_s):
                return await asked
        except TimeoutError as error:
            msg = "it takes too long"
            raise StoreLost(msg) from error

    def _lose(self, reason: str) -> None:
        if self.is_available:
            self.is_available = False
            self._announce(reason=reason)
            logger.warning("The shared state store is unreachable ({}): calls continue with local state", reason)

    def _announce(self, *, reason: str) -> None:
        self._is_known = True
        if self._events.wants(StateStoreEvent):
            self._events.publish(StateStoreEvent(available=self.is_available, reason=reason))

    def _keep_probing(self) -> None:
        """Run one probe on the running loop; a probe whose loop is closed is replaced."""
        loop = asyncio.get_running_loop()
        if self._probe is None or self._probe.done() or self._probe.get_loop().is_closed():
            self._probe = loop.create_task(self._find_again())

    async def _find_again(self) -> None:
        pause_s = self._probe_s
        while not self.is_available:
            await asyncio.sleep(random.uniform(0.5, 1.0) * pause_s)  # noqa: S311 - jitter, so that replicas do not probe all at once
            pause_s = min(_PROBE_AT_MOST_S, 2 * pause_s)
            try:
                await self._in_time(self._steps.run(_probed, f"{self._prefix}probe:write"))
            except Exception as error:  # noqa: BLE001 - whatever it is, the store is asked again
                if not isinstance(error, StoreLost):
                    logger.opt(exception=error).error("The probe of the state store failed")
                continue
            self.is_available = True
            self._meanwhile.clear()
            self._announce(reason="found again")
            logger.info("The shared state store is reachable again")


def _probed(_value: Any, now: float) -> Changed:
    """Write, since a store may answer and take no writes. A step."""
    return Changed({"at": now}, None, _PROBE_AT_MOST_S)


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
) -> StateStore:
    """Return the store for an address; without one, an in-memory store.

    Nothing is opened yet: `StateStore.check` opens a file that the operator has named, and a Redis server that is down
    at the start is connected later.

    Args:
        url: `memory:`; `sqlite:PATH`; `memory+sqlite:PATH` (states in memory, the file opened at the first durable
            record); the last two without a path mean the file in the user's state folder; or the address of a Redis
            server, see `RedisBackend`.
        events: Receives an event when a shared store is lost.
        prefix: The prefix of every key.
        limit_s: The time limit for connecting and for each answer before the store counts as lost, in seconds.
        quota_bytes: The quota of records per principal.

    Raises:
        CONFIG_ERROR: The address is invalid, or its client is not installed.
    """
    found = backend_at(url, prefix=prefix, limit_s=limit_s)
    if found is None or str(url).startswith(_ON_DEMAND):
        return LocalState(records=None if found is None else found[0], quota_bytes=quota_bytes)
    backend, key_prefix = found
    is_file = str(url).startswith(_SQLITE)
    return SharedStore(
        backend,
        events,
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
    url = url.removeprefix("memory+") if url.startswith(_ON_DEMAND) else url
    if url.startswith(_SQLITE):
        from failsoft.recovery.state.sqlite import SqliteBackend  # noqa: PLC0415 - sqlite3 is for those who use it

        named = url.removeprefix(_SQLITE)
        # All servers of a user share this file, so keys of breakers and budgets include a hash of the working folder.
        place = "" if named else "@" + hashlib.sha256(os.fsencode(os.path.realpath("."))).hexdigest()[:8]
        return SqliteBackend(_file(named)), f"{prefix}{place}:"
    try:
        from failsoft.recovery.state.redis import RedisBackend  # noqa: PLC0415 - an extra, and 100 ms
    except ImportError as error:
        raise ConfigurationError(
            issue="FAILSOFT_STATE_URL needs the Redis client, which is not installed",
            resolution="pip install 'failsoft[redis]'",
        ) from error
    return RedisBackend(url, prefix=prefix, limit_s=limit_s), ""


def _file(named: str) -> Path:
    """Return the path in an address; `sqlite:///x` and `sqlite:/x` are the same file."""
    if not named:
        return default_file()
    path = Path("/" + named.lstrip("/")) if named.startswith("///") else Path(named)
    return path.expanduser().absolute()
