"""The calls of a probe: which tools may be called, within which bounds, and what the answers add to the report."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded
from failsoft.probe.connection import Connection, ServerAnswer
from failsoft.probe.faults import SURROGATE, FaultyCall, strings
from failsoft.probe.rating import Broken, Known
from failsoft.probe.reader import READ_AT_MOST
from failsoft.probe.report import ProbeFinding, ProbeReport, shown_answer, shown_arguments
from failsoft.probe.samples import Harvest
from failsoft.probe.schemas import ToolInfo, tools_in

_LIMITED = re.compile(
    r"rate.?limit|too many requests|\b429\b|(?:retry|again) (?:after|in) (\d{1,3}(?:\.\d+)?) ?s", re.IGNORECASE
)
_OWN_PARTS = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|0x[0-9a-f]+|\d+", re.IGNORECASE)
_NAME_AT_MOST = 128
_PATIENCE = 4
"""How often a call is sent to a server that limits the rate of calls, each time after a wait."""
_FASTEST = 20.0
_SURROGATES_WITHIN_S = 3.0
"""Servers in Python drop a line with a lone surrogate, and never answer it."""
_WAIT_AT_MOST_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a probe may do.

    Args:
        seed: Chooses the faults.
        tools: Only these tools; empty for all.
        max_calls: The most calls that are sent.
        max_seconds: The longest time, in seconds.
        rate: The most calls in a second; None for no bound.
        timeout_s: How long an answer may take, in seconds.
        writes: Whether tools are called that do not say that they only read.
        destructive: Whether tools are called that say that they destroy.
    """

    seed: int = 0
    tools: tuple[str, ...] = ()
    max_calls: int = 400
    max_seconds: float = 120.0
    rate: float | None = None
    timeout_s: float = 10.0
    writes: bool = False
    destructive: bool = False

    def refused(self, tool: ToolInfo) -> str:
        """Return why a tool is not called; empty if it is."""
        if self.tools and tool.name not in self.tools:
            return "not named by --tool"
        if self.destructive or (tool.is_read_only and not tool.is_destructive):
            return ""
        if tool.is_destructive:
            return "says that it destroys (--include-destructive)"
        return "" if self.writes else "does not say that it only reads (--include-writes)"


class BoundReached(Exception):
    """No more calls may be made."""


class Withdrawn(Exception):
    """The server says no more of a tool that it may be called."""


class Calls:
    """Makes the calls of one probe, and keeps what they show.

    Args:
        connection: The server.
        bounds: What may be done.
        progress: Called with the calls made and the tool that is called.
    """

    def __init__(self, connection: Connection, bounds: Bounds, progress: Callable[[int, str], None]) -> None:
        self._connection, self._bounds, self._progress = connection, bounds, progress
        self._next_at = 0.0
        self._until = time.monotonic() + bounds.max_seconds
        self._rate = bounds.rate
        self.tools: dict[str, ToolInfo] = {}
        self.allowed: frozenset[str] = frozenset()
        self.called: set[str] = set()
        self._withdrawn: set[str] = set()
        self.known = Known()
        self.harvest = Harvest()
        self.report = ProbeReport("", "", bounds.seed)

    def listed(self, listed: list[Any]) -> None:
        """Take the tools that the server lists."""
        about = (redact_text(self._connection.name), redact_text(self._connection.version))
        self.report.name, self.report.version = (bounded(text, _NAME_AT_MOST) for text in about)
        self.tools = {tool.name: tool for tool in tools_in(listed)}
        self.allowed = frozenset(name for name, tool in self.tools.items() if not self._bounds.refused(tool))
        self.known.texts += self._connection.given
        self.harvest.take_paths("\n".join(one for one in self._connection.given if Path(one).is_dir()))
        for tool in self.tools.values():
            self.known.add(tool.description)
            self.known.add(json.dumps([dict(one.schema) for one in tool.parameters.values()], default=str))

    def count_tools(self) -> None:
        """Report which tools were called, and why others may not be."""
        self.report.tools = [
            {
                "name": bounded(name, _NAME_AT_MOST),
                "called": name in self.called,
                **({"skipped": why} if (why := self._bounds.refused(tool)) else {}),
            }
            for name, tool in self.tools.items()
        ]

    async def call(self, name: str, arguments: Mapping[str, Any], *, is_unknown: bool = False) -> ServerAnswer:
        """Make a call, within the bounds: of a listed tool that may be called, or of a name that no tool has.

        Raises:
            Withdrawn: The tool says no more that it only reads, or is not listed any more.
        """
        await self._look_for_changes(name)
        if name not in self.allowed and not (is_unknown and name not in self.tools):
            msg = f"{name} may not be called"
            raise AssertionError(msg)
        sent = 1
        while True:
            await self._take(name)
            has_surrogates = any(SURROGATE in text for text in strings(arguments))
            within_s = _SURROGATES_WITHIN_S if has_surrogates else math.inf
            answer = await self._connection.call(name, arguments, within_s=within_s)
            limited = _LIMITED.search(answer.text[:1_000]) if answer.failed else None
            if limited is None or sent == _PATIENCE:
                return answer
            sent += 1
            self._rate = min(self._rate or _FASTEST, _FASTEST) / 2
            await asyncio.sleep(min(float(limited[1] or 1), _WAIT_AT_MOST_S))

    async def cancel(self, name: str, arguments: Mapping[str, Any], *, after_s: float) -> bool:
        """Make a call and cancel it; return whether the server answers afterwards."""
        await self._look_for_changes(name)
        await self._take(name)
        return await self._connection.cancel(name, arguments, after_s=after_s)

    async def _look_for_changes(self, name: str) -> None:
        """Call no tool any more that the server lists otherwise than when it was chosen."""
        if self._connection.is_changed:
            now = {tool.name: tool for tool in tools_in(await self._connection.listed_again())}
            gone = {one for one in self.allowed if one not in now or self._bounds.refused(now[one])}
            self.tools |= {one: now[one] for one in gone if one in now}
            self.allowed -= gone
            self._withdrawn |= gone | (now.keys() - self.tools.keys())
        if name in self._withdrawn:
            raise Withdrawn

    async def _take(self, name: str) -> None:
        """Count a call, once it may be made."""
        if self.report.calls >= self._bounds.max_calls or time.monotonic() >= self._until:
            raise BoundReached
        self.report.calls += 1
        self.called.add(name)
        self._progress(self.report.calls, name)
        if self._rate:
            now = time.monotonic()
            self._next_at = max(self._next_at, now) + 1 / self._rate
            await asyncio.sleep(self._next_at - now - 1 / self._rate)

    async def look(self, name: str, arguments: Mapping[str, Any]) -> ServerAnswer:
        """Call a tool for what it returns, which is kept."""
        answer = await self.call(name, arguments)
        if not answer.failed:
            self.learn(name, arguments, answer)
        return answer

    def learn(self, name: str, arguments: Mapping[str, Any], answer: ServerAnswer) -> None:
        """Keep what a call returned."""
        self.harvest.take(name, arguments, answer)
        self.known.add(answer.whole)

    def add(self, fault: FaultyCall, answer: ServerAnswer, broken: Iterable[Broken]) -> None:
        """Report the rules that an answer breaks."""
        for name, why in broken:
            call = {"tool": bounded(fault.sent_tool, _NAME_AT_MOST), "arguments": shown_arguments(fault.arguments)}
            is_none = answer.kind in {"crash", "hang"}  # the text is of this client
            said = "" if is_none else shown_answer(answer.text or answer.whole.strip())
            is_note = fault.kind == "unknown_tool" or is_of_surrogates(fault)
            tool = bounded(fault.tool, _NAME_AT_MOST)
            self.report.add(ProbeFinding(name, tool, fault.kind, call, said, shown_answer(why), is_note=is_note))


def same(one: ServerAnswer, other: ServerAnswer) -> bool:
    """Return whether two answers say the same."""
    return (one.failed, one.text, one.structured) == (other.failed, other.text, other.structured)


def is_alike(one: ServerAnswer, other: ServerAnswer) -> bool:
    """Return whether two failures say the same, apart from quoted parts and numbers."""
    said = [_OWN_PARTS.sub("…", answer.text[:READ_AT_MOST]) for answer in (one, other)]
    return one.failed == other.failed and one.kind == other.kind and said[0] == said[1]


def is_of_surrogates(fault: FaultyCall) -> bool:
    """Return whether a call holds a lone surrogate, which its transport may refuse."""
    return fault.kind == "control" and any(SURROGATE in text for text in strings(fault.arguments))
