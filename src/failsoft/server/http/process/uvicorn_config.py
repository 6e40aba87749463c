"""uvicorn configuration, for one process or several workers."""

from __future__ import annotations

from functools import partial
from typing import Any

import uvicorn

from failsoft.server.http.connections import ConnectionLimits, LimitedProtocol

_LAST_BYTES_S = 3
"""Time for clients to read pending responses once the server has drained, in seconds."""

_HUNG_AFTER_S = 30
"""A worker that sends no heartbeat for this long is replaced, in seconds."""


def config_for(
    app: Any, *, limits: ConnectionLimits | None = None, workers: int = 1, factory: bool = False
) -> uvicorn.Config:
    """Return the configuration of uvicorn: bounded connections, no access log, no logging set-up, no websockets."""
    return uvicorn.Config(
        app,
        http=partial(LimitedProtocol, limits or ConnectionLimits()),  # type: ignore[arg-type]  # uvicorn accepts any factory
        factory=factory,
        workers=workers,
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_LAST_BYTES_S,
        timeout_worker_healthcheck=_HUNG_AFTER_S,
    )
