"""`mcp_principal_calls_total`: the calls of each caller by outcome, if the settings ask for it."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import httpx2
import pytest

from failsoft import BaseTool, NotFound, Runtime, Settings, asgi_app, operation
from failsoft.metrics import PrometheusRecorder
from tests.server.http.process.test_crowded import TOKENS, body_of, headers_of

pytestmark = pytest.mark.anyio


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str) -> int:
        """Return a price."""
        if item == "unicorn":
            raise NotFound(resource="item", identifier=item)
        return 3


async def counts(principals: Any, *, label_limit: int = 1_000, has_tokens: bool = True) -> dict[tuple[str, str], int]:
    """Return what is counted after one success of ada, and of bob a failure and a call without arguments."""
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items()) if has_tokens else None
    settings = Settings(auth_tokens=tokens, metrics_principals=principals)
    metrics = PrometheusRecorder(label_limit=label_limit)
    app = asgi_app(Shop(runtime=Runtime(settings=settings, metrics=metrics)))
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
    ):
        for name, arguments in (("ada", {"item": "tea"}), ("bob", {"item": "unicorn"}), ("bob", {})):
            headers = headers_of("price", name if has_tokens else "")
            answer = await client.post("/mcp", headers=headers, content=body_of("price", **arguments))
            assert answer.status_code == 200
        text = (await client.get("/metrics", headers={"authorization": f"Bearer {TOKENS['ada']}"})).text
    assert 'mcp_tool_calls_total{operation="price",outcome="error",tool="shop"} 1.0' in text
    line = r'^mcp_principal_calls_total\{outcome="(\w+)",principal="([^"]*)"\} ([\d.]+)$'
    found = re.findall(line, text, re.MULTILINE)
    return {(principal, outcome): int(float(value)) for outcome, principal, value in found if float(value)}


async def test_by_default_no_caller_is_counted() -> None:
    assert await counts("off") == {}


async def test_calls_are_counted_by_the_name_of_their_caller() -> None:
    found = await counts("name")
    assert found == {("token:ada", "ok"): 1, ("token:bob", "error"): 1, ("token:bob", "rejected"): 1}


async def test_a_hash_tells_callers_apart_without_their_names() -> None:
    ada, bob = (hashlib.sha256(f"token:{name}".encode()).hexdigest()[:16] for name in TOKENS)
    assert await counts("hash") == {(ada, "ok"): 1, (bob, "error"): 1, (bob, "rejected"): 1}


async def test_callers_beyond_the_limit_of_labels_count_together() -> None:
    found = await counts("name", label_limit=1)
    assert found == {("token:ada", "ok"): 1, ("__other__", "error"): 1, ("__other__", "rejected"): 1}


async def test_callers_without_a_token_count_together() -> None:
    found = await counts("name", has_tokens=False)
    assert found == {("anonymous", "ok"): 1, ("anonymous", "error"): 1, ("anonymous", "rejected"): 1}
