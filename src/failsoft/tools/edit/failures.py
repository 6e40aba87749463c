"""Failures of edits: the error for an edit that does not match, and one error for all failures of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.text import enumerated
from failsoft.tools.edit.context import ambiguous_context, missing_context
from failsoft.tools.edit.engine import FailedEdit, TextEdit, later_failures
from failsoft.tools.edit.errors import AmbiguousMatch, MatchNotFound
from failsoft.tools.edit.request import EditRequest, FileRequest
from failsoft.tools.files.faults import FileNotFound

_PREVIEW = 40
"""Characters of an `old_string` that identify an edit."""
_LISTED_AT_MOST = 100
_IN_WORDS_AT_MOST = 5


def failed_edit(request: EditRequest, file: FileRequest, failed: FailedEdit) -> ToolError:
    """Return the error for an edit that does not match, with the excerpt that shows why."""
    index, name = failed.edit_index, request.name_of(file)
    facts: dict[str, Any] = {"file_path": file.path, "edit_index": index}
    after = "" if index == 0 else f" as {_edits_before(index)} it"
    began = f"Nothing was changed: the old_string of edit {index}"
    later = later_failures(failed, file.edits)
    facts["details"] = {"also_failed": [{"edit_index": one.edit_index, "error_code": _code_of(one)} for one in later]}
    if failed.is_missing:
        excerpt = "the excerpt" if index == 0 else "the excerpt, which shows that text"
        return MatchNotFound(
            **facts,
            message=f"{began} is not in {name}{after}; copy it from {excerpt}.{_as_well(later)}",
            context=missing_context(failed),
            edit_status=_edit_status(file.edits, index, _code_of(failed), "old_string is not in the file"),
        )
    context = ambiguous_context(failed)
    matches = len(context["match_locations"]) + context.get("more_matches", 0)
    return AmbiguousMatch(
        **facts,
        message=f"{began} matches {matches} places in {name}{after}; include more of the text around the right one, or "
        f"set replace_all.{_as_well(later)}",
        matches=matches,
        context=context,
        edit_status=_edit_status(file.edits, index, _code_of(failed), f"old_string matches {matches} places"),
    )


def failed_batch(request: EditRequest, errors: Mapping[int, ToolError]) -> ToolError:
    """Return one error for a call of which several files failed: the first one, with a list of all failures.

    Args:
        request: The call.
        errors: The error of each failed file, by its index; at least one.
    """
    indices = sorted(errors)
    error = errors[indices[0]]
    if request.is_several:
        status = [entry for index in indices for entry in _status_of(request, index, errors[index])]
        error.details |= {"edit_status": status[:_LISTED_AT_MOST]} if status else {}
    failures = [failure for index in indices for failure in _failures(request, index, errors[index])]
    if len(failures) == 1:
        return error
    error.details["failures"] = failures[:_LISTED_AT_MOST]
    others = indices[1:]
    if isinstance(error, FileNotFound):
        missing = [index for index in indices if isinstance(errors[index], FileNotFound)]
        others = [index for index in indices if index not in missing]
        error.message = FileNotFound.named(
            [request.files[index].path for index in missing], advice="Nothing was changed."
        ).message
    if others:
        shown = enumerated(
            others, _IN_WORDS_AT_MOST, write=lambda index: _in_words(request, index, errors[index]), separator="; "
        )
        error.message += f" Also failed: {shown}."
    error.args = (error.message,)
    return error


def _code_of(failed: FailedEdit) -> str:
    return (MatchNotFound if failed.is_missing else AmbiguousMatch).code


def _as_well(later: Sequence[FailedEdit]) -> str:
    listed = ", ".join(str(one.edit_index) for one in later)
    return f" {'Edit' if len(later) == 1 else 'Edits'} {listed} would fail as well." if later else ""


def _edits_before(index: int) -> str:
    return "edit 0 leaves" if index == 1 else f"edits 0 to {index - 1} leave"


def _edit_status(edits: Sequence[TextEdit], failed: int, code: str, said: str) -> list[dict[str, Any]]:
    """Return the failed edit and those after it, which were not tried; the ones before it would have succeeded."""
    first = {"edit_index": failed, "status": "failed", "error_code": code, "message": said}
    return [
        {**first, "old_string_preview": edits[failed].old[:_PREVIEW]},
        *(
            {"edit_index": index, "status": "skipped", "old_string_preview": edits[index].old[:_PREVIEW]}
            for index in range(failed + 1, len(edits))
        ),
    ]


def _failures(request: EditRequest, index: int, error: ToolError) -> list[dict[str, Any]]:
    """Return every failure of one file, as the answer lists them."""
    file = {"file_index": index, "file_path": request.files[index].path}
    edit = getattr(error, "edit_index", None)
    first = {**file, "error_code": error.code, **({} if edit is None else {"edit_index": edit})}
    return [first, *({**file, **later} for later in error.details.get("also_failed", ()))]


def _status_of(request: EditRequest, index: int, error: ToolError) -> list[dict[str, Any]]:
    place = {"file_index": index, "file_path": request.files[index].path}
    return [{**place, **entry} for entry in getattr(error, "edit_status", None) or ()]


def _in_words(request: EditRequest, index: int, error: ToolError) -> str:
    edit = getattr(error, "edit_index", None)
    name = request.name_of(request.files[index])
    return f"{name} ({error.code})" if edit is None else f"edit {edit} of {name} ({error.code})"
