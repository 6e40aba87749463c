"""A large file is read beside the event loop, not in it: other calls and the health check go on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab

pytestmark = IN_FLUX


def cpu_of_looking_at(text: str) -> float:
    """Return the CPU time that it takes to look at each line of a text: less than to parse it."""
    before = time.process_time()
    for line in text.splitlines():
        line.strip().startswith(">")
    return time.process_time() - before


async def _longest_step(longest: list[float]) -> None:
    """Note the CPU time of the longest step of the event loop, until cancelled."""
    while True:
        before = time.thread_time()
        await asyncio.sleep(0.001)
        longest.append(max(longest.pop(), time.thread_time() - before))


async def with_the_longest_step(
    lab: Lab, tool: Flux, operation: str, params: dict[str, Any]
) -> tuple[dict[str, Any], float]:
    """Return the answer to a call, and the CPU time of the longest step of the event loop meanwhile."""
    longest = [0.0]
    watch = asyncio.create_task(_longest_step(longest))
    await asyncio.sleep(0.01)
    longest[0] = 0.0
    answer = await asyncio.wait_for(lab.called(tool, operation, params), 60)
    await asyncio.sleep(0.005)
    watch.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watch
    return answer, longest[0]


def test_a_large_fasta_file_does_not_stop_the_event_loop(lab: Lab, rooted: Flux) -> None:
    (root,) = rooted.roots
    lines = "MKVLAAGIVGLLAQPAWA\n" * 30
    text = "".join(f">p{number}\n{lines}" for number in range(10_000))
    (root / "large.faa").write_text(f"{text}>p1\nMKV\n")  # an id twice: refused once all is read
    params = {"fasta_path": "large.faa", "template": "GramNegative"}
    answer, longest_s = asyncio.run(with_the_longest_step(lab, rooted, "build_model", params))
    assert answer["error_code"] == "INVALID_INPUT_FILE"
    assert longest_s < cpu_of_looking_at(text)
