"""What OpenTelemetry and Sentry are told of calls."""

from __future__ import annotations

from functools import partial

from failsoft.framework.settings import Settings
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.telemetry.defects import reporting
from failsoft.server.telemetry.exporters import exporting


def start_with(lifecycle: Lifecycle, settings: Settings) -> None:
    """Start the exporters that the environment asks for with the toolsets of a server, and flush them at its end."""
    lifecycle.enclosed_by(partial(exporting, settings.service_name), partial(reporting, settings.environment))
