"""Errors of parsers, archives and mail in Python's standard library, and of PyYAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.errors import (
    InvalidArgument,
    Overloaded,
    PermissionDenied,
    QuotaExhausted,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.normalize.rules import FixedError, Rule, Table, read

__all__ = ["SMTP_CODES", "TABLES"]

_LOST = FixedError(Unavailable, "The connection to the mail server was lost.")
_LOGIN = FixedError(Unauthenticated, "The mail server did not accept the credentials.")
_LATER = FixedError(Unavailable, "The mail server asks to try again later.")
_REFUSED = FixedError(PermissionDenied, "The mail server refused the message.")
_RECIPIENTS = FixedError(InvalidArgument, "The mail server refused every recipient.", "none")
_ADDRESS = FixedError(InvalidArgument, "The mail server refused an address.")
_COMMAND = FixedError(Unsupported, "The mail server does not support this.")
_DAMAGED = FixedError(UpstreamError, "An archive that this tool read is damaged, or is none.")
_TRANSIENT = 500
"""SMTP replies below this number are worth a repeat."""

SMTP_CODES: dict[int, FixedError] = {
    421: FixedError(Unavailable, "The mail server is not available at the moment."),
    452: FixedError(Overloaded, "The mail server has no room for the message at the moment."),
    **dict.fromkeys((500, 501, 502, 503, 504, 555), _COMMAND),
    **dict.fromkeys((530, 534, 535, 538), _LOGIN),
    **dict.fromkeys((510, 511, 550, 551, 553), _ADDRESS),
    552: FixedError(QuotaExhausted, "The mailbox has no room for the message."),
    554: _REFUSED,
}
"""SMTP reply code -> verdict (RFC 5321, section 4.2.3, and RFC 4954)."""


def _smtp(exc: Any) -> ToolError:
    code = read(exc, "smtp_code")
    return _by_reply(exc, code, _REFUSED)


def _by_reply(exc: Any, code: Any, otherwise: FixedError) -> ToolError:
    known = SMTP_CODES.get(code) if isinstance(code, int) else None
    if known is None:
        known = _LATER if isinstance(code, int) and 0 < code < _TRANSIENT else otherwise
    error = known(exc)
    if isinstance(code, int):
        error.details["reply"] = code
    return error


def _recipients(exc: Any) -> ToolError:
    """Return the error for a message that no recipient was accepted for; one that may be accepted later decides."""
    replies = read(exc, "recipients")
    codes = [reply[0] for reply in replies.values()] if isinstance(replies, Mapping) else []
    later = next((code for code in codes if isinstance(code, int) and 0 < code < _TRANSIENT), None)
    return _RECIPIENTS(exc) if later is None else _by_reply(exc, later, _RECIPIENTS)


def _unreadable(kind: str) -> Rule:
    """Return the rule for text that is not of a kind; the place of the fault is kept where the parser names it."""

    def rule(exc: Any) -> ToolError:
        mark = read(exc, "problem_mark")
        line, column = (read(mark, "line"), read(mark, "column")) if mark is not None else _place(exc)
        error = UpstreamError(message=f"Data that this tool read is not valid {kind}.")
        if isinstance(line, int):
            error.details["line"] = line + (mark is not None)  # PyYAML counts from 0
        if isinstance(column, int):
            error.details["column"] = column
        return error

    return rule


def _place(exc: Any) -> tuple[Any, Any]:
    position = read(exc, "position")
    if isinstance(position, tuple) and len(position) == 2:  # noqa: PLR2004 - line and column, of ElementTree
        return position
    getters = read(exc, "getLineNumber"), read(exc, "getColumnNumber")
    if all(callable(getter) for getter in getters):
        return tuple(_called(getter) for getter in getters)
    return read(exc, "lineno"), read(exc, "colno", read(exc, "offset"))


def _called(getter: Any) -> Any:
    try:
        return getter()
    except Exception:  # noqa: BLE001 - a parse error without a locator has no place
        return None


_XML = _unreadable("XML")
_TOML = _unreadable("TOML")

TABLES: dict[str, Table] = {
    "json": {"JSONDecodeError": _unreadable("JSON")},
    "tomllib": {"TOMLDecodeError": _TOML},
    "tomli": {"TOMLDecodeError": _TOML},
    "yaml": {"YAMLError": _unreadable("YAML")},
    "xml": {
        "ParseError": _XML,
        "ExpatError": _XML,
        "SAXNotSupportedException": FixedError(Unsupported, "The XML parser does not support this."),
        "SAXNotRecognizedException": FixedError(Unsupported, "The XML parser does not support this."),
        "SAXException": _XML,
    },
    "zipfile": {"BadZipFile": _DAMAGED, "LargeZipFile": FixedError(Unsupported, "The archive needs ZIP64.", "none")},
    "tarfile": {"TarError": _DAMAGED},
    "gzip": {"BadGzipFile": _DAMAGED},
    "lzma": {"LZMAError": _DAMAGED},
    "zlib": {"error": _DAMAGED},
    "smtplib": {
        "SMTPAuthenticationError": _LOGIN,
        "SMTPConnectError": FixedError(Unavailable, "The mail server did not accept a connection.", "none"),
        "SMTPHeloError": FixedError(UpstreamError, "The mail server refused the greeting.", "none"),
        "SMTPNotSupportedError": _COMMAND,
        "SMTPRecipientsRefused": _recipients,
        "SMTPResponseException": _smtp,
        "SMTPServerDisconnected": _LOST,
        "SMTPException": FixedError(UpstreamError, "The mail server failed."),
    },
}
