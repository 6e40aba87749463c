"""Liveness and readiness probes (`/healthz`, `/readyz`), status page (`/`), and its data as JSON (`/status.json`)."""

from __future__ import annotations

import html
from collections.abc import Sequence

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from failsoft.server.assembly import Assembly
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.page.controls import Controls
from failsoft.server.page.status import Status

_NEVER_STORED = {"cache-control": "no-store"}
_HEADERS = {
    **_NEVER_STORED,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{name}</title>
<style>
  body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 48rem; margin: 3rem auto; padding: 0 1rem; }}
  dt {{ font-family: ui-monospace, monospace; font-weight: 600; margin-top: .75rem; }}
  dd {{ margin: 0; }}
  @media (prefers-color-scheme: dark) {{ body {{ background: #16181d; color: #e6e6e6; }} a {{ color: #8ab4f8; }} }}
</style>
<h1>{name}</h1>
<p>An MCP server at <code>{mcp_path}</code>. It is <strong>{phase}</strong>.{version}</p>
<p><a href="status.json">Status</a> · <a href="metrics">Metrics</a> · <a href="healthz">Alive?</a> ·
<a href="readyz">Ready?</a></p>
<dl>
{tools}
</dl>
</html>
"""


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


def status_routes(assembly: Assembly, *, mcp_path: str, scopes: Sequence[str] | None) -> list[Route]:
    """Return the routes of the page, of its data, and of the controls if there are any.

    Args:
        assembly: The server.
        mcp_path: The path of its requests.
        scopes: What a token has to permit; requests without such a token learn name and phase alone. None if requests
            need no token.
    """
    status = Status(assembly)
    token = assembly.settings.admin_token
    controls = None if token is None else Controls(assembly, token)

    def may_see_all(request: Request) -> bool:
        if scopes is None or (controls is not None and controls.is_admin(request)):
            return True
        return isinstance(request.scope.get("user"), AuthenticatedUser) and {*scopes} <= {*request.auth.scopes}

    async def status_json(request: Request) -> Response:
        if not may_see_all(request):
            return JSONResponse(status.public(), headers=_HEADERS)
        return Response(await status.read(), media_type="application/json", headers=_HEADERS)

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse(
            _PAGE.format(
                name=html.escape(assembly.name),
                version=f" Version {html.escape(assembly.version)}." if may_see_all(request) else "",
                phase=assembly.lifecycle.phase,
                mcp_path=html.escape(mcp_path),
                tools=_listed(assembly) if may_see_all(request) else "",
            ),
            headers=_HEADERS,
        )

    return [Route("/", page), Route("/status.json", status_json), *(controls.routes() if controls is not None else ())]


def _listed(assembly: Assembly) -> str:
    return "\n".join(
        f"<dt>{html.escape(bound.name)}</dt><dd>{html.escape(bound.description.partition(chr(10))[0])}</dd>"
        for bound in assembly.toolbox
    )
