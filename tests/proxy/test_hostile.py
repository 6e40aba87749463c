"""A proxy in front of a server that answers badly: every call gets a typed answer, and the proxy stays up."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.proxy.conftest import HOSTILE, proxied, with_variables
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
UPSTREAM = [PYTHON, str(HOSTILE)]
PATIENT = {"FAILSOFT_DEFAULT_TIMEOUT_S": "60"}
TYPED = frozenset({"REPORTED_FAILURE", "UPSTREAM_ERROR", "UNAVAILABLE", "BAD_OUTPUT", "CIRCUIT_OPEN", "TIMEOUT"})


def error_of(result: Any) -> dict[str, Any]:
    assert result.is_error
    error: dict[str, Any] = result.structured_content["error"]
    assert result.meta["dev.failsoft/error"]["code"] == error["code"]
    return error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_shape_of_failure_has_its_code(mode, tmp_path):
    expected = {
        "error": "UPSTREAM_ERROR",
        "invalid_params": "UPSTREAM_ERROR",
        "is_error": "REPORTED_FAILURE",
        "is_error_1": "REPORTED_FAILURE",
        "is_error_json": "NOT_FOUND",
        "status_429": "RATE_LIMITED",
        "envelope": "UNAVAILABLE",
        "bare_error": "NOT_FOUND",
        "bare_refusal": "REPORTED_FAILURE",
        "malformed": "BAD_OUTPUT",
        "huge": "RESULT_TOO_LARGE",
        "wrong_types": "BAD_OUTPUT",
        "no_result": "BAD_OUTPUT",
        "bad_structured": "BAD_OUTPUT",
        "hang": "DEADLINE_EXCEEDED",
        "die": "UNAVAILABLE",
    }
    file = tmp_path / "overrides.toml"
    file.write_text("[tools.hang]\ntimeout_s = 0.5\n")
    async with proxied("--overrides", str(file), upstream=UPSTREAM, mode=mode, env=PATIENT) as client:
        found = {name: error_of(await client.call_tool(name, {}))["code"] for name in expected}
        assert found == expected
        assert (await client.call_tool("echo", {"text": "still here"})).content[0].text == "still here"
        assert not (await client.call_tool("error_as_data", {})).is_error
        assert (await client.call_tool("duplicate", {})).content[0].text == "first"
        assert (await client.call_tool("late_and_strange", {})).content[0].text == "after all"


async def test_arguments_are_checked_before_anything_is_sent():
    async with proxied(upstream=UPSTREAM) as client:
        error = error_of(await client.call_tool("die", {"times": 0, "txt": "x"}))
        assert {(item["path"], item["reason"]) for item in error["violations"]} == {
            ("times", "range"),
            ("txt", "unexpected"),
        }
        assert (await client.call_tool("echo", {"text": "alive"})).content[0].text == "alive"


async def test_a_process_that_dies_is_started_again_and_a_safe_call_survives_it(tmp_path):
    upstream = with_variables(UPSTREAM, {"HOSTILE_MARKER": str(tmp_path / "died")})
    async with proxied(upstream=upstream) as client:
        result = await client.call_tool("die_once", {})
        assert result.content[0].text == "alive"
        assert result.meta["dev.failsoft/metadata"]["recovery"]["strategy"] == "retry"
        assert len((await client.list_tools()).tools) > 10


async def test_an_unknown_tool_is_the_protocols_error_with_the_closest_name():
    async with proxied(upstream=UPSTREAM) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("Echo", {})
    assert (raised.value.error.code, "echo" in raised.value.error.message) == (-32602, True)


async def test_overrides_rename_hide_and_annotate(tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text(
        '[tools.echo]\nname = "say"\nread_only = true\n[tools.die]\nhidden = true\n'
        "[tools.hang]\ntimeout_s = 0.2\n[tools.is_error]\nrefuse_unknown = false\n"
    )
    async with proxied("--overrides", str(file), upstream=UPSTREAM) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "die" not in listed
        assert "echo" not in listed
        assert listed["say"].annotations.read_only_hint is True
        assert (await client.call_tool("say", {"text": "hi"})).content[0].text == "hi"
        assert error_of(await client.call_tool("hang", {}))["code"] == "DEADLINE_EXCEEDED"
        reported = error_of(await client.call_tool("is_error", {"x": 1}))
        assert reported["code"] == "REPORTED_FAILURE"
        assert "/etc/passwd is not in /srv/data" in reported["message"]


async def answer_at_random(calls: int) -> None:
    """Make calls, eight at once, whose answers are drawn at random, and fail unless each is data or a typed error."""
    async with proxied(upstream=UPSTREAM, env={"FAILSOFT_DEFAULT_TIMEOUT_S": "30"}) as client:
        codes: dict[str, int] = {}

        async def some(count: int) -> None:
            for _ in range(count):
                result = await client.call_tool("random", {"text": "x"})
                code = error_of(result)["code"] if result.is_error else "ok"
                codes[code] = codes.get(code, 0) + 1

        with anyio.fail_after(240):
            await asyncio.gather(*(some(calls // 8) for _ in range(8)))
        assert sum(codes.values()) == calls
        assert codes.keys() <= {"ok", *TYPED}


async def test_hostile_answers_are_each_answered_typed():
    await answer_at_random(80)


async def test_the_budget_that_is_left_is_sent_upstream():
    """Also for a caller who sends none, and never more than the proxy's own limit."""
    async with proxied(upstream=UPSTREAM, env={"FAILSOFT_DEFAULT_TIMEOUT_S": "4"}) as client:
        own = json.loads((await client.call_tool("budget", {})).content[0].text)
        given = {"dev.failsoft/budget": {"remaining_ms": 900, "runs_left": 1}}
        less = json.loads((await client.call_tool("budget", {}, meta=given)).content[0].text)
    assert 0 < own["remaining_ms"] <= 4_000
    assert 0 < less["remaining_ms"] <= 900
    assert less["runs_left"] == 1
