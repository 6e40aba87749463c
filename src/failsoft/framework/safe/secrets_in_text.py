"""Redaction of free text: URLs, headers and `name = value` pairs by their structure, tokens by their format."""

from __future__ import annotations

import re

from failsoft.framework.safe.secret_names import is_secret_name, is_secret_parameter
from failsoft.framework.safe.secret_patterns import REDACTED, TOKEN, has_long_run

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
_IN_NAMES = re.compile("|".join([needle for _, needles in _NEEDLES for needle in needles]))
_URL = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,30})://([^\s\"'<>`\\]{1,4096})")
_QUERY = re.compile(r"([?&#;])([A-Za-z0-9_.~%-]{1,80})=([^&#;\s\"'<>]{1,4096}+)")
_HOOK = re.compile(
    r"((?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks|[\w.-]{1,80}\.webhook\.office\.com)/"
    r"|api\.telegram\.org/bot)[^\s\"'<>]{8,512}+"
)
_ATTRIBUTE = r"(?:self|cls|this)(?:\.[a-z_]\w{0,60}+){1,5}+"
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
    r"""("(?:[^"\r\n\\]|\\.){1,4096}+"|'(?:[^'\r\n\\]|\\.){1,4096}+'|[^\s"'&,;)}\]<>]{1,4096}+)""", re.ASCII
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
    if has_long_run(text) or "private key" in lowered:
        text = TOKEN.sub(REDACTED, text)
        lowered = text.lower()
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
