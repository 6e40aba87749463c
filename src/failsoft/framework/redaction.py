"""Keeps secrets, file contents and foreign paths out of what is sent and logged. Linear time on hostile text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from failsoft.framework._foreign_paths import PATH, redact_paths
from failsoft.framework._secrets import PATTERNS, REDACTED, TOKENS

__all__ = [
    "PATH",
    "REDACTED",
    "TOKENS",
    "WITHHELD",
    "is_content",
    "is_secret_name",
    "redact",
    "redact_paths",
    "redact_text",
    "withhold_contents",
]

WITHHELD = "<withheld>"
"""Stands in place of a file's content, a sequence or a model."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAME_AT_MOST = 200
_SECRET_WORDS = frozenset(
    {
        *("apikey", "authorization", "bearer", "cookie", "cookies", "credential", "credentials", "jwt"),
        *("passphrase", "passwd", "password", "passwords", "pwd", "secret", "secrets", "token"),
    }
)
_SECRET_KEYS = frozenset(
    {"access", "account", "api", "client", "encryption", "private", "secret", "service", "shared", "signing", "ssh"}
)
"""A word before `key` that makes it a secret."""
_FOR_THE_CALLER = frozenset({"continuation", "cursor", "next", "page", "pagination"})
"""A `next_page_token` is sent so that the caller uses it."""
_FACTS_ABOUT = frozenset(
    {
        *("at", "budget", "count", "endpoint", "expires", "expiry", "format", "hint", "id", "ids", "length", "limit"),
        *("max", "min", "name", "names", "policy", "remaining", "required", "rule", "ttl", "type", "uri", "url"),
        *("usage", "used", "version"),
    }
)
"""A `token_count` or an `api_key_id` is no secret."""
_CONTENT_WORDS = frozenset({"body", "content", "contents", "preview", "sequence", "sequences", "snippet"})
_CONTENT_PAIRS = frozenset({("new", "string"), ("old", "string")})
_ALL_NEEDLES = [needle for secret in PATTERNS for needle in secret.needles]
_NEEDLES = tuple(one for one in _ALL_NEEDLES if not any(other in one for other in _ALL_NEEDLES if other != one))
"""Those to look for first: a text without `key` has no `private key` either."""


def redact(tree: Any) -> Any:
    """Return a JSON tree without secrets: neither under names that say so, nor in texts that look like one.

    Applying it twice changes nothing more. Names are judged by whole words: `tokens_used` and `author` stay.
    """
    if isinstance(tree, str):
        return redact_text(tree)
    if tree is None or isinstance(tree, (bool, int, float)):
        return tree
    if isinstance(tree, (dict, Mapping)):  # a dict is known at once, any other mapping costs a look into its classes
        return _redact_object(tree)
    if isinstance(tree, list):
        return [redact(item) for item in tree]
    if isinstance(tree, tuple):
        return tuple(redact(item) for item in tree)
    return tree


def redact_text(text: str) -> str:
    """Return the text with everything replaced that looks like a secret: keys, tokens, PEM blocks, URL passwords."""
    lowered = text.lower()
    for needle in _NEEDLES:  # nearly every text ends here: a plain loop takes a fifth of the time of `any`
        if needle in lowered:
            break
    else:
        return text
    for needles, pattern, replacement, _ in PATTERNS:
        if any(needle in lowered for needle in needles):
            text = pattern.sub(replacement, text)
    return text


def is_secret_name(name: str) -> bool:
    """Return whether a key, a parameter or a header of this name holds a secret."""
    return _judge(name[:_NAME_AT_MOST])[1]


@lru_cache(maxsize=1_024)
def _judge(name: str) -> tuple[str, bool]:
    """Return a name as it may be shown, and whether it holds a secret.

    Names come from schemas and fields, so the same few are judged in every call.
    """
    return redact_text(name), _is_secret(_words(name))


def _is_secret(words: tuple[str, ...]) -> bool:
    if not words or words[-1] in _FACTS_ABOUT or not _FOR_THE_CALLER.isdisjoint(words):
        return False
    if words == ("auth",) or not _SECRET_WORDS.isdisjoint(words):
        return True
    return any(after in {"key", "keys"} and before in _SECRET_KEYS for before, after in itertools.pairwise(words))


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
        shown, is_secret = _judge(name) if len(name) <= _NAME_AT_MOST else (redact_text(name), is_secret_name(name))
        redacted[shown] = REDACTED if is_secret and item is not None and not isinstance(item, bool) else redact(item)
    return redacted


def is_content(name: Any, item: Any) -> bool:
    """Return whether an item of this name is a file's content, a sequence, an edit or a model."""
    words = _words(name[:_NAME_AT_MOST]) if isinstance(name, str) else ()
    if not words:
        return False
    if words[-1] == "model":
        return isinstance(item, Mapping)
    says_so = words[-1] in _CONTENT_WORDS or words[-2:] in _CONTENT_PAIRS
    return says_so and isinstance(item, (str, list, tuple, Mapping))


@lru_cache(maxsize=1_024)
def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `X-Api-Key`, `apiKey`, `API_KEY` and `api.key` all say api, key.

    Names come from schemas and fields, so the same few are asked about in every call.
    """
    return tuple([word.lower() for word in _WORDS.findall(name)])
