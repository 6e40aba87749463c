"""Plays a failure, and returns what comes back, with sizes."""

import json
from dataclasses import dataclass
from typing import Any

from mcp import MCPError

from agents.answers.worlds import Failure, World, world_of

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
