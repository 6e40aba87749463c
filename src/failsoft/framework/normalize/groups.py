"""Normalizes exception groups to a single error."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from failsoft.framework.errors import MultipleErrors, ToolError
from failsoft.framework.normalize.rules import read

__all__ = ["leaves", "merged"]

_LEAVES_AT_MOST = 100


def leaves(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    """Return the exceptions in a group and in the groups in it, at most a hundred.

    Cancellations are left out where something else failed: siblings are cancelled because of it.
    """
    found: list[BaseException] = []
    waiting: list[Any] = [group]
    seen: set[int] = set()
    while waiting and len(found) < _LEAVES_AT_MOST:
        member = waiting.pop()
        if id(member) in seen:
            continue
        seen.add(id(member))
        if isinstance(member, BaseExceptionGroup) and not issubclass(type(member), ToolError):
            waiting.extend(reversed(list(read(member, "exceptions", ()))[:_LEAVES_AT_MOST]))
        else:
            found.append(member)
    return [one for one in found if not isinstance(one, asyncio.CancelledError)] or found


def merged(errors: Sequence[ToolError]) -> ToolError:
    """Return the one error there is, with a note if it came several times; else MULTIPLE_ERRORS for all of them.

    Errors are the same if code and sentence are: two documents that were not found are two errors.
    """
    different = list({(error.code, error.message): error for error in reversed(errors)}.values())[::-1]
    if len(different) > 1:
        return MultipleErrors.from_members(different)
    if len(errors) > 1:
        different[0].add_note(f"{len(errors)} errors of this kind came together")
    return different[0]
