"""What the scrape of several workers says: a gauge that is "1 for" something is 1, however many workers there are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.slow.crashes.test_supervisor import ENVELOPE, HEADERS, Fragile, comes_true

SHOP = """
import os

from failsoft import BaseTool, CircuitBreaker, Unavailable, operation


class Shop(BaseTool):
    '''A shop whose payments are down.'''

    @operation(read_only=True, recovery=[CircuitBreaker("stripe", min_calls=2, confidence=0.5, open_s=3600)])
    async def pay(self) -> None:
        '''Pay.'''
        raise Unavailable(message="down", retry_after_seconds=600)

    @operation(read_only=True)
    async def process_id(self) -> int:
        '''Return the id of the process.'''
        return os.getpid()
"""


class Shop(Fragile):
    program = ("-m", "failsoft", "serve", "--app", "shop:Shop", "--transport", "http", "--port", "0", "--workers", "2")


def pay(url: str) -> str:
    """Return the code of the failure."""
    params = {"name": "pay", "arguments": {}, "_meta": ENVELOPE}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = httpx2.post(f"{url}/mcp", json=body, headers={**HEADERS, "mcp-name": "pay"}, timeout=10)
    return str(answer.json()["result"]["structuredContent"]["error"]["code"])


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "shop.py").write_text(SHOP)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    server = Shop(FAILSOFT_LOG_JSON="true", PYTHONPATH=path, FAILSOFT_STATE_URL=f"sqlite:{tmp_path / 'state.sqlite'}")
    yield server.ready()
    server.close()


def test_the_state_of_a_breaker_is_one_however_many_workers_have_seen_it(url: str) -> None:
    refusals = [pay(url) for _ in range(60)]
    if "CIRCUIT_OPEN" not in refusals:
        raise RuntimeError(refusals)
    line = re.compile(r'^mcp_circuit_state\{(?=[^}]*"stripe")(?=[^}]*"open")[^}]*\} ([\d.]+)$', re.MULTILINE)

    def value() -> float:
        found = line.search(httpx2.get(f"{url}/metrics").text)
        return float(found[1]) if found else 0.0

    assert comes_true(value, within_s=5) == 1.0


def test_the_process_metrics_of_each_worker_are_there(url: str) -> None:
    text = httpx2.get(f"{url}/metrics").text
    if "mcp_build_info" not in text:
        raise RuntimeError(text)
    assert len(re.findall(r"^process_resident_memory_bytes(?:\{[^}]*\})? ", text, re.MULTILINE)) == 2
