"""Report defects to Sentry, one event for each call that fails by one; failures that are expected are none.

An application that has initialized sentry-sdk gets them in its own project, else `SENTRY_DSN` alone starts the SDK.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.shared.exceptions import MCPError

from failsoft._version import __version__
from failsoft.framework.answer.failure import Failure
from failsoft.framework.call import CallScope
from failsoft.framework.safe.author_reports import logger, tell
from failsoft.framework.safe.redaction import redact, secrets_of, without
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tracebacks import author_line, original

_FLUSH_S = 2.0
"""How long the end of a server may wait for Sentry, in seconds."""
_LINES = ("pre_context", "post_context")
_installed: set[int] = set()


@contextmanager
def reporting(environment: str) -> Iterator[None]:
    """Report defects while the block lasts, if `SENTRY_DSN` is set; nothing of it stops the server."""
    error = tell(_start, environment) if os.environ.get("SENTRY_DSN") else None
    if error is not None:
        logger.opt(exception=error).error("Sentry could not be started")
    try:
        yield
    finally:
        sdk: Any = sys.modules.get("sentry_sdk")
        if sdk is not None and sdk.is_initialized():
            thread = threading.Thread(target=tell, args=(sdk.flush, _FLUSH_S), daemon=True)
            thread.start()
            thread.join(2 * _FLUSH_S)


def _start(environment: str) -> None:
    """Initialize sentry-sdk, which reads its `SENTRY_*` variables, unless the application has done so."""
    try:
        import sentry_sdk  # noqa: PLC0415 - of the extra, where a variable asks for it
    except ImportError:
        logger.warning("SENTRY_DSN is set, but sentry-sdk is not installed: failsoft[sentry] has it")
        return
    if not sentry_sdk.is_initialized():
        # No integration: each would send more than defects, or what the logs redact.
        sentry_sdk.init(
            environment=os.environ.get("SENTRY_ENVIRONMENT") or environment,
            default_integrations=False,
            include_local_variables=False,
            max_breadcrumbs=0,
            send_default_pii=False,
        )


def install() -> None:
    """Have Sentry's own integrations leave failures of calls to `report`, if sentry-sdk is loaded."""
    sdk: Any = sys.modules.get("sentry_sdk")
    if sdk is not None and id(scope := sdk.get_global_scope()) not in _installed:
        _installed.add(id(scope))
        scope.add_event_processor(_without_duplicates)


def report(failure: Failure, scope: CallScope) -> None:
    """Send the defect that has failed a call, redacted, without arguments and local variables.

    Sentry groups events by code, operation and origin (`file:line`).
    """
    sdk: Any = sys.modules.get("sentry_sdk")
    if sdk is None or not sdk.is_initialized():
        return
    install()
    options = {**sdk.get_client().options, "include_local_variables": False}
    mechanism = {"type": "failsoft", "handled": True}
    event, _ = sdk.utils.event_from_exception(original(failure.exception), options, mechanism)
    origin = author_line(failure.exception).partition(" in ")[0]
    ids = {"error_id": failure.error_id, "request_id": failure.request_id}
    known = {name: getattr(failure, name) for name in ("code", "category", "tool", "operation", "effect")}
    event.update(
        exception=without(_redacted(event["exception"]), secrets_of(failure.sent)),
        fingerprint=[failure.code, failure.operation, origin],
        tags={name: value for name, value in {**known, **ids}.items() if value},
        logger="failsoft",
        transaction=failure.operation,
        contexts={"failsoft": {"version": __version__, "origin": origin}, "trace": _trace(sdk, scope)},
    )
    sdk.capture_event(event)


def _trace(sdk: Any, scope: CallScope) -> dict[str, Any]:
    """Return the trace of a call, else Sentry's own, without the arguments that its integration for MCP adds."""
    if scope.traceparent:
        return {"trace_id": scope.traceparent[3:35], "span_id": scope.traceparent[36:52]}
    known = sdk.get_current_scope().get_trace_context()
    return {name: known[name] for name in ("trace_id", "span_id") if known.get(name)}


def _redacted(exceptions: dict[str, Any]) -> dict[str, Any]:
    """Return the exceptions of an event with the texts that logs would show."""
    for one in exceptions["values"]:
        one["value"] = redact_text(str(one.get("value") or ""))
        for frame in (one.get("stacktrace") or {}).get("frames", ()):
            frame.pop("vars", None)
            frame["context_line"] = redact_text(frame.get("context_line") or "")
            for name in _LINES:
                frame[name] = [redact_text(line) for line in frame.get(name) or ()]
    redacted: dict[str, Any] = redact(exceptions)
    return redacted


def _without_duplicates(event: Any, hint: Any) -> Any:
    """Return an event of Sentry; None for one of a call that has failed, which `report` sends if it is a defect."""
    record = hint.get("log_record")
    if record is not None:
        extra = getattr(record, "extra", None)
        is_of_call = "(error id " in record.getMessage() or (isinstance(extra, dict) and "error_id" in extra)
        return None if is_of_call else event
    error = (hint.get("exc_info") or (None, None))[1]
    data = error.error.data if isinstance(error, MCPError) else None
    return None if isinstance(data, dict) and "code" in data else event
