"""`Watcher`: indexes documents from a background thread as they change on disk."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from failsoft.framework.errors import ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.tools.docs.documents.paths import is_document, is_visible

_DEBOUNCE_MS = 200
_POLL_MS = 1_000
"""How often the thread checks whether to stop."""
_STOP_WITHIN_S = 3.0


class Followed(Protocol):
    """An index, as far as the watcher knows it."""

    def follow(self, paths: Sequence[str], *, is_complete: bool) -> None:
        """Index documents that are said to have changed."""


class Watcher:
    """Follows the folder of an index. Without the extra `watch` it does nothing, and the index walks the folder.

    Args:
        folder: The folder of the documents.
        index: The index over them; the watcher ends with it.
    """

    def __init__(self, folder: str, index: Followed) -> None:
        self._folder = os.path.realpath(folder)
        self._stop = stop = threading.Event()
        self._index = weakref.ref(index, lambda _: stop.set())
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to follow the folder, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="failsoft-docs-watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it for a moment."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_WITHIN_S)

    def _run(self) -> None:
        try:
            from watchfiles import watch  # noqa: PLC0415 - an extra
        except ImportError:
            return
        try:
            for changes in watch(
                self._folder,
                stop_event=self._stop,
                debounce=_DEBOUNCE_MS,
                rust_timeout=_POLL_MS,
                watch_filter=None,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                index = self._index()
                if index is None:
                    return
                self._follow(index, [path for _, path in changes])
                del index
        except (OSError, RuntimeError) as error:  # a folder that cannot be watched is walked, as without this
            logger.opt(exception=error).info("The documents are not watched")
            self._stop.set()

    def _follow(self, index: Followed, paths: Iterable[str]) -> None:
        documents, others = self._sorted(paths)
        try:
            index.follow(documents, is_complete=not others)
        except ToolError as error:
            logger.opt(exception=error).debug("A change of the documents is indexed with the next question")
            index.follow((), is_complete=False)

    def _sorted(self, paths: Iterable[str]) -> tuple[list[str], bool]:
        """Return the documents among changed paths, relative to the folder, and whether folders changed as well."""
        documents: list[str] = []
        others = False
        for path in paths:
            relative = os.path.relpath(path, self._folder)
            if relative.startswith("..") or not all(map(is_visible, Path(relative).parts)):
                continue
            if is_document(relative):
                documents.append(relative.replace(os.sep, "/"))
            else:
                others = True
        return documents, others
