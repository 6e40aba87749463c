"""Paths of documents: their text validated before the disk is accessed, their address, their folded form."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Reason, Violation

PATH_CHARACTERS_AT_MOST = 1024
NAME_BYTES_AT_MOST = 255
"""What common file systems accept as the name of one file or folder."""
DEPTH_AT_MOST = 64
"""Folders and file together. A descent holds one descriptor a level, so the depth is bounded."""
DOCUMENT_ENDINGS = (".md", ".mdx")

_NEVER_SERVED = frozenset({"node_modules"})
_DRIVE_OR_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)+(?:/|$)")
_INDEX_ADDRESS = re.compile(r"(?:^|/)(?:index|readme)$")
_EXPECTED = "path relative to the documentation root, such as 'guide/intro.md'"


def names_of(path: str, *, parameter: str = "path", find: Callable[[str], str | None] | None = None) -> tuple[str, ...]:
    """Return the names that lead from the root to the path; `./`, doubled and trailing slashes add none.

    Percent-encoding is text like any other: `%2e%2e` is a name, not a way up.

    Args:
        path: As the caller spelled it, with `/` between names.
        parameter: The argument that it came in, for the violation.
        find: Returns the document that a well-spelled path means, for the violation to suggest.

    Raises:
        INVALID_PARAM: The path is absolute, leads up, holds a backslash, a drive, a scheme, a control character or
            half a surrogate pair, or is longer or deeper than any document can be.
    """
    fault = _fault_of_text(path) or _fault_of_form(path)
    names = tuple(name for name in path.split("/") if name not in {"", "."})
    fault = fault or _fault_of_names(names)
    if fault is None:
        return names
    reason, message = fault
    suggestion = find(meant) if find is not None and (meant := _well_spelled(path)) else None
    if parameter == "prefix" and not _fault_of_text(path) and not _fault_of_form(path.lstrip("/")):
        suggestion = path.lstrip("/")
    raise InvalidParameter.from_violations(
        [Violation(path=parameter, reason=reason, message=message, expected=_EXPECTED, suggestion=suggestion)]
    )


def _fault_of_text(path: str) -> tuple[Reason, str] | None:
    if len(path) > PATH_CHARACTERS_AT_MOST:
        return "length", f"expected at most {PATH_CHARACTERS_AT_MOST} characters"
    if not path.isascii() and any("\ud800" <= character <= "\udfff" for character in path):
        return "format", "expected text that is valid Unicode, without half a surrogate pair"
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in path):
        return "format", "expected a path without control characters"
    return None


def _fault_of_form(path: str) -> tuple[Reason, str] | None:
    if "\\" in path:
        return "format", "expected '/' between names, not a backslash"
    if path.startswith("/") or _DRIVE_OR_SCHEME.match(path):
        return "format", "expected a path relative to the documentation root, not an absolute one"
    if ".." in path.split("/"):
        return "format", "expected a path without '..', relative to the documentation root"
    return None


def _fault_of_names(names: tuple[str, ...]) -> tuple[Reason, str] | None:
    if len(names) > DEPTH_AT_MOST:
        return "length", f"expected at most {DEPTH_AT_MOST} names between slashes"
    if any(len(name) * 4 > NAME_BYTES_AT_MOST and len(name.encode()) > NAME_BYTES_AT_MOST for name in names):
        return "length", f"expected at most {NAME_BYTES_AT_MOST} bytes between two slashes"
    return None


def _well_spelled(path: str) -> str | None:
    """Return the path as it should have been written; None if more is wrong with it than that."""
    if _fault_of_text(path):
        return None
    collapsed = posixpath.normpath(path.replace("\\", "/")).lstrip("/")
    return None if _fault_of_form(collapsed) else collapsed


def is_visible(name: str) -> bool:
    """Return whether a file or folder of this name is served and listed at all.

    Hidden names (a leading dot) and `node_modules` are not; nor are names that no path could spell.
    """
    if name.startswith(".") or name.endswith(":") or "\\" in name or name.lower() in _NEVER_SERVED:
        return False
    return (name.isascii() and name.isprintable()) or _fault_of_text(name) is None


def is_document(path: str) -> bool:
    """Return whether the path ends as a document's does, in any case."""
    return path.lower().endswith(DOCUMENT_ENDINGS)


def without_ending(path: str) -> str:
    """Return the path without `.md` or `.mdx`."""
    return posixpath.splitext(path)[0] if is_document(path) else path


def folded(path: str) -> str:
    """Return the form in which paths that differ only in case, or in how accents are composed, are equal."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


def address(path: str) -> str:
    """Return what a site calls the page: no outer slashes, no ending, no `index`, no case.

    `/Guide/Intro/`, `guide/intro.mdx` and `guide/intro/index.md` are one address. Former paths are compared so.
    """
    bare = path.split("#", 1)[0].split("?", 1)[0].strip("/ ")
    stem, ending = posixpath.splitext(bare)
    bare = stem if ending.lower() in {".html", ".htm"} else without_ending(bare)
    return _INDEX_ADDRESS.sub("", folded(bare))
