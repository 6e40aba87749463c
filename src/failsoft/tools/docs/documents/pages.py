"""Pages of long answers, and the cursors that continue them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation

_PREVIOUS = "the `next_cursor` of the previous answer"


class Position(NamedTuple):
    """Where a page begins.

    Args:
        document: The place of the document in the list of paths.
        offset: The first character of its text.
        sha256: The beginning of the document's hash; empty where the page begins with a new document.
    """

    document: int = 0
    offset: int = 0
    sha256: str = ""

    def encode(self, paths: Sequence[str]) -> str:
        """Return the cursor of this position in these paths."""
        return _encoded([_key(paths), *self])

    @classmethod
    def decode(cls, cursor: str | None, paths: Sequence[str]) -> Position:
        """Return the position of a cursor.

        Raises:
            INVALID_PARAM: It is none of ours, or was returned for other paths.
        """
        if cursor is None:
            return cls()
        match _decoded(cursor):
            case [str() as key, int() as document, int() as offset, str() as sha256] if (
                key == _key(paths) and 0 <= document < len(paths) and offset >= 0
            ):
                return cls(document, offset, sha256)
        raise refused_cursor(_PREVIOUS + ", with the same path")


class ListCursor:
    """The cursor of a list of documents: the last path of the page before."""

    @staticmethod
    def encode(path: str) -> str:
        """Return the cursor behind a path."""
        return _encoded([path])

    @staticmethod
    def decode(cursor: str | None) -> str:
        """Return the path behind which the list goes on; empty for its beginning.

        Raises:
            INVALID_PARAM: It is none of ours.
        """
        if cursor is None:
            return ""
        match _decoded(cursor):
            case [str() as path]:
                return path
        raise refused_cursor(_PREVIOUS)


class ResourceCursor:
    """The cursor of the list of resources: the place of a project, and the last path of the page before."""

    @staticmethod
    def encode(project: int, path: str) -> str:
        """Return the cursor behind a path of a project."""
        return _encoded([project, path])

    @staticmethod
    def decode(cursor: str | None, projects: int) -> tuple[int, str]:
        """Return the project and the path behind which the list goes on.

        Raises:
            INVALID_PARAM: It is none of ours.
        """
        if cursor is None:
            return 0, ""
        match _decoded(cursor):
            case [int() as project, str() as path] if 0 <= project < projects:
                return project, path
        raise refused_cursor(_PREVIOUS)


def refused_cursor(expected: str) -> InvalidParameter:
    """Return the error for a cursor that leads nowhere."""
    fault = Violation(path="cursor", reason="value", message=f"expected {expected}", expected=expected)
    return InvalidParameter.from_violations([fault])


def page_end(content: str, start: int, bytes_at_most: int) -> int:
    """Return where a page of this size ends: behind a line, or within one that is longer than the page."""
    end = min(len(content), start + bytes_at_most)
    while (size := len(content[start:end].encode())) > bytes_at_most:
        end = start + max(1, (end - start) * bytes_at_most // size)
        if end == start + 1:
            break
    if end == len(content):
        return end
    behind_line = content.rfind("\n", start, end) + 1
    return behind_line if behind_line > start else end


def _key(paths: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(paths).encode(errors="surrogatepass")).hexdigest()[:12]


def _encoded(facts: list[str | int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(facts, separators=(",", ":")).encode()).decode().rstrip("=")


def _decoded(cursor: str) -> object:
    try:
        return json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        return None
