"""Excerpts of a file by lines, bounded by the size of an answer."""

from __future__ import annotations

import io
import json

from failsoft.framework.errors import NextStep, ResultTooLarge
from failsoft.tools.workspace.results import FileContent

_MOST_JSON_BYTES_OF_A_BYTE = 6
"""A control character is written as `\\u0000`."""


def excerpt(
    whole: FileContent,
    *,
    first_line: int,
    line_limit: int | None,
    bytes_at_most: int | None,
    session: dict[str, str],
) -> FileContent:
    """Return the whole file, or those of the requested lines that fit.

    Args:
        whole: The file.
        first_line: The number of the first line wanted, from 1.
        line_limit: Lines wanted at most; None for all of them.
        bytes_at_most: What they may take as JSON; None for no bound.
        session: The arguments that name the session in a next step.

    Raises:
        RESULT_TOO_LARGE: The whole file was requested and does not fit (a part could be mistaken for the whole and
            written back), or the first line alone does not fit.
    """
    if first_line == 1 and line_limit is None:
        if _fits(whole["content"], bytes_at_most):
            return whole
        lines = _lines(whole["content"])
        step = {"path": whole["path"], "line_limit": max(1, _fitting(lines, bytes_at_most)), **session}
        raise _too_large(whole, bytes_at_most, NextStep("read_file", step))
    lines = _lines(whole["content"])
    wanted = lines[first_line - 1 :] if line_limit is None else lines[first_line - 1 : first_line - 1 + line_limit]
    count = _fitting(wanted, bytes_at_most)
    if wanted and not count:
        step = {"path": whole["path"], "first_line": first_line + 1, **session}
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
