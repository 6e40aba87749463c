"""The work of a call: every file read, held to its hash, edited in memory; then all of them written, or none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from failsoft.framework.errors import Effect, InvalidParameter, ToolError
from failsoft.framework.normalize import normalize
from failsoft.framework.settings import Settings
from failsoft.framework.text import printable
from failsoft.framework.threads import is_given_up
from failsoft.framework.violations import Violation
from failsoft.tools.edit.argument_errors import TooManyEdits
from failsoft.tools.edit.changes import unified_diff
from failsoft.tools.edit.coded import coded
from failsoft.tools.edit.context import ambiguous_context, missing_context
from failsoft.tools.edit.engine import Edited, Stuck, apply_edits
from failsoft.tools.edit.errors import AmbiguousMatch, FileTooLarge, HashMismatch, InvalidEncoding, MatchNotFound
from failsoft.tools.edit.request import FileRequest, Request
from failsoft.tools.edit.results import SingleResult
from failsoft.tools.edit.wording import edit_status, message_of
from failsoft.tools.files import Content, FileFault, Files, Transaction, Written

__all__ = ["Work"]


@dataclass(slots=True)
class _Edited:
    """One file, edited in memory."""

    file: FileRequest
    content: Content
    data: bytes
    replacements: int
    diff: str = ""


class Work:
    """One call at work.

    Args:
        files: Where the files are.
        request: What is asked for.
        settings: The limits.
        warn: Takes a remark for the caller.
        report: Takes how many steps are done, and how many there are.
    """

    def __init__(
        self,
        files: Files,
        request: Request,
        settings: Settings,
        *,
        warn: Callable[[str], None],
        report: Callable[[int, int], Any],
    ) -> None:
        self._files = files
        self._request = request
        self._settings = settings
        self._warn = warn
        self._report = report
        self._effect: Effect = "none"
        self._diff_left = settings.edit_max_diff_bytes

    def run(self) -> list[SingleResult]:
        """Return what became of each file, in the order of the call.

        Raises:
            ToolError: Any code of the toolset; its effect says what is on the disk.
        """
        count = sum(len(file.edits) for file in self._request.files)
        if count > self._settings.edit_max_edits:
            raise TooManyEdits(edits=count, limit=self._settings.edit_max_edits, effect="none")
        paths, wait_s = self._request.paths, self._settings.edit_lock_timeout_s
        with self._truthful(), self._files.transaction(paths, wait_s=wait_s, give_up=is_given_up) as held:
            edited = [self._edited(held, index) for index in range(len(paths))]
            written: Mapping[str, Written] = {}
            if not self._request.dry_run:
                written = self._written(held, edited)
            self._report(len(paths) + 1, len(paths) + 1)
            return [self._result(one, written.get(one.file.path)) for one in edited]

    @contextmanager
    def _truthful(self) -> Iterator[None]:
        """Make whatever is raised a typed error that says what it left on the disk."""
        try:
            yield
        except FileFault as fault:
            raise coded(fault, self._request) from fault
        except BaseException as raised:
            error = normalize(raised)
            error.effect = self._effect
            if error is raised:
                raise
            raise error from raised

    def _written(self, held: Transaction, edited: list[_Edited]) -> dict[str, Written]:
        for one in edited:
            held.replace(one.file.path, one.data, backup=self._request.backup)
        self._effect = "unknown"
        written = held.commit()
        self._effect = "applied" if any(one.changed for one in written) else "none"
        if not all(one.durable for one in written):
            self._warn("The change is made; whether it would survive a power failure at this moment is not known.")
        return {one.path: one for one in written}

    def _edited(self, held: Transaction, index: int) -> _Edited:
        """Return a file as its edits make it, in memory."""
        file = self._request.files[index]
        limit = self._settings.edit_max_file_bytes
        try:
            content = held.read(file.path, bytes_at_most=limit)
            _require_hash(file, content)
            text = _text_of(file, content)
            done = apply_edits(text, file.edits, trace=self._request.dry_run)
            if isinstance(done, Stuck):
                raise _stuck(file, done)
            data = self._bytes_of(index, done.text)
            if len(data) > limit:
                raise FileTooLarge(file_path=file.path, size_bytes=len(data), limit_bytes=limit)
        except ToolError as error:
            error.details |= {"file_index": index}
            raise
        diff = self._diff(file.path, text, done) if self._request.dry_run else ""
        self._report(index + 1, len(self._request.files) + 1)
        return _Edited(file, content, data, done.replacements, diff)

    def _bytes_of(self, index: int, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            edits = self._request.files[index].edits
            odd = next((number for number, edit in enumerate(edits) if not _is_text(edit.new)), 0)
            place = self._request.argument(index, f"edits.{odd}.new_string")
            violation = Violation(path=place, reason="format", message="expected Unicode text", expected="Unicode text")
            raise InvalidParameter.from_violations([violation]) from error

    def _diff(self, path: str, text: str, done: Edited) -> str:
        """Return the diff, or as many whole lines of it as the answer has room for, with a warning."""
        kept: list[str] = []
        for part in unified_diff(text, done.text, done.steps, name=printable(path)):
            data = part.encode()
            if len(data) > self._diff_left:
                lines, newline, _ = data[: self._diff_left].decode(errors="ignore").rpartition("\n")
                kept.append(lines + newline)
                self._diff_left = 0
                self._warn("The diff is not complete: all of it would be too long for one answer.")
                break
            self._diff_left -= len(data)
            kept.append(part)
        return "".join(kept)

    def _result(self, one: _Edited, written: Written | None) -> SingleResult:
        result: SingleResult = {
            "file_path": one.file.path,
            "edits_applied": len(one.file.edits),
            "replacements": one.replacements,
            "bytes_before": len(one.content.data),
            "bytes_after": len(one.data),
            "sha256": hashlib.sha256(one.data).hexdigest() if written is None else written.sha256,
            "sha256_before": one.content.sha256,
            "message": message_of(
                len(one.file.edits),
                one.replacements,
                dry_run=self._request.dry_run,
                is_same=one.data == one.content.data,
            ),
        }
        if self._request.dry_run:
            result["diff"] = one.diff
        if written is not None and written.backup_path is not None:
            result["backup_path"] = written.backup_path
        return result


def _is_text(text: str) -> bool:
    """Return whether the text has no half of a surrogate pair in it."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _require_hash(file: FileRequest, content: Content) -> None:
    expected = file.expected_hash
    if expected is not None and expected.lower() != content.sha256:
        raise HashMismatch(file_path=file.path, expected_hash=expected.lower(), actual_hash=content.sha256)


def _text_of(file: FileRequest, content: Content) -> str:
    """Return the file as text; a byte order mark is its first character, so that edits keep it."""
    try:
        return content.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidEncoding(file_path=file.path, position=error.start) from None


def _stuck(file: FileRequest, stuck: Stuck) -> ToolError:
    facts: dict[str, Any] = {"file_path": file.path, "edit_index": stuck.edit_index}
    facts |= {"edit_number": stuck.edit_index + 1, "edits": len(file.edits)}
    if stuck.is_missing:
        status = edit_status(file.edits, stuck.edit_index, MatchNotFound.code, "old_string was not found in the file")
        return MatchNotFound(**facts, context=missing_context(stuck), edit_status=status)
    context = ambiguous_context(stuck)
    matches = len(context["match_locations"]) + context.get("more_matches", 0)
    status = edit_status(file.edits, stuck.edit_index, AmbiguousMatch.code, f"old_string matches {matches} places")
    return AmbiguousMatch(**facts, matches=matches, context=context, edit_status=status)
