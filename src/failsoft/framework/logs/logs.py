"""One log line a call: its level and its facts, bounded and redacted; nothing if no sink takes it."""

from __future__ import annotations

import traceback
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from loguru import logger as loguru  # noqa: TID251 - becomes a guarded logger of its own

from failsoft.framework.clock import OnceAMinute
from failsoft.framework.errors import BadOutput
from failsoft.framework.events import (
    CircuitEvent,
    Event,
    Events,
    IdempotencyEvent,
    RefusalEvent,
    StoreEvent,
    WorkerEvent,
)
from failsoft.framework.logs.defects import RepeatedDefects
from failsoft.framework.safe.author_reports import (
    GuardedLogger,
    logger,
    report_crash,
    report_exception,
    report_result,
    stack_as_text,
    tell,
)
from failsoft.framework.safe.redaction import ITEMS_AT_MOST, brief, secrets_of, without
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tracebacks import author_line, declaring_line, stack_of
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.errors.tool_error import ToolError
    from failsoft.framework.events import RecoveryOutcome

Call: TypeAlias = Any
"""A `Call`, whose room stands above this one. Read of it: `tool`, `operation`, `request_id`, `session_id`, `principal`,
`idempotency_key`, `params`, `attempt`, `receipt`, `warnings`, `error` and `handler`; of its `bound`: `settings`,
`function` and `tool.runtime`; of its `scope`: `trace_id`."""

_ID_AT_MOST = 200
_DEBUG, _INFO, _WARNING, _ERROR = 10, 20, 30, 40

_CIRCUITS = {
    "open": ("WARNING", "A circuit opened: its dependency is left alone for a while"),
    "half_open": ("INFO", "A circuit lets one call try its dependency"),
    "closed": ("INFO", "A circuit closed: its dependency is used again"),
}

_WORKERS = {
    "started": ("INFO", "A worker has started", ()),
    "stalled": ("ERROR", "The event loop of a worker is blocked", ("operation",)),
    "ended": ("WARNING", "A worker has ended", ("exit_status", "reason")),
}

_WITHOUT_ACCESS = frozenset({401, 403, 421})
"""Statuses of requests whose token, Host or Origin is not accepted."""

_LIMITED = frozenset({"rate_limited", "quota_exhausted"})
"""Categories of refusals that a caller without patience can cause by the thousand."""

_defects: weakref.WeakKeyDictionary[Any, RepeatedDefects] = weakref.WeakKeyDictionary()
_limited: weakref.WeakKeyDictionary[Any, OnceAMinute] = weakref.WeakKeyDictionary()
"""By runtime, both."""

_core: Any = getattr(loguru, "_core", None)


def log_finished(call: Call, duration_s: float) -> None:
    """Log a call that returned a value: DEBUG, INFO if recovered, WARNING if degraded, warned or slow."""
    if call.told.receipt is not None:
        if not is_silent(_WARNING if call.told.receipt.degraded else _INFO):
            level = "WARNING" if call.told.receipt.degraded else "INFO"
            _say(level, "Call recovered", (finished_facts, "call_recovered", call, duration_s))
    elif call.told.warnings:
        _say("WARNING", "Call succeeded with warnings", (finished_facts, "call_warned", call, duration_s))
    elif duration_s > call.bound.settings.slow_call_s:
        _say("WARNING", "Call was slow", (finished_facts, "call_slow", call, duration_s))
    elif not is_silent(_DEBUG):
        _say("DEBUG", "Call succeeded", (finished_facts, "call_succeeded", call, duration_s))


def log_failed(call: Call, failure: Failure, duration_s: float) -> None:
    """Log a call that failed: WARNING for an expected failure, ERROR with the traceback for a crash.

    Calls that a limit refused before their handler ran share one line a minute for each caller, operation and code.
    """
    is_crash = failure.category == "internal"
    if is_crash:
        report_crash(failure.exception, operation=failure.operation, error_id=failure.error_id)
        runtime = call.bound.tool.runtime
        tell(_defects.setdefault(runtime, RepeatedDefects()).count, failure, runtime.alerts)
    elif failure.exception.__cause__ is not None:
        report_exception(failure.exception, operation=failure.operation, error_id=failure.error_id)
    if not is_silent(_ERROR if is_crash else _WARNING):
        count = _times_limited(call, failure) if failure.category in _LIMITED and failure.rejected else 1
        if not count:
            return
        report = (failure_facts, "call_failed", call, failure, duration_s, count)
        if is_crash:
            _say("ERROR", "Call failed", report, failure.exception)
        else:
            _say("WARNING", "Call failed", report)
    if failure.code == BadOutput.code and failure.exception.__cause__ is not None:
        function = call.handler or call.bound.function
        report_result(failure.exception, function, operation=failure.operation, error_id=failure.error_id)


def _times_limited(call: Call, failure: Failure) -> int:
    """Count a refusal, and return how many are to be logged now."""
    refused = _limited.setdefault(call.bound.tool.runtime, OnceAMinute())
    return refused.due((call.tool, call.operation, failure.code, call.principal))


def log_recovery(call: Call, strategy: str, result: RecoveryOutcome) -> None:
    """Log that a recovery strategy was tried, at INFO."""
    if not is_silent(_INFO):
        _say("INFO", "Recovery was tried", (recovery_facts, "recovery_tried", call, strategy, result))


def log_asked(call: Call, question: Any) -> None:
    """Log that a person is asked, at INFO."""
    if not is_silent(_INFO):
        _say("INFO", "A question was put to a person", (_asked_facts, "person_asked", call, {"about": question.about}))


def log_answered(call: Call, answer: Any) -> None:
    """Log what the person did, at INFO."""
    if not is_silent(_INFO):
        told = {"action": answer.action, "by": answer.by, "answer": brief(dict(answer.content))}
        is_answered = answer.action in {"accept", "decline"}
        said = "The question was answered" if is_answered else "The question was not answered"
        _say("INFO", said, (_asked_facts, "person_answered", call, told))


def _asked_facts(call: Call, told: dict[str, Any]) -> dict[str, Any]:
    return _without_empty({**_call_facts(call), **told})


def log_broken(call: Call, what: str, error: BaseException, *, level: str = "WARNING") -> None:
    """Log that a part of a toolset that only tells, or that comes after the work, has raised."""
    facts = {"tool": call.tool, "operation": call.operation, "request_id": call.request_id}
    logger.bind(**facts).opt(exception=error).log(level, what)


def log_events(events: Events) -> None:
    """Log these events from now on; recoveries and attempts are logged with their call."""
    events.subscribe(_log_event, CircuitEvent, IdempotencyEvent, WorkerEvent)
    refused = OnceAMinute()

    def log_refusal(event: Event) -> None:
        if not isinstance(event, RefusalEvent) or event.status not in _WITHOUT_ACCESS:
            return
        if count := refused.due(event.status):
            facts = logger.bind(event="access_refused", status=event.status, count=count)
            facts.warning("Requests are refused: their token, Host or Origin is not accepted")

    events.subscribe(log_refusal, RefusalEvent)


def _log_event(event: Event) -> None:
    if isinstance(event, CircuitEvent):
        if event.was is not None:
            level, message = _CIRCUITS[event.state]
            logger.bind(event="circuit", dependency=event.dependency, reason=event.reason).log(level, message)
    elif isinstance(event, WorkerEvent):
        level, message, names = _WORKERS[event.kind]
        told = logger.bind(
            event=f"worker_{event.kind}", pid=event.pid, **{name: getattr(event, name) for name in names}
        )
        told.log("INFO" if event.reason == "stopped" else level, message)
    elif isinstance(event, IdempotencyEvent):
        facts = logger.bind(tool=event.tool, operation=event.operation, request_id=event.request_id)
        level = "WARNING" if event.verdict == "lost" else "INFO"
        facts.bind(event="idempotency", verdict=event.verdict).log(level, "An idempotency key was sent again")


def log_store(event: StoreEvent, *, is_counting: bool = True) -> None:
    """Log that the state store was lost, or that it is back; ERROR for what an operator has to repair.

    Args:
        event: What happened.
        is_counting: Whether breakers, budgets and limits are in it, too, and not records alone.
    """
    if event.available:
        logger.bind(event="store_back", fault=event.fault).info("The state store is back")
        return
    others = "breakers, budgets and limits count in this process alone" if is_counting else "other calls do not use it"
    message = f"The state store is lost: calls that need its records (keys, sessions, plans) are refused; {others}"
    lost = logger.bind(event="store_lost", fault=event.fault, reason=event.reason)
    lost.log("ERROR" if event.fault == "damaged" else "WARNING", message)


def configure_logging(
    level: str | None = None,
    *,
    json_lines: bool | None = None,
    stream: Any = None,
    intercept: tuple[str, ...] = (),
) -> int:
    """Set up logging for an application, in place of all sinks that loguru has, and return the new sink's id.

    Args:
        level: The lowest level that is written; by default `FAILSOFT_LOG_LEVEL`.
        json_lines: One JSON object per line, or else text for people; by default `FAILSOFT_LOG_JSON`.
        stream: Where to; by default standard error. Never standard output, which belongs to the protocol under stdio.
        intercept: Loggers of the standard library whose records are written too (`mcp`, `uvicorn`); an empty name is
            the root, which has those of all libraries and the warnings.

    Raises:
        CONFIG_ERROR: The level does not exist, the stream is standard output, or a setting is not usable.

    Examples:
        >>> sink = configure_logging(level="INFO", json_lines=True)  # doctest: +SKIP
    """
    from failsoft.framework.logs.log_output import add_sink  # noqa: PLC0415 - a library that only logs needs no settings

    return add_sink(level, json_lines=json_lines, stream=stream, intercept=intercept)


def failure_facts(call: Call, failure: Failure, duration_s: float, count: int = 1) -> dict[str, Any]:
    """Return the facts of a failed call; the stack only of a crash, the text of the cause otherwise.

    Args:
        call: The call.
        failure: How it failed.
        duration_s: How long it took.
        count: How many calls were refused in this way since the last line about one, this one included.
    """
    error = failure.exception
    facts = {
        # Only the error's message: the next step of the response may quote arguments.
        "message": redact_text(bounded(str(error.message))),
        **_call_facts(call, duration_s),
        "code": failure.code,
        "category": failure.category,
        "error_type": error.error_type,
        "numeric_code": error.numeric_code,
        "effect": failure.effect,
        "recoverable": failure.recoverable,
        "recovered": False,
        "error_id": failure.error_id,
        "details": brief(error.all_details()),
        "violations": [redact_text(bounded(f"{item.path}: {item.reason}")) for item in error.violations][
            :ITEMS_AT_MOST
        ],
        "operator_hint": redact_text(bounded(error.operator_hint)),
        "count": count if count > 1 else None,
    }
    if failure.is_crash:
        facts["stack_trace"] = stack_of(error)
    else:
        facts["cause"] = _cause(error)
    if error.__cause__ is not None:
        function = call.handler or call.bound.function  # whose result is at fault where none of its lines is
        facts["place"] = author_line(error) or (declaring_line(function) if failure.code == BadOutput.code else "")
    secrets = secrets_of(call.params) + call.bound.arguments.accepted.secrets_in(call.params)
    return _without_empty(without(facts, secrets))


def finished_facts(call: Call, duration_s: float) -> dict[str, Any]:
    """Return the facts of a call that returned a value."""
    facts = {**_call_facts(call, duration_s), "attempts": call.attempt}
    receipt = call.told.receipt
    if receipt is not None:
        facts["recovered"] = True
        facts["strategy"] = receipt.strategy
        facts["degraded"] = receipt.degraded
        facts["recovery"] = redact_text(bounded(receipt.message))
    if call.told.warnings:
        facts["warnings"] = brief([*call.told.warnings])
    return _without_empty(facts)


def recovery_facts(call: Call, strategy: str, result: str) -> dict[str, Any]:
    """Return the facts of one attempt of a recovery strategy."""
    code = call.error.code if call.error is not None else None
    return _without_empty({**_call_facts(call), "code": code, "strategy": strategy, "result": result})


def _call_facts(call: Call, duration_s: float | None = None) -> dict[str, Any]:
    settings = call.bound.settings
    return {
        "service": settings.service_name,
        "environment": settings.environment,
        "tool": call.tool,
        "operation": call.operation,
        "request_id": _bounded_id(call.request_id),
        "trace_id": call.scope.trace_id,
        "idempotency_key": call.idempotency_key,
        "session_id": _bounded_id(call.session_id),
        "user": _bounded_id(call.principal),
        "duration_ms": None if duration_s is None else round(duration_s * 1000, 3),
    }


def _bounded_id(value: str | None) -> str | None:
    return None if value is None else bounded(str(value), _ID_AT_MOST)


def _cause(error: ToolError) -> str:
    cause = error.__cause__
    if cause is None:
        return ""
    text = "".join(traceback.format_exception_only(type(cause), cause))
    return redact_text(bounded(text.strip()))


def _without_empty(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts without empty ones."""
    return {name: value for name, value in facts.items() if value is not None and value not in ("", [], {})}


def is_silent(level: int) -> bool:
    """Return whether no sink takes lines of calls at this level (10, 20, 30, 40): then they are not even begun.

    loguru finds that out itself, but only after a tenth of the cost of a successful call.
    """
    try:
        return _core.min_level > level or _core.enabled.get(__name__) is False
    except AttributeError:  # another version of loguru keeps it elsewhere
        return False


def _say(level: str, message: str, report: tuple[Any, ...], error: BaseException | None = None) -> None:
    log = _log if error is None else _log.opt(exception=error)
    log.log(level, message, report=report)


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


_log = GuardedLogger(loguru.patch(_fill_in).opt(depth=2))
