"""Logging of calls: at most one redacted line each, and none until the application enables it.

The messages are constants and the facts are bound to the record: loguru formats a message whenever it is given
keywords, so a `{` in foreign text would raise. The facts are computed only if a sink accepts the line.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from loguru import logger

from failsoft.framework.diagnostics.loggable import loggable
from failsoft.framework.diagnostics.reports import report_crash, report_result
from failsoft.framework.errors import BadOutput
from failsoft.framework.observability.log_facts import failure_facts, finished_facts, recovered_facts, recovery_facts
from failsoft.framework.observability.recovered_calls import calls_to_report

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.call.call import Call
    from failsoft.framework.call.ports import RecoveryOutcome

__all__ = ["configure_logging", "log_failed", "log_finished", "log_recovery"]


def log_finished(call: Call, duration_s: float) -> None:
    """Log a call that returned a value: DEBUG, WARNING if degraded, warned or slow.

    INFO if recovered, once a minute for each cause, with the number of calls; the others of the minute are DEBUG.
    """
    try:
        if call.receipt is not None:
            count = calls_to_report(call, call.receipt)
            level = "WARNING" if call.receipt.degraded else "INFO" if count else "DEBUG"
            _log.log(level, "Call recovered", report=(recovered_facts, "call_recovered", call, duration_s, count))
        elif call.warnings:
            _log.warning("Call succeeded with warnings", report=(finished_facts, "call_warned", call, duration_s))
        elif duration_s > call.bound.settings.slow_call_s:
            _log.warning("Call was slow", report=(finished_facts, "call_slow", call, duration_s))
        elif not _is_silent(_DEBUG):
            _log.debug("Call succeeded", report=(finished_facts, "call_succeeded", call, duration_s))
    except Exception:  # noqa: BLE001, S110 - a failing sink must not fail the call; `suppress` would cost 0.4 us
        pass


def log_failed(call: Call, failure: Failure, duration_s: float) -> None:
    """Log a call that failed: WARNING for an expected failure, ERROR with the traceback for a crash."""
    try:
        if failure.is_crash:
            report_crash(failure.exception, operation=failure.operation, error_id=failure.error_id)
        if not _is_silent(_ERROR if failure.is_crash else _WARNING):
            report = (failure_facts, "call_failed", call, failure, duration_s)
            if failure.is_crash:
                _log.opt(exception=failure.exception).error("Call failed", report=report)
            else:
                _log.warning("Call failed", report=report)
        if failure.code == BadOutput.code and failure.exception.__cause__ is not None:
            function = call.handler or call.bound.function
            report_result(failure.exception, function, operation=failure.operation, error_id=failure.error_id)
    except BaseException:  # noqa: BLE001, S110 - and an exception may raise anything in every attribute that is read
        pass


def log_recovery(call: Call, strategy: str, result: RecoveryOutcome) -> None:
    """Log that a recovery strategy was tried, at INFO."""
    if _is_silent(_INFO):
        return
    with suppress(Exception):
        _log.info("Recovery was tried", report=(recovery_facts, "recovery_tried", call, strategy, result))


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
    try:
        extra.update(gather(*arguments))
    except Exception as error:  # noqa: BLE001 - a line without facts is better than none
        extra["facts_failed"] = type(error).__name__
    record["message"] = extra.pop("message", record["message"])
    if (exception := record["exception"]) is not None:
        try:
            record["exception"] = type(exception)(*loggable(exception.value))
        except BaseException:  # noqa: BLE001 - an exception may raise anything in every attribute that is read
            record["exception"] = None


_log = logger.patch(_fill_in)
_core: Any = getattr(logger, "_core", None)
_DEBUG, _INFO, _WARNING, _ERROR = 10, 20, 30, 40


def _is_silent(level: int) -> bool:
    """Return whether no sink takes the lines of this module at this level: then they are not even begun.

    loguru finds that out itself, but only after a tenth of the cost of a successful call.
    """
    try:
        return bool(_core.min_level > level or _core.enabled.get(__name__) is False)
    except AttributeError:  # another version of loguru keeps it elsewhere
        return False
