"""A small API: its document, and a service on a free port of the loopback that answers as told and notes requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

ITEM = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "title": {"type": "string", "minLength": 1, "maxLength": 40},
        "size": {"type": "string", "enum": ["small", "large"]},
        "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}, "maxItems": 5},
        "price": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
    },
}
LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}}
ITEM_ID = {"name": "itemId", "in": "path", "required": True, "schema": {"type": "string"}}
BODY = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}}
FOUND = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}}}
PATHS: dict[str, Any] = {
    "/items": {
        "get": {
            "operationId": "listItems",
            "tags": ["items"],
            "summary": "List the items.",
            "parameters": [
                LIMIT,
                {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                {
                    "name": "ids",
                    "in": "query",
                    "explode": False,
                    "schema": {"type": "array", "items": {"type": "integer"}},
                },
                {"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
                {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
            ],
            "responses": {
                "200": {
                    "content": {
                        "application/json": {
                            "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}
                        }
                    }
                }
            },
        },
        "post": {"operationId": "createItem", "tags": ["items"], "requestBody": BODY, "responses": FOUND},
    },
    "/items/{itemId}": {
        "parameters": [ITEM_ID],
        "get": {"operationId": "getItem", "tags": ["items"], "responses": FOUND},
        "put": {"operationId": "putItem", "tags": ["items"], "requestBody": BODY, "responses": FOUND},
        "delete": {"operationId": "deleteItem", "tags": ["items"], "responses": {"204": {}}},
    },
    "/orders": {
        "post": {
            "operationId": "place-order",
            "tags": ["orders"],
            "security": [{"token": []}, {"key": []}],
            "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}],
            "requestBody": {
                "content": {
                    "application/x-www-form-urlencoded": {
                        "schema": {
                            "type": "object",
                            "properties": {
                                "item": {"type": "string"},
                                "address": {"type": "object", "properties": {"city": {"type": "string"}}},
                                "expand": {"type": "array", "items": {"type": "string"}},
                            },
                        },
                        "encoding": {"expand": {"style": "deepObject", "explode": True}},
                    }
                }
            },
            "responses": {"201": {}},
        }
    },
}
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "query", "name": "api_key"},
}


def document(paths: Any = PATHS, **more: Any) -> dict[str, Any]:
    """Return the document, with other paths if given."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "paths": paths,
        "components": {"schemas": {"Item": ITEM}, "securitySchemes": SCHEMES},
        **more,
    }


class Service(ThreadingHTTPServer):
    """The service.

    Attributes:
        answers: What it answers next: a status, headers and a body; then 200 and `{}`. None breaks the connection.
        requests: Method, target, headers and body of each request.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, dict[str, str], Any] | None] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, status: int, body: Any = None, **headers: str) -> None:
        self.answers.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, body))


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, headers, body))
        answer = self.server.answers.pop(0) if self.server.answers else (200, {}, {})
        if answer is None:
            self.close_connection = True
            return
        status, more, data = answer
        text = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - the names that http.server calls

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Service]:
    """Serve on a free port of the loopback."""
    service = Service()
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


def target(request: tuple[str, str, dict[str, str], bytes]) -> tuple[str, str]:
    """Return path and query of a request."""
    parts = urlsplit(request[1])
    return parts.path, parts.query
