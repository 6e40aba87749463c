"""Plays the failures, and prints what a model reads of each, with sizes.

`python -m bench.agents.answers.play [NAME ...]`
"""

import asyncio
import json
import os
import statistics
import sys
from dataclasses import dataclass
from typing import Any

from mcp import MCPError

from bench.agents.answers.failures import FAILURES
from bench.agents.answers.worlds import Failure, World, world_of

TRACE = "dev.failsoft/trace"


@dataclass(frozen=True)
class Answer:
    """What comes back for a call that fails.

    Attributes:
        text: What a model reads.
        structured: `structuredContent`, None for an error of the protocol.
        whole: The whole result, without the trace.
        is_error: Whether the call failed at all.
    """

    text: str
    structured: Any
    whole: Any
    is_error: bool

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The bytes of the text, of the structured content, and of all."""
        structured = 0 if self.structured is None else size(self.structured)
        return len(self.text.encode()), structured, size(self.whole)


def size(value: Any) -> int:
    """Return the bytes of a value as compact JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


async def answer_of(world: World, failure: Failure) -> Answer:
    """Make the call of a failure."""
    try:
        result = await world.call(failure.call, failure.key)
    except MCPError as refused:
        whole = refused.error.model_dump(mode="json", by_alias=True, exclude_none=True)
        return Answer(refused.error.message, None, whole, is_error=True)
    whole = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    whole.get("_meta", {}).pop(TRACE, None)
    return Answer(result.content[0].text, result.structured_content, whole, bool(result.is_error))


async def play(server: str, failure: Failure) -> Answer:
    """Return the last answer of a failure, in a world of its own."""
    async with world_of(server) as world:
        if failure.before is not None:
            await failure.before(world)
        for _ in range(failure.repeats):
            await answer_of(world, failure)
        return await answer_of(world, failure)


async def main(names: list[str]) -> None:
    """Play all failures, or those of these names."""
    sizes = []
    for server, failure in FAILURES:
        if names and failure.name not in names:
            continue
        answer = await play(server, failure)
        sizes.append(answer.sizes)
        print(f"## {server}/{failure.name}: {failure.wants}")
        print(f"call: {failure.call}{f' (key {failure.key})' if failure.key else ''}")
        print(f"right: {failure.right}")
        print("---" if answer.is_error else "--- NO FAILURE")
        print(answer.text[:3000])
        print("--- text {} B, structured {} B, whole {} B\n".format(*answer.sizes))
    medians = [statistics.median(column) for column in zip(*sizes, strict=True)]
    print("{} failures; medians: text {:.0f} B, structured {:.0f} B, whole {:.0f} B".format(len(sizes), *medians))


if __name__ == "__main__":
    os.environ.setdefault("FAILSOFT_LOG_LEVEL", "CRITICAL")
    asyncio.run(main(sys.argv[1:]))
