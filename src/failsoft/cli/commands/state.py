"""`failsoft state`: Show and set breakers, budgets, keys and other records in the state store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.screen.terminal import open_screen

if TYPE_CHECKING:
    from failsoft.cli.targets.state_store import StateAdmin

__all__ = ["close", "forget", "list", "open", "reset"]

T = TypeVar("T")
Name = Annotated[str, typer.Argument(metavar="NAME", help="A name as `failsoft state list` shows it; * for anything.")]
MaybeName = Annotated[str | None, typer.Argument(metavar="NAME", help="Only records with this name; * for all.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def list(  # noqa: A001 - the name of the command
    name: MaybeName = None, *, as_json: AsJson = False
) -> None:
    """List what is in the state store: breakers, budgets, limits, keys, sessions, plans.

    The store is the one that FAILSOFT_STATE_URL names, or else the file of `failsoft serve` in the user's state folder.
    Without that setting, a server with a single worker keeps its breakers in memory, and they are not listed.
    """
    entries = _with_store(lambda store: store.entries(name))
    screen = open_screen()
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
        open_screen().text(f"forgotten: {key}")
    _require(forgotten, name)


def _force(name: str, state: str, *, held: bool) -> None:
    forced = _with_store(lambda store: store.force(name, state, held=held))
    for breaker in forced:
        open_screen().text(f"{breaker}: {'held ' if held else ''}{state}")
    _require(forced, name)


def _require(done: Sequence[str], name: str) -> None:
    if not done:
        open_screen().text(f"nothing is kept under '{name}'")
        raise typer.Exit(ExitCode.FAILED)


def _with_store(work: Callable[[StateAdmin], Awaitable[T]]) -> T:
    from failsoft.cli.targets.state_store import StateAdmin  # noqa: PLC0415 - as above
    from failsoft.framework.settings import Settings  # noqa: PLC0415 - `failsoft --help` needs none of it

    async def run() -> T:
        store = StateAdmin(Settings.load())
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())
