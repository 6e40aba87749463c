"""Run a call: read, check and edit every file in memory, then write all of them or none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from failsoft.framework.errors import Effect, InvalidParameter, ToolError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.normalize import normalize
from failsoft.framework.text import printable
from failsoft.framework.threads import is_given_up
from failsoft.tools.edit.diff import unified_diff
from failsoft.tools.edit.engine import Edited, FailedEdit, TextTooLong, apply_edits
from failsoft.tools.edit.errors import FAULT_ERRORS, FaultPlace
from failsoft.tools.edit.failures import failed_batch, failed_edit
from failsoft.tools.edit.signatures import EditRequest, EditSettings, FileRequest, SingleResult, message_of
from failsoft.tools.files import Content, FileFault, Files, Transaction, Written
from failsoft.tools.files.faults import FileTooLarge, HashMismatch, InvalidEncoding


@dataclass(slots=True)
class _EditedFile:
    """One file, edited in memory."""

    file: FileRequest
    content: Content
    done: Edited
    data: bytes
    diff: str = ""


class Work:
    """One call.

    Args:
        files: The files on disk.
        request: The request.
        settings: The limits.
        content_bytes: How much of new contents, as JSON, the answer has room for; None for no bound.
        warn: Adds a warning to the answer.
    """

    def __init__(
        self,
        files: Files,
        request: EditRequest,
        settings: EditSettings,
        *,
        content_bytes: int | None,
        warn: Callable[[str], None],
    ) -> None:
        self._files = files
        self._request = request
        self._settings = settings
        self._warn = warn
        self._effect: Effect = "none"
        self._diff_left = settings.max_diff_bytes
        self._content_left = content_bytes

    def run(self) -> list[SingleResult]:
        """Return the result of each file, in the order of the call.

        Raises:
            ToolError: Any code of the toolset; its effect says what is on the disk.
        """
        with self._typed_errors():
            unreachable = self._unreachable()
            reachable = [index for index in range(len(self._request.files)) if index not in unreachable]
            paths = [self._request.paths[index] for index in reachable]
            wait_s = self._settings.lock_timeout_s
            with self._files.transaction(paths, wait_s=wait_s, give_up=is_given_up) as held:
                edited = self._edit_all(held, reachable, unreachable)
                written = {} if self._request.dry_run else self._write(held, edited)
            return [self._result(one, written.get(one.file.path)) for one in edited]

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        """Turn every exception into a typed error with its effect."""
        try:
            yield
        except FileFault as fault:
            raise self._to_error(fault) from fault
        except BaseException as raised:
            error = normalize(raised)
            error.effect = self._effect
            if error is raised:
                raise
            raise error from raised

    def _to_error(self, fault: FileFault) -> ToolError:
        """Return the error for a fault, with its effect, and the place of its file among the call's."""
        request, paths = self._request, self._request.paths
        places = [place for place, path in enumerate(paths) if path == fault.path] or [0]
        index = places[-1]  # of a file that is named twice, the second place is the fault
        name, argument = request.name_of(request.files[index]), request.argument(index, "file_path")
        error = FAULT_ERRORS.to_error(fault, FaultPlace(paths[index], name, argument, self._files.roots))
        error.details |= {"file_index": index, "file_path": fault.path or paths[index]}
        backup = fault.backups.get(paths[index]) or next(iter(fault.backups.values()), None)
        if backup is not None:
            error.details["backup_path"] = backup
        return error

    def _unreachable(self) -> dict[int, ToolError]:
        """Return the error of each file of a batch that does not exist or may not be edited.

        Looked up before any lock is taken, so that one answer names all of them. A single file is left to the
        transaction.
        """
        if len(self._request.files) == 1:
            return {}
        errors: dict[int, ToolError] = {}
        for index, path in enumerate(self._request.paths):
            try:
                with self._files.roots.resolve(path) as place:
                    place.require_found()
            except FileFault as fault:
                errors[index] = self._to_error(fault)
        return errors

    def _edit_all(
        self, held: Transaction, indices: Sequence[int], unreachable: Mapping[int, ToolError]
    ) -> list[_EditedFile]:
        """Edit all files in memory, or raise one error for every failure among them."""
        edited: list[_EditedFile] = []
        errors = dict(unreachable)
        for index in indices:
            try:
                edited.append(self._edit(held, index))
            except ToolError as error:
                error.details |= {"file_index": index}
                errors[index] = error
            except FileFault as fault:
                errors[index] = self._to_error(fault)
        if errors:
            raise failed_batch(self._request, errors)
        return edited

    def _edit(self, held: Transaction, index: int) -> _EditedFile:
        file = self._request.files[index]
        limit = self._settings.max_file_bytes
        content = held.read(file.path, bytes_at_most=limit)
        self._require_hash(file, content)
        text = _text_of(file, content)
        try:
            done = apply_edits(text, file.edits, trace=self._request.dry_run, length_at_most=limit)
        except TextTooLong as error:
            raise FileTooLarge(file_path=file.path, size_bytes=error.length, limit_bytes=limit) from None
        if isinstance(done, FailedEdit):
            raise failed_edit(self._request, file, done)
        data = self._bytes_of(index, done.text)
        if len(data) > limit:
            raise FileTooLarge(file_path=file.path, size_bytes=len(data), limit_bytes=limit)
        diff = self._diff(file.path, text, done) if self._request.dry_run else ""
        return _EditedFile(file, content, done, data, diff)

    def _write(self, held: Transaction, edited: list[_EditedFile]) -> dict[str, Written]:
        for one in edited:
            held.replace(one.file.path, one.data, backup=self._request.backup)
        self._effect = "unknown"
        written = held.commit()
        self._effect = "applied" if any(one.changed for one in written) else "none"
        warning = next((one.warning for one in written if one.warning is not None), None)
        if warning is not None:
            self._warn(warning)
        return {one.path: one for one in written}

    def _require_hash(self, file: FileRequest, content: Content) -> None:
        expected = file.expected_hash
        if expected is None or expected.lower() == content.sha256:
            return
        raise HashMismatch.of(
            file.path,
            name=self._request.name_of(file),
            advice=". A dry run shows what the edits would do now.",
            expected_hash=expected.lower(),
            actual_hash=content.sha256,
        )

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

    def _result(self, one: _EditedFile, written: Written | None) -> SingleResult:
        occurrences = one.done.occurrences
        result: SingleResult = {
            "file_path": one.file.path,
            "dry_run": self._request.dry_run,
            "edits_applied": len(occurrences),
            "edits": [{"edit_index": index, "occurrences_replaced": count} for index, count in enumerate(occurrences)],
            "replacements": one.done.replacements,
            "bytes_before": len(one.content.data),
            "bytes_after": len(one.data),
            "sha256": hashlib.sha256(one.data).hexdigest() if written is None else written.sha256,
            "sha256_before": one.content.sha256,
            "message": message_of(
                len(occurrences),
                one.done.replacements,
                dry_run=self._request.dry_run,
                is_same=one.data == one.content.data,
            ),
        }
        if self._request.dry_run:
            result["diff"] = one.diff
        if self._request.include_content and self._has_room_for(one):
            result["content"] = one.done.text
        if written is not None and written.backup_path is not None:
            result["backup_path"] = written.backup_path
        return result

    def _has_room_for(self, one: _EditedFile) -> bool:
        """Return whether the answer has room for the new content of a file; warn if it has not."""
        if self._content_left is None:
            return True
        size = len(json.dumps(one.done.text)) if len(one.data) <= self._content_left else self._content_left + 1
        if size > self._content_left:
            name = self._request.name_of(one.file)
            self._warn(f"The content of {name} is left out: it is too long for one answer.")
            return False
        self._content_left -= size
        return True


def _is_text(text: str) -> bool:
    """Return whether the text is free of lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _text_of(file: FileRequest, content: Content) -> str:
    """Return the file as text; a byte order mark is its first character, so that edits keep it."""
    try:
        return content.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidEncoding(file_path=file.path, position=error.start) from None
