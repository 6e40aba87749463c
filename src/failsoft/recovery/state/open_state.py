"""Opens the state store that `FAILSOFT_STATE_URL` names."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.events import Events
from failsoft.framework.files import state_folder
from failsoft.framework.records import Quota
from failsoft.framework.state import LocalState, StateStore
from failsoft.recovery.state.resilient import ResilientState, SharedState

_SQLITE = "sqlite:"
_ON_DEMAND = "memory+sqlite:"
_SLOWEST_S = 1.0
"""The longest time for one operation on a state in SQLite, where other processes' commits take milliseconds."""


def default_file() -> Path:
    """Return the SQLite file in the user's state folder."""
    return state_folder() / "state.sqlite"


def open_state(
    url: str | None, events: Events, *, prefix: str = "failsoft", limit_s: float = 0.25, quota: Quota | None = None
) -> StateStore:
    """Return the store for an address; without one, an in-memory store.

    Nothing is opened yet: `StateStore.check` opens a file that the operator has named, and a Redis server that is down
    at the start is connected later.

    Args:
        url: `memory:`; `sqlite:PATH`; `memory+sqlite:PATH` (states in memory, the file opened at the first durable
            record); `sqlite:` and `memory+sqlite:` without a path mean the file in the user's state folder; or the
            address of a Redis server, see `RedisState`.
        events: Receives an event when a shared store is lost.
        prefix: The prefix of every key.
        limit_s: The time limit for connecting and for each answer before the store counts as lost, in seconds.
        quota: The quota of records per principal.

    Raises:
        CONFIG_ERROR: The address is invalid, or its client is not installed.
    """
    if not url or url == "memory:":
        return LocalState(quota=quota)
    if url.startswith(_ON_DEMAND):
        from failsoft.recovery.state.sqlite import SqliteState  # noqa: PLC0415 - sqlite3 is for those who use it

        return LocalState(records=SqliteState(_file(url.removeprefix(_ON_DEMAND))), quota=quota)
    found = shared_backend(url, prefix=prefix, limit_s=limit_s)
    if found is None:
        return LocalState(quota=quota)
    shared, key_prefix = found
    is_file = url.startswith(_SQLITE)
    return ResilientState(
        shared,
        events,
        prefix=key_prefix,
        quota=quota,
        is_checked=is_file and url != _SQLITE,
        limit_s=max(limit_s, _SLOWEST_S) if is_file else None,
    )


def shared_backend(url: str | None, *, prefix: str, limit_s: float) -> tuple[SharedState, str] | None:
    """Return the shared store for an address and the prefix of its state keys; None for `memory:`.

    Args:
        url: See `open_state`; None is the file in the user's state folder.
        prefix: See `open_state`.
        limit_s: See `open_state`.
    """
    url = (url or _SQLITE).replace(_ON_DEMAND, _SQLITE, 1)
    if url == "memory:":
        return None
    if url.startswith(_SQLITE):
        from failsoft.recovery.state.sqlite import SqliteState  # noqa: PLC0415 - sqlite3 is for those who use it

        named = url.removeprefix(_SQLITE)
        # All servers of a user share this file, so keys of breakers and budgets include a hash of the working folder.
        place = "" if named else "@" + hashlib.sha256(os.fsencode(os.path.realpath("."))).hexdigest()[:8]
        return SqliteState(_file(named)), f"{prefix}{place}:"
    try:
        from failsoft.recovery.state.redis import RedisState  # noqa: PLC0415 - an extra, and 100 ms
    except ImportError as error:
        raise ConfigurationError(
            issue="FAILSOFT_STATE_URL needs the Redis client, which is not installed",
            resolution="pip install 'failsoft[redis]'",
        ) from error
    return RedisState(url, prefix=prefix, limit_s=limit_s), ""


def _file(named: str) -> Path:
    """Return the path in an address; `sqlite:///x` and `sqlite:/x` are the same file."""
    if not named:
        return default_file()
    path = Path("/" + named.lstrip("/")) if named.startswith("///") else Path(named)
    return path.expanduser().absolute()
