"""Alerts on critical failures: equal ones once, a limited number a minute, sent from a thread of their own."""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, runtime_checkable

from loguru import logger as loguru  # noqa: TID251 - one of the things that the guard is around

from failsoft.framework.safe.author_reports import logger, tell
from failsoft.framework.safe.json_safe import dumps
from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.settings import Settings

Key: TypeAlias = tuple[str, str, str, str]
_KEYS_AT_MOST = 1_000
_MINUTE_S = 60.0
_AT_EXIT_S = 2.0
_FIRST_REFUSAL = 300


@runtime_checkable
class AlertSink(Protocol):
    """A destination of alerts on critical failures. Called from the alert thread, not during a call."""

    name: str

    def send(self, failure: Failure, *, suppressed: int) -> None:
        """Deliver one alert, with the number of suppressed equal ones; may block, and may raise (which is logged)."""


class AlertDispatcher:
    """Sends critical failures to the sinks, one at a time, from a daemon thread that starts with the first alert.

    Equal alerts (same code, toolset and operation) within `dedup_s` are counted instead of sent, and the next one says
    how many. An alert that a sink failed to deliver does not count as sent there: the next equal one is sent to it.

    Args:
        sinks: The sinks, each with a `name` and a `send`.
        dedup_s: How long equal alerts are suppressed, in seconds.
        per_minute: Alerts of all kinds in any 60 seconds; more are dropped.
        capacity: Length of the queue; alerts beyond it are dropped.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        sinks: Sequence[AlertSink],
        *,
        dedup_s: float = 300.0,
        per_minute: int = 30,
        capacity: int = 100,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sinks = tuple(sinks)
        self._dedup_s = dedup_s
        self._clock = clock
        self._lock = threading.Lock()
        self._sent: OrderedDict[Key, _Sent] = OrderedDict()
        self._last_minute: deque[float] = deque(maxlen=per_minute)
        self._waiting: queue.Queue[tuple[_Sent, Failure, int] | None] = queue.Queue(capacity + 1)
        self._capacity = capacity
        self._thread: threading.Thread | None = None
        self._closed = False
        self.dropped = 0
        """Alerts dropped by a limit or after `close`; suppressed ones are not counted."""
        self.on_undelivered: Callable[[str], object] = str
        """Called with the name of a sink that has failed to deliver an alert."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return a dispatcher to the log, and to the webhook and the Alertmanager if they are set."""
        sinks: list[AlertSink] = [LogSink()]
        addresses = ((WebhookSink, settings.alert_webhook_url), (AlertmanagerSink, settings.alert_alertmanager_url))
        sinks += [
            kind(url.get_secret_value(), service=settings.service_name, environment=settings.environment)
            for kind, url in addresses
            if url is not None
        ]
        return cls(sinks, dedup_s=settings.alert_dedup_s)

    def dispatch(self, failure: Failure, *, about: str = "") -> None:
        """Queue an alert, or count it as suppressed. Never blocks and never raises.

        Args:
            failure: What the alert says.
            about: What sets it apart from other alerts of its code, toolset and operation.
        """
        if tell(self._dispatch, (failure.code, failure.tool, failure.operation, about), failure) is not None:
            self.dropped += 1  # such as a thread that cannot start

    def close(self, timeout_s: float = 5.0) -> bool:
        """Deliver queued alerts and accept no more; return whether all were sent within the limit, in seconds."""
        with self._lock:
            first, self._closed = not self._closed, True
            thread = self._thread
        if thread is None:
            return True
        if first:
            self._waiting.put_nowait(None)
        thread.join(timeout_s)
        if thread.is_alive():
            return False
        atexit.unregister(self._close_at_exit)
        return True

    def _dispatch(self, key: Key, failure: Failure) -> None:
        with self._lock:
            now = self._clock()
            last = self._sent.get(key)
            is_known = last is not None and now - last.at < self._dedup_s
            if last is not None and is_known and not last.failed:
                last.suppressed += 1
                return
            if self._closed or self._waiting.qsize() >= self._capacity or self._is_too_often(now):
                self.dropped += 1
                return
            self._last_minute.append(now)
            suppressed = 0 if last is None else last.suppressed
            sent = _Sent(now, self._sinks)
            if last is not None and is_known:  # other sinks have it
                sent = _Sent(last.at, last.failed, suppressed + 1)
            self._remember(key, sent)
            self._waiting.put_nowait((sent, failure, suppressed))
            if self._thread is None:
                self._start()

    def _is_too_often(self, now: float) -> bool:
        return len(self._last_minute) == self._last_minute.maxlen and now - self._last_minute[0] < _MINUTE_S

    def _remember(self, key: Key, sent: _Sent) -> None:
        self._sent[key] = sent
        self._sent.move_to_end(key)
        if len(self._sent) > _KEYS_AT_MOST:
            self._sent.popitem(last=False)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._deliver_all, name="failsoft-alerts", daemon=True)
        self._thread.start()
        atexit.register(self._close_at_exit)

    def _close_at_exit(self) -> None:
        self.close(_AT_EXIT_S)

    def _deliver_all(self) -> None:
        told_of = 0
        while (alert := self._waiting.get()) is not None:
            self._deliver(*alert)
            if self.dropped > told_of:
                told_of = self.dropped
                logger.warning("Alerts were dropped", dropped=told_of)

    def _deliver(self, sent: _Sent, failure: Failure, suppressed: int) -> None:
        for sink in sent.sinks:
            error = tell(sink.send, failure, suppressed=suppressed)  # one failing sink does not affect the others
            if error is not None:
                with self._lock:
                    sent.failed = (*sent.failed, sink)
                tell(self.on_undelivered, sink.name)
                tell(_report_undelivered, sink, error)


@dataclass(slots=True)
class _Sent:
    """When an alert was sent to which sinks, how many equal ones were suppressed since, and where it did not arrive."""

    at: float
    sinks: tuple[AlertSink, ...]
    suppressed: int = 0
    failed: tuple[AlertSink, ...] = ()


def _report_undelivered(sink: AlertSink, error: BaseException) -> None:
    """Log the type of what a sink raised, and no more: the text may hold the webhook's address, which is a secret."""
    logger.warning("An alert was not delivered", sink=sink.name, error=type(error).__name__)


class LogSink:
    """Writes alerts to the log, at CRITICAL."""

    name = "log"

    def send(self, failure: Failure, *, suppressed: int) -> None:
        """Write one line."""
        _log.critical("Alert", event="alert", **_facts(failure, suppressed))


class WebhookSink:
    """Posts each alert as a JSON object to a webhook.

    The keys: `text` (one line, as Slack and Mattermost show it), `severity`, `service`, `environment`, `code`,
    `category`, `tool`, `operation`, `message`, `effect`, `error_id`, `timestamp`, `suppressed` (equal alerts suppressed
    since the last one) and `operator_hint`. Redacted; no details, no arguments, no stack.

    Args:
        url: The webhook; a secret, since such URLs contain their key.
        service: The name of this service.
        environment: The environment it runs in.
        timeout_s: Time-out of each step of the exchange (connect, write, read), in seconds.
    """

    name = "webhook"

    def __init__(self, url: str, *, service: str, environment: str, timeout_s: float = 5.0) -> None:
        self._url = url
        self._about = {"severity": "critical", "service": service, "environment": environment}
        self._timeout_s = timeout_s

    def send(self, failure: Failure, *, suppressed: int) -> None:
        """Post one alert.

        Raises:
            ConnectionError: The response is not a success.
        """
        import httpx2  # noqa: PLC0415 - 100 ms, in the alert thread, only with a webhook

        body = dumps(redact(self._body(_facts(failure, suppressed))))
        headers = {"content-type": "application/json"}
        # Only the header of the response is read: an endless body would delay every later alert.
        with httpx2.stream("POST", self._url, content=body, headers=headers, timeout=self._timeout_s) as answer:
            if answer.status_code >= _FIRST_REFUSAL:
                msg = f"the {self.name} answered {answer.status_code}"
                raise ConnectionError(msg)

    def _body(self, facts: dict[str, Any]) -> Any:
        text = f"[{self._about['environment']}] {self._about['service']}: {facts['code']} in {facts['operation']}. "
        return {"text": text + facts["message"], **self._about, **facts}


class AlertmanagerSink(WebhookSink):
    """Posts each alert to the API (v2) of an Alertmanager.

    The labels, by which it groups and routes: `alertname` (`FailsoftCriticalFailure`), `severity`, `service`,
    `environment`, `code`, `category`, `tool` and `operation`. The annotations: `summary` and the alert's other facts.

    Args:
        url: The base address of the Alertmanager; a secret, since it may contain a password.
        service: The name of this service.
        environment: The environment it runs in.
        timeout_s: Time-out of each step of the exchange (connect, write, read), in seconds.
    """

    name = "alertmanager"

    def __init__(self, url: str, *, service: str, environment: str, timeout_s: float = 5.0) -> None:
        url = f"{url.rstrip('/')}/api/v2/alerts"
        super().__init__(url, service=service, environment=environment, timeout_s=timeout_s)

    def _body(self, facts: dict[str, Any]) -> Any:
        routed = {name: facts.pop(name) for name in ("code", "category", "tool", "operation")}
        noted = {"summary": facts.pop("message"), **facts}
        labels = {"alertname": "FailsoftCriticalFailure", **self._about, **routed}
        annotations = {name: str(value) for name, value in noted.items()}
        return [{"labels": labels, "annotations": annotations, "startsAt": facts["timestamp"]}]


def _facts(failure: Failure, suppressed: int) -> dict[str, Any]:
    error = failure.exception
    return {
        "code": failure.code,
        "category": failure.category,
        "tool": failure.tool,
        "operation": failure.operation,
        "message": redact_text(failure.message),
        "effect": failure.effect,
        "error_id": failure.error_id,
        "timestamp": failure.timestamp,
        "suppressed": suppressed,
        # A configuration error without a hint has a resolution.
        "operator_hint": redact_text(bounded(error.operator_hint or str(getattr(error, "resolution", "") or ""))),
    }


def _say_what_failed(record: Any) -> None:
    record["message"] = record["extra"].pop("message")


_log = loguru.patch(_say_what_failed)
