"""Any exception becomes a `ToolError`, by its type and its numbers, never by its text.

The most specific rule wins: an exception's classes are looked up along its MRO, by name, so that no library is
imported to ask whether an exception is one of its own. The text of a foreign exception goes to the log alone: it may
hold secrets, paths, or instructions to the model that would read it. What a
known library reports as the reason, in a field of its own, is quoted (see `reasons`).
"""

from __future__ import annotations

from failsoft.framework.errors import ToolError
from failsoft.framework.errors.raising import RaisedWrongly
from failsoft.framework.normalize.entry_points import by_entry_points, load_rules
from failsoft.framework.normalize.groups import leaves, merged
from failsoft.framework.normalize.reasons import with_reason
from failsoft.framework.normalize.rules import finish, type_name, unknown
from failsoft.framework.normalize.tables import by_tables

__all__ = ["load_rules", "normalize"]

_WRAPPED_AT_MOST = 8
"""Exceptions that wrap one another and are opened in turn."""


def normalize(exc: BaseException) -> ToolError:
    """Return the typed error for an exception; never raises.

    A `ToolError` is returned as it is. Next come the rules of third parties (entry points `failsoft.normalizers`),
    exception groups, and our own tables; what no rule knows is UNKNOWN_ERROR with the name of its type.

    Args:
        exc: Any exception, those that end an interpreter included.

    Returns:
        The error, with the exception as its `__cause__` and the exception's text as its `operator_hint`.
    """
    if issubclass(type(exc), ToolError):
        return exc  # type: ignore[return-value]  # isinstance would ask `exc.__class__`, which may raise
    if type(exc) is RaisedWrongly:
        return finish(exc.error, exc)
    try:
        error = _judged(exc, _WRAPPED_AT_MOST)
        return finish(with_reason(error, exc), exc) if error is not None else unknown(exc)
    except BaseException as broken:  # noqa: BLE001 - an exception may break in every attribute; the call is answered
        _remark(type_name(broken))
        return unknown(exc)


def _remark(broken: str) -> None:
    """Log that a rule raised: otherwise the bug would look like an unknown exception."""
    from failsoft.framework.diagnostics.telling import logger  # noqa: PLC0415 - loaded when there is something to say

    logger.bind(broken=broken).warning("A normalizer of failsoft broke, and the exception became UNKNOWN_ERROR")


def _judged(exc: BaseException, depth: int) -> ToolError | None:
    if issubclass(type(exc), ToolError):
        return exc  # type: ignore[return-value]  # as above
    error = by_entry_points(exc)
    if error is not None:
        return error
    if isinstance(exc, BaseExceptionGroup):
        members = leaves(exc)
        return merged([normalize(member) for member in members]) if members else None
    return by_tables(exc, lambda inner: _judged(inner, depth - 1) if depth else None)
