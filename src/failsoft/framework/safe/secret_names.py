"""Is it a secret by its name: whole words are compared, so that `tokens_used` and `author` are none."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

NAME_AT_MOST = 200
"""Characters of a name that are looked at."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SECRET_WORDS = frozenset(
    {
        *("apikey", "appkey", "accountkey", "authkey", "sharedaccesskey", "authorization", "bearer"),
        *("cookie", "cookies", "credential", "credentials", "creds", "crumb", "cvc", "cvv", "dsn", "jwt", "mfa", "otp"),
        *("passcode", "passphrase", "passwd", "password", "passwords", "pgpassword", "psk", "pwd", "pw"),
        *("secret", "secrets", "sessionid", "token", "totp", "userpass", "webhook"),
    }
)

_SECRET_KEYS = frozenset(
    {
        *("access", "account", "api", "app", "auth", "client", "deploy", "encryption", "host", "license", "master"),
        *("private", "secret", "service", "session", "shared", "signing", "ssh", "storage", "subscription", "webhook"),
    }
)
"""A word before `key` that makes it a secret."""

_OTHER_PASSES = frozenset({"pass", "bypass", "compass", "encompass", "overpass", "surpass", "trespass", "underpass"})

_SECRET_ENDS = ("apikey", "pass", "passphrase", "passwd", "password", "secret", "token")
"""Ends of words that are written as one: `hapikey`, `dbpassword`."""

_SECRET_PAIRS = frozenset(
    {
        *(("connection", "string"), ("conn", "string"), ("conn", "str"), ("connection", "url"), ("connection", "uri")),
        ("secure", "string"),
    }
)

_NO_SECRET_KEYS = frozenset(
    {
        *("cache", "dedup", "foreign", "group", "hash", "idempotency", "index", "item", "lock", "map", "object"),
        *("partition", "primary", "public", "routing", "row", "sort", "unique", "entry", "dict", "name", "plan"),
    }
)
_FOR_THE_CALLER = frozenset({"continuation", "cursor", "next", "page", "pagination"})
"""Words of tokens that are meant for the caller, such as `next_page_token`."""

_FACTS_ABOUT = frozenset(
    {
        *("at", "budget", "count", "endpoint", "expires", "expiry", "format", "hint", "id", "ids", "length", "limit"),
        *("max", "min", "name", "names", "policy", "remaining", "required", "rule", "ttl", "type", "uri", "url"),
        *("usage", "used", "version", "path", "file", "error", "status", "valid", "enabled", "rotated", "change"),
        *("changed", "created", "method", "prefix", "reset", "stdin", "updated"),
    }
)
"""Words after which a name is not a secret: `token_count`, `api_key_id`."""

_MAY_BE_SECRET = frozenset({"appid", "auth", "session", "sid"})
"""Last words of names whose values are secrets if they are random."""

_PARAMETERS = frozenset(
    (word,)
    for word in (
        "key",
        "sig",
        "signature",
        "code",
        "sas",
        "hmac",
        "pin",
        "sid",
        "session",
        "assertion",
        "appid",
        "state",
    )
)
"""Query parameters that hold secrets, though their names are ordinary words elsewhere."""


@lru_cache(maxsize=1_024)
def is_secret_name(name: str) -> bool:
    """Return whether a key, a parameter or a header of this name holds a secret.

    Cached: names come from schemas and fields, so every call has the same few.
    """
    words = words_of(name[:NAME_AT_MOST])
    if not words or not _FOR_THE_CALLER.isdisjoint(words):
        return False
    pairs = list(itertools.pairwise(words))
    if not _SECRET_PAIRS.isdisjoint(pairs[-1:]):
        return True
    if words[-1] in _FACTS_ABOUT:
        return False
    if words in {("auth",), ("x", "auth"), ("pass",)} or not _SECRET_WORDS.isdisjoint(words):
        return True
    if len(words) > 1 and words[-1] in {"pass", "signature"}:
        return True
    ends_so = words[-1].endswith(_SECRET_ENDS) and words[-1] not in _OTHER_PASSES
    return ends_so or any(after in {"key", "keys"} and before in _SECRET_KEYS for before, after in pairs)


@lru_cache(maxsize=1_024)
def is_secret_parameter(name: str) -> bool:
    """Return whether a parameter of this name in a URL holds a secret."""
    words = words_of(name[:NAME_AT_MOST])
    return is_secret_name(name) or (bool(words) and (words in _PARAMETERS or _is_signed(words)))


def may_be_secret_name(name: str) -> bool:
    """Return whether a random value of this name is a secret: `ADMIN_KEY`, `session`, but not `cache_key`."""
    words = words_of(name[:NAME_AT_MOST])
    if words[-1:] == ("key",):
        return len(words) > 1 and words[-2] not in _NO_SECRET_KEYS
    return not _MAY_BE_SECRET.isdisjoint(words[-1:])


def _is_signed(words: tuple[str, ...]) -> bool:
    """Return whether it is a parameter of signed URLs of cloud storage."""
    return words[0] == "x" and words[-1] in {"signature", "credential", "token"}


@lru_cache(maxsize=1_024)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `X-Api-Key`, `apiKey`, `API_KEY` and `api.key` all say api, key."""
    return tuple([word.lower() for word in _WORDS.findall(name)])
