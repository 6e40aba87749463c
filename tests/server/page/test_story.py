"""The story of one call on the page: what was tried and changed, and where more is recorded, without what was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog, BaseTool, CallContext, NotFound, Retry, Settings, Unavailable, asgi_app, operation
from failsoft.events import EffectEvent
from failsoft.testing import fresh_runtime
from tests.doors import StepLog
from tests.server.http.test_app import call, opened

pytestmark = pytest.mark.anyio
SECRET = "what only the caller knows"


class Post(BaseTool):
    """Sends letters."""

    @operation(read_only=True, recovery=[Retry(attempts=3, base_s=0.001)])
    async def track(self, letter: str) -> str:
        """Return where a letter is."""
        raise Unavailable(f"Nobody knows where {letter} is.")

    @operation(effects=True)
    async def send(self, letter: str, call: CallContext) -> str:
        """Send a letter."""
        await call.effect("stamp", lambda: letter)
        raise NotFound(f"There is no address on {letter}.")


def post(path: Path) -> Post:
    """Return the toolset with an audit log."""
    log = AuditLog(path / "audit.jsonl")
    return Post(runtime=fresh_runtime(settings=Settings(environment="production"), audit=log))


async def _stories(tools: Post, *names: str) -> list[dict[str, Any]]:
    """Return the story of a failing call of each of these operations."""
    async with opened(asgi_app(tools)) as client:
        for name in names:
            await tools.execute_with_error_handling(name, {"letter": SECRET})
        calls = (await client.get("/status.json")).json()["recent"]
        stories = [await client.get(f"/page/story/{call['error_id']}") for call in reversed(calls)]
        by_request = await client.get(f"/page/story/{calls[0]['request_id']}")
        assert by_request.json() == stories[-1].json()
        assert (await client.get("/page/story/0123456789abcdef")).status_code == 404
    assert not any(SECRET in story.text for story in stories)
    assert all("steps" not in call for call in calls)
    return [story.json() for story in stories]


async def test_a_story_has_strategies_effects_and_the_entry_of_the_audit_log(tmp_path: Path) -> None:
    track, send = await _stories(post(tmp_path), "track", "send")
    assert (track["call"]["code"], track["call"]["attempts"]) == ("UNAVAILABLE", 3)
    tried, written = [step["what"] for step in track["steps"]][-2:]
    assert tried == "retry was tried and failed"
    assert "audit log" in written
    assert send["steps"][0]["what"] == "The effect stamp was carried out"
    assert send["commands"][0] == f"failsoft find {send['call']['error_id']} --log server.log"


async def test_a_story_is_found_by_the_request_id_that_a_client_has_sent(tmp_path: Path) -> None:
    tools = post(tmp_path)
    async with opened(asgi_app(tools)) as client:
        sent = {"x-request-id": "order/47:11"}
        await call(client, "track", era="modern", **sent)
        story = (await client.get("/page/story/order%2F47:11")).json()
        head = await client.head("/events")
    assert story["call"]["request_id"] == "order/47:11"
    assert head.headers["content-type"].startswith("text/event-stream")


async def test_steps_of_calls_that_do_not_end_are_bounded() -> None:
    log = StepLog()
    facts = {"tool": "post", "operation": "send", "name": "stamp" * 100, "result": "ok", "duration_s": 0.01}
    for number in range(5_000):
        log.note(EffectEvent(request_id=f"{number}", **facts))
    for _ in range(50):
        log.note(EffectEvent(request_id="4999", **facts))
    assert log.take("0") == []
    steps = log.take("4999")
    assert len(steps) == 10
    assert all(len(part) <= 100 for part in steps[0])
    assert log.take("4999") == []
