"""Logging of calls: at most one redacted line each, and none until the application enables it.

The messages are constants and the facts are bound to the record: loguru formats a message whenever it is given
keywords, so a `{` in foreign text would raise. The facts are computed only if a sink accepts the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loguru import logger as loguru  # noqa: TID251 - becomes a guarded logger of its own

from failsoft.framework.diagnostics.reports import report_crash, report_result
from failsoft.framework.diagnostics.telling import GuardedLogger, logger, stack_as_text, tell
from failsoft.framework.errors import BadOutput
from failsoft.framework.observability.log_facts import failure_facts, finished_facts, recovery_facts

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.call.call import Call
    from failsoft.framework.call.ports import RecoveryOutcome

__all__ = ["configure_logging", "log_broken", "log_failed", "log_finished", "log_recovery"]


def log_finished(call: Call, duration_s: float) -> None:
    """Log a call that returned a value: DEBUG, INFO if recovered, WARNING if degraded, warned or slow."""
    if call.receipt is not None:
        level = "WARNING" if call.receipt.degraded else "INFO"
        _say(level, "Call recovered", (finished_facts, "call_recovered", call, duration_s))
    elif call.warnings:
        _say("WARNING", "Call succeeded with warnings", (finished_facts, "call_warned", call, duration_s))
    elif duration_s > call.bound.settings.slow_call_s:
        _say("WARNING", "Call was slow", (finished_facts, "call_slow", call, duration_s))
    elif not _is_silent(_DEBUG):
        _say("DEBUG", "Call succeeded", (finished_facts, "call_succeeded", call, duration_s))


def log_failed(call: Call, failure: Failure, duration_s: float) -> None:
    """Log a call that failed: WARNING for an expected failure, ERROR with the traceback for a crash."""
    tell(_log_failed, call, failure, duration_s)


def _log_failed(call: Call, failure: Failure, duration_s: float) -> None:
    if failure.is_crash:
        report_crash(failure.exception, operation=failure.operation, error_id=failure.error_id)
    if not _is_silent(_ERROR if failure.is_crash else _WARNING):
        report = (failure_facts, "call_failed", call, failure, duration_s)
        if failure.is_crash:
            _say("ERROR", "Call failed", report, failure.exception)
        else:
            _say("WARNING", "Call failed", report)
    if failure.code == BadOutput.code and failure.exception.__cause__ is not None:
        function = call.handler or call.bound.function
        report_result(failure.exception, function, operation=failure.operation, error_id=failure.error_id)


def log_recovery(call: Call, strategy: str, result: RecoveryOutcome) -> None:
    """Log that a recovery strategy was tried, at INFO."""
    if not _is_silent(_INFO):
        _say("INFO", "Recovery was tried", (recovery_facts, "recovery_tried", call, strategy, result))


def log_broken(call: Call, what: str, error: BaseException, *, level: str = "WARNING") -> None:
    """Log that a part of a toolset that only tells, or that comes after the work, has raised."""
    facts = {"tool": call.tool, "operation": call.operation, "request_id": call.request_id}
    logger.bind(**facts).opt(exception=error).log(level, what)


def configure_logging(
    level: str | None = None,
    *,
    json_lines: bool | None = None,
    stream: Any = None,
    intercept: tuple[str, ...] = (),
) -> int:
    """Set up logging for an application, in place of all sinks that loguru has, and return the new sink's id.

    Args:
        level: The least level that is written; by default `FAILSOFT_LOG_LEVEL`.
        json_lines: One JSON object a line, or text for people; by default `FAILSOFT_LOG_JSON`.
        stream: Where to; by default standard error. Never standard output, which belongs to the protocol under stdio.
        intercept: Loggers of the standard library whose records are written too (`mcp`, `uvicorn`); an empty name is
            the root, which has those of all libraries and the warnings.

    Raises:
        CONFIG_ERROR: The level does not exist, the stream is standard output, or a setting is not usable.
    """
    from failsoft.framework.observability.log_sink import add_sink  # noqa: PLC0415 - a library that only logs needs no settings

    return add_sink(level, json_lines=json_lines, stream=stream, intercept=intercept)


def _fill_in(record: Any) -> None:
    """Replace the bound function by the facts it returns; loguru calls this only for lines that a sink may accept."""
    extra = record["extra"]
    gather, event, *arguments = extra.pop("report")
    extra["event"] = event
    error = tell(lambda: extra.update(gather(*arguments)))
    if error is not None:  # a line without facts is better than none
        extra["facts_failed"] = type(error).__name__
    record["message"] = extra.pop("message", record["message"])
    stack_as_text(record)


def _say(level: str, message: str, report: tuple[Any, ...], error: BaseException | None = None) -> None:
    log = _log if error is None else _log.opt(exception=error)
    log.log(level, message, report=report)


_log = GuardedLogger(loguru.patch(_fill_in).opt(depth=2))
_core: Any = getattr(loguru, "_core", None)
_DEBUG, _INFO, _WARNING, _ERROR = 10, 20, 30, 40


def _is_silent(level: int) -> bool:
    """Return whether no sink takes the lines of this module at this level: then they are not even begun.

    loguru finds that out itself, but only after a tenth of the cost of a successful call.
    """
    try:
        return bool(_core.min_level > level or _core.enabled.get(__name__) is False)
    except AttributeError:  # another version of loguru keeps it elsewhere
        return False
