"""Redaction of secrets, file contents and foreign paths in responses and logs, in linear time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from failsoft.framework.safe.foreign_paths import PATH, redact_paths
from failsoft.framework.safe.secret_names import NAME_AT_MOST, is_secret_name, words_of
from failsoft.framework.safe.secret_patterns import REDACTED
from failsoft.framework.safe.secrets_in_text import redact_text

__all__ = [
    "PATH",
    "REDACTED",
    "WITHHELD",
    "is_content",
    "is_secret_name",
    "redact",
    "redact_paths",
    "redact_text",
    "withhold_contents",
]

WITHHELD = "<withheld>"
"""Placeholder for a file's content, a sequence or a model."""

_CONTENT_WORDS = frozenset({"body", "content", "contents", "preview", "sequence", "sequences", "snippet"})
_CONTENTS = (str, list, tuple, Mapping)
_CONTENT_PAIRS = frozenset({("new", "string"), ("old", "string")})


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


def withhold_contents(tree: Any) -> Any:
    """Return a JSON tree without file contents, sequences, edits and models: for details and logs, not for results."""
    if isinstance(tree, (dict, Mapping)):
        return {name: WITHHELD if is_content(name, item) else withhold_contents(item) for name, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [withhold_contents(item) for item in tree]
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
