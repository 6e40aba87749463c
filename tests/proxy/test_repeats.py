"""A client that repeats a failed call through the proxy is told so, once, whoever is behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proxy.conftest import proxied
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio

PLAIN = Path(__file__).with_name("notes.py")
SOFT = Path(__file__).parent.parent / "server" / "serving.py"
AGAIN = "This call has now failed three times in the same way."


@pytest.mark.parametrize(
    ("upstream", "tool", "arguments"),
    [
        ([PYTHON, str(PLAIN), "/missing/notes"], "write", {"text": "a"}),
        ([PYTHON, str(PLAIN), "/missing/notes"], "write", {"text": 5}),
        ([PYTHON, str(SOFT), "stdio", "tools=polite"], "find", {"name": "gone"}),
    ],
)
async def test_the_third_failure_says_so_once(upstream: list[str], tool: str, arguments: dict[str, object]) -> None:
    async with proxied(upstream=upstream) as client:
        texts = [(await client.call_tool(tool, arguments)).content[0].text for _ in range(3)]  # type: ignore[union-attr]
    assert [text.count(AGAIN) for text in texts] == [0, 0, 1], texts[2]
