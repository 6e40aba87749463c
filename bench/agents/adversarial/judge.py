"""What became of a case: the sent call is played on a fresh world, its answer is obeyed, and each call is judged."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from agents.adversarial.blind import Obeyed, Reader
from agents.adversarial.cases import Call, Case, differ
from agents.adversarial.worlds import FASTMCP, SERVERS, World, tools
from agents.servers import Answer, connect

__all__ = ["OBEYED_AT_MOST", "Connection", "Verdict", "judge", "on_server", "outcome"]

OBEYED_AT_MOST = 3
Ask = Callable[[str, dict[str, Any]], Awaitable[Answer]]
Connection = Callable[[World, AsyncExitStack], Awaitable[Ask]]
"""Returns how the tools of a world are called."""
Outcome = tuple[str, str]
"""What was changed and what was answered, as JSON."""


def on_server(name: str) -> Connection:
    """Return the way to a world behind one of the servers."""

    async def to(world: World, stack: AsyncExitStack) -> Ask:
        return await connect(SERVERS[name](world), stack, is_fastmcp=name == FASTMCP)

    return to


@dataclass(slots=True)
class Verdict:
    """What was seen in one case.

    Args:
        case: The case.
        seen: What happened, in order: `wrong write`, `misled read`, `cured`, `look` or `next call fails`, each with the
            source of what was obeyed; `accepted` where the sent call itself was obeyed and means something else.
        calls: How many calls were made.
        is_named: Whether the first answer names what would have been right.
        trail: The calls and the beginnings of their answers.
    """

    case: Case
    seen: list[tuple[str, str]] = field(default_factory=list)
    calls: int = 0
    is_named: bool = False
    trail: list[str] = field(default_factory=list)

    def count(self, what: str, *sources: str) -> int:
        """Return how often something happened because of these sources, by default any."""
        return sum(1 for seen, source in self.seen if seen == what and (not sources or source in sources))

    @property
    def obeyed(self) -> list[str]:
        """The sources of what was obeyed."""
        return [source for _, source in self.seen if source != "sent"]


async def outcome(trade: type[World], call: Call, connection: Connection) -> Outcome:
    """Return what a call does in a clean world.

    Raises:
        ValueError: It fails there.
    """
    world = trade()
    async with AsyncExitStack() as stack:
        failed, text, _ = await (await connection(world, stack))(call[0], dict(call[1]))
    if failed:
        msg = f"{call[0]} {json.dumps(call[1])} fails: {text}"
        raise ValueError(msg)
    return _done(world)


async def judge(
    case: Case, trade: type[World], connection: Connection, reader: Reader, meant: Outcome | None
) -> Verdict:
    """Play a case with one reader.

    Args:
        case: The case.
        trade: Its world.
        connection: The server.
        reader: Who obeys the answers.
        meant: What the call that was meant does there; None if there is none.
    """
    world, verdict, call = trade(), Verdict(case), case.sent
    async with AsyncExitStack() as stack:
        ask = await connection(world, stack)
        obeyed: Obeyed | None = None
        for _ in range(1 + OBEYED_AT_MOST):
            failed, text, structured = await ask(call[0], dict(call[1]))
            verdict.calls += 1
            verdict.trail.append(f"{call[0]} {json.dumps(call[1])} -> {text[:400] if failed else 'done'}")
            source = obeyed.source if obeyed else "sent"
            if not failed:
                verdict.seen.append((_judged(case, trade, world, call, meant), source))
                break
            if obeyed is None:
                verdict.is_named = _names(case, text, structured)
            else:
                verdict.seen.append(("next call fails", source))
            obeyed = reader(call, text, structured)
            if obeyed is None:
                break
            call = obeyed.call
    return verdict


def _done(world: World) -> Outcome:
    return json.dumps(world.effects, sort_keys=True), json.dumps(world.answers, sort_keys=True)


def _judged(case: Case, trade: type[World], world: World, call: Call, meant: Outcome | None) -> str:
    """Say what a call that succeeded was; each case ends with it."""
    done, is_sent = _done(world), not differ(call, case.sent)
    if meant is not None and done == meant:
        return "cured"
    if world.effects:
        return "accepted write" if is_sent else "wrong write"
    if is_sent:
        return "accepted read"
    is_look = case.sent[0] in tools(trade) and call[0] not in {case.sent[0], case.meant[0] if case.meant else ""}
    return "look" if is_look else "misled read"


def _names(case: Case, text: str, structured: Any) -> bool:
    """Return whether an answer names everything that is right and was not sent, or what has the wrong form."""
    if case.meant is None:
        return False
    whole = f"{text}\n{json.dumps(structured, ensure_ascii=False)}"
    sent = {*_parts(case.sent)}
    right = [part for part in _parts(case.meant) if part not in sent]
    if not right or case.kind == "value form":
        right = [
            name for name, value in case.meant[1].items() if json.dumps(value) != json.dumps(case.sent[1].get(name))
        ]
    return bool(right) and all(re.search(rf"(?<![\w-]){re.escape(part)}(?![\w-])", whole) for part in right)


def _parts(call: Any) -> Iterator[str]:
    """Yield all names and values of a call, as they are written in JSON."""
    if isinstance(call, Mapping):
        for name, value in call.items():
            yield str(name)
            yield from _parts(value)
    elif isinstance(call, (list, tuple)):
        for value in call:
            yield from _parts(value)
    else:
        yield call if isinstance(call, str) else json.dumps(call)
