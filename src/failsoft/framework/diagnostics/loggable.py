"""Copies of exceptions for log sinks: same type, text and lines, without the values that their frames hold.

loguru's default sink prints the values of local variables below each line (`diagnose=True`); arguments of tools and
secrets must not get into a log that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from failsoft.framework.diagnostics.tracebacks import original, shown_links
from failsoft.framework.safe.redaction import redact_text
from failsoft.framework.text import bounded

__all__ = ["loggable"]

_CHAIN_AT_MOST = 5
_UNREADABLE = "(its text cannot be read)"


def loggable(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """Return an exception as a log record takes it: its type, a copy, and the author's frames without values.

    Never raises, whatever the exception does when it is looked at.
    """
    kind = type(error)
    try:
        error = original(error)
        copied = _copy(error, _CHAIN_AT_MOST)
        return type(error), copied, copied.__traceback__
    except BaseException:  # noqa: BLE001 - an exception may raise anything in every attribute that is read
        return kind, type(kind.__name__, (Exception,), {"__module__": "builtins"})(_UNREADABLE), None


def _text(error: BaseException) -> str:
    try:
        return redact_text(bounded(str(error)))
    except BaseException:  # noqa: BLE001 - as above
        return _UNREADABLE


def _copy(error: BaseException, chain: int) -> BaseException:
    copied = _named_alike(type(error), _text(error))
    copied.__traceback__ = _without_values(shown_links(error.__traceback__))
    if chain and error.__cause__ is not None:
        copied.__cause__ = _copy(error.__cause__, chain - 1)
    elif chain and error.__context__ is not None and not error.__suppress_context__:
        copied.__context__ = _copy(error.__context__, chain - 1)
    return copied


def _named_alike(kind: type[BaseException], text: str) -> BaseException:
    """Return an exception with the name and the text; an instance of the class itself where that is a plain one."""
    base = kind if kind.__module__ == "builtins" else Exception
    body: dict[str, Any] = {
        "__str__": lambda _self: text,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
    }
    try:
        alike: BaseException = type(kind.__name__, (base,), body)()
    except TypeError:  # UnicodeDecodeError and groups take arguments
        alike = type(kind.__name__, (Exception,), body)()
    return alike


def _without_values(links: Sequence[TracebackType]) -> TracebackType | None:
    """Return a traceback over the same lines whose frames hold nothing; None where the interpreter cannot make one."""
    copied: TracebackType | None = None
    for link in reversed(links):
        frame = _empty_frame(link.tb_frame.f_code, link.tb_lineno)
        # Python 3.12 links the frame to those that run now, and a sink would print the values of these.
        if frame is None or frame.f_back is not None:
            return None
        copied = TracebackType(copied, frame, 0, link.tb_lineno)
    return copied


def _raise() -> Iterator[int]:
    yield int("")


def _empty_frame(code: CodeType, line: int) -> FrameType | None:
    """Return a frame with the file and the name of another; that of a generator has no frame above it once it ended."""
    alike = _raise.__code__.replace(co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=max(1, line))
    try:
        next(FunctionType(alike, {})())
    except Exception as raised:  # noqa: BLE001 - what it is for
        link = raised.__traceback__
        return link.tb_next.tb_frame if link is not None and link.tb_next is not None else None
    return None
