"""The page at `/`, its files, its data (`/status.json`, `/events`, tools, codes), and the controls if there are any."""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import html
import re
from collections.abc import Awaitable, Callable, Sequence
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.errors import catalogue
from failsoft.server.assembly import Assembly
from failsoft.server.page.controls import Controls
from failsoft.server.page.feed import DATA, Feed
from failsoft.server.page.status import Status

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "txt": "text/plain; charset=utf-8"}
_PAGE = "page.html"
_MARK = re.compile(r"\{\{(\w+)\}\}")
_RETRY_AFTER_S = 5
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class _Asset(NamedTuple):
    """A file of the page; its tag is weak, since it is that of both forms."""

    content: bytes
    zipped: bytes
    tag: str


def page_routes(assembly: Assembly, *, scopes: Sequence[str] | None) -> list[Route]:
    """Return the routes.

    Args:
        assembly: The server.
        scopes: What a token has to permit; requests without such a token learn name and phase alone. None if requests
            need no token.
    """
    token = assembly.settings.admin_token
    controls = None if token is None else Controls(assembly, token)
    page = _Page(assembly, controls, scopes)
    return [
        Route("/", page.html),
        Route("/events", page.guarded(page.events)),
        Route("/status.json", page.status),
        Route("/page/catalogue", page.guarded(page.catalogue)),
        Route("/page/code/{code}", page.guarded(page.code)),
        Route("/page/story/{wanted:path}", page.guarded(page.story)),
        Route("/page/{name}", _asset),
        *(controls.routes() if controls is not None else ()),
    ]


class _Page:
    """The endpoints."""

    def __init__(self, assembly: Assembly, controls: Controls | None, scopes: Sequence[str] | None) -> None:
        self._assembly, self._controls, self._scopes = assembly, controls, scopes
        self._status = Status(assembly)
        self._feed = Feed(self._status, assembly.lifecycle)

    def guarded(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint for requests with the token of the server, or with the admin token."""

        async def answer(request: Request) -> Response:
            return await endpoint(request) if self._may_see_all(request) else _refused()

        return answer

    def _may_see_all(self, request: Request) -> bool:
        if self._scopes is None or (self._controls is not None and self._controls.is_admin(request)):
            return True
        granted = isinstance(request.scope.get("user"), AuthenticatedUser)
        return granted and {*self._scopes} <= {*request.auth.scopes}

    async def html(self, _request: Request) -> Response:
        shown = {"name": html.escape(self._assembly.name), "controls": "no" if self._controls is None else "yes"}
        text = _MARK.sub(lambda mark: shown[mark[1]], _assets()[_PAGE].content.decode())
        headers = {**DATA, "content-security-policy": _POLICY}
        return Response(text, media_type="text/html", headers=headers)

    async def status(self, request: Request) -> Response:
        if not self._may_see_all(request):
            return JSONResponse(self._status.public(), headers=DATA)
        return Response((await self._status.snapshot()).text, media_type="application/json", headers=DATA)

    async def events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(headers=DATA, media_type="text/event-stream")
        if request.headers.get("sec-fetch-site") == "cross-site":  # a foreign page cannot read it, but holds a place
            return JSONResponse({"error": "The page of another site may not read this."}, 403, DATA)
        if self._feed.is_full:
            headers = {**DATA, "retry-after": str(_RETRY_AFTER_S)}
            return JSONResponse({"error": "Too many pages are open."}, 503, headers)
        return self._feed.stream()

    async def catalogue(self, _request: Request) -> Response:
        return _answer(await asyncio.to_thread(_catalogue_of, self._assembly))

    async def code(self, request: Request) -> Response:
        return _answer(_page_of_code(request.path_params["code"]))

    async def story(self, request: Request) -> Response:
        return _answer(await self._status.story(request.path_params["wanted"]))


def _refused() -> Response:
    headers = {**DATA, "www-authenticate": "Bearer"}
    return JSONResponse({"error": "This takes the token of the server."}, 401, headers)


def _answer(found: dict[str, Any] | None) -> Response:
    if found is None:
        return JSONResponse({"error": "It is not known here."}, 404, DATA)
    return Response(to_json(found, inf_nan_mode="null"), media_type="application/json", headers=DATA)


def _catalogue_of(assembly: Assembly) -> dict[str, Any]:
    """Return `environment`, `tools` with description, schema and recovery, and `codes` with category and summary."""
    return {
        "environment": assembly.settings.environment,
        "tools": [_tool(bound) for bound in assembly.toolbox],
        "codes": [
            {"code": entry.code, "category": entry.category, "summary": catalogue.summary(entry)}
            for entry in sorted(catalogue.entries(), key=lambda entry: entry.code)
        ],
    }


def _page_of_code(code: str) -> dict[str, str] | None:
    """Return `code` and its page as Markdown in `text`, which is that of `failsoft explain`; None if there is none."""
    entry = catalogue.lookup(code)
    return None if entry is None else {"code": entry.code, "text": catalogue.render_page(entry)}


def _tool(bound: BoundOperation[..., Any]) -> dict[str, Any]:
    return {
        "tool": bound.tool_name,
        "operation": bound.name,
        "description": bound.description,
        "read_only": bound.read_only,
        "schema": bound.input_schema,
        "recovery": [strategy.name for strategy in bound.strategies],
    }


async def _asset(request: Request) -> Response:
    """Answer with a file of the page; it holds nothing about the server."""
    name = request.path_params["name"]
    asset = None if name == _PAGE else _assets().get(name)
    if asset is None:
        return JSONResponse({"error": "The page has no such file."}, 404, DATA)
    headers = {**DATA, "cache-control": "no-cache", "etag": asset.tag, "vary": "accept-encoding"}
    if asset.tag in re.split(r"\s*,\s*", request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    content = asset.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["content-encoding"] = asset.zipped, "gzip"
    headers["content-type"] = _KINDS[name.rpartition(".")[2]]
    return Response(content, headers=headers)


@functools.cache
def _assets() -> dict[str, _Asset]:
    """Return the files of the page by name."""
    found = {}
    for file in resources.files(__package__).joinpath("assets").iterdir():
        content = file.read_bytes()
        tag = f'W/"{hashlib.blake2b(content, digest_size=8).hexdigest()}"'
        found[file.name] = _Asset(content, gzip.compress(content, mtime=0), tag)
    return found
