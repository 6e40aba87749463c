"""`failsoft state`: Show and set breakers, budgets and keys in the state store.

The store is the one that FAILSOFT_STATE_URL names, or else the file of `failsoft serve` in the user's state folder.
Without that setting, a server with a single worker keeps its breakers, budgets and limits in memory, out of reach of
this command; those of several workers are in the file, apart for each working folder: run this command in the server's.
With --url a running server with FAILSOFT_ADMIN_TOKEN is asked, whatever store it has.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

import typer
from pydantic_core import to_json

from failsoft.cli.errors import missing, usage
from failsoft.cli.options import AsJson, Token, Url, beginning
from failsoft.cli.remote import ask, status_of
from failsoft.cli.screen import Screen, divert_output, lasting
from failsoft.cli.store import store_place, with_store
from failsoft.cli.target import Target, audited, operator
from failsoft.framework.errors import ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.settings import Settings
from failsoft.framework.state.backend import Backend, Record, size_of
from failsoft.framework.state.steps import Steps, forgotten
from failsoft.framework.text import printable
from failsoft.recovery.idempotency.keys import ids_of_key, is_record_of
from failsoft.recovery.strategies.circuit_steps import force
from failsoft.server.sources import server_name


def _complete_names(incomplete: str) -> Sequence[str]:
    """Return the names in the state store with this prefix."""
    try:
        return beginning(incomplete, {entry.name for entry in with_store(_entries)})
    except Exception:  # noqa: BLE001 - a shell shows nothing rather than an error in the middle of a line
        return []


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A name as `failsoft state list` shows it, or an idempotency key as it was sent; * for anything.",
        autocompletion=_complete_names,
    ),
]
MaybeName = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Only records with this name; * for all.", autocompletion=_complete_names),
]
_WINDOW_S, _OPEN_S = 10.0, 5.0
_NAMED_AT_MOST = 20
_LISTING = "failsoft state list"


def list(  # noqa: A001 - the name of the command
    name: MaybeName = None,
    *,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="breaker, budget, key, session, plan, ...")] = None,
    server: Annotated[str | None, typer.Option(metavar="NAME", help="Only records of this server.")] = None,
    toolset: Annotated[str | None, typer.Option(metavar="NAME", help="Only records of this toolset.")] = None,
    state: Annotated[str | None, typer.Option(metavar="STATE", help="Only in this state: open, done, unknown.")] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List what is in the state store: breakers, budgets, limits, keys, sessions, plans.

    `age` is how long ago a record was last written, and for how long a breaker has been in its state. An open breaker
    shows when its next probe may run, or who holds it. In the folder of a project, records of other applications are
    listed apart. See `failsoft state --help` for what is in the store. With --url, list the dependencies of a running
    server, whatever store it has.

    Examples:
      failsoft state list --kind key --state unknown
      failsoft state list --kind breaker --state open
    """
    if url is not None:
        _list_at(url, token, name, as_json=as_json, others=(kind, server, toolset, state))
        return

    async def work(store: Backend, prefix: str) -> tuple[Sequence[_StoredKey], int, str]:
        return await _entries(store), await store.fullest(), prefix

    found, fullest_bytes, prefix = with_store(work)
    ids = frozenset() if name is None else ids_of_key(name, Settings.load())
    wanted = {"kind": kind, "server": server, "toolset": toolset, "state": state}
    entries = [
        entry
        for entry in found
        if (name is None or entry.is_named(name, ids))
        and all(value in {None, getattr(entry, fact).partition(" ")[0]} for fact, value in wanted.items())
    ]
    application = _application()
    own = [entry for entry in entries if not application or entry.is_of(application, prefix)]
    others = [entry for entry in entries if entry not in own]
    screen = Screen()
    if as_json:
        screen.json([{**entry.to_dict(), "own": entry in own if application else None} for entry in entries])
        return
    if entries:
        for title, rows in ((f"Of {application}" if others else "", own), ("Of other applications", others)):
            if rows:
                screen.rows(
                    ["kind", "name", "state", "age", "ends in", "size", "scope"],
                    [one.row() for one in rows],
                    title=title,
                )
        quota = Settings.load().state_quota_bytes
        screen.text(f"The caller with the most uses {fullest_bytes / quota:.1%} of the quota of {quota} bytes.")
    else:
        screen.text("nothing is kept" if name is None else printable(f"nothing is kept under '{name}'"))
        for fact, value in wanted.items():
            known = sorted({getattr(entry, fact).partition(" ")[0] for entry in found} - {""})
            if value is not None and value not in known:
                screen.text(printable(f"no record has --{fact} {value}; in the store: {', '.join(known) or 'none'}"))
    screen.text(f"store: {printable(store_place())}")


def _list_at(url: str, token: str | None, name: str | None, *, as_json: bool, others: Sequence[str | None]) -> None:
    """List the dependencies of a running server."""
    if any(others):
        raise usage(message="--url lists dependencies; it goes without --kind, --server, --toolset and --state.")
    found = status_of(url, token=token)["dependencies"]
    shown = [one for one in found if name is None or fnmatch.fnmatchcase(str(one.get("name")), name)]
    if as_json:
        Screen().json(shown)
        return
    facts = ("name", "circuit", "since", "held_by", "retry_at", "budget")
    rows = [[printable(str(one.get(fact, "-"))) for fact in facts] for one in shown]
    if rows:
        Screen().rows([fact.replace("_", " ") for fact in facts], rows)
    else:
        Screen().text("the server has no dependency" if name is None else printable(f"no dependency is named '{name}'"))


def _set(name: str, command: str, url: str | None, token: str | None) -> None:
    """Carry out a command on a breaker, of the store or of a running server."""
    held, state = command != "reset", "open" if command == "open" else "closed"
    if url is None:
        _force(name, state, command, held=held)
        return
    body = {"state": state if held else "reset"}
    answer = ask(url, f"admin/circuits/{quote(name, safe='')}", token=token, body=body)
    Screen().text(printable(f"{name}: {'held ' if held else ''}{answer.get('circuit')}"))


def _application() -> str:
    """Return the name of the server of the project around this folder; empty without a project."""
    target = Target()
    project = target.project
    if project is None or project.name:
        return "" if project is None else str(project.name)
    try:
        with divert_output():
            return server_name(target.tools())
    except ToolError:  # an application that cannot be loaded has records all the same
        return ""


def open(  # noqa: A001 - the name of the command
    name: Name, *, url: Url = None, token: Token = None
) -> None:
    """Force a breaker open: no call reaches its dependency until `failsoft state reset`.

    The breaker of a server behind a proxy can be forced once it is listed, after its first call.
    """
    _set(name, "open", url, token)


def close(name: Name, *, url: Url = None, token: Token = None) -> None:
    """Force a breaker closed, even if calls fail, until `failsoft state reset`."""
    _set(name, "close", url, token)


def reset(name: Name, *, url: Url = None, token: Token = None) -> None:
    """Close a breaker, clear its counts, and end a forced state."""
    _set(name, "reset", url, token)


def forget(name: Name) -> None:
    """Delete records: a call with a deleted key does its work again, and a deleted session has ended."""

    async def work(store: Backend, _prefix: str) -> Sequence[str]:
        entries = await _entries(store)
        ids = ids_of_key(name, Settings.load())
        keys = [entry.key for entry in entries if entry.is_named(name, ids)]
        if not keys:
            known = [entry.name for entry in entries]
            raise missing(kind="record", name=name, known=known, command="failsoft state forget {}", listing=_LISTING)
        await audited("state forget", facts={"name": name, "records": keys[:_NAMED_AT_MOST], "count": len(keys)})
        for key in keys:
            await Steps(store).run(forgotten, key)
        return keys

    for key in with_store(work):
        Screen().text(printable(f"forgotten: {key}"))


def _force(name: str, state: str, command: str, *, held: bool) -> None:
    """Force or release the breakers of a name; one to be forced that is not known yet is made.

    Raises:
        NOT_FOUND: There is no such breaker, and it was to be released, or the name is a pattern or resembles another.
    """

    async def work(store: Backend, prefix: str) -> tuple[Sequence[str], str]:
        breakers = [entry for entry in await _entries(store) if entry.kind == "breaker"]
        keys = [entry.key for entry in breakers if entry.is_named(name)]
        known = [entry.name for entry in breakers]
        if not keys and (not held or "*" in name or closest_name(name, known)):
            raise missing(
                kind="breaker", name=name, known=known, command=f"failsoft state {command} {{}}", listing=_LISTING
            )
        note = "" if keys else ", although no server has used a breaker of this name"
        keys = keys or [f"{prefix}breaker:{name}"]
        await audited(f"state {command}", facts={"name": name, "breakers": keys[:_NAMED_AT_MOST]})
        for key in keys:
            await Steps(store).run(force, key, state, operator() if held else "", 0, _WINDOW_S, _OPEN_S)
        return keys, note

    forced, note = with_store(work, makes=held)
    for key in forced:
        Screen().text(printable(f"{key.rpartition('breaker:')[2]}: {'held ' if held else ''}{state}{note}"))


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
        age_s: How long ago it was written, or how long a breaker has been in its state, in seconds; None if unknown.
        probe_in_s: How long an open breaker still refuses calls, in seconds; None for others, and while it is held.
    """

    key: str
    kind: str
    name: str
    scope: str
    value: Any
    expires_in_s: float
    age_s: float | None
    probe_in_s: float | None

    @classmethod
    def of(cls, record: Record, now: float) -> _StoredKey:
        """Return the entry of a record, by the time of its store."""
        scope, _, rest = record.key.rpartition("/")
        kind, _, name = rest.partition(":")
        while not scope and ":" in name and (kind == "failsoft" or "@" in kind):  # prefixes of shared state
            kind, _, name = name.partition(":")
        age_s, probe_in_s = record.age_s, None
        if kind == "breaker" and isinstance(record.value, dict):
            age_s = max(0.0, now - since) if (since := record.value.get("since")) is not None else None
            if record.value.get("name") == "open" and not record.value.get("held"):
                probe_in_s = max(0.0, record.value.get("until", now) - now)
        return cls(record.key, kind, name, scope, record.value, record.expires_in_s, age_s, probe_in_s)

    def is_of(self, server: str, prefix: str) -> bool:
        """Return whether it is of the server of this name, or shared state of this folder.

        Args:
            server: The name.
            prefix: That of shared keys, as of servers in this folder.
        """
        return self.server == server if self.scope else self.key.startswith(prefix)

    @property
    def server(self) -> str:
        """The server of a record; empty for shared state."""
        return self.scope.partition("/")[0]

    @property
    def toolset(self) -> str:
        """The toolset of a record; empty for shared state."""
        return self.scope.partition("/")[2].partition("/")[0]

    @property
    def size_bytes(self) -> int:
        """What it counts against a quota."""
        return size_of(self.key, to_json(self.value).decode())

    @property
    def held_by(self) -> str:
        """Who holds a breaker where it is; empty for nobody. The version before did not note who."""
        held = self.value.get("held") if self.kind == "breaker" and isinstance(self.value, dict) else None
        return "an operator" if held == 1 else str(held or "")

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as `--json` prints it."""
        names = ("kind", "name", "scope", "server", "toolset", "state", "key", "size_bytes")
        times = {"expires_in_s": self.expires_in_s, "age_s": self.age_s, "probe_in_s": self.probe_in_s}
        return {
            **{name: getattr(self, name) for name in names},
            **{name: None if time_s is None else round(time_s) for name, time_s in times.items()},
            "held_by": self.held_by or None,
        }

    def row(self) -> Sequence[str]:
        """Return the entry as a row of the table."""
        ends = f"held by {self.held_by}" if self.held_by else lasting(self.expires_in_s)
        if self.probe_in_s is not None:
            ends = f"probe in {lasting(self.probe_in_s)}" if self.probe_in_s else "probe at the next call"
        age = "-" if self.age_s is None else lasting(self.age_s)
        return [self.kind, self.name, self.state, age, ends, f"{self.size_bytes} B", self.scope]

    @property
    def state(self) -> str:
        """The state in one word: the state of a breaker, or the phase of a key."""
        value = self.value if isinstance(self.value, dict) else {}
        if self.kind == "budget" and "tokens" in value:
            return f"{value['tokens']:g} tokens"
        return f"{value.get('name') or value.get('phase') or ''}{' (held)' if self.held_by else ''}"

    def is_named(self, name: str, ids: Container[str] = ()) -> bool:
        """Return whether a name is that of the record, `kind:name`, its key, or the idempotency key that a client sent.

        `*` matches anything.

        Args:
            name: The name.
            ids: What records have for it as an idempotency key.
        """
        if self.kind == "key" and is_record_of(self.value, ids):
            return True
        texts = (self.name, f"{self.kind}:{self.name}", self.key)
        return any(fnmatch.fnmatchcase(text, name) for text in texts)


async def _entries(store: Backend, _prefix: str = "") -> Sequence[_StoredKey]:
    return [_StoredKey.of(record, store.clock()) for record in await store.find("")]
