"""Any exception becomes a `ToolError`, by its type and its numbers, never by its text.

The most specific rule wins: an exception's classes are looked up along its MRO, by name, so that no library is
imported to ask whether an exception is one of its own. The text of a foreign exception goes to the log alone: it may
hold secrets, paths, or instructions to the model that would read it. What a known library reports as the reason, in a
field of its own, is quoted (see `reasons`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.errors import DatabaseError, MultipleErrors, ToolError, UnknownError
from failsoft.framework.errors.vocabulary import RaisedWrongly
from failsoft.framework.normalize import clouds, databases, http_libraries, system_errors
from failsoft.framework.normalize.outcomes import OUTCOMES, Inside, Rule, Table, judged, read, type_name, unknown
from failsoft.framework.normalize.reasons import reason_of, text_of, with_reason
from failsoft.framework.plugins import Plugins
from failsoft.framework.text import quoted

_WRAPPED_AT_MOST = 8
"""Exceptions that wrap one another and are opened in turn."""
_MEMBERS_AT_MOST = 100

TABLES: dict[str, Table] = {
    **system_errors.TABLES,
    **http_libraries.TABLES,
    **databases.TABLES,
    **clouds.TABLES,
}
"""Root package of a class's `__module__` -> the rules for its classes."""
THIRD_PARTIES = Plugins("failsoft.normalizers", "normalizer")
"""Rules of installed packages, which come before ours."""


def normalize(exc: BaseException, sent: Mapping[str, Any] | None = None) -> ToolError:
    """Return the typed error for an exception; never raises.

    A `ToolError` is returned as it is. Next come the rules of third parties (entry points `failsoft.normalizers`),
    exception groups, and our own tables; what no rule knows is UNKNOWN_ERROR with the name of its type.

    Args:
        exc: Any exception, those that end an interpreter included.
        sent: The arguments of the call that it was raised in: an exception without any is never the caller's fault,
            and a path among them is named. None outside of calls.

    Returns:
        The error, with the exception as its `__cause__` and the exception's text as its `operator_hint`.
    """
    if issubclass(type(exc), ToolError):
        return exc  # type: ignore[return-value]  # isinstance would ask `exc.__class__`, which may raise
    if type(exc) is RaisedWrongly:
        return _finished(exc.error, exc)
    try:
        error = _normalized(exc, sent, _WRAPPED_AT_MOST)
        if error is None:
            return _finished(unknown(exc), exc)
        error.effect_is_foreign = error.effect is not None
        return _finished(with_reason(error, exc), exc)
    except BaseException as broken:  # noqa: BLE001 - an exception may break in every attribute; the call is answered
        _report(type_name(broken))
        return _finished(unknown(exc), exc)


def cause_told(error: ToolError) -> str:
    """Return in a sentence what a known library reported as the reason for an error that an author raised.

    Empty if its message says so, or if it has no such cause: `raise RemindersStopped(...) from exc`, or in an `except`.
    """
    cause: Any = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is None or issubclass(type(cause), ToolError) or error.details.get("type") == type_name(cause, full=True):
        return ""  # an error of the last kind was made of its cause here, and has the reason
    known = normalize(cause)
    reason = None if isinstance(known, UnknownError) else reason_of(known, cause)
    return "" if reason is None else reason.as_cause(error.message)


def is_refused(exc: BaseException, since: BaseException | None = None) -> bool:
    """Return whether the exception is the answer of a service that did not do what was asked (`REFUSALS`).

    A group is not: what ran beside the request may have been done. Nor is what came after another failure, such as that
    of a first attempt, or the error of another call, which knows nothing of what else that call did.

    Args:
        exc: The exception.
        since: The one that was handled before the request.
    """
    link: Any = exc
    for _ in range(_WRAPPED_AT_MOST):
        if issubclass(type(link), (BaseExceptionGroup, ToolError)) or not normalize(link).is_refusal:
            return False
        link = read(link, "__context__")
        if link is None or link is since:
            return True
    return False


def _report(broken: str) -> None:
    """Log that a rule raised: otherwise the bug would look like an unknown exception."""
    from failsoft.framework.safe.author_reports import logger  # noqa: PLC0415 - loaded when there is something to say

    logger.bind(broken=broken).warning("A normalizer of failsoft broke, and the exception became UNKNOWN_ERROR")


def _normalized(exc: BaseException, sent: Mapping[str, Any] | None, depth: int) -> ToolError | None:
    if issubclass(type(exc), ToolError):
        return exc  # type: ignore[return-value]  # as above
    error = _by_third_parties(exc)
    if error is not None:
        return error
    if isinstance(exc, BaseExceptionGroup):
        found = members(exc)
        return one_of([normalize(member, sent) for member in found]) if found else None
    return from_table(exc, sent, depth)


def _by_third_parties(exc: BaseException) -> ToolError | None:
    """Return what the first third-party rule that knows the exception makes of it; one that misbehaves is skipped."""
    try:
        rules = THIRD_PARTIES.load()
    except BaseException:  # noqa: BLE001 - no file descriptor or memory left: that is the failure to tell about
        return None
    for name, rule in rules:
        try:
            error = rule(exc)
        except BaseException as broken:  # noqa: BLE001 - a broken rule must not cost the answer
            THIRD_PARTIES.report(name, "raised and was skipped", broken)
            continue
        if isinstance(error, ToolError):
            return error
        if error is not None:
            THIRD_PARTIES.report(name, "returned no ToolError and was skipped")
    return None


def from_table(exc: Any, sent: Mapping[str, Any] | None, depth: int) -> ToolError | None:
    """Return the error by the first class of the MRO whose rule knows the exception, or None.

    Args:
        exc: The exception.
        sent: As in `normalize`.
        depth: How many exceptions inside one another are opened.
    """
    for cls in type(exc).__mro__:
        module, name = read(cls, "__module__"), read(cls, "__qualname__")
        if not isinstance(module, str):
            continue
        rule: Rule | None = TABLES.get(module.partition(".")[0], {}).get(name)
        found = rule(exc) if rule is not None else None
        if isinstance(found, Inside):
            found = _unwrapped(exc, found, sent, depth)
        elif found is not None and sent is not None:
            found = _in_call(found, sent)
        if found is not None:
            return found
    return None


def _in_call(error: ToolError, sent: Mapping[str, Any]) -> ToolError:
    """Return the error as one of the call with these arguments: its path by the name that was sent, and whose it is."""
    if not sent:
        return judged(error, "never") if error.actor == "caller" else error
    if isinstance(error, DatabaseError) and error.actor == "caller" and not _has_text(sent):
        return OUTCOMES["db_refused"](None)  # no statement, and no name in one, can be the caller's
    path = error.details.get("path")
    if path and error.details.get("errno"):
        listed = [item for value in sent.values() for item in (value if isinstance(value, list) else [value])]
        named = (item for item in listed if isinstance(item, str) and item and f"/{path}".endswith(f"/{item}"))
        if (name := next(named, None)) is not None:
            error.message = f"{error.message.rstrip('.')}: {quoted(name)}."
            error.args = (error.message,)
    return error


def _has_text(value: Any) -> bool:
    """Return whether arguments have a text among them."""
    if isinstance(value, Mapping):
        return any(map(_has_text, value.values()))
    return any(map(_has_text, value)) if isinstance(value, list) else isinstance(value, str)


def _unwrapped(exc: Any, inside: Inside, sent: Mapping[str, Any] | None, depth: int) -> ToolError | None:
    error = _normalized(inside.exc, sent, depth - 1) if depth else None
    if error is None and inside.otherwise is not None:
        error = inside.otherwise(exc)
        error = error if sent is None else _in_call(error, sent)
    if error is not None and not error.operator_hint:
        error.operator_hint = _hint_of(inside.exc)
    return error


def members(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    """Return the exceptions in a group and in the groups in it, at most a hundred.

    Cancellations are left out where something else failed: siblings are cancelled because of it.
    """
    found: list[BaseException] = []
    waiting: list[Any] = [group]
    seen: set[int] = set()
    while waiting and len(found) < _MEMBERS_AT_MOST:
        member = waiting.pop()
        if id(member) in seen:
            continue
        seen.add(id(member))
        if isinstance(member, BaseExceptionGroup) and not issubclass(type(member), ToolError):
            waiting.extend(reversed(list(read(member, "exceptions", ()))[:_MEMBERS_AT_MOST]))
        else:
            found.append(member)
    return [one for one in found if not isinstance(one, asyncio.CancelledError)] or found


def one_of(errors: Sequence[ToolError]) -> ToolError:
    """Return the one error there is, with a note if it came several times; else MULTIPLE_ERRORS for all of them.

    Errors are the same if code and sentence are: two documents that were not found are two errors.
    """
    different = list({(error.code, error.message): error for error in reversed(errors)}.values())[::-1]
    if len(different) > 1:
        return MultipleErrors.from_members(different)
    if len(errors) > 1:
        different[0].add_note(f"{len(errors)} errors of this kind came together")
    return different[0]


def _finished(error: ToolError, exc: Any) -> ToolError:
    """Return the error with the exception as its cause, and with what only the log and developers may see."""
    error.details.setdefault("type", type_name(exc, full=True))
    error.operator_hint = error.operator_hint or _hint_of(exc)
    if isinstance(exc, BaseException) and error.__cause__ is None and not _leads_to(exc, error):
        error.__cause__ = exc
    return error


def _hint_of(exc: Any) -> str:
    """Return an exception's type and text, for the log."""
    name, text = type_name(exc, full=True), text_of(exc)
    return f"{name}: {text}" if text else name


def _leads_to(exc: BaseException, error: ToolError) -> bool:
    """Return whether the error is among the exception's own causes: a chain must not become a circle."""
    seen: set[int] = set()
    link: Any = exc
    while link is not None and id(link) not in seen:
        if link is error:
            return True
        seen.add(id(link))
        link = read(link, "__cause__")
    return False
