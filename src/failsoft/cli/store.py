"""The state store that commands look into: which one it is, and what is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import typer

from failsoft.cli.errors import usage
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.settings import Settings
from failsoft.framework.state.backend import Backend, StoreFault, StoreLost
from failsoft.framework.state.memory import MemoryBackend
from failsoft.framework.text import printable
from failsoft.recovery.state.store import backend_at, file_of
from failsoft.server.sources import unknown_variables

T = TypeVar("T")
STATE_URL, _DEFAULT_STORE = "FAILSOFT_STATE_URL", "sqlite:"
_REPAIRS: dict[StoreFault, str] = {
    "lost": "see that it runs and is reached from here",
    "read_only": "let it take writes; a replica takes none",
    "full": "give it more space, or forget records",
    "busy": "try again; another process holds it",
    "denied": "see who may use it: the owner and mode of the file, or the user and password in the address",
    "loading": "try again once it has loaded its data",
    "damaged": "repair it, or put a backup back: see `Backups` in the how-to page on deploying",
}


def with_store(work: Callable[[Backend, str], Awaitable[T]], url: str | None = None, *, makes: bool = False) -> T:
    """Run work over the state store of the servers, given with the prefix of shared keys, and return its result.

    The store is that of the URL, else the one that FAILSOFT_STATE_URL names, else the file of `failsoft serve` in the
    user's state folder. While no server has made that file, it counts as empty.

    Args:
        work: What is to be done.
        url: The address of the store.
        makes: Whether a file that is missing is made; else one that was named is refused.

    Raises:
        CONFIG_ERROR: There is no shared store, or it cannot be used.
        INVALID_PARAM: The URL is no address of a store.
    """
    warn_of_misspelt_variables()
    settings = Settings.load()
    if url is not None:
        _check_address(url)
    named = _state_url(url)
    found = backend_at(named, prefix=settings.state_prefix, limit_s=max(1.0, settings.state_timeout_s))
    if found is None:
        raise ConfigurationError(
            issue="FAILSOFT_STATE_URL is memory:, and other processes cannot look into a server's memory",
            resolution="set FAILSOFT_STATE_URL to what the server has; unset, it is the file of `failsoft serve`",
        )
    backend, prefix = found
    if not makes and isinstance(file := getattr(backend, "path", None), Path) and _is_missing(file):
        if named != _DEFAULT_STORE:
            raise ConfigurationError(
                issue=f"there is no state store at {store_place(url)}",
                resolution=f"correct {STATE_URL if url is None else '--state'}; a server makes the file at its start",
            )
        backend = MemoryBackend()

    async def run() -> T:
        try:
            return await work(backend, prefix)
        except StoreLost as lost:
            raise ConfigurationError(
                issue=f"the state store cannot be used ({_placed(lost, url)})",
                resolution=_REPAIRS[lost.fault],
            ) from lost
        finally:
            await backend.close()

    return asyncio.run(run())


def warn_of_misspelt_variables() -> None:
    """Print a line for each variable that resembles one of the state store or the audit log, and is not read."""
    for name, closest in unknown_variables([Settings]).items():
        if closest.startswith(("FAILSOFT_STATE", "FAILSOFT_AUDIT")):
            typer.echo(f"{printable(name)} is not read; did you mean {closest}?", err=True)


def _check_address(url: str) -> None:
    try:
        Settings.load(state_url=url)
    except ConfigurationError as error:
        hint = f"--state sqlite:{url}" if Path(url).exists() else "--state redis://localhost"
        raise usage(message=f"{error.issue.replace('state_url', '--state')}.", hint=hint) from None


def store_place(url: str | None = None) -> str:
    """Return where the state store is that `with_store` uses: a file, or an address without user and password."""
    named = _state_url(url)
    if named.startswith("sqlite:"):
        return str(file_of(named))
    scheme, _, rest = named.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def _state_url(url: str | None) -> str:
    settings = Settings.load()
    return url or (settings.state_url.get_secret_value() if settings.state_url is not None else "") or _DEFAULT_STORE


def missing_store() -> Path | None:
    """Return the file of the state store, if it is in a file that does not exist."""
    named = _state_url(None)
    return file if named.startswith("sqlite:") and _is_missing(file := file_of(named)) else None


def _is_missing(file: Path) -> bool:
    try:
        return not file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # the store says better what is wrong
        return False


def _placed(lost: StoreLost, url: str | None) -> str:
    """Return where a store is and what is wrong with it, with the word that metrics and logs have for it."""
    place = f"{store_place(url)}: "
    return f"{place}{str(lost).removeprefix(place)} ({lost.fault})"
