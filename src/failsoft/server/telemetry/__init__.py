"""What OpenTelemetry and Sentry are told of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.settings import Settings
from failsoft.metrics.definitions import ALERT_FAILURES
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.telemetry.defects import reporting
from failsoft.server.telemetry.exporters import exporting


def start_with(lifecycle: Lifecycle, settings: Settings) -> None:
    """Start the exporters that the environment asks for with the toolsets of a server, and flush them at its end."""
    lifecycle.enclosed_by(partial(exporting, settings.service_name), partial(reporting, settings.environment))


def count_lost_alerts(tools: Iterable[BaseTool]) -> None:
    """Count the alerts of these tools that a sink fails to deliver."""
    for runtime in (tool.runtime for tool in tools):
        count = getattr(runtime.metrics, "count", None)  # recorders of others may have none
        if runtime.alerts is not None and count is not None:
            runtime.alerts.on_undelivered = partial(_count_lost, count)


def _count_lost(count: Callable[..., None], sink: str) -> None:
    count(ALERT_FAILURES, sink if sink in ALERT_FAILURES.values else "other")
