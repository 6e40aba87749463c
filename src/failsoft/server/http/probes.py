"""Liveness and readiness probes (`/healthz`, `/readyz`)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from failsoft.server.lifecycle import Lifecycle

_NEVER_STORED = {"cache-control": "no-store"}


def probe_routes(lifecycle: Lifecycle) -> list[Route]:
    """Return the two routes.

    `/healthz` is 200 while the event loop runs. `/readyz` follows the server's lifespan: 503 before start-up has
    finished, while the server drains, and after the SDK's session manager has failed, which ends the lifespan. Its body
    names what is degraded, such as the audit log.
    """

    async def healthz(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "alive"}, headers=_NEVER_STORED)

    async def readyz(_request: Request) -> JSONResponse:
        status_code = 200 if lifecycle.is_ready else 503
        degraded = {"degraded": lifecycle.degraded} if lifecycle.degraded else {}
        return JSONResponse({"status": lifecycle.phase, **degraded}, status_code, headers=_NEVER_STORED)

    return [Route("/healthz", healthz), Route("/readyz", readyz)]
