"""A probe: faults are tried on each tool in turn, their answers rated, and the calls repaired as the answers say."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.text import bounded
from failsoft.probe.bases import Bases
from failsoft.probe.calls import BoundReached, Bounds, Calls, Withdrawn, is_alike, is_of_surrogates, same
from failsoft.probe.connection import Connection, ServerAnswer, ServerEnded
from failsoft.probe.faults import FaultyCall, faults_of, strings
from failsoft.probe.rating import looks_failed, rate, unstable
from failsoft.probe.reader import Advised, Reader, mentions
from failsoft.probe.report import ProbeReport, shown_arguments
from failsoft.probe.schemas import ToolInfo

_REPAIRS = 2
_BROKEN_AT_MOST = 3
"""Crashes and hangs of a tool after which no more faults are tried on it: each costs a start of the server."""
_CANCEL_AFTER_S = 0.02
_QUIET = frozenset({"size", "cancel", "parallel"})
"""Faults of nothing that a caller could write differently."""


class Probe:
    """One probe of one server.

    Args:
        connection: The server; `run` opens and closes it.
        bounds: What may be done.
        progress: Called with the calls made and what is done now.
        is_alone: Whether every tool that the bounds name has to be one of this server.
    """

    def __init__(
        self,
        connection: Connection,
        bounds: Bounds,
        progress: Callable[[int, str], None] = lambda _calls, _what: None,
        *,
        is_alone: bool = True,
    ) -> None:
        self._is_alone = is_alone
        self._connection, self._bounds = connection, bounds
        self._calls = Calls(connection, bounds, progress)
        self._reader: Reader
        self._bases: Bases  # both are made once the tools of the server are known
        self._meant: dict[tuple[str, str], ServerAnswer] = {}
        self._repeated: set[tuple[str, str]] = set()
        self._broken: Counter[str] = Counter()
        self.report = self._calls.report

    async def run(self) -> ProbeReport:
        """Return the report; a bound, or a cancellation, leaves what there is in it, marked as not complete.

        Raises:
            UNAVAILABLE: The server cannot be started, or never answers.
            INVALID_PARAM: It has no tool of a name that the bounds give.
        """
        began = time.monotonic()
        try:
            self._calls.listed(await self._connection.open(within_s=min(60.0, self._bounds.max_seconds)))
            if self._is_alone:
                require_tools(self._bounds.tools, self._calls.tools)
            async with asyncio.timeout(self._bounds.max_seconds - (time.monotonic() - began)):
                await self._probe()
        except (BoundReached, ServerEnded, TimeoutError):
            self.report.complete = False
        except asyncio.CancelledError:
            self.report.complete = False
            raise
        finally:
            self._calls.count_tools()
            self.report.timing = {"seconds": round(time.monotonic() - began, 3)}
            await self._connection.close()
        return self.report

    async def _probe(self) -> None:
        calls = self._calls
        self._reader = Reader(calls.tools, calls.allowed)
        self._bases = Bases(calls, self._reader)
        tools = sorted((calls.tools[name] for name in calls.tools if name in calls.allowed), key=_needs)
        await self._bases.find(tools)
        planned = [
            faults_of(tool, self._bases[tool.name].arguments, calls.tools, calls.harvest, self._bounds.seed)
            for tool in tools
        ]
        planned = _few_of_the_server(planned, self._bounds.seed, surrogates=self._connection.takes_surrogates)
        for number in range(max(map(len, planned), default=0)):
            for faults in planned:
                if number < len(faults):
                    with suppress(Withdrawn):
                        await self._try(faults[number])

    async def _try(self, fault: FaultyCall) -> None:
        """Make one faulty call, rate its answer, and repair it as the answer says."""
        tool = self._calls.tools[fault.tool]
        base = self._bases[fault.tool]
        is_away = base.answer is not None and base.answer.kind in {"crash", "hang"}
        if is_away or self._broken[fault.tool] >= _BROKEN_AT_MOST:
            return
        if fault.kind == "cancel":
            await self._cancel(fault)
            return
        if fault.kind == "parallel":
            await self._at_once(fault)
            return
        answer = await self._send(fault)
        if not base.works and base.answer is not None and is_alike(base.answer, answer):
            return  # it fails for another reason, which was rated when the base was looked for
        self._calls.add(fault, answer, rate(fault, answer, tool, self._calls.known))
        if not answer.failed:
            await self._judge_accepted(fault, answer)
        elif fault.kind not in _QUIET and answer.kind in {"result", "error"}:
            await self._repeat_once(fault, answer)
            await self._repair(fault, answer)
        elif answer.kind in {"crash", "hang"}:
            self._broken[fault.tool] += 1
            if self._bases[fault.tool].works:
                self.report.count(fault, is_repaired=False)

    async def _send(self, fault: FaultyCall) -> ServerAnswer:
        is_unknown = fault.kind == "unknown_tool"
        for text in strings(fault.arguments):
            self._calls.known.add(text)
        return await self._calls.call(fault.sent_tool, fault.arguments, is_unknown=is_unknown)

    async def _judge_accepted(self, fault: FaultyCall, answer: ServerAnswer) -> None:
        """Count a declared fault that was accepted, and answered otherwise than the call that was meant."""
        base = self._bases[fault.tool]
        if looks_failed(answer, self._calls.tools[fault.tool]):
            if base.works:
                self.report.count(fault, is_repaired=False)
            return
        if not fault.is_declared or not base.works or not base.is_stable:
            return
        if not same(await self._answer_meant(fault), answer):
            self.report.count(fault, is_repaired=False)

    async def _repeat_once(self, fault: FaultyCall, answer: ServerAnswer) -> None:
        kind = "value" if fault.kind == "value" else "any"
        if (fault.tool, kind) in self._repeated:
            return
        self._repeated.add((fault.tool, kind))
        again = await self._send(fault)
        if again.kind in {"crash", "hang"}:
            self._calls.add(fault, again, rate(fault, again, self._calls.tools[fault.tool], self._calls.known))
        elif (broken := unstable(answer, again)) is not None:
            self._calls.add(fault, answer, [broken])

    async def _repair(self, fault: FaultyCall, answer: ServerAnswer) -> None:
        """Do what the answers say, at most twice, and count whether the meant call came of it."""
        sent: tuple[str, Mapping[str, Any]] = (fault.sent_tool, fault.arguments)
        advised = self._reader.read(fault, sent, answer.text)
        counts = self._bases[fault.tool].works and not (is_of_surrogates(fault) and answer.kind != "result")
        if nowhere := self._reader.unknown_step(answer.text):
            self._calls.add(
                fault, answer, [("next-call-fails", f"The text leads to `{nowhere}`, and there is no such tool.")]
            )
        judged = fault.kind != "unknown_tool" and (fault.is_declared or fault.kind == "value")
        is_told = fault.is_declared and mentions(answer.text, fault.field)
        if (
            advised is None
            and judged
            and not is_told
            and not nowhere
            and not self._reader.has_advice(fault, answer.text)
        ):
            why = "A caller that reads only this text finds nothing in it to do next."
            self._calls.add(fault, answer, [("no-next-step", why)])
        for _ in range(_REPAIRS):
            if advised is None:
                break
            if advised.tool != fault.tool and advised.source == "look":
                looked = await self._calls.look(advised.tool, advised.arguments)
                found = None if looked.failed else self._reader.after_look(fault, looked.whole)
                advised = found or self._reader.named(fault, sent, answer.text)
                continue
            done, advised, answer, sent = await self._follow(fault, advised, answer)
            if done is not None:
                if counts:
                    self.report.count(fault, is_repaired=done)
                return
        if counts and await self._still_works(fault):
            self.report.count(fault, is_repaired=False)

    async def _still_works(self, fault: FaultyCall) -> bool:
        """Return whether the call that was meant works: after writes it may not any more."""
        if not self._bases[fault.tool].works or self._calls.tools[fault.tool].is_read_only:
            return self._bases[fault.tool].works
        return not (await self._calls.call(fault.tool, fault.meant)).failed

    async def _follow(
        self, fault: FaultyCall, advised: Advised, answer: ServerAnswer
    ) -> tuple[bool | None, Advised | None, ServerAnswer, tuple[str, Mapping[str, Any]]]:
        """Make the call that was advised; return whether that ended the repair, and how, and what is advised next."""
        made = (advised.tool, advised.arguments)
        then = await self._calls.call(*made)
        self.report.advice += advised.is_concrete
        if then.failed:
            if advised.is_concrete and await self._still_works(fault):
                why = f"The text leads to `{advised.tool}` {_brief(advised.arguments)}, and that call fails."
                self._calls.add(fault, answer, [("next-call-fails", why)])
            return None, self._reader.read(fault, made, then.text), then, made
        if self._is_look(fault, advised):
            found = self._reader.after_look(fault, then.whole)
            return None, found or self._reader.named(fault, (fault.sent_tool, fault.arguments), answer.text), then, made
        if dict(advised.arguments) == dict(fault.meant) and advised.tool == fault.tool:
            return True, None, then, made
        is_same = same(await self._answer_meant(fault), then)
        if not is_same and advised.is_concrete and self._bases[fault.tool].works and self._bases[fault.tool].is_stable:
            self.report.misled += 1
            why = f"The text leads to `{advised.tool}` {_brief(advised.arguments)}, which does something else."
            self._calls.add(fault, answer, [("misleading-advice", why)])
        return is_same, None, then, made

    @staticmethod
    def _is_look(fault: FaultyCall, advised: Advised) -> bool:
        """Return whether a call shows what there is: of another tool, or without what was wrong."""
        if advised.tool != fault.tool:
            return fault.kind != "unknown_tool" or advised.source == "step"
        return advised.is_concrete and fault.field in fault.meant and fault.field not in advised.arguments

    async def _answer_meant(self, fault: FaultyCall) -> ServerAnswer:
        base = self._bases[fault.tool]
        if base.answer is not None and dict(base.arguments) == dict(fault.meant):
            return base.answer
        key = (fault.tool, json.dumps(fault.meant, sort_keys=True, default=str))
        if key not in self._meant:
            self._meant[key] = await self._calls.call(fault.tool, fault.meant)
        return self._meant[key]

    async def _cancel(self, fault: FaultyCall) -> None:
        if not await self._calls.cancel(fault.tool, fault.arguments, after_s=_CANCEL_AFTER_S):
            why = "After a cancelled call the server answers no other request."
            self._calls.add(fault, ServerAnswer("hang", ""), [("hang", why)])

    async def _at_once(self, fault: FaultyCall) -> None:
        base = self._bases[fault.tool]
        answers = await asyncio.gather(*(self._calls.call(fault.tool, fault.arguments) for _ in range(2)))
        for answer in answers:
            if answer.kind in {"crash", "hang"}:
                self._calls.add(fault, answer, rate(fault, answer, self._calls.tools[fault.tool], self._calls.known))
            elif base.works and base.is_stable and self._calls.tools[fault.tool].is_read_only and answer.failed:
                self._calls.add(
                    fault, answer, [("unstable-code", "The call works alone, and fails while another one runs.")]
                )


def require_tools(named: Iterable[str], known: Iterable[str]) -> None:
    """Require that the named tools are among the known ones.

    Raises:
        INVALID_PARAM: One is not; the message has the closest name.
    """
    names = [*known]
    for name in named:
        if name not in names:
            closest = closest_name(name, names)
            raise InvalidParameter(
                message=f"The server has no tool '{bounded(name)}'"
                + (f"; did you mean '{bounded(closest)}'?" if closest else "."),
                operator_hint="failsoft probe without --tool lists the tools in its report",
            )


def _needs(tool: ToolInfo) -> int:
    return len(tool.required)


def _few_of_the_server(planned: list[list[FaultyCall]], seed: int, *, surrogates: bool) -> list[list[FaultyCall]]:
    """Return the faults with those that the server answers, and not the tool, for one tool only."""
    dice = random.Random(seed)  # noqa: S311 - a report can be made again
    kept: list[FaultyCall] = []
    for is_one in (_is_of_unknown, is_of_surrogates):
        found = [one for faults in planned for one in faults if is_one(one)]
        count = 1 if is_one is not is_of_surrogates or surrogates else 0
        kept += dice.sample(found, min(count, len(found)))
    return [
        [one for one in faults if one in kept or not (_is_of_unknown(one) or is_of_surrogates(one))]
        for faults in planned
    ]


def _is_of_unknown(fault: FaultyCall) -> bool:
    return fault.kind == "unknown_tool"


def _brief(arguments: Mapping[str, Any]) -> str:
    return json.dumps(shown_arguments(arguments), ensure_ascii=False)
