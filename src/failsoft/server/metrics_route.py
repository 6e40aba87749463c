"""`/metrics`: what Prometheus scrapes, rendered off the event loop."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from failsoft.framework.toolbox import Toolbox

__all__ = ["metrics_endpoint"]


def metrics_endpoint(toolbox: Toolbox) -> ASGIApp:
    """Stub."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("")(scope, receive, send)

    return endpoint
