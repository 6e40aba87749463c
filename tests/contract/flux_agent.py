"""A caller of the flux toolset that knows only its goal, and acts on a failure as the failure says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Agent", "GaveUpError"]

Answer = dict[str, Any]
_TURNS_AT_MOST = 8
_TOOL_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+")


class GaveUpError(Exception):
    """The failures no longer say what to do. `report` is what the agent reports to the user.

    Args:
        failure: The last one.
    """

    def __init__(self, failure: Answer) -> None:
        super().__init__(failure["message"])
        self.report = {name: failure[name] for name in ("error_code", "message", "error_id", "details")}


@dataclass
class Agent:
    """Calls tools, reads failures and does what they say, as often as that leads on.

    Args:
        ask: Makes one call and returns its answer.
        tools: The names of the tools of the server, as it lists them.
        said: Every answer so far, as tool and code; a code of None is a success.
    """

    ask: Callable[[str, Answer], Answer]
    tools: frozenset[str]
    said: list[tuple[str, str | None]] = field(default_factory=list)

    def call(self, tool: str, arguments: Answer) -> Answer:
        """Return the answer to one call."""
        answer = self.ask(tool, arguments)
        self.said.append((tool, answer.get("error_code")))
        return answer

    def reach(self, tool: str, arguments: Answer) -> tuple[Answer, Answer]:
        """Return an answer that is a success, and the arguments that brought it: by following `next_step` alone.

        Raises:
            GaveUpError: A failure names no step, or the step leads to the same failure again.
        """
        met: set[str] = set()
        while not (answer := self.call(tool, arguments))["success"]:
            step = answer.get("next_step")
            seen = json.dumps([answer["error_code"], answer["details"]], sort_keys=True)
            if step is None or seen in met or len(met) == _TURNS_AT_MOST:
                raise GaveUpError(answer)
            met.add(seen)
            if step["tool"] == tool:
                arguments = step["arguments"]
                continue
            found = self.call(step["tool"], step["arguments"])
            if not found["success"]:
                raise GaveUpError(found)
            arguments = taken_over(arguments, answer, found)
        return answer, arguments

    def suggested(self, failure: Answer) -> list[str]:
        """Return the tools of this server that the suggestions name, in their order."""
        named = [name for text in failure["suggestions"] for name in _TOOL_NAME.findall(text)]
        return [name for name in dict.fromkeys(named) if name in self.tools]


def taken_over(arguments: Answer, failure: Answer, found: Answer) -> Answer:
    """Return the arguments with what another call has found: a new id, or the first hit of a search for a wrong one."""
    ids = {name: found[name] for name in found if name.endswith("_id") and name in arguments}
    if ids:
        return {**arguments, **ids}
    wrong = failure["details"].get("invalid_ids", [])[:1]
    hits = [entry["compound_id"] for entry in found.get("results", [])]
    return {
        name: [hits[0] if item in wrong else item for item in value] if isinstance(value, list) and hits else value
        for name, value in arguments.items()
    }
