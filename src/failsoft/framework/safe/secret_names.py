"""Is it a secret by its name: whole words are compared, so that `tokens_used` and `author` are none."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

NAME_AT_MOST = 200
"""Characters of a name that are looked at."""


def listed(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SECRET_WORDS = listed(
    "apikey appkey accountkey authkey sharedaccesskey authorization bearer cookie cookies credential credentials creds "
    "crumb cvc cvv dsn jwt mfa mnemonic otp passcode passphrase passwd password passwords pgpassword psk pwd pw secret "
    "secrets sessionid token totp userpass webhook"
)

_SECRET_KEYS = listed(
    "access account api app auth client deploy encryption host license master private secret service session shared "
    "signing ssh storage subscription webhook"
)
"""A word before `key` that makes it a secret."""

_OTHER_PASSES = listed("pass bypass compass encompass overpass surpass trespass underpass")

_SECRET_ENDS = (
    *("accesskey", "apikey", "authkey", "masterkey", "privatekey", "secretkey", "sharedkey", "signingkey"),
    *("pass", "passphrase", "passwd", "password", "pswd", "pw", "pwd", "secret", "sessid", "sessionid", "token"),
)
"""Ends of words that are written as one: `hapikey`, `dbpassword`."""

_SECRET_PAIRS = listed("connection-string conn-string conn-str connection-url connection-uri secure-string seed-phrase")

_SECRET_CODES = listed("access auth backup login mfa otp recovery security token totp verification")
"""A word before `code` that makes it a secret."""

_NO_SECRET_KEYS = listed(
    "cache dedup foreign group hash idempotency index item lock map object partition primary public routing row sort "
    "unique entry dict name plan for hit miss"
)
_FOR_THE_CALLER = listed("continuation cursor next page pagination")
"""Words of tokens that are meant for the caller, such as `next_page_token`."""

_FACTS_ABOUT = listed(
    "age alg algorithm at attachment authenticator backend bits blank bool budget button c cfg change changed "
    "checking class conf config configuration conversion count cpp created crt cs css days def domain duration "
    "enabled enc encoder endpoint error exe exp expiration expired expires expiry expression factory field "
    "fields file filename format generator go h handler header headers helper hint html id ids info ini invalid "
    "issuer jar java js json kind label len length lifetime limit list location log manager max md message "
    "method mgr middleware min minutes missing mode model name names options param parameter params parser path "
    "pattern php placeholder policy prefix prompt provider py rb realm ref regex remaining required reset "
    "review rotated rotation rs rule rules schedule schema scheme scope scopes seconds service settings sh size "
    "so source spec start status stdin store strategy supported template text timeout title toml ts ttl txt "
    "type types unit units updated uri url usage use used valid validator validity values version xml yaml yml"
)
"""Words after which a name is not a secret: `token_count`, `api_key_id`, `token.py`."""

_MAY_BE_SECRET = listed("appid auth pat salt session sid signature")
"""Last words of names whose values are secrets if they are random."""

_PARAMETERS = listed("key sig signature code sas hmac pin sid session assertion appid state")
"""Query parameters that hold secrets, though their names are ordinary words elsewhere."""


@lru_cache(maxsize=1_024)
def is_secret_name(name: str) -> bool:
    """Return whether a key, a parameter or a header of this name holds a secret.

    Cached: names come from schemas and fields, so every call has the same few.
    """
    words = words_of(name[:NAME_AT_MOST])
    if not words or not _FOR_THE_CALLER.isdisjoint(words):
        return False
    last, pairs = words[-1], list(itertools.pairwise(words))
    if "-".join(words[-2:]) in _SECRET_PAIRS:
        return True
    if last in _FACTS_ABOUT or (last in {"code", "codes"} and _SECRET_CODES.isdisjoint(words[-2:-1])):
        return False
    if (
        words in {("auth",), ("x", "auth"), ("pass",)}
        or last in {"code", "codes"}
        or not _SECRET_WORDS.isdisjoint(words)
    ):
        return True
    if len(words) > 1 and (last in {"pass", "signature"} or words[-2:] == ("signature", "256")):
        return True
    ends_so = last.endswith(_SECRET_ENDS) and last not in _OTHER_PASSES
    return ends_so or any(after in {"key", "keys"} and before in _SECRET_KEYS for before, after in pairs)


@lru_cache(maxsize=1_024)
def is_secret_parameter(name: str) -> bool:
    """Return whether a parameter of this name in a URL holds a secret."""
    words = words_of(name[:NAME_AT_MOST])
    return is_secret_name(name) or (bool(words) and ("-".join(words) in _PARAMETERS or _is_signed(words)))


def may_be_secret_name(name: str) -> bool:
    """Return whether a random value of this name is a secret: `ADMIN_KEY`, `session`, but not `cache_key`."""
    words = words_of(name[:NAME_AT_MOST])
    if words[-1:] == ("key",):
        return len(words) > 1 and words[-2] not in _NO_SECRET_KEYS
    return not _MAY_BE_SECRET.isdisjoint(words[-1:])


def has_secret_word(name: str) -> bool:
    """Return whether a word of it names secrets, as in `access_token_value`; such a value is a reference."""
    words = words_of(name[:NAME_AT_MOST])
    return not _SECRET_WORDS.isdisjoint(words) or any(word.endswith(_SECRET_ENDS) for word in words) or "key" in words


def _is_signed(words: tuple[str, ...]) -> bool:
    """Return whether it is a parameter of signed URLs of cloud storage."""
    return words[0] == "x" and words[-1] in {"signature", "credential", "token"}


@lru_cache(maxsize=1_024)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `X-Api-Key`, `apiKey`, `API_KEY` and `api.key` all say api, key."""
    return tuple([word.lower() for word in _WORDS.findall(name)])
