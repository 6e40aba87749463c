"""Puts the question of a call, and makes its time stand still until the answer is there."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from failsoft.framework.asking import Answer, Ask, AwaitingAnswer, Question, has_no_outcome
from failsoft.framework.logs import logs
from failsoft.framework.safe.principals import redact_principal

Call: TypeAlias = Any
"""A `Call`, whose room stands above this one."""


@dataclass(slots=True)
class Asked:
    """The question of a call, and the time during which it stood still for it, on the event loop's clock.

    Args:
        began: When it was asked.
        ended: When an answer came, or was no longer waited for.
        limit: What ends the wait.
        looks: Called when it has ended, by time limits that came meanwhile.
    """

    began: float
    ended: float = math.inf
    limit: asyncio.Timeout | None = None
    looks: list[Callable[[], None]] = field(default_factory=list)

    def stop(self) -> None:
        """Wait no longer: the client has left."""
        if self.limit is not None and self.ended == math.inf:
            self.limit.reschedule(self.began)

    def end(self, calls: Iterable[Call], since: float) -> None:
        """Let the time go on for these calls, which has stood still since then."""
        if self.ended < math.inf:
            return
        self.ended = asyncio.get_running_loop().time()
        for one in calls:
            if one.deadline is not None:
                one.deadline += self.ended - since
        for look in self.looks:
            look()


def around(call: Call) -> Iterator[Call]:
    """Yield a call, the calls that it is a concurrent run of, and those whose handlers made it, from inside out."""
    at: Call | None = call
    while at is not None:
        yield at
        at = at.forked_from or getattr(at, "outer", None)


def asked_in(call: Call) -> Asked | None:
    """Return the one question of a call and the calls around it."""
    *_, outermost = around(call)
    return getattr(outermost, "asked", None)


def stood_still_s(call: Call, since: float, look: Callable[[], None]) -> float:
    """Return for how long a call has waited for a person since a time; of one that still waits, infinity.

    Args:
        call: The call.
        since: A time on the event loop's clock, in seconds.
        look: Called when such a wait has ended.
    """
    asked = asked_in(call)
    if asked is None or asked.began < since:
        return 0.0
    if asked.ended == math.inf and look not in asked.looks:
        asked.looks.append(look)
    return asked.ended - asked.began


def without_wait_s(call: Call, elapsed_s: float) -> float:
    """Return the time of a part of a call that ends now, in seconds, without the wait for a person."""
    asked, now = asked_in(call), asyncio.get_running_loop().time()
    if asked is None or now - asked.began > elapsed_s:
        return elapsed_s
    return elapsed_s - (min(asked.ended, now) - asked.began)


asker: ContextVar[Ask | None] = ContextVar("failsoft_asker", default=None)
"""Answers the questions of calls that no transport makes."""


def asks(call: Call) -> Ask | None:
    """Return what puts the question of a call; None if its client cannot be asked, or a question was put before."""
    *_, outermost = around(call)
    return None if hasattr(outermost, "asked") else outermost.scope.ask or asker.get()


async def ask(call: Call, question: Question) -> Answer | None:
    """Put a question to the person behind a call, and return the answer; None if it cannot be asked.

    A call and those around it ask one question at most. Their deadlines stand still until the answer is there.

    Raises:
        AwaitingAnswer: The answer comes with another request. No handler around the call has begun an effect.
    """
    put = asks(call)
    if put is None:
        return None
    calls = list(around(call))
    loop = asyncio.get_running_loop()
    calls[-1].asked = asked = Asked(loop.time())
    notice = loop.call_soon(logs.log_asked, call, question)  # an answer that is there at once was asked for before
    try:
        answer = await _answered(call, asked, put(question))
    except AwaitingAnswer:
        if not all(may_start_over(one, calls) for one in calls):
            return None
        logs.log_asked(call, question)
        raise
    finally:
        notice.cancel()
        asked.end(calls, asked.began)
    principal = calls[-1].principal
    who = answer.by or (None if principal is None else redact_principal(principal))
    fields = question.schema["properties"]
    content = {name: value for name, value in answer.content.items() if name in fields}  # what was not asked is nothing
    answer = replace(answer, by=who, content=content)
    told = {"about": question.about, "action": answer.action, "by": who, "answer": content}
    for one in calls:
        one.audit(asked={name: fact for name, fact in told.items() if fact})
    logs.log_answered(call, answer)
    return answer


@contextmanager
def standing_still(call: Call) -> Iterator[None]:
    """Make the time of a call stand still while its handler asks by its own means, as long as a person may take."""
    calls, loop = list(around(call)), asyncio.get_running_loop()
    before: Asked | None = getattr(calls[-1], "asked", None)
    stood_s = 0.0 if before is None or before.ended == math.inf else before.ended - before.began
    began = loop.time()
    calls[-1].asked = asked = Asked(began - stood_s)
    over = loop.call_later(call.bound.settings.ask_timeout_s, asked.end, calls, began)
    try:
        yield
    finally:
        over.cancel()
        asked.end(calls, began)


async def _answered(call: Call, asked: Asked, answer: Awaitable[Answer]) -> Answer:
    """Wait for the answer; a question that cannot be delivered is unanswered."""
    try:
        async with asyncio.timeout(call.bound.settings.ask_timeout_s) as asked.limit:
            return await answer
    except TimeoutError:
        return Answer("unanswered")
    except BaseException as broken:
        if has_no_outcome(broken):
            raise
        logs.log_broken(call, "A question to a person could not be put", broken)
        return Answer("unanswered")


def may_start_over(call: Call, asking: Sequence[Call] = ()) -> bool:
    """Return whether a call may be run again from its beginning: nothing was begun in its handler or its calls.

    Args:
        call: The call.
        asking: The calls that wait for the question; others of its handler may yet begin, or be cut off.
    """
    if hasattr(call, "has_begun_below") or not (call.read_only or call.effects_begun == 0):
        return False
    return not any(_may_begin(one) for one in getattr(call, "under_way_below", ()) if one not in asking)


def _may_begin(call: Call) -> bool:
    """Return whether a call may have begun an effect, or begin one: not one that waits for consent in vain."""
    return not call.read_only and (call.attempt > 0 or not call.bound.needs_consent)
