"""The ASGI apps of `scale`: ours with any number of tools, and one that sends the same bytes without doing anything."""

from __future__ import annotations

import json
import os
from typing import Any

from text_tool import Texts

from failsoft import BaseTool, asgi_app, operation

__all__ = ["our_app", "raw_app"]


def _filler(number: int) -> type[BaseTool]:
    async def run(_self: BaseTool, path: str, limit: int = 10) -> str:
        return path[:limit]

    run.__name__ = f"filler_{number}"
    run.__doc__ = "Return the beginning of a path."
    return type(f"Filler{number}", (BaseTool,), {run.__name__: operation(read_only=True)(run)})


def our_app() -> Any:
    """Return our app, with as many tools as the environment says."""
    return asgi_app([Texts, *(_filler(number) for number in range(1, int(os.environ.get("SCALE_TOOLS", "1"))))])


def raw_app() -> Any:
    """Return an app that reads a request and sends an answer of the size that its path names."""
    kept: dict[str, bytes] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = kept.get(scope["path"]) or kept.setdefault(scope["path"], _body(int(scope["path"].rpartition("/")[2])))
        while (await receive()).get("more_body", False):
            pass
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def _body(size: int) -> bytes:
    answer = {"success": True, "data": "x" * size, "metadata": {"execution_time_ms": 0.123}}
    content = [{"type": "text", "text": json.dumps(answer, separators=(",", ":"))}]
    result = {"content": content, "structuredContent": answer, "isError": False, "resultType": "complete"}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, separators=(",", ":")).encode()
