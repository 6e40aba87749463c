"""Where the index is kept, and what is done when it cannot be kept there."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path

from filelock import Timeout as LockTimeout
from loguru import logger

from failsoft.tools.docs.store import SCHEMA_VERSION, ForeignFileError, Store

__all__ = ["IN_MEMORY", "REBUILT", "discard", "in_memory", "is_damage", "open_store"]

_OPEN_WAIT_S = 60.0
"""How long to wait for a process that is building the index under the same lock."""
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})

IN_MEMORY = "The search index cannot be kept on disk, so it is kept in memory and built anew at each start."
REBUILT = "The search index was damaged or not ours, and was built anew."


def open_store(root: Path, cache_dir: Path | None) -> tuple[Store, str]:
    """Return the store of this root, ready for use, and a warning if something had to be mended.

    Args:
        root: The folder of the documents; each has an index of its own.
        cache_dir: The folder of the indexes; by default in the user's cache folder.
    """
    try:
        store = Store(_file_for(root, cache_dir))
        lock = store.process_lock()
        if lock is None:
            return store, ""
        with lock.acquire(timeout=_OPEN_WAIT_S):
            try:
                store.create()
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                logger.opt(exception=error).warning(REBUILT)
                store.discard()
                store.create()
                return store, REBUILT
    except (sqlite3.Error, OSError, LockTimeout, RuntimeError) as error:
        return in_memory(error), IN_MEMORY
    return store, ""


def in_memory(error: BaseException) -> Store:
    """Return a store in memory, and log why."""
    logger.opt(exception=error).warning(IN_MEMORY)
    return Store(None)


def discard(store: Store) -> None:
    """Throw a damaged index away under the lock of its processes; one that cannot be removed stays for `open_store`."""
    lock = store.process_lock()
    try:
        if lock is not None:
            with lock.acquire(timeout=_OPEN_WAIT_S):
                store.discard()
    except (OSError, LockTimeout, RuntimeError) as error:
        logger.opt(exception=error).warning("The damaged search index could not be removed.")
        store.close()


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the error says that the file itself is bad, and not merely out of reach."""
    return isinstance(error, ForeignFileError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def _file_for(root: Path, cache_dir: Path | None) -> Path:
    if cache_dir is None:
        from platformdirs import user_cache_path  # noqa: PLC0415 - not needed where the folder is given

        cache_dir = user_cache_path("failsoft")
    folder = cache_dir.absolute() / "docs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return folder / f"{key}-v{SCHEMA_VERSION}.sqlite3"
