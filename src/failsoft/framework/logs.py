"""What is logged of a call: one line at most, redacted, and nothing at all until an application asks for it.

The messages are constants and the facts travel beside them: loguru formats a message whenever it is given keywords, so
a `{` in foreign text would raise. The facts are gathered only if a sink takes the line.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from loguru import logger

from failsoft.framework._log_facts import failure_facts, finished_facts, recovery_facts

if TYPE_CHECKING:
    from failsoft.framework.context import CallContext
    from failsoft.framework.failure import Failure
    from failsoft.framework.ports import RecoveryOutcome

__all__ = ["configure_logging", "log_failed", "log_finished", "log_recovery"]


def log_finished(call: CallContext, duration_s: float) -> None:
    """Log a call that was answered with a value: DEBUG, or WARNING if it was recovered, has warnings, or was slow."""
    try:
        if call.receipt is not None:
            _log.warning("Call recovered", report=(finished_facts, "call_recovered", call, duration_s))
        elif call.warnings:
            _log.warning("Call succeeded with warnings", report=(finished_facts, "call_warned", call, duration_s))
        elif duration_s > call.bound.settings.slow_call_s:
            _log.warning("Call was slow", report=(finished_facts, "call_slow", call, duration_s))
        else:
            _log.debug("Call succeeded", report=(finished_facts, "call_succeeded", call, duration_s))
    except Exception:  # noqa: BLE001, S110 - a sink that breaks must not cost the answer; `suppress` would cost 0.4 us
        pass


def log_failed(call: CallContext, failure: Failure, duration_s: float) -> None:
    """Log a call that failed: WARNING if somebody foresaw it, ERROR with the stack if it crashed."""
    level = "ERROR" if failure.is_crash else "WARNING"
    try:  # noqa: SIM105 - `suppress` would cost 0.4 us
        _log.log(level, "Call failed", report=(failure_facts, "call_failed", call, failure, duration_s))
    except Exception:  # noqa: BLE001, S110 - the same as above
        pass


def log_recovery(call: CallContext, strategy: str, result: RecoveryOutcome) -> None:
    """Log that a recovery strategy was tried, at INFO."""
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
    from failsoft.framework._log_sink import add_sink  # noqa: PLC0415 - a library that only logs needs no settings

    return add_sink(level, json_lines=json_lines, stream=stream, intercept=intercept)


def _fill_in(record: Any) -> None:
    """Put the facts in place of the recipe for them; loguru calls this only for lines that some sink may take."""
    extra = record["extra"]
    gather, event, *arguments = extra.pop("report")
    extra["event"] = event
    try:
        extra.update(gather(*arguments))
    except Exception as error:  # noqa: BLE001 - a line without facts is better than none
        extra["facts_failed"] = type(error).__name__
    record["message"] = extra.pop("message", record["message"])


_log = logger.patch(_fill_in)
