"""The controls of a running server: who may use them, what they do, and what callers are told."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest

from failsoft import AuditLog, BaseTool, CircuitBreaker, Settings, asgi_app, operation
from failsoft.testing import fresh_runtime
from tests.server.http.test_app import call, opened, result_of
from tests.server.http.test_status import SCHEMA

pytestmark = pytest.mark.anyio
ADMIN, READER = "the token of an operator", "the token of a reader"
AS_ADMIN = {"authorization": f"Bearer {ADMIN}"}
AS_READER = {"authorization": f"Bearer {READER}"}
CIRCUIT, OPERATION = "/admin/circuits/supplier", "/admin/operations/shop/price"


class Shop(BaseTool):
    """Sells."""

    @operation(read_only=True, recovery=[CircuitBreaker("supplier")])
    async def price(self, item: str = "tea") -> int:
        """Return the price."""
        return 3


def shop(*, audit: AuditLog | None = None, **settings: Any) -> Any:
    """Return an app with controls."""
    given = Settings(admin_token=ADMIN, auth_token=READER, **settings)
    return asgi_app(Shop(runtime=fresh_runtime(settings=given, audit=audit)), name="shop")


async def _price(client: httpx2.AsyncClient) -> dict[str, Any]:
    return result_of(await call(client, "price", era="modern", **AS_READER))


async def _status(client: httpx2.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get("/status.json", headers=AS_READER)).json()
    jsonschema.validate(found, SCHEMA)
    return found


async def _supplier(client: httpx2.AsyncClient) -> dict[str, Any]:
    found: list[dict[str, Any]] = (await _status(client))["dependencies"]
    return next(one for one in found if one["name"] == "supplier")


async def test_without_an_admin_token_there_are_no_controls() -> None:
    async with opened(asgi_app(Shop(runtime=fresh_runtime()))) as client:
        for path in (CIRCUIT, OPERATION, "/admin/drain"):
            assert (await client.post(path, json={})).status_code == 404


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"),
    [
        (CIRCUIT, {}, {"state": "open"}, 401),
        (CIRCUIT, {"authorization": "Bearer nobody's"}, {"state": "open"}, 401),
        (CIRCUIT, AS_READER, {"state": "open"}, 403),
        ("/admin/drain", AS_READER, {}, 403),
        (CIRCUIT, {**AS_ADMIN, "origin": "https://evil.example"}, {"state": "open"}, 403),
        ("/admin/circuits/suplier", AS_ADMIN, {"state": "open"}, 404),
        ("/admin/operations/shop/prise", AS_ADMIN, {"paused": False}, 404),
        (CIRCUIT, AS_ADMIN, {"state": "ajar"}, 400),
        (CIRCUIT, AS_ADMIN, ["open"], 400),
        (CIRCUIT, AS_ADMIN, {"state": ["open"]}, 400),
        (OPERATION, AS_ADMIN, {"paused": True}, 400),
        (OPERATION, AS_ADMIN, {"paused": "yes", "reason": "Stocktaking."}, 400),
        (OPERATION, AS_ADMIN, {"paused": True, "reason": "x" * 20_000}, 400),
    ],
)
async def test_what_is_refused_changes_nothing(path: str, headers: dict[str, str], body: Any, status: int) -> None:
    async with opened(shop()) as client:
        answer = await client.post(path, json=body, headers=headers)
        assert answer.status_code == status
        if status == 404:
            assert "did you mean" in answer.json()["error"]
        assert result_of(await call(client, "price", era="modern", **AS_READER))["isError"] is False
        assert (await _status(client))["phase"] == "ready"


async def test_forms_and_other_methods_are_refused() -> None:
    async with opened(shop()) as client:
        assert (await client.post(CIRCUIT, data={"state": "open"}, headers=AS_ADMIN)).status_code == 415
        assert (await client.post(CIRCUIT, content=b'{"state"', headers=_as_json())).status_code == 400
        assert (await client.get(CIRCUIT, headers=AS_ADMIN)).status_code == 405
        assert (await _price(client))["isError"] is False


def _as_json() -> dict[str, str]:
    return {**AS_ADMIN, "content-type": "application/json"}


async def test_a_breaker_is_held_open_and_reset() -> None:
    async with opened(shop()) as client:
        answer = await client.post(CIRCUIT, json={"state": "open"}, headers=AS_ADMIN)
        assert (answer.status_code, answer.json()) == (200, {"name": "supplier", "circuit": "open"})
        supplier = await _supplier(client)
        assert supplier["held_by"] == "the holder of the admin token"
        assert (await _price(client))["structuredContent"]["error"]["code"] == "CIRCUIT_OPEN"
        await client.post(CIRCUIT, json={"state": "reset"}, headers=AS_ADMIN)
        assert (await _price(client))["isError"] is False


async def test_callers_of_a_paused_operation_are_told_the_reason() -> None:
    async with opened(shop()) as client:
        paused = {"paused": True, "reason": "Stocktaking until noon"}
        answer = (await client.post(OPERATION, json=paused, headers=AS_ADMIN)).json()
        assert answer["paused"]["reason"] == "Stocktaking until noon"
        error = (await _price(client))["structuredContent"]["error"]
        assert (error["code"], error["effect"]) == ("UNAVAILABLE", "none")
        assert "Stocktaking until noon" in error["message"]
        [price] = (await _status(client))["operations"]
        assert price["paused"] == answer["paused"]
        assert price["calls"]["rejected"] == 1
        assert (await client.post(OPERATION, json={"paused": False}, headers=AS_ADMIN)).json().keys() == {
            "tool",
            "operation",
        }
        assert (await _price(client))["isError"] is False


async def test_a_replica_follows_what_the_other_one_was_told(tmp_path: Path) -> None:
    state = f"sqlite:{tmp_path / 'state.db'}"
    async with opened(shop(state_url=state)) as one, opened(shop(state_url=state)) as other:
        await one.post(OPERATION, json={"paused": True, "reason": "Stocktaking"}, headers=AS_ADMIN)
        await one.post(CIRCUIT, json={"state": "open"}, headers=AS_ADMIN)
        with anyio.fail_after(20):
            while "Stocktaking" not in (await _price(other))["content"][0]["text"]:
                pass
        await other.post(OPERATION, json={"paused": False}, headers=AS_ADMIN)
        assert (await _price(other))["structuredContent"]["error"]["code"] == "CIRCUIT_OPEN"


async def test_while_the_store_is_lost_a_pause_stays_and_changes_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    async with opened(shop(state_url=f"sqlite:{file}")) as client:
        await client.post(OPERATION, json={"paused": True, "reason": "Stocktaking"}, headers=AS_ADMIN)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            for path, body in ((OPERATION, {"paused": False}), (CIRCUIT, {"state": "open"})):
                refused = await client.post(path, json=body, headers=AS_ADMIN)
                assert (refused.status_code, refused.json()["code"]) == (503, "STATE_UNAVAILABLE")
            status = await _status(client)
            assert status["store"]["available"] is False
            await anyio.sleep(0.3)  # what follows other replicas has read it again
            assert "Stocktaking" in (await _price(client))["content"][0]["text"]


async def test_a_drain_refuses_new_calls_and_keeps_the_probes() -> None:
    async with opened(shop()) as client:
        assert (await client.post("/admin/drain", json={}, headers=AS_ADMIN)).json() == {"phase": "draining"}
        assert (await client.get("/readyz")).status_code == 503
        refused = await call(client, "price", era="modern", **AS_READER)
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        assert (await client.get("/healthz")).status_code == 200


async def test_every_change_is_audited_and_none_is_made_that_cannot_be(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    async with opened(shop(audit=log)) as client:
        await client.post(OPERATION, json={"paused": True, "reason": "Stocktaking"}, headers=AS_ADMIN)
        await client.post(CIRCUIT, json={"state": "closed"}, headers=AS_READER)
    entries = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(entry["operation"], entry["name"], entry["reason"]) for entry in entries] == [
        ("admin pause", "shop/price", "Stocktaking")
    ]
    (tmp_path / "audit.jsonl").unlink()
    (tmp_path / "audit.jsonl").mkdir()
    async with opened(shop(audit=AuditLog(tmp_path / "audit.jsonl"))) as client:
        answer = await client.post(CIRCUIT, json={"state": "open"}, headers=AS_ADMIN)
        assert answer.json()["code"] == "AUDIT_LOG_FAILED"
        assert (await _supplier(client))["circuit"] == "closed"
