"""Failures of edits: the excerpts that a caller needs to correct an edit, and one error for all failures of a batch.

Source: seed 000, "Context Window Positioning" and pitfall 3.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.text import enumerated
from failsoft.tools.edit.engine import FailedEdit, TextEdit, later_failures, matches
from failsoft.tools.edit.errors import AmbiguousMatch, MatchNotFound
from failsoft.tools.edit.signatures import EditRequest, FileRequest
from failsoft.tools.files.faults import FileNotFound

_PREVIEW = 40
"""Characters of an `old_string` that identify an edit."""
LISTED_AT_MOST = 100
_IN_WORDS_AT_MOST = 5
CONTEXT_BYTES_AT_MOST = 10_000
"""Bytes of a whole context as JSON, even where that escapes all but ASCII, as many encoders do."""
_OVERHEAD_BYTES = 100
"""Bytes of names and numbers, of a context and of each location."""
_COMPARED_AT_MOST = 2_000_000
"""Characters compared to count overlapping matches: in a long text of one letter that would take hours."""
_AROUND_MISSING = 7
_AROUND_MATCH = 3
_LOCATIONS_AT_MOST = 5
_NEAR_FROM = 5
"""Characters of an `old_string` that a text has to share with it to count as a near miss."""


def failed_edit(request: EditRequest, file: FileRequest, failed: FailedEdit) -> ToolError:
    """Return the error for an edit that does not match, with the excerpt that shows why."""
    index, name = failed.edit_index, request.name_of(file)
    facts: dict[str, Any] = {"file_path": file.path, "edit_index": index}
    after = "" if index == 0 else f" as {_edits_before(index)} it"
    began = f"Nothing was changed: the old_string of edit {index}"
    later = later_failures(failed, file.edits)
    facts["details"] = {"also_failed": [{"edit_index": one.edit_index, "error_code": _code_of(one)} for one in later]}
    if failed.is_missing:
        context = missing_context(failed)
        said = "nothing in it begins alike, so the excerpt shows the start of the file"
        if "line" in context:
            said = f"the first difference is on line {context['line']}; copy it from the excerpt"
        return MatchNotFound(
            **facts,
            message=f"{began} is not in {name}{after}; {said}.{_as_well(later)}",
            context=context,
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
        error.details |= {"edit_status": status[:LISTED_AT_MOST]} if status else {}
    failures = [failure for index in indices for failure in _failures(request, index, errors[index])]
    if len(failures) == 1:
        return error
    error.details["failures"] = failures[:LISTED_AT_MOST]
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


def status_of_faulty(edits: Sequence[Mapping[str, Any]], codes: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return the edits of a refused list that are at fault, with their codes, and those after the first of them.

    Args:
        edits: The edits as received.
        codes: The code of each faulty edit, by its index; at least one.
    """
    status: list[dict[str, Any]] = []
    for index in range(min(codes), len(edits)):
        code, old = codes.get(index), edits[index].get("old_string") if isinstance(edits[index], Mapping) else None
        entry = {"status": "skipped"} if code is None else {"status": "failed", "error_code": code}
        preview = {"old_string_preview": old[:_PREVIEW]} if isinstance(old, str) else {}
        status.append({"edit_index": index, **entry, **preview})
    return status


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


def missing_context(failed: FailedEdit) -> dict[str, Any]:
    """Return the lines around the nearest text with the line at which it departs, else the head of the file."""
    near = _near_miss(failed.text, failed.sought)
    if near is None:
        return {"snippet": window(failed.text, 0, _AROUND_MISSING, is_filled=True)}
    place, departure = near
    is_shown = failed.text.count("\n", place, departure) < _AROUND_MISSING
    return {
        "line": failed.text.count("\n", 0, departure) + 1,
        "snippet": window(failed.text, place if is_shown else departure, _AROUND_MISSING, is_filled=True),
    }


def ambiguous_context(failed: FailedEdit) -> dict[str, Any]:
    """Return the first matches, each with its line (from 1) and the lines around it, and how many more there are."""
    shown = list(itertools.islice(matches(failed.text, failed.sought), _LOCATIONS_AT_MOST))
    limit = CONTEXT_BYTES_AT_MOST // len(shown) - _OVERHEAD_BYTES
    locations = [
        {
            "line": failed.text.count("\n", 0, start) + 1,
            "snippet": window(failed.text, start, _AROUND_MATCH, limit=limit),
        }
        for start in shown
    ]
    more = _count(failed.text, failed.sought, shown[-1] + 1)
    return {"match_locations": locations, **({"more_matches": more} if more else {})}


def window(
    text: str,
    place: int,
    around: int,
    *,
    is_filled: bool = False,
    limit: int = CONTEXT_BYTES_AT_MOST - _OVERHEAD_BYTES,
) -> str:
    """Return the line of a place and as many before and after it, without the last line's end.

    Args:
        text: All of it.
        place: A position in it.
        around: Lines on each side.
        is_filled: Whether lines that one side lacks, at an end of the text, are added on the other side.
        limit: Bytes of the result as JSON; of longer lines the part around the place is returned.
    """
    start, above = _up(text, place, around)
    end, below = _down(text, place, around)
    if is_filled:
        end, _ = _down(text, end, around - above)
        start, _ = _up(text, start, around - below)
    end -= text.startswith("\r\n", end - 1)  # a lone CR, sent back unchanged, would match and split the line's CRLF
    return _clipped(text, start, end, place, limit)


def _count(text: str, sought: str, begin: int) -> int:
    """Return the number of matches from `begin` on; above a limit, only disjoint ones are counted."""
    count = 0
    while count * len(sought) < _COMPARED_AT_MOST:
        place = text.find(sought, begin)
        if place < 0:
            return count
        count, begin = count + 1, place + 1
    return count + text.count(sought, begin)


def _near_miss(text: str, sought: str) -> tuple[int, int] | None:
    """Return where the longest prefix that is in the text begins, and where the text departs from it.

    None if that is too short to say anything. If only the indentation differs, the text departs where its line begins.
    """
    low, high = 0, len(sought) - 1
    while low < high:  # a text that has a prefix has every shorter one
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sought[:middle] in text else (low, middle - 1)
    if len(sought[:low].lstrip()) >= _NEAR_FROM:
        place = text.find(sought[:low])
        return place, place + low
    line = next((line.strip() for line in sought.splitlines() if line.strip()), "")
    place = text.find(line) if len(line) >= _NEAR_FROM else -1
    return None if place < 0 else (place, place)


def _up(text: str, place: int, lines: int) -> tuple[int, int]:
    """Return the start of the line that is so many lines above, and how many lines there were."""
    start = text.rfind("\n", 0, place) + 1
    for count in range(lines):
        if start == 0:
            return 0, count
        start = text.rfind("\n", 0, start - 1) + 1
    return start, lines


def _down(text: str, place: int, lines: int) -> tuple[int, int]:
    """Return the end of the line that is so many lines below, and how many lines there were."""
    last = len(text) - text.endswith("\n")
    end = text.find("\n", place, last)
    for count in range(lines):
        if end < 0:
            return last, count
        end = text.find("\n", end + 1, last)
    return (last if end < 0 else end), lines


def _clipped(text: str, start: int, end: int, place: int, limit: int) -> str:
    """Return the range, or the part of it around the place that fits into `limit` bytes of JSON."""
    if end - start <= limit and len(json.dumps(text[start:end])) <= limit:
        return text[start:end]
    part = ""
    fits, most = 0, min(end - start, limit)
    while fits < most:
        half = (fits + most + 1) // 2
        low = max(start, min(place - half // 2, end - half))
        if len(json.dumps(text[low : low + half])) <= limit:
            fits, part = half, text[low : low + half]
        else:
            most = half - 1
    return part
