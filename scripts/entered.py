"""Print how many files and functions of failsoft a call enters, by flow: `scripts/entered.py [FLOW] [--framework]`.

Each flow is a warm `tools/call` over HTTP, without a socket between client and server. What is counted was entered by
most of five such calls; a comprehension counts with its function. `--framework` counts the framework alone. With the
name of a flow its files and functions are listed in the order in which they are entered. The figures are for people:
what a call may cost is held in instructions (`bench/run.py baseline`).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx2
from pydantic import SecretStr

from failsoft import (
    BaseTool,
    DocumentNotFound,
    RecoveryManager,
    Retry,
    Runtime,
    Settings,
    Unavailable,
    asgi_app,
    operation,
)

SRC = Path(__file__).resolve().parents[1] / "src" / "failsoft"
_WARM_UP, _CALLS = 3, 5
_HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
}
_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_KEY = "dev.failsoft/idempotency-key"
_INSIDE = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>", "<module>")

_SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["path"],
    "additionalProperties": False,
}


class Documents(BaseTool):
    """Documents that are made up."""

    recovery = RecoveryManager()
    recovery.register(Unavailable, Retry(base_s=0.0, cap_s=0.0))

    @operation(read_only=True)
    async def get_document(self, path: str, limit: int = 10) -> dict[str, Any]:
        """Return a document."""
        if path.endswith("gone.md"):
            raise DocumentNotFound(path=path, suggestions=["guide/intro.md"])
        return {"path": path, "lines": limit}

    @operation(read_only=True, input_schema=_SCHEMA)
    async def read_document(self, **arguments: Any) -> dict[str, Any]:
        """Return a document, by a JSON Schema."""
        return arguments

    @operation(read_only=True)
    async def fetch_document(self, path: str) -> dict[str, Any]:
        """Return a document at the second attempt."""
        self.attempts = getattr(self, "attempts", 0) + 1
        if self.attempts % 2:
            raise Unavailable(message="The service does not answer.")
        return {"path": path}

    @operation()
    async def write_document(self, path: str) -> dict[str, Any]:
        """Write a document."""
        return {"path": path}


FLOWS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "success": ("get_document", {"path": "guide/intro.md", "limit": 5}, False),
    "success, JSON Schema": ("read_document", {"path": "guide/intro.md", "limit": 5}, False),
    "typed failure": ("get_document", {"path": "gone.md"}, False),
    "typed failure, audit": ("get_document", {"path": "gone.md"}, False),
    "bad arguments, signature": ("get_document", {"path": "guide/intro.md", "limit": "five"}, False),
    "bad arguments, JSON Schema": ("read_document", {"path": "guide/intro.md", "limit": "five"}, False),
    "recovered by Retry": ("fetch_document", {"path": "guide/intro.md"}, False),
    "keyed write": ("write_document", {"path": "guide/intro.md"}, True),
}
"""The tool, its arguments, and whether the call has an idempotency key."""


class _Entered:
    """The code objects of failsoft that were entered, in order."""

    def __init__(self, below: Path) -> None:
        self.below = f"{below}{os.sep}"
        self.codes: dict[CodeType, None] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(self.below) and code.co_name not in _INSIDE:
            self.codes[code] = None


@asynccontextmanager
async def _opened(flow: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Return a client of a running server."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings()
        if "audit" in flow:
            settings = Settings(audit_path=Path(folder) / "audit-log.jsonl", audit_key=SecretStr("k" * 32))
        app = asgi_app(Documents(runtime=Runtime(settings=settings)))
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321", headers=_HEADERS) as client,
        ):
            yield client


async def _call(client: httpx2.AsyncClient, flow: str, number: int) -> None:
    tool, arguments, is_keyed = FLOWS[flow]
    meta = _ENVELOPE | ({_KEY: f"key-{number}"} if is_keyed else {})
    other = {**arguments, "path": f"{number}/{arguments['path']}"}  # the same failure for the third time says so
    params = {"name": tool, "arguments": other, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    response = await client.post("/mcp", content=json.dumps(body), headers={"mcp-name": tool})
    if "isError" not in response.text:
        sys.exit(f"{flow}: {response.status_code} {response.text[:200]}")


async def entered(flow: str, below: Path = SRC) -> list[CodeType]:
    """Return the functions that most of five warm calls enter, in order."""
    counts: Counter[CodeType] = Counter()
    async with _opened(flow) as client:
        for number in range(_WARM_UP + _CALLS):
            seen = _Entered(below)
            sys.setprofile(seen if number >= _WARM_UP else None)
            try:
                await _call(client, flow, number)
            finally:
                sys.setprofile(None)
            counts.update(list(seen.codes))
    return [code for code, count in counts.items() if count > _CALLS // 2]


def _listed(codes: list[CodeType]) -> None:
    files: dict[str, list[str]] = {}
    for code in codes:
        files.setdefault(str(Path(code.co_filename).relative_to(SRC)), []).append(code.co_qualname)
    for file, names in files.items():
        print(f"{file}: {', '.join(names)}")


async def _main(arguments: list[str]) -> None:
    below = SRC / "framework" if "--framework" in arguments else SRC
    named = [argument for argument in arguments if not argument.startswith("-")]
    for flow in named or FLOWS:
        codes = await entered(flow, below)
        print(f"{flow}: {len({code.co_filename for code in codes})} files, {len(codes)} functions")
        if named:
            _listed(codes)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
