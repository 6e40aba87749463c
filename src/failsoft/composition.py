"""Composition root: wires recovery, metrics, alerts and state into the default runtime."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from failsoft.framework.call.runtime import Parts, default_runtime, use_parts

if TYPE_CHECKING:
    from pathlib import Path

    from failsoft.framework.call.chain import RecoveryConfigurationPort, RecoveryEngine
    from failsoft.framework.events import Events
    from failsoft.framework.logs.alerts import AlertDispatcher
    from failsoft.framework.recorders import Recorder
    from failsoft.framework.settings import Settings
    from failsoft.framework.state.store import StateStore

__all__ = ["default_runtime", "durable_file", "install"]
durable_file: Path | None = None
"""The file that `install` was given last."""


def install(*, durable: Path | None = None) -> None:
    """Register the default parts. Nothing heavy is imported before the first runtime is made.

    Args:
        durable: The SQLite file of durable records where FAILSOFT_STATE_URL is not set; None keeps them in memory.
    """
    global durable_file  # noqa: PLW0603 - processes for jobs are set up alike
    durable_file = durable
    state = _state if durable is None else partial(_state, durable=durable)
    use_parts(Parts(metrics=_metrics, recovery=_recovery, alerts=_alerts, state=state, configuration=_configuration))


def _metrics(settings: Settings) -> Recorder:
    from failsoft.metrics import PrometheusRecorder  # noqa: PLC0415 - prometheus_client loads when metrics are on

    return PrometheusRecorder(label_limit=settings.metrics_label_limit)


def _recovery(settings: Settings) -> RecoveryEngine:  # noqa: ARG001 - one signature for all makers
    from failsoft.recovery.manager import RecoveryManager  # noqa: PLC0415 - with the first tool, not with `import failsoft`

    return RecoveryManager.default()


def _configuration(settings: Settings) -> RecoveryConfigurationPort | None:
    if settings.recovery_file is None and not settings.recovery:
        return None
    from failsoft.recovery.recovery_file import read_configuration  # noqa: PLC0415 - only where a file or table is set

    return read_configuration(settings.recovery_file, settings.recovery)


def _alerts(settings: Settings) -> AlertDispatcher:
    from failsoft.framework.logs.alerts import AlertDispatcher  # noqa: PLC0415 - with the first tool

    return AlertDispatcher.from_settings(settings)


def _state(settings: Settings, events: Events, durable: Path | None = None) -> StateStore:
    from failsoft.recovery.state.store import open_state  # noqa: PLC0415 - with the first tool

    url = None if settings.state_url is None else settings.state_url.get_secret_value()
    return open_state(
        url,
        events,
        prefix=settings.state_prefix,
        limit_s=settings.state_timeout_s,
        quota_bytes=settings.state_quota_bytes,
        durable=durable,
    )
