"""ASGI app: MCP over streamable HTTP, metrics, health probes and a status page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from failsoft.framework.call.toolset import BaseTool
from failsoft.metrics import PrometheusRecorder, scrape
from failsoft.server.assembly import Assembly, assemble
from failsoft.server.http.access import authentication, chosen_verifier, transport_security
from failsoft.server.http.admission import AdmissionMiddleware
from failsoft.server.http.seam import put_lane
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.page.routes import page_routes
from failsoft.server.sources import Tools

MCP_PATH = "/mcp"
_NEVER_STORED = {"cache-control": "no-store"}


def asgi_app(
    tools: Tools,
    *,
    name: str | None = None,
    version: str | None = None,
    instructions: str | None = None,
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] | None = None,
    token_verifier: TokenVerifier | None = None,
    auth: AuthSettings | None = None,
) -> Starlette:
    """Return an ASGI app that serves these tools: `/mcp /metrics /healthz /readyz /status.json /events /`.

    Run it with one process or several; it keeps no state between requests. The ASGI server does the listening, so an
    exposed address without a token is not refused here; `failsoft.serve` refuses it.

    Args:
        tools: Toolsets, their classes, modules of `@soft` functions, or a function that returns any of these.
        name: What the server calls itself; by default the name of its only toolset, else `failsoft`.
        version: The version that it reports; by default that of the package that the tools are from.
        instructions: What it tells clients about itself; by default the `introduction` of each toolset.
        host: Where it will listen, for the Host check.
        allowed_hosts: Further Host headers to accept; by default `FAILSOFT_ALLOWED_HOSTS`.
        token_verifier: Checks bearer tokens on `/mcp` and `/metrics`; by default one for `FAILSOFT_AUTH_TOKEN(S)`.
        auth: OAuth settings of the SDK, for a protected resource; they go with a token verifier.

    Raises:
        CONFIG_ERROR: Two tools have one name, something given is not a toolset, or OAuth settings have no verifier.

    Examples:
        >>> app = asgi_app(Shelf, allowed_hosts=["tools.example.org"])  # uvicorn module:app
    """
    assembly = assemble(tools, name=name, version=version, instructions=instructions)
    return build_app(assembly, host=host, allowed_hosts=allowed_hosts, token_verifier=token_verifier, auth=auth)


def build_app(
    assembly: Assembly,
    *,
    host: str,
    allowed_hosts: Sequence[str] | None = None,
    token_verifier: TokenVerifier | None = None,
    auth: AuthSettings | None = None,
) -> Starlette:
    """Return the ASGI app of an assembled server. The arguments are those of `asgi_app`."""
    settings = assembly.settings
    verifier = chosen_verifier(token_verifier, settings, auth=auth)
    scopes = None if verifier is None else _scopes(auth)
    security = transport_security(host, settings.allowed_hosts if allowed_hosts is None else allowed_hosts)
    app = assembly.server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        stateless_http=True,
        max_request_body_size=settings.max_request_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # checked by admission
        auth=auth,
        token_verifier=verifier,
        custom_starlette_routes=[
            *_probes(assembly, verifier, auth),
            *page_routes(assembly, scopes=scopes),
        ],
    )
    put_lane(app, assembly, path=MCP_PATH, scopes=scopes)
    # The SDK reads tokens only with OAuth settings; for plain tokens its middleware is added here.
    app.user_middleware[:0] = [
        _admission(assembly, security, has_token=verifier is not None or auth is not None),
        *(authentication(verifier) if verifier is not None and auth is None else ()),
    ]
    app.state.assembly = assembly
    app.state.has_token = verifier is not None
    return app


def probe_app(assembly: Assembly) -> Starlette:
    """Return an ASGI app with `/metrics`, `/healthz` and `/readyz` alone, for loopback beside a server over stdio."""
    settings = assembly.settings
    verifier = chosen_verifier(None, settings, auth=None)
    security = transport_security("127.0.0.1", settings.allowed_hosts)
    admission = _admission(assembly, security, has_token=verifier is not None)
    tokens = [] if verifier is None else authentication(verifier)
    return Starlette(routes=_probes(assembly, verifier, None), middleware=[admission, *tokens])


def _admission(assembly: Assembly, security: TransportSecuritySettings, *, has_token: bool) -> Middleware:
    return Middleware(
        AdmissionMiddleware,
        security=security,
        lifecycle=assembly.lifecycle,
        mcp_path=MCP_PATH,
        has_token=has_token,
    )


def _probes(assembly: Assembly, verifier: TokenVerifier | None, auth: AuthSettings | None) -> list[Route]:
    metrics = Route("/metrics", _guarded(_MetricsEndpoint(assembly.tools), verifier, auth))
    return [metrics, *_probe_routes(assembly.lifecycle)]


def _guarded(endpoint: Any, verifier: TokenVerifier | None, auth: AuthSettings | None) -> Any:
    return endpoint if verifier is None else RequireAuthMiddleware(endpoint, _scopes(auth))


def _scopes(auth: AuthSettings | None) -> list[str]:
    return (auth.required_scopes or []) if auth is not None else []


class _MetricsEndpoint:
    """ASGI app of the route; merges the metrics of all runtimes.

    With metrics switched off it responds with 404, so that the target shows as down.
    """

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        recorders = dict.fromkeys(tool.runtime.metrics for tool in tools)
        self._recorders = [recorder for recorder in recorders if isinstance(recorder, PrometheusRecorder)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one scrape."""
        request = Request(scope, receive)
        response: Response
        if request.method not in {"GET", "HEAD"}:
            response = PlainTextResponse("Method Not Allowed", 405, headers={"allow": "GET, HEAD"})
        elif not self._recorders:
            response = PlainTextResponse("Metrics are switched off", 404)
        else:
            content, content_type = await scrape(self._recorders, request.headers.get("accept"))
            response = Response(content, headers={"content-type": content_type, "cache-control": "no-store"})
        await response(scope, receive, send)


def _probe_routes(lifecycle: Lifecycle) -> list[Route]:
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
