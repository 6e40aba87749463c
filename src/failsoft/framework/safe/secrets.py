"""Texts without secrets: tokens by their formats, every other secret by the structure around it.

A structure is a URL, a header, a pair of a name and a value, or a phrase of `phrases.py`. Patterns take linear time.
"""

from __future__ import annotations

import re

from failsoft.framework.safe.harmless import is_mixed, is_placeholder, is_reference, is_word, is_word_of
from failsoft.framework.safe.phrases import without_secrets_beside_names, without_secrets_of_commands
from failsoft.framework.safe.secret_names import (
    has_secret_word,
    is_secret_name,
    is_secret_parameter,
    may_be_secret_name,
    words_of,
)
from failsoft.framework.safe.tokens import REDACTED, TOKEN, may_have_tokens, without_known_tokens, without_random_tokens

_NEEDLES = (
    ("", ("pass", "secret", "auth", "bearer", "otp", "conn")),
    ("k", ("key", "token", "cookie", "psk", "webhook", "backup")),
    ("w", ("pw", "jwt")),
    ("v", ("cvv", "cvc", "very code", "ication code")),
    (
        "-",
        (
            " -u",
            " -p",
            " -a ",
            " -w ",
            " -x ",
            " -k ",
            "add-mask::",
            " --user",
            "http-basic",
            "securestring",
            ", '-",
            ', "-',
        ),
    ),
    ("g", ("signature", " login ", "bundle config")),
    ("2", (":5432:",)),
    (">", (" on >",)),
    ("[", ("args: [",)),
    ("%", ("%3d",)),
    ("|", ("sudo", "kinit", " login")),
    ("/", (" /p:", " /user:", " /rp ", "sqlplus ", "net user")),
    ("_", ("_user", "_pat ", "_pat=", "_salt", "very_code")),
    ("d", ("cred", "dsn", "identified", "appid")),
    ("m", ("mfa", "crumb")),
    ("(", ("login(", "pdo(", "__construct(", "crypt(", "hashpw(", "log_in(", "sign_in(", "ftp(", "sequelize(")),
    ("=", ("session=", "sessid=", "login=")),
    ("&", ("code=", "sid=", "sig=", "state=")),
    ("@", ("oracle:", "@tcp(", "@unix(")),
)
"""Substrings of which one is in every text with a secret, a URL apart, each after a character that it contains.

To look for a single character takes a third of the time.
"""

_MARK = re.compile(r"""[\s=:<"']|hook|telegram|%3[Dd]""")
"""What is in every text with a secret that is no token: a single word, such as a name or a path, mostly has none."""
_IN_NAMES = re.compile("|".join([re.escape(needle) for _, needles in _NEEDLES for needle in needles]))
_URL = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,30})://([^\s\"'<>`\\]{1,4096})")
_QUERY = re.compile(r"(?:([?&#])|(;))([A-Za-z0-9_.~%-]{1,80})=(?!=)((?(2)[^;\s\"'<>]{1,4096}|[^&#;\s\"'<>]{1,4096}))")
"""A parameter of a URL, or of a data source, where only a semicolon ends a value."""

_HOOK = re.compile(
    r"((?:hooks\.(?:slack\.com/(?:services|workflows)|zapier\.com/hooks/catch)|discord(?:app)?\.com/api/webhooks|[\w.-]{1,80}\.webhook\.office\.com)/"
    r"|api\.telegram\.org/bot)[^\s\"'<>]{8,512}+"
)

_SCHEMES = r"(?:basic|bearer|digest|negotiate|token|apikey|aws4-hmac-sha256)"

_HEADER = re.compile(
    r"""(?i)(?<![A-Za-z0-9_-])((?:proxy-)?authorization|(?:set-)?cookie|[\w-]{1,40}-signature(?:-256)?)"""
    r"""(["']?\s{0,4}[:=]\s{0,4}["']?)"""
    rf"""((?:digest|aws4-hmac-sha256)\s[^\r\n]{{1,4096}}+|{_SCHEMES}\s[^\r\n"']{{1,4096}}+|[\w-]{{1,30}}\s[\w.~+/=-]{{16,4096}}+"""
    r"""|[^\s=;"']{1,200}=[^\r\n"']{1,4096}+|[^\s"',;]{8,4096}+)"""
)
_ATTRIBUTES = frozenset({"domain", "expires", "httponly", "max-age", "path", "priority", "samesite", "secure"})
"""Of `Set-Cookie`."""

_BEARER = re.compile(
    r"(?i)(?<![A-Za-z])(bearer|basic)\s{1,4}(?!<)(?=[\w.~+/=-]{0,60}[0-9A-Z_])[\w.~+/-]{16,4096}+=*+", re.ASCII
)

_NAME = re.compile(
    r"""(?<![\w.-])([-_]{0,2}[A-Za-z0-9][\w.-]{0,60}+"""
    r"""(?:\s(?:key|token|password|secret|string|code)(?=["']?\s?[:=]|\t|\s(?:is|was):?\s))?)"""
    r"""(\\{0,3}(?:["']\]?|\[\d{0,4}\])?)"""
    r"""([ \t]{0,16}(?:(?:As[ \t])?[Ss]tring[ \t])?"""
    r"""(?:=>|:=|[=!]?={1,2}|:[ \t]?[&*]?[A-Za-z][\w.<>|]{0,40}+[ \t]=(?!=)|:)"""
    r"""[ \t]{0,16}(?:[bBfFNrRuU]{1,2}(?=["'])|(?:Some|\[\]byte|SecretStr|Buffer\.from)\((?=["']))?"""
    r"""|\t{1,3}|\s(?:is|was):?\s{1,3})""",
    re.ASCII,
)

_VALUE = re.compile(
    r"""(\\{1,3}["'][^"'\r\n\\]{1,4096}+|"(?>(?:[^"\r\n\\]|\\.){1,4096})"|'(?>(?:[^'\r\n\\]|\\.){1,4096})'"""
    r"""|[^\s"'&,;)}\]<>]{1,4096}+)""",
    re.ASCII,
)

_CODE = 4
"""Digits of a code that is sent to a person."""
_LIST_AT_MOST = 2_000
_LIST = re.compile(rf"""[\[(](?=[^\[\]()\r\n]{{1,{_LIST_AT_MOST - 2}}}[\])])""")
_ITEM = re.compile(r"""(["'])([^"'\r\n]{1,1024}+)\1""")
_RANDOM_KEY = re.compile(r"(?=\D*\d\D*\d)(?=.*[A-Za-z])(?:[\w+/=-]{20,200}|[^\s\"':/\\]{20,200})", re.ASCII)
_FLAG = re.compile(r"""(?<!\S)(--?[A-Za-z][\w-]{0,60}+)(\s{1,3}["']?)(?![-<])([^\s"']{1,4096}+)""", re.ASCII)
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]{0,60}+)(\s[^<>]{0,200}+)?>([^<>\r\n]{1,4096}+)(?=</)", re.ASCII)

_NETRC = re.compile(
    r"(?i)(?<!\S)((?:machine\s{1,9}\S{1,200}+|default(?=\s{1,9}login))\s{1,9}"
    r"(?:(?:login|account)\s{1,9}\S{1,200}+\s{1,9}){0,2}"
    r"password\s{1,9})(?!<)\S{1,1024}+"
)

_USER = re.compile(
    r"""(?<!\S)(-[uU]|-a(?=\s[\w.@-]{1,100}:(?=\D{0,60}\d))|--user)([\s=]{1,2}["']?)([^\s:%"'<]{1,100}+)([:%])"""
    r"""(?!<|//|\$|\d{1,9}(?:\s|\Z))([^\s"']{1,1024}+)"""
)
"""A user's name and a password, as curl, httpie and Samba take them; not a user and a group."""


def redact_text(text: str) -> str:
    """Return the text with every secret replaced: by structure first, by the formats of tokens second."""
    has_tokens = may_have_tokens(text)
    if has_tokens:
        text = without_known_tokens(text)
    if "PRIVATE KEY" in text:
        text = TOKEN.sub(REDACTED, text)
    lowered = text.lower()
    has_structure = _has_structure(lowered)
    if has_structure:
        text = _by_structure(text, lowered)
    if not has_tokens:
        return text
    without = without_random_tokens(text)
    # What stands before a random token may be a secret once that is hidden.
    return _by_structure(without, without.lower()) if has_structure and without != text else without


def _has_structure(lowered: str) -> bool:
    if " " not in lowered and _MARK.search(lowered) is None:
        return False
    if "://" in lowered:
        return True
    for mark, needles in _NEEDLES:
        if mark in lowered:
            for needle in needles:  # a plain loop takes a fifth of the time of `any`
                if needle in lowered:
                    return True
    return False


def _by_structure(text: str, lowered: str) -> str:
    text = _without_secrets_of_requests(text, lowered)
    is_named = _IN_NAMES.search(lowered) is not None
    for separator in ("', '", '", "', '","'):
        if f"{separator}-" in text:  # the arguments of a command, as a list
            spaced = _of_commands(text.replace(separator, "\f"), lowered.replace(separator, " "), is_named=is_named)
            text = spaced.replace("\f", separator)
    text = _of_commands(text, lowered, is_named=is_named)
    if not is_named:
        return text
    if "</" in text:
        text = _ELEMENT.sub(_without_element, text)
    text = without_secrets_beside_names(text, lowered)
    return _without_pairs(text)


def _of_commands(text: str, lowered: str, *, is_named: bool) -> str:
    text = without_secrets_of_commands(text, lowered)
    if "password" in lowered and ("machine" in lowered or "default" in lowered):
        text = _NETRC.sub(rf"\1{REDACTED}", text)
    if " -u" in lowered or " -a " in lowered or "--user" in lowered:
        text = _USER.sub(rf"\1\2\3\4{REDACTED}", text)
    if is_named and (" -" in lowered or text.startswith("-")):
        text = _FLAG.sub(_without_flag_value, text)
    return text


def _without_secrets_of_requests(text: str, lowered: str) -> str:
    """Return the text without the secrets of URLs and headers."""
    if "://" in lowered:
        text = _URL.sub(_without_url_secrets, text)
    if "webhook" in lowered or "hooks." in lowered or "telegram" in lowered:
        text = _HOOK.sub(rf"\1{REDACTED}", text)
    if "=" in text and ("&" in text or "?" in text):
        text = _QUERY.sub(_without_parameter, text)
    if "authorization" in lowered or "cookie" in lowered or "-signature" in lowered:
        text = _HEADER.sub(_without_header, text)
    if "bearer" in lowered or "basic" in lowered:
        text = _BEARER.sub(rf"\1 {REDACTED}", text)
    return text


def _without_header(match: re.Match[str]) -> str:
    name, separator, value = match.groups()
    is_plain = (
        is_placeholder(value) or is_word(value) or is_reference(name, re.split(r"[(\[,]", value, maxsplit=1)[0], "")
    )
    if is_plain or ("cookie" in name.lower() and "=" in value and not any(map(_is_secret_cookie, value.split(";")))):
        return match[0]
    return f"{name}{separator}{REDACTED}"


def _is_secret_cookie(cookie: str) -> bool:
    name, _, value = cookie.strip().partition("=")
    if not value or name.lower() in _ATTRIBUTES:
        return False
    return is_secret_name(name) or may_be_secret_name(name) or is_mixed(value)


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
        shown = REDACTED if len(user) >= 20 and is_mixed(user) else user  # noqa: PLR2004 - a name is shorter
        return rest if password == REDACTED or is_placeholder(password) else f"{shown}:{REDACTED}{rest[place:]}"
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
    _, _, name, value = match.groups()
    is_secret = is_secret_parameter(name) and value != REDACTED and not is_placeholder(value)
    return f"{match[0][0]}{name}={REDACTED if is_secret else value}"


def _without_element(match: re.Match[str]) -> str:
    is_value = is_secret_name(match[1]) and not is_placeholder(match[3])
    return f"<{match[1]}{match[2] or ''}>{REDACTED}" if is_value else match[0]


def _without_flag_value(match: re.Match[str]) -> str:
    flag, separator, value = match.groups()
    is_value = is_secret_name(flag) and not (is_word(value) or is_placeholder(value) or is_reference(flag, value, ""))
    return f"{flag}{separator}{REDACTED}" if is_value else match[0]


def _without_pairs(text: str) -> str:
    """Return the text without the values of secret names. The value of another name may itself be such a pair."""
    kept: list[str] = []
    done = place = 0
    while (name := _NAME.search(text, place)) is not None:
        place = name.end(2)  # what follows may be a pair itself
        is_secret = is_secret_name(name[1])
        if not is_secret and not may_be_secret_name(name[1]):
            continue
        place = name.end()
        if is_secret and _LIST.match(text, place) is not None:
            done, place = _without_items(text, kept, done, place)
            continue
        value = _VALUE.match(text, place)
        if not is_secret and (value is None or not _is_random_key(name[1], value[0].strip("\"'"))):
            continue
        if value is not None and _is_value(name, value[0], text[value.end() : value.end() + 12]):
            kept += (text[done:place], REDACTED)
            done = place = value.end()
    return "".join((*kept, text[done:]))


def _without_items(text: str, kept: list[str], done: int, place: int) -> tuple[int, int]:
    """Keep the text without the strings of a list that look like secrets; return where it goes on."""
    end = min(found for mark in "])" if (found := text.find(mark, place, place + _LIST_AT_MOST)) >= 0)
    for item in _ITEM.finditer(text, place, end):
        if (is_mixed(item[2]) and not is_placeholder(item[2])) or (item[2].isdigit() and len(item[2]) >= _CODE):
            kept += (text[done : item.start()], REDACTED)
            done = item.end()
    return done, end


def _is_random_key(name: str, value: str) -> bool:
    """Return whether the value of a name that may be that of a secret looks like one."""
    return _RANDOM_KEY.fullmatch(value) is not None or (name.lower().endswith("_auth") and is_mixed(value))


def _is_value(found: re.Match[str], value: str, rest: str) -> bool:
    """Return whether the text after a secret's name is its value, not prose, code or a placeholder."""
    name, quote, separator = found.groups()
    bare = value.strip("\"'`\\")
    is_literal = value[0] in "\"'\\"
    if bare.startswith(("http://", "https://")):  # secrets that others have are hidden already
        return not {"webhook", "dsn"}.isdisjoint(words_of(name))
    if rest.startswith(REDACTED) or is_placeholder(bare) or _is_name(name, bare) or _is_within(found, value):
        return False
    if "=" in bare and name.lower().endswith("cookie"):
        return _is_secret_cookie(bare)
    is_compared = "==" in separator or "!=" in separator
    if not is_literal and (is_compared or _is_code(found, bare, rest)):
        return False
    is_prose = separator.lstrip().startswith(("is", "was"))
    if is_prose or is_compared or separator.isspace():
        return is_mixed(bare) or (is_prose and bare.isdigit() and len(bare) >= _CODE)
    is_marked = ":" not in separator or is_literal or bool(quote)
    is_last = not rest or rest[0] in "\r\n,;\"'})]&|" or (rest[0] == " " and not rest[1:2].isalpha())
    return is_marked or is_last or any(map(str.isdigit, bare)) or not bare.rstrip(".").isalpha()


def _is_name(name: str, bare: str) -> bool:
    """Return whether a value is a word, or that of the name itself: a label, an error's code."""
    words = words_of(bare)
    return (
        is_word_of(name, bare)
        or words == words_of(name)
        or (has_secret_word(bare) and set(words_of(name)).issuperset(words))
    )


def _is_code(found: re.Match[str], bare: str, rest: str) -> bool:
    """Return whether a value without quotation marks is a call, an item, a variable, or the begin of a word's rest."""
    name, quote, _separator = found.groups()
    if "(" in bare or "[" in bare or rest.startswith(("(", "[")) or (rest[:1] == "'" and rest[1:2].isalpha()):
        return True
    is_variable = bool(quote) and bare.isidentifier() and not any(map(str.isdigit, bare))  # `{"token": granted}`
    return is_variable or is_reference(name, bare, rest)


def _is_within(found: re.Match[str], value: str) -> bool:
    """Return whether a name ends a longer one with colons, as of a type, or a string that begins before it."""
    name, quote, separator = found.groups()
    before = found.string[max(0, found.start() - 2) : found.start()]
    is_last = (before == "::" and " " not in name) or (separator == ":" and before[-1:] == ":")
    return is_last or (not quote and value[0] in "\"'" and value[0] == before[-1:])
