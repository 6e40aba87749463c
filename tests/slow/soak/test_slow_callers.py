"""A thousand slow calls of one caller, beside probes, scrapes and the calls of another."""

from __future__ import annotations

import resource
from contextlib import ExitStack

import httpx2
import pytest

from tests.server.http.process.test_crowded import TOKENS, body_of, connected, headers_of, raw
from tests.server.processes import BOUND_S
from tests.slow.soak.test_slow_connections import Cold

CALLS = 1_000
BEARER = {"authorization": f"Bearer {TOKENS['bob']}"}


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize(
    ("tool", "arguments", "taken"), [("hang", {"key": "1"}, 100), ("hold_a_thread", {}, 24)], ids=["async", "sync"]
)
def test_a_thousand_slow_calls_of_one_caller(tool: str, arguments: dict[str, str], taken: int, version: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4_096:
        pytest.skip("the system grants too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4_096), hard))
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    server = Cold("http", "tools=polite", FAILSOFT_AUTH_TOKENS=tokens, FAILSOFT_SHUTDOWN_GRACE_S="0")
    body = body_of(tool, **arguments)
    headers = {**headers_of(tool, "ada"), "content-length": str(len(body)), "mcp-protocol-version": version}
    with ExitStack() as stack:
        stack.callback(server.close)
        url = server.wait_for("ready")
        rejected = 0
        for number in range(CALLS):
            stack.enter_context(connected(url)).sendall(raw(url, headers, body))
            if number % 100 == 0:
                assert_served(url)
        while rejected < CALLS - taken:
            rejected = counted(assert_served(url), tool, "rejected")
        assert rejected == CALLS - taken
        assert len(server.errors) < 10


def assert_served(url: str) -> str:
    """Check that probes and another caller are served; return the scrape."""
    for probe in ("/healthz", "/readyz"):
        assert httpx2.get(f"{url}{probe}", timeout=BOUND_S).status_code == 200
    for tool, arguments in (("process_id", {}), ("double", {"number": 2})):
        content = body_of(tool, **arguments)
        answer = httpx2.post(f"{url}/mcp", headers=headers_of(tool, "bob"), content=content, timeout=BOUND_S)
        assert answer.json()["result"]["isError"] is False
    scrape = httpx2.get(f"{url}/metrics", headers=BEARER, timeout=BOUND_S)
    assert scrape.status_code == 200
    return scrape.text


def counted(text: str, tool: str, outcome: str) -> int:
    """Return how many calls of a tool had an outcome."""
    start = f'mcp_tool_calls_total{{operation="{tool}",outcome="{outcome}",'
    return int(float(next((line.split()[-1] for line in text.splitlines() if line.startswith(start)), "0")))
