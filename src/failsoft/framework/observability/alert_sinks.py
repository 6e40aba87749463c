"""Alert sinks: the log, a webhook, and Alertmanager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loguru import logger  # noqa: TID251 - one of the things that the guard is around

from failsoft.framework.safe.json_safe import dumps
from failsoft.framework.safe.redaction import redact, redact_text
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure

_FIRST_REFUSAL = 300


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


_log = logger.patch(_say_what_failed)
