"""Calls that mean something else than the nearest valid call, answered by readers that obey.

A reader knows nothing of the goal: it makes the call that an answer names, else puts in the correction that the answer
names, three times at most. Each of these calls is judged by what was meant: a wrong write changes something else, a
misled read is answered by something else, a call may fail again, or it does what was meant. `accepted`: the sent call
was obeyed in silence and did something else. How trades are written: `agents/adversarial/README.md`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mcp import Client
from measure import JOBS, Figure, benchmark, figure, spread

from agents.adversarial.blind import Reader, read_object, read_text
from agents.adversarial.cases import KINDS, Case, Trade
from agents.adversarial.judge import Outcome, Verdict, judge, on_server
from agents.adversarial.sets import SETS, cases_of, check, load, meant_outcomes, trade_of
from agents.adversarial.worlds import FASTMCP, OURS, SERVERS, tools

__all__ = ["ROWS", "Row", "measure"]

ROWS: dict[str, tuple[str, Reader]] = {
    "failsoft, text": (OURS, read_text),
    "failsoft, object": (OURS, read_object),
    FASTMCP: (FASTMCP, read_text),
    "MCPServer (SDK)": ("MCPServer (SDK)", read_text),
}
ADVICE = ("step", "suggestion")
BAD = ("wrong write", "misled read", "next call fails", "accepted write", "accepted read")
QUICK_STEP = 40


@dataclass(slots=True)
class Row:
    """What was seen in all cases of one reader."""

    verdicts: list[tuple[Verdict, bool]] = field(default_factory=list)
    """Each with whether its sent call is about a read-only tool."""

    def count(self, what: str, *sources: str) -> int:
        """Return how often something happened."""
        return sum(verdict.count(what, *sources) for verdict, _ in self.verdicts)

    def obeyed(self, source: str) -> int:
        """Return how many calls of a source were made."""
        return sum(verdict.obeyed.count(source) for verdict, _ in self.verdicts)

    def harmless(self, *, read_only: bool) -> tuple[int, int, int]:
        """Return how many harmless cases there are, in how many was done what was meant, or was at least named."""
        found = [verdict for verdict, is_read in self.verdicts if verdict.case.harmless and is_read == read_only]
        cured = [verdict for verdict in found if verdict.count("cured")]
        named = [verdict for verdict in found if verdict.count("cured") or verdict.is_named]
        return len(found), len(cured), len(named)

    @property
    def calls(self) -> float:
        """How many calls a case took."""
        return sum(verdict.calls for verdict, _ in self.verdicts) / max(1, len(self.verdicts))


def _is_read(trade: Trade, case: Case) -> bool:
    found = tools(trade.world)
    tool = found.get(case.meant[0] if case.meant else case.sent[0])
    return tool is not None and tool.read_only


def _play(chosen: str, names: Sequence[str], step: int, server: str) -> dict[str, Row]:
    """Return what these readers did in every `step`th case of a trade; may run in a process of its own."""
    logging.disable(logging.CRITICAL)
    trade = next(one for one in load(chosen) if one.name == server)
    return asyncio.run(_rows(trade, cases_of(trade)[::step], names))


async def _rows(trade: Trade, cases: Sequence[Case], names: Sequence[str]) -> dict[str, Row]:
    rows = {name: Row() for name in names}
    known: dict[str, dict[str, Outcome]] = {}
    for name, row in rows.items():
        server, reader = ROWS[name]
        try:
            known[server] = known.get(server) or await meant_outcomes(trade, server, [*cases])
        except ImportError:
            continue
        connection = on_server(server)
        for case in cases:
            meant = known[server][json.dumps(case.meant)] if case.meant is not None else None
            row.verdicts.append((await judge(case, trade.world, connection, reader, meant), _is_read(trade, case)))
    return rows


def _columns(row: Row) -> Iterator[tuple[str, str]]:
    reads, cured, _ = row.harmless(read_only=True)
    written, done, named = row.harmless(read_only=False)
    lone = sum(row.count(what, "candidate") for what in ("wrong write", "misled read"))
    yield "cases", f"{len(row.verdicts)}"
    yield "steps", f"{row.obeyed('step')}"
    yield "corrections", f"{row.obeyed('suggestion')}"
    yield "wrong writes", f"{row.count('wrong write', *ADVICE)}"
    yield "misled reads", f"{row.count('misled read', *ADVICE)}"
    yield "next fails", f"{row.count('next call fails', 'step')}"
    yield "accepted r/w", f"{row.count('accepted read')}/{row.count('accepted write')}"
    yield "reads cured", f"{cured}/{reads}"
    yield "writes cured, named", f"{done}, {named}/{written}"
    yield "lone candidates", f"{lone}/{row.obeyed('candidate')}"
    yield "calls/case", f"{row.calls:.2f}"


def _print(chosen: str, rows: dict[str, Row]) -> None:
    shown = {name: dict(_columns(row)) for name, row in rows.items() if row.verdicts}
    head = next(iter(shown.values()))
    widths = {column: max(len(column), *(len(row[column]) for row in shown.values())) + 2 for column in head}
    print(f"\n{chosen:<20}" + "".join(f"{column:>{width}}" for column, width in widths.items()))
    for name, row in shown.items():
        print(f"{name:<20}" + "".join(f"{row[column]:>{width}}" for column, width in widths.items()))


def _print_kinds(rows: dict[str, Row]) -> None:
    print(f"\n{'kind':<14}{'cases':>7}  what was bad by advice or in silence, a reader each")
    for kind in KINDS:
        found = {name: [one for one, _ in row.verdicts if one.case.kind == kind] for name, row in rows.items()}
        bad = {name: _bad(verdicts) for name, verdicts in found.items() if verdicts}
        told = "; ".join(f"{name}: {_listed(seen)}" for name, seen in bad.items() if seen)
        count = max((len(verdicts) for verdicts in found.values()), default=0)
        if count:
            print(f"{kind:<14}{count:>7}  {told}")


def _listed(seen: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in seen.items())


def _bad(verdicts: Sequence[Verdict]) -> dict[str, int]:
    seen = Counter(what for one in verdicts for what, source in one.seen if what in BAD and source != "candidate")
    return {what: seen[what] for what in BAD if seen[what]}


def _print_bad(rows: dict[str, Row]) -> None:
    for name, row in rows.items():
        for verdict, _ in row.verdicts if name.startswith(OURS) else ():
            if bad := [f"{what} ({source})" for what, source in verdict.seen if what in BAD]:
                case = verdict.case
                print(f"\n{name}: {case.server}, {case.name} [{case.kind}]: {', '.join(bad)}\n  wanted: {case.words}")
                print(*(f"  {line}" for line in verdict.trail), sep="\n")


def _figures(chosen: str, rows: dict[str, Row]) -> Iterator[Figure]:
    for name, row in rows.items():
        if not row.verdicts or not name.startswith(OURS):
            continue
        label = f"{chosen}, {name}"
        counts = {
            "wrong writes": row.count("wrong write", *ADVICE),
            "misled reads": row.count("misled read", *ADVICE),
            "next calls that fail": row.count("next call fails", "step"),
            "accepted writes": row.count("accepted write"),
            "accepted reads": row.count("accepted read"),
        }
        for what, count in counts.items():
            yield figure(f"{label}: {what}", [count], "cases", goal="<= 0")
        reads, cured, _ = row.harmless(read_only=True)
        written, _, named = row.harmless(read_only=False)
        yield figure(f"{label}: harmless reads cured", [100 * cured / max(1, reads)], "%", goal=">= 98")
        yield figure(f"{label}: harmless writes cured or named", [100 * named / max(1, written)], "%", goal=">= 98")
        yield figure(f"{label}: played", [len(row.verdicts)], "cases")
        yield figure(f"{label}: obeyed", [row.obeyed("step") + row.obeyed("suggestion")], "calls")


async def _export(trades: Sequence[tuple[Trade, list[Case]]], file: Path) -> None:
    """Write what any model can be asked: a line for each server with its tools, then one for each of its cases."""
    with file.open("w", encoding="utf-8") as lines:
        for trade, cases in trades:
            async with Client(SERVERS[OURS](trade.world())) as client:
                listed = (await client.list_tools()).tools
            published = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]
            lines.write(json.dumps({"server": trade.name, "tools": published}) + "\n")
            for case in cases:
                async with AsyncExitStack() as stack:
                    ask = await on_server(OURS)(trade.world(), stack)
                    failed, text, structured = await ask(case.sent[0], dict(case.sent[1]))
                answer = {"is_error": failed, "text": text, "structured": structured}
                lines.write(json.dumps({**dataclasses.asdict(case), "answer": answer}) + "\n")


async def _checked(module: str) -> list[Figure]:
    trade = trade_of(module)
    wrong = await check(trade)
    counted = Counter(case.kind for case in cases_of(trade))
    print(f"{trade.name}: {sum(counted.values())} cases, {len(trade.traps)} of them written by hand; {dict(counted)}")
    print(*wrong, sep="\n")
    return [figure(f"{trade.name}: faults of the trade itself", [len(wrong)], "faults", goal="<= 0")]


OWN = {
    "--set": {"choices": SETS, "default": "open", "dest": "chosen", "help": "by default open"},
    "--server": {"action": "append", "metavar": "NAME", "help": "only this trade, e.g. bank"},
    "--ours": {"action": "store_true", "help": "leave the peers out"},
    "--every": {"type": int, "metavar": "N", "help": f"only every Nth case of a trade; --quick: every {QUICK_STEP}th"},
    "--verbose": {"action": "store_true", "help": "what was bad by kind, and each case of ours with its answers"},
    "--export": {"type": Path, "metavar": "FILE", "help": "write the cases as JSON lines, and play nothing"},
    "--check": {"metavar": "MODULE", "help": "check how a trade (file or module) is written, and play nothing"},
    **JOBS,
}


@benchmark("Readers that obey, and calls that mean something else", own=OWN, step=(1, QUICK_STEP))
def measure(given: Any) -> list[Figure]:
    """Print a table of the set, and return what our goals are about."""
    logging.disable(logging.CRITICAL)
    if given.check:
        return asyncio.run(_checked(given.check))
    step = given.every or given.step
    trades = [one for one in load(given.chosen) if one.name in (given.server or [one.name])]
    if not trades:
        print(f"{given.chosen}: there is no such trade")
        return []
    if given.export:
        asyncio.run(_export([(one, cases_of(one)[::step]) for one in trades], given.export))
        return []
    rows = {name: Row() for name in ROWS if name.startswith(OURS) or not given.ours}
    play = partial(_play, given.chosen, [*rows], step)
    for found in spread(play, [one.name for one in trades], given.jobs):
        for name, row in rows.items():
            row.verdicts += found[name].verdicts
    _print(given.chosen, rows)
    if given.verbose:
        _print_kinds(rows)
        _print_bad(rows)
    return [*_figures(given.chosen, rows)]
