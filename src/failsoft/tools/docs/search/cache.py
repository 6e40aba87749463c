"""The index file in the user's cache folder, rebuilt when damaged, in memory where it cannot be kept."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path

from failsoft.framework.safe.author_reports import logger
from failsoft.tools.cache.database_file import LOCK_WAIT_S, cache_folder, is_damage
from failsoft.tools.docs.search.connection import IndexStore
from failsoft.tools.docs.search.store import SCHEMA_VERSION, MemoryStore, Store

IN_MEMORY = "The search index cannot be kept on disk, so it is kept in memory and rebuilt at each start."
REBUILT = "The search index was damaged and was rebuilt."


def open_store(
    root: Path, cache_dir: Path | None, language: str = "english", fingerprint: str = ""
) -> tuple[IndexStore, str]:
    """Return the store of this root, ready for use, and a warning if it had to be repaired.

    Args:
        root: The folder of the documents; each has an index of its own.
        cache_dir: The folder of the indexes; by default in the user's cache folder.
        language: Whose words are stemmed.
        fingerprint: Tells apart the indexes of one root.
    """
    try:
        store = Store(_file_for(root, cache_dir, fingerprint), language)
        with store.process_lock().acquire(timeout=LOCK_WAIT_S):
            try:
                store.create()
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                logger.opt(exception=error).warning(REBUILT)
                store.discard()
                store.create()
                return store, REBUILT
    except (sqlite3.Error, OSError, RuntimeError) as error:
        return in_memory(error, language), IN_MEMORY
    return store, ""


def in_memory(error: BaseException, language: str = "english") -> MemoryStore:
    """Return a store in memory, and log why."""
    logger.opt(exception=error).warning(IN_MEMORY)
    return MemoryStore(language)


def discard(store: Store) -> None:
    """Delete a damaged index under its process lock; one that cannot be deleted is left for `open_store`."""
    try:
        with store.process_lock().acquire(timeout=LOCK_WAIT_S):
            store.discard()
    except (OSError, RuntimeError) as error:
        logger.opt(exception=error).warning("The damaged search index could not be removed.")
        store.close()


def _file_for(root: Path, cache_dir: Path | None, fingerprint: str) -> Path:
    folder = cache_folder(cache_dir, "docs")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    variant = f"-{fingerprint}" if fingerprint else ""
    return folder / f"{key}{variant}-v{SCHEMA_VERSION}.sqlite3"
