"""Redaction of absolute paths in text, except those inside allowed folders."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Callable, Container, Iterable

PATH = "<path>"
"""Placeholder for a path outside the allowed folders."""

_STOPS = r"""\s"'`<>|,;:()\[\]{}"""
_QUOTED = r"""(?:(?!(?P=quote)(?!\w))[^\\\r\n]|\\[^\r\n])*+"""
"""The inside of a quotation; a mark that is escaped, of another kind, or an apostrophe in a word does not end it."""
_NAME = rf"""(?:[^/\\{_STOPS}]|\\(?!["'`])|(?<=\w)'(?=\w))"""
"""A character of a POSIX name, an apostrophe in a word among them; not the backslash that escapes a quotation mark."""
_FOUND = re.compile(
    rf"""
      (?P<url>(?<![\w+.-])[A-Za-z][\w+.-]*+://[^\s"'`<>]*+)
    | (?P<quote>["'`])(?P<quoted>(?:/|[A-Za-z]:[\\/]|\\\\){_QUOTED})(?P=quote)
    | (?P<windows>(?<![\w])(?:[A-Za-z]:|\\\\[\w.$-]++)(?:[\\/][^\\/{_STOPS}*?]*+(?:[ ][^\\/{_STOPS}*?]++(?=[\\/]))*+)++)
    | (?P<posix>(?<![\w./~-])/++(?:{_NAME}++/++)*+{_NAME}*+)
    """,
    re.VERBOSE,
)
_BEGINS = re.compile(r"/(?<![\w./~-]/)")
"""A slash at the beginning of a path, as opposed to one between two names."""
_LONGEST = 4_096
"""PATH_MAX; longer texts are not compared, since the comparison takes quadratic time."""
_TOP_FOLDERS = frozenset(
    {
        *("Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "data", "dev", "etc", "home", "lib"),
        *("media", "mnt", "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var"),
    }
)


def redact_paths(text: str, allowed_roots: Iterable[str] = (), known: Container[str] = ()) -> str:
    """Return the text with `<path>` in place of every absolute path that is not inside an allowed root.

    POSIX, Windows and UNC paths and `file:` URLs; other URLs and relative paths stay. A path with spaces is seen whole
    where it is quoted, as the operating system's own messages do.

    Args:
        text: Any text; one pass over it.
        allowed_roots: Absolute folders whose paths are kept. `..` is resolved before the comparison.
        known: Paths that are kept as they are.
    """
    if "\\" not in text and _BEGINS.search(text) is None:  # the full patterns take fifty times as long
        return text
    is_allowed = _judge(allowed_roots)

    def replaced(found: re.Match[str]) -> str:
        whole = found[0]
        if found["url"]:
            return PATH if whole[:5].lower() == "file:" else whole
        if found["quoted"]:
            quote, path, rest = found["quote"], found["quoted"], found["quote"]
        else:
            path = whole.rstrip(".!?")
            quote, rest = "", whole[len(path) :]
        return whole if path in known or not _is_path(path) or is_allowed(path) else f"{quote}{PATH}{rest}"

    return _FOUND.sub(replaced, text)


def _is_path(text: str) -> bool:
    """Return whether this is a path and not a slash or a route: at least two names, or a top-level folder."""
    if not text.startswith("/"):
        return True
    names = text.strip("/").split("/")
    return len(names) > 1 or names[0] in _TOP_FOLDERS


def _judge(allowed_roots: Iterable[str]) -> Callable[[str], bool]:
    roots = [_comparable(root) for root in allowed_roots]

    def is_allowed(path: str) -> bool:
        if not roots or len(path) > _LONGEST:
            return False
        candidate = _comparable(path)
        return any(candidate == root or candidate.startswith(root.rstrip("/") + "/") for root in roots)

    return is_allowed


def _comparable(path: str) -> str:
    """Return the path without `.` and `..`; a Windows path in lower case and with forward slashes."""
    if path.startswith("/"):
        return "/" + posixpath.normpath(path).lstrip("/")
    return ntpath.normpath(path.replace("\\\\", "\\") if path[1:2] == ":" else path).replace("\\", "/").lower()
