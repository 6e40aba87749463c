"""Is it a secret: by the name of a value, by the format of a token, by what stands before a value in a text.

Names are judged by whole words: `tokens_used` and `author` are not secrets. A token has a format of its own, and is
found wherever it stands. Every other secret in a text is found by the structure around it: a URL, a header, a pair of a
name and a value. All patterns take linear time.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

REDACTED = "<redacted>"
"""Placeholder for a secret."""
NAME_AT_MOST = 200
"""Characters of a name that are looked at."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SECRET_WORDS = frozenset(
    {
        *("apikey", "appkey", "accountkey", "authkey", "sharedaccesskey", "authorization", "bearer"),
        *("cookie", "cookies", "credential", "credentials", "creds", "cvc", "cvv", "dsn", "jwt", "mfa", "otp"),
        *("passcode", "passphrase", "passwd", "password", "passwords", "pgpassword", "psk", "pwd", "pw"),
        *("secret", "secrets", "token", "totp", "userpass", "webhook"),
    }
)

_SECRET_KEYS = frozenset(
    {
        *("access", "account", "api", "app", "auth", "client", "deploy", "encryption", "host", "license", "master"),
        *("private", "secret", "service", "session", "shared", "signing", "ssh", "storage", "subscription", "webhook"),
    }
)
"""A word before `key` that makes it a secret."""

_SECRET_PAIRS = frozenset(
    {("connection", "string"), ("conn", "string"), ("conn", "str"), ("connection", "url"), ("connection", "uri")}
)

_FOR_THE_CALLER = frozenset({"continuation", "cursor", "next", "page", "pagination"})
"""Words of tokens that are meant for the caller, such as `next_page_token`."""

_FACTS_ABOUT = frozenset(
    {
        *("at", "budget", "count", "endpoint", "expires", "expiry", "format", "hint", "id", "ids", "length", "limit"),
        *("max", "min", "name", "names", "policy", "remaining", "required", "rule", "ttl", "type", "uri", "url"),
        *("usage", "used", "version", "path", "file", "error", "status", "valid", "enabled", "rotated"),
    }
)
"""Words after which a name is not a secret: `token_count`, `api_key_id`."""

_PARAMETERS = frozenset(
    (word,) for word in ("key", "sig", "signature", "code", "sas", "hmac", "pin", "sid", "session", "assertion")
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
    if words[-1] in {"pass", "signature"} and len(words) > 1:
        return True
    return any(after in {"key", "keys"} and before in _SECRET_KEYS for before, after in pairs)


@lru_cache(maxsize=1_024)
def is_secret_parameter(name: str) -> bool:
    """Return whether a parameter of this name in a URL holds a secret."""
    words = words_of(name[:NAME_AT_MOST])
    return is_secret_name(name) or (bool(words) and (words in _PARAMETERS or _is_signed(words)))


def _is_signed(words: tuple[str, ...]) -> bool:
    """Return whether it is a parameter of signed URLs of cloud storage."""
    return words[0] == "x" and words[-1] in {"signature", "credential", "token"}


@lru_cache(maxsize=1_024)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `X-Api-Key`, `apiKey`, `API_KEY` and `api.key` all say api, key."""
    return tuple([word.lower() for word in _WORDS.findall(name)])


_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)

_AFTER_START = (
    r"eyJ[\w-]{5,}+\.[\w-]{5,}+(?:\.[\w-]*+)?",
    r"eyJrIjoi[A-Za-z0-9+/]{30,}+=*+",  # Grafana's API keys
    r"A(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Za-z])",
    r"(?:gh[pousr]_|github_pat_|npm_|hf_|lin_api_|ntn_)[\w-]{20,}+",
    r"(?:gl(?:pat|rt)-|pypi-)[\w-]{20,}+",
    r"gl(?:sa|c)_[\w+/-]{20,}+=*+",
    r"x(?:ox[a-z]|app)-[\w-]{10,}+",
    r"sk-(?=[A-Za-z_-]*+[0-9])[\w-]{16,}+",
    r"(?:[rsp]k_(?:live|test)|whsec)_\w{10,}+",
    r"(?:AIza[\w-]{30,}+|GOCSPX-[\w-]{20,}+|ya29\.[\w-]{20,}+)",
    r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    r"hv[sbr]\.[\w-]{20,}+",
    r"do[opr]_v1_[a-f0-9]{32,}+",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}+",
    r"(?:key-|dapi)[a-f0-9]{32}(?![a-f0-9])",
    r"(?:PMAK-|ATATT3|sq0(?:atp|csp)-|dp\.pt\.)[\w-]{20,}+",
    r"[0-9]{8,10}:AA[\w-]{30,}+",  # Telegram's bots
    r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+",
)

TOKEN = re.compile(rf"{_PEM}|(?<![A-Za-z0-9_-])(?:{'|'.join(_AFTER_START)})", re.ASCII)
"""A token or key of any of these formats."""
_WORD = b"-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_AS_RUNS = bytes(ord("-") if code in _WORD else ord(" ") for code in range(256))
_RUN = b"-" * 15

_TOKEN_START = re.compile(
    r"[0-9AGPSdeghklnprswxy](?<![A-Za-z0-9_-].)(?:yJ|KIA|SIA|Iza|TATT3|GE-|h[pousr]_|ithub_|l(?:pat|rt|sa|c)[_-]|pm_"
    r"|tn_|f_|in_|ypi-|ox|app-|k[-_]|hsec_|OCSPX|a29|G\.|v[sbr]\.|o[opr]_v1|hp[acps]|ey-|api|MAK-|q0[ac]|p\.pt|[0-9]{7,9}:AA)"
)
"""How a token begins; its first letter as a set, so that the search passes over all other letters at once."""


def may_have_token(text: str) -> bool:
    """Return whether a text may have a token: 15 letters, digits, `_` or `-` in a row, and the beginning of one.

    A translation and a search in it take a tenth of the time of `TOKEN`, and the search for beginnings two fifths.
    """
    if len(text) < len(_RUN) or text.encode("ascii", "replace").translate(_AS_RUNS).find(_RUN) < 0:  # cheaper than `in`
        return False
    return _TOKEN_START.search(text) is not None


_NEEDLES = (
    ("", ("pass", "secret", "auth", "bearer", "cred", "dsn", "otp", "mfa", "signature", "conn")),
    ("k", ("key", "token", "cookie", "psk", "webhook")),
    ("w", ("pw", "jwt")),
    ("v", ("cvv", "cvc")),
    ("-", (" -u",)),
)
"""Substrings of which one is in every text with a secret, a URL apart, each after a character that it contains.

To look for a single character takes a third of the time.
"""

_MARK = re.compile(r"[\s=:<]|hook|telegram")
"""What is in every text with a secret that is no token: a single word, such as a name or a path, mostly has none."""
_IN_NAMES = re.compile("|".join([needle for _, needles in _NEEDLES for needle in needles]))
_URL = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,30})://([^\s\"'<>`\\]{1,4096})")
_QUERY = re.compile(r"([?&#;])([A-Za-z0-9_.~%-]{1,80})=([^&#;\s\"'<>]{1,4096}+)")

_HOOK = re.compile(
    r"((?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks|[\w.-]{1,80}\.webhook\.office\.com)/"
    r"|api\.telegram\.org/bot)[^\s\"'<>]{8,512}+"
)

_ATTRIBUTE = r"(?:self|cls|this)(?>(?:\.[a-z_]\w{0,60}+){1,5})"
_IS_ATTRIBUTE = re.compile(_ATTRIBUTE, re.ASCII)
_SCHEMES = r"(?:basic|bearer|digest|negotiate|token|apikey|aws4-hmac-sha256)"

_HEADER = re.compile(
    rf"""(?i)(?<![A-Za-z0-9_-])((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s{{0,4}}[:=]\s{{0,4}}["']?)"""
    rf"""(?!<redacted>|{_ATTRIBUTE}(?:[\s,)]|\Z))({_SCHEMES}\s[^\r\n"']{{1,4096}}+|[^\s=;"']{{1,200}}=[^\r\n"']{{1,4096}}+|[^\s"',;]{{8,4096}}+)"""
)

_BEARER = re.compile(
    r"(?i)(?<![A-Za-z])(bearer|basic)\s{1,4}(?!<)(?=[\w.~+/=-]{0,60}[0-9A-Z_])[\w.~+/-]{16,4096}+=*+", re.ASCII
)

_NAME = re.compile(
    r"""(?<![\w.-])(-{0,2}[A-Za-z][\w.-]{0,60}+(?:\s(?:key|token|password|secret|string)(?=["']?\s?[:=]|\t|\sis:?\s))?)"""
    r"""(["']?)(\s{0,3}(?:=>|=(?!=)|:)\s{0,3}|\t{1,3}|\sis:?\s{1,3})""",
    re.ASCII,
)

_VALUE = re.compile(
    r"""("(?>(?:[^"\r\n\\]|\\.){1,4096})"|'(?>(?:[^'\r\n\\]|\\.){1,4096})'|[^\s"'&,;)}\]<>]{1,4096}+)""", re.ASCII
)

_FLAG = re.compile(r"""(?<!\S)(--[A-Za-z][\w-]{0,60}+)(\s{1,3}["']?)(?![-<])([^\s"']{1,4096}+)""", re.ASCII)
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]{0,60}+)>([^<>\r\n]{1,4096}+)(?=</)", re.ASCII)

_NETRC = re.compile(
    r"(?i)(?<!\S)((?:machine\s{1,9}\S{1,200}+|default)\s{1,9}(?:(?:login|account)\s{1,9}\S{1,200}+\s{1,9}){0,2}"
    r"password\s{1,9})(?!<)\S{1,1024}+"
)

_CURL_USER = re.compile(r"""(?<!\S)(-u|--user)([\s=]{1,2}["']?)([^\s:"'<]{1,100}+):(?!<|//)([^\s"']{1,1024}+)""")

_PROSE = frozenset(
    {
        *("expected", "required", "missing", "invalid", "must", "none", "null", "true", "false", "string", "unset"),
        *("empty", "wrong", "expired", "unknown", "unauthorized", "forbidden", "denied", "not", "no", "the", "a", "an"),
        *("is", "too", "authentication", "failed", "refused", "rejected", "optional", "unauthenticated", "undefined"),
        *("unexpected", "type", "enum", "range", "length", "pattern", "format", "value", "reference", "withheld"),
        *("integer", "number", "boolean", "object", "array", "default", "yes", "str", "int", "bool", "secretstr"),
    }
)

_RANDOM_AT_LEAST = 6
"""Characters of a value without `=` or `:` before it."""
_MASKED = ("<redacted>", "********", "<withheld>", "***", "${", "$(", "{{", "%s", "{", "[", "...", "os.environ", "env.")


def redact_text(text: str) -> str:
    """Return the text with every secret replaced: by structure first, by the formats of tokens second."""
    lowered = text.lower()
    if may_have_token(text) or "private key" in lowered:
        text = TOKEN.sub(REDACTED, text)
        lowered = text.lower()
    if " " not in lowered and _MARK.search(lowered) is None:
        return text
    if "://" in lowered:
        return _by_structure(text, lowered)
    for mark, needles in _NEEDLES:
        if mark in lowered:
            for needle in needles:  # a plain loop takes a fifth of the time of `any`
                if needle in lowered:
                    return _by_structure(text, lowered)
    return text


def _by_structure(text: str, lowered: str) -> str:
    if "://" in lowered:
        text = _URL.sub(_without_url_secrets, text)
    if "webhook" in lowered or "hooks." in lowered or "telegram" in lowered:
        text = _HOOK.sub(rf"\1{REDACTED}", text)
    if "authorization" in lowered or "cookie" in lowered:
        text = _HEADER.sub(rf"\1\2{REDACTED}", text)
    if "bearer" in lowered or "basic" in lowered:
        text = _BEARER.sub(rf"\1 {REDACTED}", text)
    if "password" in lowered and ("machine" in lowered or "default" in lowered):
        text = _NETRC.sub(rf"\1{REDACTED}", text)
    if " -u" in lowered or "--user" in lowered:
        text = _CURL_USER.sub(rf"\1\2\3:{REDACTED}", text)
    if _IN_NAMES.search(lowered) is None:
        return text
    if "</" in text:
        text = _ELEMENT.sub(_without_element, text)
    if "--" in text:
        text = _FLAG.sub(_without_flag_value, text)
    return _without_pairs(text)


def _without_url_secrets(match: re.Match[str]) -> str:
    scheme, rest = match.groups()
    return f"{scheme}://{_QUERY.sub(_without_parameter, _without_user(scheme.lower(), rest))}"


def _without_user(scheme: str, rest: str) -> str:
    """Return what follows `://` without a password or a token before the host.

    A password in a data source URL may contain any character, so its end is the last `@`. In a web address a slash ends
    the host, unless the text before it cannot be a host and a port.
    """
    place = rest.rfind("@") if scheme not in {"http", "https", "ws", "wss"} else _end_of_user(rest)
    if place < 0:
        return rest
    user, colon, password = rest[:place].partition(":")
    if colon:
        return rest if password == REDACTED or not password else f"{user}:{REDACTED}{rest[place:]}"
    is_token = len(user) >= 16 or (len(user) >= 8 and any(letter.isdigit() for letter in user))  # noqa: PLR2004 - a name is shorter
    return f"{REDACTED}{rest[place:]}" if is_token and "/" not in user and user != REDACTED else rest


def _end_of_user(rest: str) -> int:
    slash = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    if "@" in rest[:slash]:
        return rest.rfind("@", 0, slash)
    _host, colon, port = rest[:slash].partition(":")
    is_port = not colon or port.isdigit() or rest[:1] == "["
    return -1 if is_port else rest.rfind("@")


def _without_parameter(match: re.Match[str]) -> str:
    mark, name, value = match.groups()
    return f"{mark}{name}={REDACTED if is_secret_parameter(name) and value != REDACTED else value}"


def _without_element(match: re.Match[str]) -> str:
    return f"<{match[1]}>{REDACTED}" if is_secret_name(match[1]) else match[0]


def _without_flag_value(match: re.Match[str]) -> str:
    flag, separator, value = match.groups()
    is_value = is_secret_name(flag) and value.lower() not in _PROSE
    return f"{flag}{separator}{REDACTED}" if is_value else match[0]


def _without_pairs(text: str) -> str:
    """Return the text without the values of secret names. The value of another name may itself be such a pair."""
    kept: list[str] = []
    done = place = 0
    while (name := _NAME.search(text, place)) is not None:
        place = name.end()
        if not is_secret_name(name[1]):
            continue
        value = _VALUE.match(text, place)
        if value is not None and _is_value(name, value[0], text[value.end() : value.end() + 12]):
            kept += (text[done:place], REDACTED)
            done = place = value.end()
    return "".join((*kept, text[done:]))


def _is_value(found: re.Match[str], value: str, rest: str) -> bool:
    """Return whether the text after a secret's name is its value, not prose, code or a placeholder."""
    name, quote, separator = found.groups()
    bare = value.strip("\"'")
    is_code = _IS_ATTRIBUTE.fullmatch(value) or value == name.rpartition(".")[2]  # `self.token = token`
    if not bare or is_code or bare.startswith(_MASKED) or rest.startswith("<redacted>"):
        return False
    if rest.startswith(("(", "[")) or "(" in bare or "[" in bare:
        return value[0] in "\"'"
    if separator.isspace() or separator.lstrip().startswith("is"):  # a table or prose: a value has to look like one
        return len(bare) >= _RANDOM_AT_LEAST and any(map(str.isdigit, bare)) and any(map(str.isalpha, bare))
    if ":" not in separator or value != bare or quote:
        return bare.lower().rstrip(".") not in _PROSE or ("=" in separator and value != bare)
    if bare.lower().rstrip(".") in _PROSE:
        return False
    is_last = not rest or rest[0] in "\r\n,;\"'})]&|" or (rest[0] == " " and not rest[1:2].isalpha())
    looks_random = any(letter.isdigit() for letter in bare) or not bare.rstrip(".").isalpha()
    return is_last or looks_random
