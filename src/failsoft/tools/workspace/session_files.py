"""Read, list and write the files of a session. Blocking; call it from a worker thread."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from failsoft.framework.errors import NextStep, ResultTooLarge, ToolError
from failsoft.framework.text import quoted
from failsoft.framework.threads import is_given_up
from failsoft.tools.files import (
    FileFault,
    Files,
    Transaction,
    Written,
    listed,
    name_within,
    similar_files,
)
from failsoft.tools.files.faults import FileNotFound, FileTooLarge, HashMismatch, InvalidEncoding
from failsoft.tools.workspace.errors import (
    FileAlreadyExists,
    PatchApplyFailed,
    PatchInvalid,
    PathNotFound,
    PlanNotApproved,
)
from failsoft.tools.workspace.file_faults import Action, to_error
from failsoft.tools.workspace.invariants import WRITTEN_IS_ON_DISK, violated
from failsoft.tools.workspace.patch import read_patch
from failsoft.tools.workspace.plans.scope import Guard
from failsoft.tools.workspace.signatures import FileContent, FileEntry, FileList, WrittenFile

Judge: TypeAlias = Callable[[str, bytes, bytes | None], Iterable[str]]
"""`judged(path, data, before)` returns warnings, or raises the ToolError for bytes that may not be written there, with
the current content, None for a new file. It may be called several times for one write."""
LISTED_AT_MOST = 1_000
"""Names of one folder in one answer."""
_MOST_JSON_BYTES_OF_A_BYTE = 6
"""A control character is written as `\\u0000`."""


def _no_plan(path: str, real_path: str) -> None:  # noqa: ARG001 - a guard is given both
    """Refuse every write: a writable session is given a guard of its plans."""
    raise PlanNotApproved(effect="none")


def _no_judge(path: str, data: bytes, before: bytes | None) -> Iterable[str]:  # noqa: ARG001 - as a policy is called
    """Accept every content."""
    return ()


class SessionFiles:
    """The files of a session.

    Args:
        files: Confined to its workspace.
        folder: The workspace, absolute and without links.
        bytes_at_most: The largest file that is read or written.
        warn: Adds a warning to the answer.
        guard: Checks the path of a write before the file is read; by default every write is refused.
        judged: Checks the content of a write before any byte of it is on the disk.
    """

    def __init__(
        self,
        files: Files,
        *,
        folder: str,
        bytes_at_most: int,
        warn: Callable[[str], None],
        guard: Guard = _no_plan,
        judged: Judge = _no_judge,
    ) -> None:
        self._files = files
        self._folder = folder
        self._bytes_at_most = bytes_at_most
        self._warn = warn
        self._guard = guard
        self._judged = judged

    def read(self, path: str) -> FileContent:
        """Return a text file."""
        with self._typed_errors("read", path):
            content = self._files.read(path, bytes_at_most=self._bytes_at_most)
        try:
            text = content.data.decode()
        except UnicodeDecodeError as error:
            raise InvalidEncoding(file_path=path, position=error.start) from None
        return {"path": path, "content": text, "bytes": len(content.data), "sha256": content.sha256}

    def list(self, path: str, cursor: str | None) -> FileList:
        """Return the entries of a folder after the name in the cursor."""
        with self._typed_errors("list", path):
            found, count = listed(self._files.roots, path, at_most=LISTED_AT_MOST + 1, after=cursor or "")
        entries: list[FileEntry] = [
            {"name": one.name, "kind": one.kind, "bytes": one.bytes} for one in found[:LISTED_AT_MOST]
        ]
        page: FileList = {"path": path, "entries": entries, "total": count}
        return page if len(found) <= LISTED_AT_MOST else {**page, "next_cursor": entries[-1]["name"]}

    def write(self, path: str, data: bytes, expected_hash: str | None) -> WrittenFile:
        """Make a file, or replace the one that has the expected hash.

        Raises:
            ToolError: A code of the toolset's table, or what a check says; its effect says what is on the disk.
        """
        with self._typed_errors("write", path):
            self._check_path(path)
            self._require_size(path, data)
            if expected_hash is None:
                return self._make(path, data)
            return self._change(path, lambda _: data, expected_hash)

    def patch(self, path: str, text: bytes, expected_hash: str | None) -> WrittenFile:
        """Change or make a file as a unified diff says."""
        with self._typed_errors("write", path):
            self._check_path(path)
            patch = read_patch(text, name_within(self._files.roots, path, self._folder), path)
            if not patch.is_new:
                is_known = expected_hash is not None
                return self._change(path, lambda data: patch.applied_to(data, is_known=is_known), expected_hash)
            if expected_hash is not None:
                raise PatchInvalid(reason="it creates a file, so expected_hash must be left out", line=1)
            data = patch.applied_to(b"", is_known=True)
            self._require_size(path, data)
            return self._make(path, data)

    def _make(self, path: str, data: bytes) -> WrittenFile:
        foreseen = self._files.roots.nearest(path).destination
        self._check(path, foreseen, data)  # before a folder is made for it
        with self._room_for(path), self._files.transaction([path], give_up=is_given_up) as work:
            if work.real_path(path) != foreseen:  # a link was put there meanwhile
                self._check(path, work.real_path(path), data)
            work.create(path, data)
            (written,) = work.commit()
            require_on_disk(work, written, warn=self._warn)
        return self._result(written, created=True)

    def _change(self, path: str, becomes: Callable[[bytes], bytes], expected_hash: str | None) -> WrittenFile:
        """Replace a file; nothing is written if another process changes it meanwhile."""
        with self._files.transaction([path], give_up=is_given_up) as work:
            self._check_path(path, work.real_path(path))
            before = work.read(path, bytes_at_most=self._bytes_at_most)
            if expected_hash not in {None, before.sha256}:
                raise HashMismatch.of(path, expected_hash=expected_hash, actual_hash=before.sha256)
            data = becomes(before.data)
            self._require_size(path, data)
            self._check(path, work.real_path(path), data, before.data)
            work.replace(path, data)
            (written,) = work.commit()
            require_on_disk(work, written, warn=self._warn)
        return self._result(written, created=False)

    def _result(self, written: Written, *, created: bool) -> WrittenFile:
        if written.warning is not None:
            self._warn(written.warning)
        return {"path": written.path, "created": created, "bytes": written.bytes, "sha256": written.sha256}

    def _require_size(self, path: str, data: bytes) -> None:
        if len(data) > self._bytes_at_most:
            raise FileTooLarge(file_path=path, size_bytes=len(data), limit_bytes=self._bytes_at_most)

    def _check_path(self, path: str, real_path: str | None = None) -> None:
        """Raise unless the guard allows a write to the path; the file is not read."""
        roots = self._files.roots
        real_path = real_path or roots.nearest(path).destination
        if path.endswith("/") or real_path == self._folder:
            raise FileFault(path, "not_regular", what="folder")
        self._guard(name_within(roots, path, self._folder), os.path.relpath(real_path, self._folder))

    def _check(self, path: str, real_path: str, data: bytes, before: bytes | None = None) -> None:
        """Raise unless the guard and the policies allow these bytes at the path."""
        self._check_path(path, real_path)
        named = name_within(self._files.roots, path, self._folder)
        # A link and its target may have different endings.
        for name in dict.fromkeys((named, os.path.relpath(real_path, self._folder))):
            for warning in self._judged(name, data, before):
                self._warn(warning)

    @contextmanager
    def _room_for(self, path: str) -> Iterator[None]:
        """Make the folders for a new file, unless a folder or a device has its name."""
        with self._files.roots.parents(path):
            with self._files.roots.resolve(path) as place:
                facts = place.facts()
                if facts is not None:
                    place.require_regular(facts)
            yield

    @contextmanager
    def _typed_errors(self, action: Action, path: str) -> Iterator[None]:
        """Turn faults into typed errors; errors that this class or a check raises precede any change."""
        try:
            yield
        except FileFault as fault:
            error = _read_first(to_error(fault, action, root=self._folder), action, path)
            if isinstance(error, FileNotFound):
                error = self._not_found(path, action)
            elif isinstance(error, PathNotFound):
                error = self._no_folder(path)
            elif action == "read" and fault.facts.get("what") == "folder":
                error.next_step = NextStep("list_files", {"path": path})
            raise error from fault
        except ToolError as error:
            error.effect = error.effect or "none"
            _read_first(error, action, path)
            raise

    def _not_found(self, path: str, action: Action) -> FileNotFound:
        """Return the error for a missing file, with similar names and the call that lists its folder."""
        closest = similar_files(self._files.roots, path)
        error = FileNotFound.named([path], closest=closest, advice="`list_files` shows all.")
        error.effect = "none"
        if action == "read" and len(closest) == 1:
            error.next_step = NextStep("read_file", {"path": closest[0]})
        else:
            error.next_step = NextStep("list_files", self._folder_argument(path))
        return error

    def _no_folder(self, path: str) -> PathNotFound:
        """Return the error for a missing folder, with similar names and the call that lists one of them."""
        closest = similar_files(self._files.roots, path, kind="folder")
        near = f"; closest: {', '.join(map(quoted, closest))}" if closest else ""
        argument = {"path": closest[0]} if len(closest) == 1 else self._folder_argument(path)
        is_workspace = path in {"", ".", self._folder}
        return PathNotFound(
            path=path,
            message=f"There is nothing at {quoted(path)}{near}.",
            suggestions=closest,
            next_step=None if is_workspace else NextStep("list_files", argument),
            effect="none",
        )

    def _folder_argument(self, path: str) -> dict[str, str]:
        """Return the arguments that list the nearest folder of a path that exists; none for the workspace itself."""
        folder = path.rpartition("/")[0]
        while folder and folder != self._folder:
            with suppress(FileFault):
                self._files.roots.folder(folder)
                return {"path": folder}
            folder = folder.rpartition("/")[0]
        return {}


def _read_first(error: ToolError, action: Action, path: str) -> ToolError:
    """Return an error, whose next step reads the file if a write expected another one."""
    if action == "write" and isinstance(error, (FileAlreadyExists, HashMismatch, PatchApplyFailed)):
        error.next_step = NextStep("read_file", {"path": path})
    return error


def require_on_disk(work: Transaction, written: Written, *, warn: Callable[[str], None]) -> None:
    """Read a file again that was just committed, and raise unless it holds what was written.

    A process that takes no lock, such as an editor, may have changed the file before this check. Inode, time or size
    then differ, and the caller gets a warning: no invariant is violated.

    Args:
        work: The transaction, still open.
        written: The result of its commit.
        warn: Adds a warning to the answer.

    Raises:
        INVARIANT_VIOLATION: The file is the one that was written, and has another content.
    """
    try:
        found = work.read(written.path, bytes_at_most=written.bytes)
    except FileFault:
        warn("The file was written; another process has removed or changed it since.")
        return
    if found.sha256 == written.sha256:
        return
    if found.identity == written.identity:
        raise violated(WRITTEN_IS_ON_DISK, effect="applied")
    warn("The file was written; another process has changed it since.")


def excerpt(
    whole: FileContent,
    *,
    first_line: int,
    line_limit: int | None,
    bytes_at_most: int | None,
) -> FileContent:
    """Return the whole file, or those of the requested lines that fit.

    Args:
        whole: The file.
        first_line: The number of the first line wanted, from 1.
        line_limit: Lines wanted at most; None for all of them.
        bytes_at_most: What they may take as JSON; None for no bound.

    Raises:
        RESULT_TOO_LARGE: The whole file was requested and does not fit (a part could be mistaken for the whole and
            written back), or the first line alone does not fit.
    """
    if first_line == 1 and line_limit is None:
        if _fits(whole["content"], bytes_at_most):
            return whole
        lines = _lines(whole["content"])
        step = {"path": whole["path"], "line_limit": max(1, _fitting(lines, bytes_at_most))}
        raise _too_large(whole, bytes_at_most, NextStep("read_file", step))
    lines = _lines(whole["content"])
    wanted = lines[first_line - 1 :] if line_limit is None else lines[first_line - 1 : first_line - 1 + line_limit]
    count = _fitting(wanted, bytes_at_most)
    if wanted and not count:
        step = {"path": whole["path"], "first_line": first_line + 1}
        raise _too_large(whole, bytes_at_most, NextStep("read_file", step) if len(lines) > first_line else None)
    part: FileContent = {
        **whole,
        "content": "".join(wanted[:count]),
        "first_line": first_line,
        "total_lines": len(lines),
    }
    after = first_line + count
    return {**part, "next_line": after} if after <= len(lines) else part


def _too_large(whole: FileContent, bytes_at_most: int | None, step: NextStep | None) -> ResultTooLarge:
    return ResultTooLarge(size_bytes=whole["bytes"], limit_bytes=bytes_at_most or 0, next_step=step, effect="none")


def _lines(text: str) -> list[str]:
    """Return the lines as a patch numbers them: only a line feed ends one."""
    return list(io.StringIO(text, newline="\n"))


def _fits(text: str, bytes_at_most: int | None) -> bool:
    if bytes_at_most is None or len(text.encode()) * _MOST_JSON_BYTES_OF_A_BYTE <= bytes_at_most:
        return True
    return len(json.dumps(text)) <= bytes_at_most


def _fitting(lines: list[str], bytes_at_most: int | None) -> int:
    """Return how many lines, from the first on, fit."""
    if bytes_at_most is None:
        return len(lines)
    size = 0
    for index, line in enumerate(lines):
        size += len(json.dumps(line))
        if size > bytes_at_most:
            return index
    return len(lines)
