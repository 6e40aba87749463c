"""How uvicorn runs an app of ours, alone or as one of several workers."""

from __future__ import annotations

from typing import Any

import uvicorn

__all__ = ["config_for"]

_LAST_BYTES_S = 3
"""How long a client may take to read an answer that is ready, once the server has drained, in seconds."""

_HUNG_AFTER_S = 30
"""How long a worker may take to say that it lives before it is replaced, and its calls with it, in seconds."""


def config_for(app: Any, *, workers: int = 1, factory: bool = False) -> uvicorn.Config:
    """Return how uvicorn shall run the app: no access log, no logging set-up of its own, no websockets."""
    return uvicorn.Config(
        app,
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
