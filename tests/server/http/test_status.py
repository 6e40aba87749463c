"""`/status.json`: what it says of a server, and that it fits its published schema."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from failsoft import BaseTool, CircuitBreaker, NotFound, Retry, Settings, Unavailable, asgi_app, operation
from failsoft.testing import fresh_runtime
from tests.doors import CIRCUIT_TRANSITIONS, REFUSED, StatusNumbers
from tests.server.http.test_app import opened

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/schemas/status.schema.json").read_text())
pytestmark = pytest.mark.anyio
SECRET = "what only the caller knows"


class Shop(BaseTool):
    """Sells, as long as its supplier is there."""

    answers: list[Exception | None]

    @operation(
        read_only=True,
        recovery=[Retry(attempts=2, base_s=0.001), CircuitBreaker("supplier", min_calls=4, confidence=0.5)],
    )
    async def price(self, item: str) -> int:
        """Return the price."""
        if self.answers and (answer := self.answers.pop(0)) is not None:
            raise answer
        return 3

    @operation
    async def sell(self, item: str) -> str:
        """Sell it."""
        return {"tea": "sold"}[item]


@pytest.fixture
def shop(request: pytest.FixtureRequest) -> Shop:
    shop = Shop(runtime=fresh_runtime(settings=Settings(environment=getattr(request, "param", "production"))))
    shop.answers = []
    return shop


async def _status(shop: Shop, **header: str) -> dict[str, Any]:
    async with opened(asgi_app(shop, name="shop")) as client:
        found: dict[str, Any] = (await client.get("/status.json", headers=header)).json()
    jsonschema.validate(found, SCHEMA)
    return found


async def test_a_server_without_a_call_has_its_operations_without_percentiles(shop: Shop) -> None:
    found = await _status(shop)
    assert found.keys() == SCHEMA["properties"].keys()
    assert (found["name"], found["phase"], found["recent"], found["errors"]) == ("shop", "ready", [], [])
    assert [(one["tool"], one["operation"], one["read_only"], one["p95_ms"]) for one in found["operations"]] == [
        ("shop", "price", True, None),
        ("shop", "sell", False, None),
    ]
    assert found["objective"] == {"target": 0.99, "burn_5m": 0, "burn_1h": 0}
    assert found["store"] == {"kind": "memory", "available": True}
    [worker] = found["workers"]
    assert worker["phase"] == "ready"
    assert worker["memory_bytes"] > 10_000_000
    assert worker["restarts"] == worker["in_flight"] == 0


async def test_failures_and_recoveries_are_listed_newest_first_without_what_was_sent(shop: Shop) -> None:
    async with opened(asgi_app(shop, name="shop")) as client:
        shop.answers = [Unavailable("Closed."), None, NotFound(f"There is no {SECRET}.")]
        await shop.price(item="tea")
        await shop.price(item=SECRET)
        await shop.sell(item=SECRET)
        response = await client.get("/status.json")
    assert SECRET not in response.text
    found = response.json()
    jsonschema.validate(found, SCHEMA)
    assert [(call["operation"], call["outcome"], call["code"], call["effect"]) for call in found["recent"]] == [
        ("sell", "error", "UNKNOWN_ERROR", "unknown"),
        ("price", "error", "NOT_FOUND", "none"),
        ("price", "recovered", "UNAVAILABLE", ""),
    ]
    assert found["recent"][2]["strategy"] == "retry"
    assert found["recent"][2]["attempts"] == 2
    assert not any("origin" in call for call in found["recent"])
    price, sell = found["operations"]
    assert (price["calls"]["recovered"], price["calls"]["error"], sell["calls"]["error"]) == (1, 1, 1)
    assert 0 <= price["p50_ms"] <= price["p95_ms"] <= price["p99_ms"]
    counted = {(error["operation"], error["code"]): (error["count"], error["last"]) for error in found["errors"]}
    assert counted["sell", "UNKNOWN_ERROR"] == (1, found["recent"][0]["timestamp"])
    assert found["objective"]["burn_5m"] == pytest.approx(1 / 3 / 0.01, rel=0.01)  # NOT_FOUND is no fault of the server


@pytest.mark.parametrize("shop", ["development"], indirect=True)
async def test_equal_failures_have_one_fingerprint_and_in_development_their_line(shop: Shop) -> None:
    async with opened(asgi_app(shop, name="shop")) as client:
        for item in ("salt", "pepper"):
            await shop.sell(item=item)
        await shop.price(item=3)  # type: ignore[arg-type]  # a fault of the caller
        found = (await client.get("/status.json")).json()
    wrong, second, first = found["recent"]
    assert first["fingerprint"] == second["fingerprint"] != wrong["fingerprint"]
    assert first["origin"].startswith(f"{__file__}:")
    assert wrong["outcome"] == "rejected"


async def test_an_open_breaker_says_since_when_and_when_it_is_tried_again(shop: Shop) -> None:
    shop.answers = [Unavailable("Closed.") for _ in range(20)]
    async with opened(asgi_app(shop, name="shop")) as client:
        for _ in range(8):
            await shop.price(item="tea")
        found = (await client.get("/status.json")).json()
    jsonschema.validate(found, SCHEMA)
    [supplier] = [one for one in found["dependencies"] if one["name"] == "supplier"]
    assert supplier["circuit"] == "open"
    assert supplier["since"] < supplier["retry_at"]


async def test_readers_at_a_time_share_what_is_gathered_and_see_what_was_before_them(shop: Shop) -> None:
    async with opened(asgi_app(shop, name="shop")) as client:
        shop.answers = [NotFound("There is no tea.")]
        await shop.price(item="tea")
        found = [answer.json() for answer in await asyncio.gather(*[client.get("/status.json") for _ in range(20)])]
    assert len({one["uptime_s"] for one in found}) <= 2
    assert all(len(one["recent"]) == 1 for one in found)


def test_rates_and_burn_are_those_of_their_window() -> None:
    runtime = fresh_runtime()
    now = [0.0]
    numbers = StatusNumbers([runtime.metrics], objective=0.9, clock=lambda: now[0])
    bound = runtime.metrics.bind("shop", "sell")

    def calls(good: int, bad: int) -> None:
        for outcome, count in (("ok", good), ("error", bad)):
            for _ in range(count):
                bound.started()
                bound.finished(outcome, 0.01 if outcome == "ok" else 2.0)
        for _ in range(bad):
            bound.failed("internal", "UNKNOWN_ERROR")

    calls(0, 60)
    for _ in range(10):
        now[0] += 60
        numbers.sample()
    calls(90, 10)
    now[0] += 30
    found = numbers.read()
    assert found["objective"] == {"target": 0.9, "burn_5m": 1.0, "burn_1h": pytest.approx(70 / 160 / 0.1, rel=0.001)}
    [sell] = found["operations"]
    assert sell["rate_per_s"] == pytest.approx(100 / 90, rel=0.01)
    assert sell["p50_ms"] <= 10
    assert 1_000 <= sell["p95_ms"] <= 2_000


def test_refused_requests_repeated_failures_and_closed_breakers_are_signs_for_five_minutes() -> None:
    runtime = fresh_runtime()
    now = [0.0]
    numbers = StatusNumbers([runtime.metrics], objective=0.99, clock=lambda: now[0])
    numbers.begin()
    for _ in range(3):
        runtime.metrics.count(REFUSED, "421")
    runtime.metrics.count(CIRCUIT_TRANSITIONS, "bank", "open")
    runtime.metrics.count(CIRCUIT_TRANSITIONS, "bank", "closed")
    now[0] = 1.0
    signs = {(sign["metric"], sign["label"]): sign["count"] for sign in numbers.read()["signs"]}
    assert signs == {("mcp_http_refused_total", "421"): 3, ("mcp_circuit_transitions_total", "bank"): 1}
    now[0] = 400.0
    assert numbers.read()["signs"] == []
