"""Administration of a state store: breakers, budgets, keys, sessions, plans."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.settings import Settings
from failsoft.framework.state.backend import Backend, Record, StoreLost
from failsoft.framework.state.steps import Steps, forgotten
from failsoft.recovery.state.store import backend_at
from failsoft.recovery.strategies.circuit_steps import force

_WINDOW_S, _OPEN_S = 10.0, 5.0


@dataclass(frozen=True, slots=True)
class StoredKey:
    """One key of a store.

    Args:
        key: The key in the store.
        kind: `breaker`, `budget`, `key`, `session`, ...
        name: The rest of the key after the kind.
        scope: The server, toolset and folder of a record; empty for shared state.
        value: The state or value.
        expires_in_s: The remaining time to live, in seconds.
    """

    key: str
    kind: str
    name: str
    scope: str
    value: Any
    expires_in_s: float

    @classmethod
    def of(cls, record: Record) -> StoredKey:
        """Return the entry of a record."""
        scope, _, rest = record.key.rpartition("/")
        kind, _, name = rest.partition(":")
        while not scope and ":" in name and (kind == "failsoft" or "@" in kind):  # prefixes of shared state
            kind, _, name = name.partition(":")
        return cls(record.key, kind, name, scope, record.value, record.expires_in_s)

    @property
    def state(self) -> str:
        """The state in one word: the state of a breaker, or the phase of a key."""
        value = self.value if isinstance(self.value, dict) else {}
        held = " (held)" if value.get("held") else ""
        if self.kind == "budget" and "tokens" in value:
            return f"{value['tokens']:g} tokens"
        return f"{value.get('name') or value.get('phase') or ''}{held}"


class StateAdmin:
    """The configured store, opened for an operator.

    Raises:
        CONFIG_ERROR: By every method: there is no shared store, or it cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        url = None if settings.state_url is None else settings.state_url.get_secret_value()
        found = backend_at(url or "sqlite:", prefix=settings.state_prefix, limit_s=max(1.0, settings.state_timeout_s))
        if found is None:
            raise ConfigurationError(
                issue="FAILSOFT_STATE_URL is memory:, and other processes cannot look into a server's memory",
                resolution="set FAILSOFT_STATE_URL to what the server has; unset, it is the file of `failsoft serve`",
            )
        self._store: Backend = found[0]
        self._steps = Steps(self._store)
        self._prefix = found[1]

    async def entries(self, name: str | None = None) -> list[StoredKey]:
        """Return all entries, or those whose name matches; `*` matches anything."""
        try:
            found = [StoredKey.of(record) for record in await self._store.find("")]
        except StoreLost as lost:
            raise ConfigurationError(issue=f"the state store cannot be used: {lost}") from lost
        return [entry for entry in found if name is None or _is_named(entry, name)]

    async def force(self, name: str, state: str, *, held: bool) -> list[str]:
        """Force or release the matching breakers and return their names; a missing one is created."""
        known = [entry for entry in await self.entries(name) if entry.kind == "breaker"]
        keys = [entry.key for entry in known] or ([] if "*" in name else [f"{self._prefix}breaker:{name}"])
        for key in keys:
            await self._steps.run(force, key, state, int(held), _WINDOW_S, _OPEN_S)
        return [key.rpartition("breaker:")[2] for key in keys]

    async def forget(self, name: str) -> list[str]:
        """Delete the matching entries and return their keys; work of a deleted idempotency key may be repeated."""
        keys = [entry.key for entry in await self.entries(name)]
        for key in keys:
            await self._steps.run(forgotten, key)
        return keys

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()


def _is_named(entry: StoredKey, name: str) -> bool:
    return any(fnmatch.fnmatchcase(text, name) for text in (entry.name, f"{entry.kind}:{entry.name}", entry.key))
