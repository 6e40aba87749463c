"""Reports to a tool's author: crashes of a handler, and mistakes in how an error was raised.

They are logged, and passed to whatever watches: `failsoft call`, the pytest plugin, the testing kit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from failsoft.framework.diagnostics.telling import logger, tell
from failsoft.framework.diagnostics.tracebacks import author_line, calling_line, stack_of
from failsoft.framework.safe.redaction import redact_text

__all__ = ["Report", "is_watched", "report_crash", "report_mistake", "report_result", "watch_reports"]


@dataclass(frozen=True, slots=True)
class Report:
    """One crash or mistake.

    Args:
        kind: `crash`: a handler raised what no rule knows, or an internal error, or its result does not fit its return
            annotation. `mistake`: an error was raised in a way that loses something, such as a field that its class
            does not have.
        message: What is wrong, in a sentence or two.
        place: `file:line in function` of the author's code; empty if it is not involved.
        traceback: Of a crash, the author's frames first.
        operation: The MCP tool, where it is known.
        error_id: The id that the caller of a crashed tool got.
    """

    kind: Literal["crash", "mistake"]
    message: str
    place: str = ""
    traceback: str = ""
    operation: str = ""
    error_id: str = ""

    def __str__(self) -> str:
        if self.traceback:
            named = ", ".join(
                part for part in (self.operation, f"error id {self.error_id}" if self.error_id else "") if part
            )
            return f"{named}\n{self.traceback}".strip()
        return f"{self.place}: {self.message}" if self.place else self.message


Watcher: TypeAlias = Callable[[Report], object]
_watchers: list[Watcher] = []


def is_watched() -> bool:
    """Return whether a report would reach anything besides the log."""
    return bool(_watchers)


@contextmanager
def watch_reports(watcher: Watcher) -> Iterator[None]:
    """Pass every `Report` of this process to the function `watcher` while the block lasts."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def report_mistake(
    message: str, *, error: BaseException | None = None, operation: str = "", is_known: bool = False
) -> None:
    """Report a mistake of a tool's author at WARNING, with its file and line. Never raises.

    Args:
        message: What is wrong, and what is right.
        error: The exception that was raised with the mistake; by default the place is the author's running code.
        operation: The MCP tool, where it is known.
        is_known: Whether it was logged before, so that only what watches is told again.
    """
    tell(_report_mistake, message, error, operation, is_known)


def _report_mistake(message: str, error: BaseException | None, operation: str, is_known: bool) -> None:  # noqa: FBT001 - `tell` passes what it is given by position
    place = calling_line() if error is None else author_line(error)
    report = Report("mistake", message, place, operation=operation)
    if not is_known:
        logger.bind(event="author_mistake", place=place, operation=operation).warning(str(report))
    _publish(report)


def report_crash(error: BaseException, *, operation: str, error_id: str) -> None:
    """Pass a crash on to what watches; the log has its own line for each failed call. Never raises."""
    if _watchers:
        tell(_report_crash, error, operation, error_id)


def _report_crash(error: BaseException, operation: str, error_id: str) -> None:
    message = f"{type(error.__cause__ or error).__name__} in {operation}"
    _publish(Report("crash", message, author_line(error), stack_of(error), operation, error_id))


def report_result(error: BaseException, function: object, *, operation: str, error_id: str) -> None:
    """Pass on how a handler's result differs from its return annotation, with the handler's line. Never raises."""
    if _watchers:
        tell(_report_result, error, function, operation, error_id)


def _report_result(error: BaseException, function: object, operation: str, error_id: str) -> None:
    code = getattr(inspect.unwrap(function), "__code__", None)  # type: ignore[arg-type]  # any callable
    place = "" if code is None else f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}"
    fault = error.__cause__.errors()[0]  # type: ignore[union-attr]  # of pydantic, or there is nothing to say
    where = ".".join(map(str, fault["loc"]))
    got = fault["input"]
    message = f"the result does not fit the return annotation: {f'`{where}`: ' if where else ''}{fault['msg']}"
    message += f"; it is of type {type(got).__name__}"
    if inspect.isawaitable(got):
        message += " (is an `await` missing?)"
    _publish(Report("crash", redact_text(message), place, "", operation, error_id))


def _publish(report: Report) -> None:
    for watcher in tuple(_watchers):
        tell(watcher, report)
