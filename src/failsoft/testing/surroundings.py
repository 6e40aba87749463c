"""`fresh_runtime`: surroundings that nothing else has a part in."""

from __future__ import annotations

from typing import Any

from failsoft.framework.runtime import Runtime
from failsoft.framework.settings import Settings
from failsoft.metrics import PrometheusRecorder
from failsoft.recovery import RecoveryManager

__all__ = ["fresh_runtime"]


def fresh_runtime(*, settings: Settings | None = None, **parts: Any) -> Runtime:
    """Return a runtime like the default one, with state, strategies and metrics that no other test has touched.

    Args:
        settings: By default read from the environment.
        parts: Others of `Runtime`, in the place of fresh ones.
    """
    settings = settings or Settings.load()
    parts.setdefault("recovery", RecoveryManager.default())
    parts.setdefault("metrics", PrometheusRecorder(label_limit=settings.metrics_label_limit))
    return Runtime(settings=settings, **parts)
