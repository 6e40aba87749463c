"""What a proxy shows of an upstream's list: names that are safe to show, and no more than a client can take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.conftest import proxied
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("listing_server.py")
UNSAFE = (
    "bidi\u202egnp.tool",
    "zero\u200bwidth",
    "control\x1b[31m",
    "new\nline",
    "<b>markup</b>",
    "g\u043e\u043ed",
    "a space",
    "`quoted`",
    "",
    "x" * 129,
    "x" * 5_000,
)
SAFE = ("good", "Good.tool-2/sub_3", "x" * 128)
LIST_BYTES_AT_MOST = 4_000_000


def tool(name: str, *, description: str = "A tool.", **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


async def listed(folder: Path, *tools: dict[str, Any]) -> list[str]:
    """Return the names that a client of the proxy sees."""
    file = folder / "tools.json"
    file.write_text(json.dumps(tools))
    async with proxied(upstream=[PYTHON, str(SERVER), str(file)], env={"FAILSOFT_DEFAULT_TIMEOUT_S": "60"}) as client:
        names = []
        page = await client.list_tools()
        names += [one.name for one in page.tools]
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
            names += [one.name for one in page.tools]
    return names


async def test_a_name_that_is_not_plain_is_left_out(tmp_path: Path) -> None:
    names = await listed(tmp_path, *map(tool, (*UNSAFE, *SAFE)))
    if not names:
        raise RuntimeError
    assert sorted(names) == sorted(SAFE)


async def test_a_tool_that_is_too_large_is_left_out(tmp_path: Path) -> None:
    names = await listed(
        tmp_path,
        tool("good"),
        tool("long_description", description="x" * 300_000),
        tool("wide_schema", **{f"property_{number}": {"description": "x" * 10_000} for number in range(30)}),
    )
    if "good" not in names:
        raise RuntimeError
    assert names == ["good"]


async def test_at_most_four_megabytes_of_a_list_are_shown(tmp_path: Path) -> None:
    names = await listed(tmp_path, *(tool(f"tool_{number}", description="x" * 200_000) for number in range(30)))
    if not names:
        raise RuntimeError
    assert len(names) * 200_000 <= LIST_BYTES_AT_MOST
