"""A probe: which calls are made of a server, within which bounds, and what they add to the report."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from failsoft.probe.connection import Answer, Connection, ServerEnded
from failsoft.probe.faults import Fault, faults_of
from failsoft.probe.rating import Known, looks_failed, rate, unstable
from failsoft.probe.reader import Advised, Reader
from failsoft.probe.report import Finding, Report, shown_answer, shown_arguments
from failsoft.probe.samples import Harvest, candidates
from failsoft.probe.schemas import ToolInfo, tools_in

_REPAIRS = 2
_TRIES = 3
_BROKEN_AT_MOST = 3
"""Crashes and hangs of a tool after which no more faults are tried on it: each costs a start of the server."""
_CANCEL_AFTER_S = 0.02
_UNKNOWN_TOOLS = 2
_QUIET = frozenset({"size", "cancel", "parallel"})
"""Faults of nothing that a caller could write differently."""


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


@dataclass(slots=True)
class _Base:
    """A call of a tool that its faults are made from.

    Args:
        arguments: Its arguments.
        answer: What it was answered.
        is_stable: Whether it is answered the same when made twice.
        works: Whether it succeeds.
    """

    arguments: Mapping[str, Any]
    answer: Answer | None
    is_stable: bool = True
    works: bool = False


class Probe:
    """One probe of one server.

    Args:
        connection: The server; `run` opens and closes it.
        bounds: What may be done.
        progress: Called with the calls made and what is done now.
    """

    def __init__(
        self, connection: Connection, bounds: Bounds, progress: Callable[[int, str], None] = lambda _calls, _what: None
    ) -> None:
        self._connection, self._bounds, self._progress = connection, bounds, progress
        self._tools: dict[str, ToolInfo] = {}
        self._allowed: frozenset[str] = frozenset()
        self._called: set[str] = set()
        self._known = Known()
        self._harvest = Harvest()
        self._bases: dict[str, _Base] = {}
        self._meant: dict[tuple[str, str], Answer] = {}
        self._repeated: set[str] = set()
        self._broken: Counter[str] = Counter()
        self._began = self._next_at = 0.0
        self.report = Report("", "", bounds.seed)

    async def run(self) -> Report:
        """Return the report; a bound, or a cancellation, leaves what there is in it, marked as not complete.

        Raises:
            UNAVAILABLE: The server cannot be started, or never answers.
        """
        self._began = time.monotonic()
        try:
            listed = await self._connection.open(within_s=min(60.0, self._bounds.max_seconds))
            self.report.name, self.report.version = self._connection.name, self._connection.version
            self._tools = {tool.name: tool for tool in tools_in(listed)}
            self._allowed = frozenset(name for name, tool in self._tools.items() if not self._bounds.refused(tool))
            for tool in self._tools.values():
                self._known.add(tool.description)
                self._known.add(json.dumps([dict(one.schema) for one in tool.parameters.values()], default=str))
            async with asyncio.timeout(self._bounds.max_seconds - (time.monotonic() - self._began)):
                await self._probe()
        except (BoundReached, ServerEnded, TimeoutError):
            self.report.complete = False
        except asyncio.CancelledError:
            self.report.complete = False
            raise
        finally:
            self._finish()
            await self._connection.close()
        return self.report

    def _finish(self) -> None:
        self.report.tools = [
            {
                "name": name,
                "called": name in self._called,
                **({"skipped": why} if (why := self._bounds.refused(tool)) else {}),
            }
            for name, tool in self._tools.items()
        ]
        self.report.timing = {"seconds": round(time.monotonic() - self._began, 3)}

    async def _probe(self) -> None:
        reader = Reader(self._tools, self._allowed)
        tools = sorted(
            (self._tools[name] for name in self._tools if name in self._allowed), key=lambda tool: len(tool.required)
        )
        for tool in tools:
            await self._find_base(tool, reader)
        for tool in tools:  # others have returned more by now
            if not self._bases[tool.name].works and tool.required:
                await self._find_base(tool, reader)
        planned = [
            faults_of(tool, self._bases[tool.name].arguments, self._tools, self._harvest, self._bounds.seed)
            for tool in tools
        ]
        planned = _few_unknown(planned, self._bounds.seed)
        for number in range(max(map(len, planned), default=0)):
            for faults in planned:
                if number < len(faults):
                    await self._try(faults[number], reader)

    async def call(self, name: str, arguments: Mapping[str, Any], *, is_unknown: bool = False) -> Answer:
        """Make a call, within the bounds: of a listed tool that may be called, or of a name that no tool has."""
        if name not in self._allowed and not (is_unknown and name not in self._tools):
            msg = f"{name} may not be called"
            raise AssertionError(msg)
        if self.report.calls >= self._bounds.max_calls:
            raise BoundReached
        if self._bounds.rate:
            await asyncio.sleep(self._next_at - time.monotonic())
            self._next_at = time.monotonic() + 1 / self._bounds.rate
        self.report.calls += 1
        self._called.add(name)
        self._progress(self.report.calls, name)
        return await self._connection.call(name, arguments)

    async def _find_base(self, tool: ToolInfo, reader: Reader) -> None:
        """Look for arguments that work: from the schema, then as the answers advise."""
        tried: list[Mapping[str, Any]] = []
        waiting = [*candidates(tool, self._harvest, at_most=_TRIES)]
        if (before := self._bases.get(tool.name)) is not None:
            waiting = [one for one in waiting if one != before.arguments]
        else:
            self._bases[tool.name] = _Base(waiting[0], None)
        while waiting and len(tried) < _TRIES:
            arguments = waiting.pop(0)
            tried.append(arguments)
            answer = await self.call(tool.name, arguments)
            fault = Fault("none", tool.name, tool.name, arguments, arguments, is_declared=False)
            self._add(fault, answer, rate(fault, answer, tool, self._known))
            if not answer.failed and not looks_failed(answer, tool):
                self._harvest.take(tool.name, arguments, answer)
                self._known.add(answer.whole)
                again = await self.call(tool.name, arguments) if tool.is_read_only else answer
                self._bases[tool.name] = _Base(arguments, answer, _same(answer, again), works=True)
                return
            advised = reader.read(fault, (tool.name, arguments), answer.text)
            if advised is not None and advised.tool == tool.name and advised.arguments not in tried:
                waiting.insert(0, dict(advised.arguments))
            elif advised is not None and advised.source == "look":
                await self._look(advised)

    async def _look(self, advised: Advised) -> Answer:
        answer = await self.call(advised.tool, advised.arguments)
        if not answer.failed:
            self._harvest.take(advised.tool, advised.arguments, answer)
            self._known.add(answer.whole)
        return answer

    async def _try(self, fault: Fault, reader: Reader) -> None:
        """Make one faulty call, rate its answer, and repair it as the answer says."""
        tool = self._tools[fault.tool]
        if self._broken[fault.tool] >= _BROKEN_AT_MOST:
            return
        if fault.kind == "cancel":
            await self._cancel(fault)
            return
        if fault.kind == "parallel":
            await self._at_once(fault)
            return
        answer = await self._send(fault)
        self._add(fault, answer, rate(fault, answer, tool, self._known))
        if not answer.failed:
            await self._judge_accepted(fault, answer)
        elif fault.kind not in _QUIET and answer.kind in {"result", "error"}:
            await self._repeat_once(fault, answer)
            await self._repair(fault, answer, reader)
        elif answer.kind in {"crash", "hang"}:
            self._broken[fault.tool] += 1
            self.report.faults += self._bases[fault.tool].works

    async def _send(self, fault: Fault) -> Answer:
        is_unknown = fault.kind == "unknown_tool"
        for text in _strings(fault.arguments):
            self._known.add(text)
        return await self.call(fault.sent_tool, fault.arguments, is_unknown=is_unknown)

    async def _judge_accepted(self, fault: Fault, answer: Answer) -> None:
        """Count a declared fault that was accepted, and answered otherwise than the call that was meant."""
        base = self._bases[fault.tool]
        if not fault.is_declared or not base.works or not base.is_stable:
            return
        if not _same(await self._answer_meant(fault), answer):
            self.report.faults += 1

    async def _repeat_once(self, fault: Fault, answer: Answer) -> None:
        if fault.tool in self._repeated:
            return
        self._repeated.add(fault.tool)
        broken = unstable(answer, await self._send(fault))
        if broken is not None:
            self._add(fault, answer, [broken])

    async def _repair(self, fault: Fault, answer: Answer, reader: Reader) -> None:
        """Do what the answers say, at most twice, and count whether the meant call came of it."""
        sent: tuple[str, Mapping[str, Any]] = (fault.sent_tool, fault.arguments)
        advised = reader.read(fault, sent, answer.text)
        counts = self._bases[fault.tool].works
        judged = fault.is_declared or fault.kind == "value"
        if advised is None and judged and not reader.has_advice(fault, answer.text):
            why = "A caller that reads only this text finds nothing in it to do next."
            self._add(fault, answer, [("no-next-step", why)])
        for _ in range(_REPAIRS):
            if advised is None:
                break
            if advised.tool != fault.tool and advised.source == "look":
                looked = await self._look(advised)
                advised = None if looked.failed else reader.after_look(fault, looked.whole)
                continue
            done, advised, answer, sent = await self._follow(fault, advised, answer, reader)
            if done is not None:
                self.report.faults += counts
                self.report.repaired += done and counts
                return
        self.report.faults += counts

    async def _follow(
        self, fault: Fault, advised: Advised, answer: Answer, reader: Reader
    ) -> tuple[bool | None, Advised | None, Answer, tuple[str, Mapping[str, Any]]]:
        """Make the call that was advised; return whether that ended the repair, and how, and what is advised next."""
        made = (advised.tool, advised.arguments)
        then = await self.call(*made)
        self.report.advice += advised.is_concrete
        if then.failed:
            if advised.is_concrete and self._bases[fault.tool].works:
                why = f"The text leads to `{advised.tool}` {_brief(advised.arguments)}, and that call fails."
                self._add(fault, answer, [("next-call-fails", why)])
            return None, reader.read(fault, made, then.text), then, made
        if self._is_look(fault, advised):
            return None, reader.after_look(fault, then.whole), then, made
        if dict(advised.arguments) == dict(fault.meant) and advised.tool == fault.tool:
            return True, None, then, made
        is_same = _same(await self._answer_meant(fault), then)
        if not is_same and advised.is_concrete and self._bases[fault.tool].works and self._bases[fault.tool].is_stable:
            self.report.misled += 1
            why = f"The text leads to `{advised.tool}` {_brief(advised.arguments)}, which does something else."
            self._add(fault, answer, [("misleading-advice", why)])
        return is_same, None, then, made

    @staticmethod
    def _is_look(fault: Fault, advised: Advised) -> bool:
        """Return whether a call shows what there is: of another tool, or without what was wrong."""
        if advised.tool != fault.tool:
            return fault.kind != "unknown_tool" or advised.source == "step"
        return advised.is_concrete and fault.field in fault.meant and fault.field not in advised.arguments

    async def _answer_meant(self, fault: Fault) -> Answer:
        base = self._bases[fault.tool]
        if base.answer is not None and dict(base.arguments) == dict(fault.meant):
            return base.answer
        key = (fault.tool, json.dumps(fault.meant, sort_keys=True, default=str))
        if key not in self._meant:
            self._meant[key] = await self.call(fault.tool, fault.meant)
        return self._meant[key]

    async def _cancel(self, fault: Fault) -> None:
        if self.report.calls >= self._bounds.max_calls:
            raise BoundReached
        self.report.calls += 1
        self._called.add(fault.tool)
        if not await self._connection.cancel(fault.tool, fault.arguments, after_s=_CANCEL_AFTER_S):
            self._add(
                fault, Answer("hang", ""), [("hang", "After a cancelled call the server answers no other request.")]
            )

    async def _at_once(self, fault: Fault) -> None:
        base = self._bases[fault.tool]
        if self.report.calls + 2 > self._bounds.max_calls:
            raise BoundReached
        answers = await asyncio.gather(*(self.call(fault.tool, fault.arguments) for _ in range(2)))
        for answer in answers:
            if answer.kind in {"crash", "hang"}:
                self._add(fault, answer, rate(fault, answer, self._tools[fault.tool], self._known))
            elif base.works and base.is_stable and base.answer is not None and answer.failed:
                self._add(fault, answer, [("unstable-code", "The call works alone, and fails while another one runs.")])

    def _add(self, fault: Fault, answer: Answer, broken: Any) -> None:
        for name, why in broken:
            call = {"tool": fault.sent_tool, "arguments": shown_arguments(fault.arguments)}
            said = shown_answer(answer.text or answer.whole.strip())
            self.report.add(Finding(name, fault.tool, fault.kind, call, said, shown_answer(why)))


def _few_unknown(planned: list[list[Fault]], seed: int) -> list[list[Fault]]:
    """Return the faults with those of unknown tools for two tools only: a server answers them in one place."""
    having = [number for number, faults in enumerate(planned) if any(one.kind == "unknown_tool" for one in faults)]
    dice = random.Random(seed)  # noqa: S311 - a report can be made again
    kept = {*dice.sample(having, min(_UNKNOWN_TOOLS, len(having)))}
    return [
        [one for one in faults if one.kind != "unknown_tool" or number in kept] for number, faults in enumerate(planned)
    ]


def _same(one: Answer, other: Answer) -> bool:
    return (one.failed, one.text, one.structured) == (other.failed, other.text, other.structured)


def _brief(arguments: Mapping[str, Any]) -> str:
    return json.dumps(shown_arguments(arguments), ensure_ascii=False)


def _strings(tree: Any) -> list[str]:
    if isinstance(tree, Mapping):
        return [text for value in tree.values() for text in _strings(value)]
    if isinstance(tree, list):
        return [text for value in tree for text in _strings(value)]
    return [tree] if isinstance(tree, str) else []
