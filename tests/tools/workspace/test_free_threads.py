"""A preflight leaves the server's worker threads to other calls, and says what failed."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import pytest

from tests.tools.workspace.site import Site

THREADS = 2
BOUND_S = 30
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are of a POSIX shell")


def test_running_preflights_leave_the_other_tools_free(site: Site) -> None:
    command = ["sh", "-c", "touch began.$$; while [ ! -e go ]; do sleep 0.02; done"]
    tool = site.tool(workspace_preflight=[command], max_threads=THREADS)
    (site.project / "a.txt").write_text("text")
    site.begin(tool)

    async def read_meanwhile() -> dict[str, Any]:
        running = [asyncio.ensure_future(site.called(tool, "run_preflight")) for _ in range(THREADS)]
        try:
            until = time.monotonic() + BOUND_S
            while len(list(site.project.glob("began.*"))) < THREADS:
                if time.monotonic() >= until:
                    raise RuntimeError
                await asyncio.sleep(0.01)
            reading = asyncio.ensure_future(site.called(tool, "read_file", {"path": "a.txt"}))
            await asyncio.wait([reading], timeout=BOUND_S)
        finally:
            (site.project / "go").touch()
        ended = await asyncio.wait_for(asyncio.gather(*running), BOUND_S)
        assert [answer["success"] for answer in ended] == [True] * THREADS
        return await asyncio.wait_for(reading, BOUND_S)

    assert asyncio.run(read_meanwhile()).get("error_code") is None


def test_the_message_of_a_failed_preflight_names_what_failed(site: Site) -> None:
    tool = site.tool(workspace_preflight=[["sh", "-c", "echo menu.txt:1: no price; exit 1"]])
    site.begin(tool)
    answer = site.call(tool, "run_preflight")

    assert answer["error_code"] == "PREFLIGHT_FAILED"
    assert "menu.txt:1: no price" in answer["human_message"].replace(answer["details"]["command"], "")
