"""The work on the files of one session: reading, listing, writing. Everything here is for a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from failsoft.framework.threads import is_given_up
from failsoft.tools.edit.errors import FileTooLarge, HashMismatch, InvalidEncoding
from failsoft.tools.files import FileFault, Files, NotARegularFile, listed
from failsoft.tools.workspace.coded import Doing, coded_file
from failsoft.tools.workspace.results import FileContent, FileList, WrittenFile

__all__ = ["Desk"]

LISTED_AT_MOST = 1_000
"""Names of one folder that one answer tells."""


class Desk:
    """The files of a session.

    Args:
        files: Confined to its workspace.
        bytes_at_most: Above this size a file is neither read nor written.
        warn: Takes a remark for the caller.
    """

    def __init__(self, files: Files, *, bytes_at_most: int, warn: Callable[[str], None]) -> None:
        self._files = files
        self._bytes_at_most = bytes_at_most
        self._warn = warn

    def read(self, path: str) -> FileContent:
        """Return a text file.

        Raises:
            ToolError: A code of the toolset's table.
        """
        with _coded("read"):
            content = self._files.read(path, bytes_at_most=self._bytes_at_most)
        try:
            text = content.data.decode()
        except UnicodeDecodeError as error:
            raise InvalidEncoding(file_path=path, position=error.start) from None
        return {"path": path, "content": text, "bytes": len(content.data), "sha256": content.sha256}

    def list(self, path: str) -> FileList:
        """Return what is in a folder.

        Raises:
            ToolError: A code of the toolset's table.
        """
        with _coded("list"):
            found, count = listed(self._files.roots, path, at_most=LISTED_AT_MOST)
        if count > len(found):
            self._warn(f"The folder has {count} entries; these are the first {len(found)}.")
        entries = [{"name": one.name, "kind": one.kind, "bytes": one.bytes} for one in found]
        return {"path": path, "entries": entries, "total": count}  # type: ignore[typeddict-item]

    def write(self, path: str, data: bytes, expected_hash: str | None) -> WrittenFile:
        """Make a file, or replace the one that has the expected hash.

        Raises:
            ToolError: A code of the toolset's table; its effect says what is on the disk.
        """
        limit = self._bytes_at_most
        if len(data) > limit:
            raise FileTooLarge(file_path=path, size_bytes=len(data), limit_bytes=limit, effect="none")
        is_new = expected_hash is None
        with (
            _coded("write"),
            self._room_for(path) if is_new else nullcontext(),
            self._files.transaction([path], give_up=is_given_up) as work,
        ):
            if is_new:
                work.create(path, data)
            else:
                before = work.read(path, bytes_at_most=limit)
                if before.sha256 != expected_hash:
                    raise HashMismatch(
                        file_path=path, expected_hash=expected_hash, actual_hash=before.sha256, effect="none"
                    )
                work.replace(path, data)
            (written,) = work.commit()
        if not written.durable:
            self._warn("The file is written; whether it would survive a power failure at this moment is not known.")
        return {"path": path, "created": is_new, "bytes": written.bytes, "sha256": written.sha256}

    @contextmanager
    def _room_for(self, path: str) -> Iterator[None]:
        """Make the folders for a new file, unless a folder or a device stands where it should be."""
        if path.endswith("/"):
            raise NotARegularFile(path, kind="folder")
        with self._files.roots.parents(path):
            with self._files.roots.place(path) as place:
                facts = place.facts()
                if facts is not None:
                    place.require_regular(facts)
            yield


@contextmanager
def _coded(doing: Doing) -> Iterator[None]:
    try:
        yield
    except FileFault as fault:
        raise coded_file(fault, doing) from fault
