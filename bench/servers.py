"""The same tool behind several servers: ours, the bare low-level SDK server, FastMCP, and a raw ASGI app."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import Server
from sample_tool import ARGUMENTS, Documents, find

from failsoft import asgi_app

__all__ = ["HTTP_SERVERS", "Running", "bare", "running"]

HTTP_SERVERS = {
    "ours": "our_app",
    "ours without uvloop": "our_app",
    "bare SDK": "bare_app",
    "raw ASGI app": "raw_app",
    "FastMCP": "fastmcp_app",
    "FastMCP with middlewares": "full_fastmcp_app",
}
"""Server -> the factory of its ASGI app in this module."""
_STARTS_WITHIN_S = 30.0
_CORES = sorted(os.sched_getaffinity(0))


def bare() -> Server[Any]:
    """Return a low-level server that lists the same tool and gives the same answer, and does nothing else for it.

    It validates, bounds, times, counts and catches nothing. The schemas are ours, since the SDK's client validates
    every answer against the one it was sent: that costs more than the whole call.
    """
    bound = Documents().operations["get_document"]
    tool = types.Tool(name=bound.name, input_schema=bound.input_schema, output_schema=bound.output_schema())

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return _answer(params.arguments or {})

    return Server(
        "bare",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema={bound.name: bound.input_schema}.get,
    )


def _answer(arguments: dict[str, Any]) -> types.CallToolResult:
    answer = {"success": True, "data": find(**arguments).model_dump(), "metadata": {"execution_time_ms": 0.123}}
    text = types.TextContent(type="text", text=json.dumps(answer, separators=(",", ":")))
    return types.CallToolResult(content=[text], structured_content=answer)


def our_app() -> Any:
    """Return our ASGI app."""
    return asgi_app(Documents)


def bare_app() -> Any:
    """Return the bare server's ASGI app."""
    return bare().streamable_http_app(stateless_http=True)


def raw_app() -> Any:
    """Return an app that parses each request, calls the function and sends the same JSON: the limit of any server.

    It knows one tool, routes, checks and catches nothing, and uses the `json` of the standard library.
    """
    result = _answer(ARGUMENTS["success"]).model_dump(mode="json", by_alias=True, exclude_none=True)
    result["_meta"] = {"io.modelcontextprotocol/serverInfo": {"name": "documents", "version": "1.0.0"}}
    encode = json.JSONEncoder(separators=(",", ":")).encode

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        asked = json.loads(body)
        data = find(**asked["params"]["arguments"]).model_dump()
        answer = {"success": True, "data": data, "metadata": {"execution_time_ms": 0.123}}
        content = [{"type": "text", "text": encode(answer)}]
        answered = {**result, "content": content, "structuredContent": answer}
        sent = encode({"jsonrpc": "2.0", "id": asked["id"], "result": answered}).encode()
        headers = [(b"content-length", b"%d" % len(sent)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": sent, "more_body": False})

    return app


def fastmcp_app(*, middleware: bool = False) -> Any:
    """Return FastMCP's ASGI app."""
    from fastmcp_peer import server  # noqa: PLC0415 - it may be missing

    return server(middleware=middleware).http_app(path="/mcp", stateless_http=True)


def full_fastmcp_app() -> Any:
    """Return the same with the middlewares that do what ours does by default."""
    return fastmcp_app(middleware=True)


@dataclass(frozen=True, slots=True)
class Running:
    """A server process of ours on loopback."""

    port: int
    pid: int

    def cpu_s(self) -> float:
        """Return the CPU time that the threads of the process and of its workers have used, in seconds."""
        own = Path(f"/proc/{self.pid}/task")
        workers = (own / str(self.pid) / "children").read_text(encoding="ascii").split()
        threads = [one for pid in (self.pid, *workers) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(one.read_text(encoding="ascii").split()[0]) for one in threads) / 1e9


@asynccontextmanager
async def running(
    factory: str, *, module: str = "servers", workers: int = 1, **environment: str
) -> AsyncIterator[Running]:
    """Run one app in a uvicorn process of its own, or in several, and end it afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.sched_setaffinity(0, _CORES)  # processes inherit it, and this one may have been separated from another server
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "uvicorn", f"{module}:{factory}", "--factory", "--port", str(port)),
        *("--log-level", "error", "--no-access-log", "--timeout-keep-alive", "600"),
        *(("--workers", str(workers)) if workers > 1 else ()),
        cwd=Path(__file__).parent,
        env={**os.environ, "FASTMCP_LOG_LEVEL": "ERROR", **environment},  # called but silent, as ours is
    )
    try:
        async with asyncio.timeout(_STARTS_WITHIN_S):
            while not await _answers(port):
                if process.returncode is not None:
                    msg = f"the server {factory} did not start"
                    raise RuntimeError(msg)
                await asyncio.sleep(0.05)
        if workers == 1 and len(_CORES) > 1:
            _separate(process.pid)
        yield Running(port, process.pid)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _separate(pid: int) -> None:
    """Give the servers one core, and the client the others: it would take turns with them on one otherwise."""
    os.sched_setaffinity(pid, _CORES[-1:])
    os.sched_setaffinity(0, _CORES[:-1])


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
