"""A server whose audit log cannot be written: what its callers and its operator are told."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from loguru import logger

from failsoft import BaseTool, DocumentNotFound, Runtime, Settings, asgi_app, configure_logging, operation
from tests.server.http.test_app import call, result_of

pytestmark = pytest.mark.anyio

BROKEN = {"AUDIT_LOG_FAILED", "AUDIT_LOCK_FAILED"}


class Docs(BaseTool):
    """Documents."""

    @operation(read_only=True)
    async def find(self) -> None:
        """Find nothing."""
        raise DocumentNotFound(path="a.md")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=stream)
    yield stream
    logger.remove()
    logger.disable("failsoft")


@asynccontextmanager
async def broken(folder: Path, **settings: Any) -> AsyncIterator[tuple[httpx2.AsyncClient, dict[str, Any]]]:
    """Yield a client of a server whose log's folder has become a file, and the answer to a call that failed since."""
    place = folder / "log"
    place.mkdir()
    app = asgi_app(Docs(runtime=Runtime(settings=Settings(audit_path=place / "audit-log.jsonl", **settings))))
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
    ):
        shutil.rmtree(place)
        place.touch()
        answer = result_of(await call(client, "find", era="modern"))
        if answer["_meta"]["dev.failsoft/error"]["code"] not in BROKEN:
            raise RuntimeError(answer)
        yield client, answer


async def test_the_code_of_the_failure_is_kept(tmp_path: Path) -> None:
    async with broken(tmp_path) as (_, answer):
        pass
    assert answer["_meta"]["dev.failsoft/error"].get("original_code") == "DOC_NOT_FOUND"
    assert "DOC_NOT_FOUND" in answer["structuredContent"]["error"]["message"]


async def test_readiness_names_what_is_degraded(tmp_path: Path) -> None:
    async with broken(tmp_path) as (client, _):
        ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "degraded": ["audit"]})


async def test_entries_that_could_not_be_written_are_counted(tmp_path: Path) -> None:
    async with broken(tmp_path) as (client, _):
        lines = (await client.get("/metrics")).text.splitlines()
    counts = [float(line.split()[-1]) for line in lines if line.startswith("mcp_audit_failures_total")]
    assert sum(counts) >= 1


async def test_the_log_has_one_record_of_the_event(tmp_path: Path, log: io.StringIO) -> None:
    async with broken(tmp_path):
        pass
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["event"] for line in lines if line.get("event") == "audit_failed"] == ["audit_failed"]
