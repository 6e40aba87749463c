"""`fresh_runtime`: an isolated runtime for a test."""

from __future__ import annotations

from typing import Any

from failsoft.framework.call.runtime import Runtime
from failsoft.framework.settings import Settings
from failsoft.metrics import PrometheusRecorder
from failsoft.recovery import RecoveryManager

__all__ = ["fresh_runtime"]


def fresh_runtime(*, settings: Settings | None = None, **parts: Any) -> Runtime:
    """Return a runtime like the default one, with its own state, strategies and metrics.

    Args:
        settings: By default read from the environment.
        parts: Arguments of `Runtime` that replace the fresh parts.
    """
    settings = settings or Settings.load()
    parts.setdefault("recovery", RecoveryManager.default())
    parts.setdefault("metrics", PrometheusRecorder(label_limit=settings.metrics_label_limit))
    return Runtime(settings=settings, **parts)
