"""A preflight leaves the server's worker threads to other calls, and says what failed."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
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


def test_a_failed_preflight_may_be_repeated_by_its_caller_but_is_never_repeated_unasked(site: Site) -> None:
    """The commands are the operator's, and may have effects: two at once, or one after another, differ from one."""
    tool = site.tool(workspace_preflight=[["sh", "-c", "exit 1"]])
    site.begin(tool)
    assert not tool.operations["run_preflight"].idempotent
    assert "call `run_preflight` again" in site.call(tool, "run_preflight")["human_message"]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_cancelled_command_leaves_no_descriptor_open(site: Site, loop: str) -> None:
    command = ["sh", "-c", "setsid sh -c 'echo $$ > pid; exec sleep 600' & sleep 600"]
    tool = site.tool(workspace_preflight=[command])
    site.begin(tool)

    pid = site.project / "pid"

    async def cancel() -> None:
        before = descriptors()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(site.called, tool, "run_preflight")
            await asyncio.to_thread(come_true, lambda: pid.exists() and pid.read_text())
            tasks.cancel_scope.cancel()
        await asyncio.to_thread(come_true, lambda: not descriptors() - before)

    pytest.importorskip(loop).run(cancel())


def descriptors() -> set[str]:
    """Return the pipes of this process, and what tells it of the end of another."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(str(descriptor.readlink()))
    return {target for target in found if target.startswith(("pipe:", "pidfd:", "anon_inode:[pidfd]"))}


def come_true(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_commands_run_in_the_loop_of_a_server_with_uvloop(site: Site) -> None:
    tool = site.tool(workspace_preflight=[["echo", "a"], ["sh", "-c", "echo b; kill -9 $$"]])
    site.begin(tool)
    answer = pytest.importorskip("uvloop").run(site.called(tool, "run_preflight"))
    assert (answer["details"]["output_snippet"], "SIGKILL" in answer["details"]["outcome"]) == ("b\n", True)
