"""Which category a well-known text of another server has: `ENOENT: ...`, `Too many requests`, `Order 7 not found`.

Most texts have none. A wrong category gives wrong advice, so a pattern covers a whole sentence, or its beginning up to
a colon; `tests/client/foreign_texts.txt` has the texts that it is made for, and those that only look like them.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from failsoft.framework.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    RateLimited,
    StorageError,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
)
from failsoft.framework.normalize.http_status import from_status

_READ_AT_MOST = 400
"""Characters that are looked at, of the first line."""
_WRAPPERS_AT_MOST = 5
_NUMBER = re.compile(r"[0-9E](?:[0-9]{2}|[A-Z]{2})")
"""Part of every status and errno."""
_NEEDLES = (
    *("found", "denied", "no such", "exist", "exceeded", "timed out", "permitted", "forbidden", "allowed"),
    *("unauth", "credentials", "api key", "no space", "read-only", "rate limit", "too many", "refused"),
    *("reset by", "unavailable", "hang up", "missing required"),
)
"""Substrings of which one is in every other text that has a class: to look for them costs a tenth of the patterns."""

_REFUSED = re.compile(
    r"MCP error -32602: (?:Input validation error: )?Invalid arguments for tool |Input validation error: "
    r"|(?:Error (?:calling|executing) tool '?[\w./-]{1,128}'?: )?"
    r"\d{1,4} validation errors? for (?:call\[|\w{1,128}Arguments\b)"
)
"""The SDKs' own words for arguments that a schema refused: the handler did not run."""
_WRAPPER = re.compile(
    r"(?:❌ ?)?(?:Error (?:calling|executing) tool '?[\w./-]{1,128}'?|MCP error -\d{1,6}|\w{0,60}(?:Error|Exception)"
    r"|Failed to [^.:;\n]{1,60}|[A-Z][^.:;\n]{0,160} failed|page\.\w{1,40}): |\[Errno \d{1,5}\] "
)
"""What is put before the text of an error on its way."""

_ERRNO = re.compile(r"(?:(?:connect|read|write|getaddrinfo) )?(E[A-Z]{2,14}(?:_[A-Z]{3,10})?)(?=$|[: ])")
_CLASS_BY_ERRNO: dict[str, type[ToolError]] = {
    "ENOENT": NotFound,
    **dict.fromkeys(("EACCES", "EPERM"), PermissionDenied),
    "EEXIST": AlreadyExists,
    **dict.fromkeys(("ENOSPC", "EROFS"), StorageError),
    **dict.fromkeys(("ETIMEDOUT", "ESOCKETTIMEDOUT"), Timeout),
    **dict.fromkeys(("ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"), Unavailable),
}

_CLASS_BY_CODE: dict[str, type[ToolError]] = {
    "NOT_FOUND": NotFound,
    **dict.fromkeys(("PERMISSION_DENIED", "FORBIDDEN", "ACCESS_DENIED"), PermissionDenied),
    "ALREADY_EXISTS": AlreadyExists,
    **dict.fromkeys(("UNAUTHENTICATED", "UNAUTHORIZED"), Unauthenticated),
    **dict.fromkeys(("TIMEOUT", "DEADLINE_EXCEEDED"), Timeout),
    **dict.fromkeys(("RATE_LIMITED", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"), RateLimited),
    **dict.fromkeys(("UNAVAILABLE", "SERVICE_UNAVAILABLE"), Unavailable),
    "INVALID_ARGUMENT": InvalidArgument,
}
"""Codes of gRPC, and those that many services have."""

_STATUS = re.compile(
    r"(?:(?:Request failed with|[^\n]{1,300}? -) status code (?P<a>\d{3})(?=$|[:.,])"
    r"|HTTP(?: error| status)?:? (?P<b>\d{3})(?=$|[:.,])"
    r"|(?:[\w.-]{1,40} )?API error[: ] ?\(?(?P<c>\d{3})\)?(?=$|[:.,])"
    r"|(?:Client|Server) error '(?P<d>\d{3}) [^'\n]{1,40}' for url "
    r"|(?:HTTP(?:/[\d.]{1,3})?(?: error| status)?:? )?(?P<e>\d{3}) (?P<phrase>[A-Z][A-Za-z -]{2,40})(?=$|[:.,]))"
)
_KNOWN_STATUSES = frozenset({401, 403, 404, 409, 410, 429, 503, 504})

_NOT_ALLOWED = (
    r"(?:outside (?:of )?(?:the )?|not (?:under|in|within) (?:an? |the )?)"
    r"allowed (?:director(?:y|ies)|folders?|paths?|roots?)"
)
_UP_TO_COLON = r"(?=$|[.!]|: |:$)"
_PHRASES: tuple[tuple[type[ToolError], re.Pattern[str]], ...] = tuple(
    (cls, re.compile(pattern, re.IGNORECASE))
    for cls, pattern in (
        (NotFound, rf"(?:[^\n]{{0,200}}: )?no such file or directory{_UP_TO_COLON}"),
        (NotFound, rf"not found{_UP_TO_COLON}"),
        (PermissionDenied, rf"(?:[^\n]{{0,200}}: )?(?:permission denied|operation not permitted){_UP_TO_COLON}"),
        (PermissionDenied, r"permission denied for (?:table|relation|schema|function|database) "),
        (PermissionDenied, rf"access denied(?:{_UP_TO_COLON}| - | to [^.:;\n]{{1,60}}{_UP_TO_COLON})"),
        (PermissionDenied, rf"access to [^.:;\n]{{1,80}} (?:was|is) denied{_UP_TO_COLON}"),
        (PermissionDenied, rf"forbidden{_UP_TO_COLON}"),
        (PermissionDenied, rf"path (?:'[^'\n]{{1,200}}' )?is {_NOT_ALLOWED}{_UP_TO_COLON}"),
        (Unauthenticated, rf"(?:unauthorized|unauthenticated|bad credentials|invalid api key){_UP_TO_COLON}"),
        (AlreadyExists, rf"(?:[^\n]{{0,200}}: )?file exists{_UP_TO_COLON}"),
        (StorageError, rf"(?:[^\n]{{0,200}}: )?(?:no space left on device|read-only file system){_UP_TO_COLON}"),
        (Timeout, r"timeout (?:of )?\d{1,9} ?ms exceeded|context deadline exceeded"),
        (RateLimited, r"(?:[\w.-]{1,40} ){0,3}rate limit (?:has been )?(?:exceeded|reached)(?=$|[.,!:;]| for )"),
        (RateLimited, r"you (?:have exceeded (?:a|the|your) (?:secondary )?rate limit|are being rate limited)"),
        (RateLimited, r"too many requests(?=$|[.!]|, please)"),
        (Unavailable, rf"(?:connection (?:refused|reset by peer)|service (?:temporarily )?unavailable){_UP_TO_COLON}"),
        (Unavailable, r"socket hang up$"),
        (InvalidArgument, r"missing required arguments?: [\w, ]{1,200}$"),
    )
)

_WAIT = re.compile(
    r"\b(?:try again|retry|wait)(?: again)? (?:in|after|for)? ?(\d{1,5}(?:\.\d{1,3})?) ?"
    r"(?:(s)(?:ec(?:ond)?s?)?|(m)(?:in(?:ute)?s?)?)\b",
    re.IGNORECASE,
)
_WHAT = r"(?P<what>(?:[^.:;\n]|[.:](?=\S)){1,120}?)"
_PLACE = (
    r" in (?:the |this )?(?:board|bucket|calendar|catalog|channel|collection|database|directory|folder|index|inventory"
    r"|organization|project|realm|repo|repository|space|store|team|workspace)\b"
)
_THING = re.compile(
    rf"{_WHAT} (?:(?:(?:was|were|is) )?not found|(?:could not|cannot) be found|(?P<absent>does(?: not|n't) exist)"
    rf"|(?P<there>already exists)(?: on this account)?|(?P<late>timed out))(?:{_UP_TO_COLON}| \(| after \d|{_PLACE})",
    re.IGNORECASE,
)
"""A sentence of which the subject decides: a page that is not found is one thing, a command another."""
_NO_SUCH = re.compile(rf"no such (?P<what>[\w -]{{1,40}}){_UP_TO_COLON}", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+")
_FILE = re.compile(r"[\w-]\.[A-Za-z0-9]{1,5}['\"]?$")
_UNSURE = frozenset(("and", "because", "but", "check", "if", "of", "or", "that", "unless", "when", "whether", "who"))
_NOT_AN_ITEM = frozenset(
    (
        *("argument", "attribute", "binary", "browser", "class", "column", "command", "config"),
        *("configuration", "credential", "credentials", "dependency", "device", "driver", "env"),
        *("environment", "executable", "function", "host", "key", "keys", "library", "match", "mcp"),
        *("method", "module", "node", "npm", "option", "package", "password", "pattern", "plugin"),
        *(
            "program",
            "python",
            "relation",
            "role",
            "schema",
            "secret",
            "server",
            "string",
            "table",
            "text",
            "token",
            "tool",
            "variable",
        ),
    )
)
"""What a server itself lacks, or a part of a text: another id does not help."""
_ITEMS = frozenset(
    (
        *("branch", "directory", "document", "entity", "entry", "event", "file", "folder", "issue"),
        *("item", "note", "object", "order", "page", "path", "project", "record", "repository"),
        *("resource", "table", "task", "ticket", "user"),
    )
)
_PEOPLE = frozenset(("approval", "confirmation", "consent", "login", "session", "user", "users"))
"""What a person did not do in time: another call does not help."""


def class_of(text: str) -> type[ToolError] | None:
    """Return the class whose category a text has, or None for a text that nobody knows.

    >>> class_of("Error calling tool 'get': ENOENT: no such file or directory, open 'a'").category
    'not_found'
    """
    if says_arguments_were_refused(text):
        return InvalidArgument
    line = text.strip()[:_READ_AT_MOST].partition("\n")[0].strip()
    lowered = line.lower()
    is_number, is_phrase = _NUMBER.search(line) is not None, any(needle in lowered for needle in _NEEDLES)
    if not is_number and not is_phrase:
        return None
    for _ in range(_WRAPPERS_AT_MOST):
        found = _class_of_line(line, is_number=is_number, is_phrase=is_phrase)
        wrapper = _WRAPPER.match(line)
        if found is not None or wrapper is None:
            return found
        line = line[wrapper.end() :]
    return None


def class_of_code(code: object) -> type[ToolError] | None:
    """Return the class for a code that another server puts beside its text, or None: `ENOENT`, `NOT_FOUND`."""
    return _CLASS_BY_ERRNO.get(code) or _CLASS_BY_CODE.get(code.upper()) if isinstance(code, str) else None


def wait_in(text: str) -> float | None:
    """Return the wait in seconds that a text asks for, or None.

    >>> wait_in("Rate limit reached. Please try again in 1.5s.")
    1.5
    """
    found = _WAIT.search(text[:_READ_AT_MOST])
    return None if found is None else float(found[1]) * (60 if found[3] else 1)


def says_arguments_were_refused(text: str) -> bool:
    """Return whether a text says in an SDK's own words that the arguments were refused before the handler ran."""
    return _REFUSED.match(text) is not None


def _class_of_line(line: str, *, is_number: bool, is_phrase: bool) -> type[ToolError] | None:
    if is_number and (number := _ERRNO.match(line)) is not None:
        return _CLASS_BY_ERRNO.get(number[1])
    if is_number and (status := _STATUS.match(line)) is not None:
        return _class_of_status(status)
    if not is_phrase:
        return None
    for cls, pattern in _PHRASES:
        if pattern.match(line):
            return cls
    thing = _THING.match(line) or _NO_SUCH.match(line)
    return None if thing is None else _class_of_thing(thing)


def _class_of_status(found: re.Match[str]) -> type[ToolError] | None:
    status = int(next(filter(None, found.group("a", "b", "c", "d", "e"))))
    phrase = found["phrase"]
    if status not in _KNOWN_STATUSES:
        return None
    if phrase and phrase.casefold().replace("time-out", "timeout") != HTTPStatus(status).phrase.casefold():
        return None
    return type(from_status(status))


def _class_of_thing(found: re.Match[str]) -> type[ToolError] | None:
    words, parts = set(_WORD.findall(found["what"].lower())), found.groupdict()
    if words & _UNSURE:
        return None
    if parts.get("late"):
        return None if words & _PEOPLE else Timeout
    if parts.get("there"):
        return AlreadyExists
    if parts.get("absent"):
        is_file = _FILE.search(found["what"]) is not None and not words & _NOT_AN_ITEM
        return NotFound if is_file or words & _ITEMS else None
    return None if words & _NOT_AN_ITEM else NotFound
