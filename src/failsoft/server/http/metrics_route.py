"""The `/metrics` route: Prometheus exposition with content negotiation, rendered off the event loop."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from failsoft.framework.call.toolset import BaseTool
from failsoft.metrics import PrometheusRecorder, scrape


class MetricsEndpoint:
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
