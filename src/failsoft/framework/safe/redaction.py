"""Trees and texts without secrets, contents and foreign paths; excerpts for logs."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Callable, Container, Iterable, Mapping
from functools import lru_cache
from typing import Any

from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.secret_names import NAME_AT_MOST, is_secret_name, words_of
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tokens import REDACTED
from failsoft.framework.text import bounded

PATH = "<path>"
"""Placeholder for a path outside the allowed folders."""
WITHHELD = "<withheld>"
"""Placeholder for a file's content, a sequence or a model."""
ITEMS_AT_MOST = 20
"""Entries of a mapping or list that are logged."""
_DETAILS_AT_MOST = 1_000
"""Maximum number of values that are visited."""
_DEPTH = 5
_CONTENT_WORDS = frozenset({"body", "content", "contents", "preview", "sequence", "sequences", "snippet"})
_CONTENT_PAIRS = frozenset({("new", "string"), ("old", "string")})
_CONTENTS = (str, list, tuple, Mapping)


def redact(tree: Any) -> Any:
    """Return a JSON tree with secrets redacted, by the names of keys and by patterns in text.

    Idempotent. Names are matched by whole words: `tokens_used` and `author` stay.
    """
    if isinstance(tree, str):
        return redact_text(tree)
    if tree is None or isinstance(tree, (bool, int, float)):
        return tree
    if isinstance(tree, (dict, Mapping)):  # the check for dict is fast, the one for Mapping is not
        return _redact_object(tree)
    if isinstance(tree, list):
        return [redact(item) for item in tree]
    if isinstance(tree, tuple):
        return tuple(redact(item) for item in tree)
    return tree


def _redact_object(tree: Mapping[Any, Any]) -> dict[Any, Any]:
    redacted: dict[Any, Any] = {}
    for name, item in tree.items():
        if not isinstance(name, str):
            redacted[name] = redact(item)
            continue
        shown = _shown(name)
        is_hidden = is_secret_name(shown) and item is not None and not isinstance(item, bool)
        redacted[shown] = REDACTED if is_hidden else redact(item)
    return redacted


@lru_cache(maxsize=1_024)
def _shown(name: str) -> str:
    """Return a key with secrets redacted; a token may be a key, too."""
    return redact_text(name)


def withhold_contents(tree: Any) -> Any:
    """Return a JSON tree without file contents, sequences, edits and models: for details and logs, not for results."""
    if isinstance(tree, (dict, Mapping)):
        return {name: WITHHELD if is_content(name, item) else withhold_contents(item) for name, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [withhold_contents(item) for item in tree]
    return tree


def is_content(name: Any, item: Any) -> bool:
    """Return whether an item of this name is a file's content, a sequence, an edit or a model."""
    return isinstance(name, str) and isinstance(item, _kinds_of_contents(name[:NAME_AT_MOST]))


@lru_cache(maxsize=1_024)
def _kinds_of_contents(name: str) -> tuple[type, ...]:
    """Return the types whose items are contents under this name; none for most names. Cached, as `is_secret_name`."""
    words = words_of(name)
    if not words:
        return ()
    if words[-1] == "model":
        return (Mapping,)
    return _CONTENTS if words[-1] in _CONTENT_WORDS or words[-2:] in _CONTENT_PAIRS else ()


def brief(value: Any) -> Any:
    """Return a value as a small JSON tree for logs: truncated, without secrets and contents."""
    return _cut(withhold_contents(redact(json_safe(value, max_items=_DETAILS_AT_MOST))), _DEPTH)


def _cut(tree: Any, depth: int) -> Any:
    if isinstance(tree, str):
        return bounded(tree)
    if isinstance(tree, Mapping):
        if depth == 0:
            return f"<{len(tree)} entries>"
        return {bounded(name): _cut(item, depth - 1) for name, item in list(tree.items())[:ITEMS_AT_MOST]}
    if isinstance(tree, list):
        if depth == 0 or len(tree) > ITEMS_AT_MOST:
            return f"<{len(tree)} items>"
        return [_cut(item, depth - 1) for item in tree]
    return tree


_STOPS = r"""\s"'`<>|,;:()\[\]{}"""
_QUOTED = r"""(?>(?:(?!(?P=quote)(?!\w))(?:[^\\\r\n]|\\[^\r\n]))*)"""
"""The inside of a quotation; a mark that is escaped otherwise, of another kind, or in a word does not end it."""
_NAME = rf"""(?:[^/\\{_STOPS}]|\\(?!["'`])|(?<=\w)'(?=\w))"""
"""A character of a POSIX name, an apostrophe in a word among them; not the backslash that escapes a quotation mark."""

_FOUND = re.compile(
    rf"""
      (?P<url>(?<![\w+.-])[A-Za-z][\w+.-]*+://[^\s"'`<>]*+)
    | (?P<quote>\\?["'`])(?P<quoted>(?:/|[A-Za-z]:[\\/]|\\\\){_QUOTED})(?P=quote)
    | (?P<windows>(?<![\w])(?:[A-Za-z]:|\\\\[\w.$-]++)
        (?>(?:[\\/][^\\/{_STOPS}*?]*+(?>(?:[ ][^\\/{_STOPS}*?]++(?=[\\/]))*))+))
    | (?P<posix>(?<![\w./~-])/++(?>(?:(?>{_NAME}+)/++)*)(?>{_NAME}*))
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


_SECRET_AT_LEAST = 6
"""Characters of a secret argument that is looked for in other texts."""


def secrets_of(params: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that the secret ones among these arguments have, those of nested objects too."""
    found: list[str] = []
    for name, value in params.items():
        if isinstance(value, Mapping):
            found += secrets_of(value)
        elif isinstance(value, str) and len(value) >= _SECRET_AT_LEAST and is_secret_name(str(name)):
            found.append(value)
    return tuple(found)


def without(tree: Any, secrets: tuple[str, ...]) -> Any:
    """Return a tree with these texts hidden in all of its texts."""
    if not secrets:
        return tree
    if isinstance(tree, str):
        for secret in secrets:
            tree = tree.replace(secret, REDACTED)
        return tree
    if isinstance(tree, Mapping):
        return {name: without(value, secrets) for name, value in tree.items()}
    return [without(value, secrets) for value in tree] if isinstance(tree, (list, tuple)) else tree


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
