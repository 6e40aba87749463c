"""The cost of an answer that is refused as too large."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from mcp import Client

from failsoft import BaseTool, Runtime, Settings, mcp_server, operation

pytestmark = pytest.mark.anyio

FOUND: dict[str, list[Any]] = {"texts": ["x" * 20] * 600_000, "integers": list(range(2_000_000))}


class Wide(BaseTool):
    """Returns more than an answer holds."""

    @operation(read_only=True)
    async def everything(self, kind: str) -> Any:
        """Return all."""
        return FOUND[kind]


@pytest.mark.parametrize("kind", ["texts", "integers"])
async def test_a_refused_result_costs_about_as_much_as_its_encoding(kind: str) -> None:
    begun = time.process_time()
    json.dumps(FOUND[kind])
    encoding_s = time.process_time() - begun
    async with Client(mcp_server(Wide(runtime=Runtime(settings=Settings()))), mode="2026-07-28") as client:
        begun = time.process_time()
        answer = await client.call_tool("everything", {"kind": kind})
        refusal_s = time.process_time() - begun
    if answer.structured_content["error"]["code"] != "RESULT_TOO_LARGE":
        raise RuntimeError(answer)
    assert refusal_s < 3 * encoding_s
