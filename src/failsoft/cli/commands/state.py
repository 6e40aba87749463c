"""`failsoft state`: Show and set breakers, budgets, keys and other records in the state store."""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import typer

from failsoft.cli.errors import ExitCode, missing
from failsoft.cli.options import AsJson
from failsoft.cli.screen import Screen
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.settings import Settings
from failsoft.framework.state.backend import Backend, Record, StoreLost
from failsoft.framework.state.steps import Steps, forgotten
from failsoft.recovery.state.store import backend_at
from failsoft.recovery.strategies.circuit_steps import force

T = TypeVar("T")
Name = Annotated[str, typer.Argument(metavar="NAME", help="A name as `failsoft state list` shows it; * for anything.")]
MaybeName = Annotated[str | None, typer.Argument(metavar="NAME", help="Only records with this name; * for all.")]
_WINDOW_S, _OPEN_S = 10.0, 5.0
_COMMANDS = {("open", True): "open", ("closed", True): "close", ("closed", False): "reset"}


def list(  # noqa: A001 - the name of the command
    name: MaybeName = None, *, as_json: AsJson = False
) -> None:
    """List what is in the state store: breakers, budgets, limits, keys, sessions, plans.

    The store is the one that FAILSOFT_STATE_URL names, or else the file of `failsoft serve` in the user's state folder.
    Without that setting, a server with a single worker keeps its breakers in memory, and they are not listed.
    """
    entries = _with_store(lambda store: store.entries(name))
    screen = Screen()
    if as_json:
        shown = [{"kind": e.kind, "name": e.name, "scope": e.scope, "state": e.state, "key": e.key} for e in entries]
        screen.json(shown)
        return
    for entry in entries:
        where = f"  {entry.scope}" if entry.scope else ""
        screen.text(f"{entry.kind}  {entry.name}  {entry.state}  {entry.expires_in_s:.0f} s{where}")
    if not entries:
        screen.text("nothing is kept" if name is None else f"nothing is kept under '{name}'")


def open(  # noqa: A001 - the name of the command
    name: Name,
) -> None:
    """Force a breaker open: no call reaches its dependency until `failsoft state reset`.

    The breaker of a server behind a proxy can be forced once it is listed, after its first call.
    """
    _force(name, "open", held=True)


def close(name: Name) -> None:
    """Force a breaker closed, even if calls fail, until `failsoft state reset`."""
    _force(name, "closed", held=True)


def reset(name: Name) -> None:
    """Close a breaker, clear its counts, and end a forced state."""
    _force(name, "closed", held=False)


def forget(name: Name) -> None:
    """Delete records: a call with a deleted key does its work again, and a deleted session has ended."""
    forgotten = _with_store(lambda store: store.forget(name))
    for key in forgotten:
        Screen().text(f"forgotten: {key}")
    _require(forgotten, name)


def _force(name: str, state: str, *, held: bool) -> None:
    forced = _with_store(lambda store: store.force(name, state, held=held))
    for breaker in forced:
        Screen().text(f"{breaker}: {'held ' if held else ''}{state}")
    _require(forced, name)


def _require(done: Sequence[str], name: str) -> None:
    if not done:
        Screen().text(f"nothing is kept under '{name}'")
        raise typer.Exit(ExitCode.FAILED)


def _with_store(work: Callable[[_StateAdmin], Awaitable[T]]) -> T:
    async def run() -> T:
        store = _StateAdmin(Settings.load())
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


@dataclass(frozen=True, slots=True)
class _StoredKey:
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
    def of(cls, record: Record) -> _StoredKey:
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


class _StateAdmin:
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

    async def entries(self, name: str | None = None) -> Sequence[_StoredKey]:
        """Return all entries, or those whose name matches; `*` matches anything."""
        try:
            found = [_StoredKey.of(record) for record in await self._store.find("")]
        except StoreLost as lost:
            raise ConfigurationError(issue=f"the state store cannot be used: {lost}") from lost
        return [entry for entry in found if name is None or _is_named(entry, name)]

    async def force(self, name: str, state: str, *, held: bool) -> Sequence[str]:
        """Force or release the matching breakers and return their names; a missing one is created.

        Raises:
            NOT_FOUND: There is no such breaker, and the name resembles that of another.
        """
        breakers = [entry for entry in await self.entries() if entry.kind == "breaker"]
        known = [entry for entry in breakers if _is_named(entry, name)]
        if not known and closest_name(name, names := [entry.name for entry in breakers]):
            raise missing(
                kind="breaker", name=name, known=names, command=f"failsoft state {_COMMANDS[state, held]} {{}}"
            )
        keys = [entry.key for entry in known] or ([] if "*" in name else [f"{self._prefix}breaker:{name}"])
        for key in keys:
            await self._steps.run(force, key, state, int(held), _WINDOW_S, _OPEN_S)
        return [key.rpartition("breaker:")[2] for key in keys]

    async def forget(self, name: str) -> Sequence[str]:
        """Delete the matching entries and return their keys; work of a deleted idempotency key may be repeated."""
        keys = [entry.key for entry in await self.entries(name)]
        for key in keys:
            await self._steps.run(forgotten, key)
        return keys

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()


def _is_named(entry: _StoredKey, name: str) -> bool:
    return any(fnmatch.fnmatchcase(text, name) for text in (entry.name, f"{entry.kind}:{entry.name}", entry.key))
