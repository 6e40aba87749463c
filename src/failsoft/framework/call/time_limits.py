"""How long a call may run, and how often: its own limit, and one budget with nested calls and upstream servers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from failsoft.framework.asking.waiting import around, stood_still_s
from failsoft.framework.call.rerun import RunsLeft
from failsoft.framework.clock import loop_time
from failsoft.framework.errors import DeadlineExceeded

if TYPE_CHECKING:
    from failsoft.framework.answer.response import ToolResponse
    from failsoft.framework.call.call import Call
    from failsoft.framework.call.chain import Proceed, Step

BUDGET_KEY = "dev.failsoft/budget"
"""Key of the budget in a request's `_meta`: `{"remaining_ms": n, "runs_left": n}`; `runs_left` includes this run."""


current_call: ContextVar[Call | None] = ContextVar("failsoft_current_call", default=None)
"""The call whose handler is running."""


def running_call() -> Call | None:
    """Return the call whose handler is running here; None in a task that outlived it."""
    call = current_call.get()
    return call if call is not None and call.is_running else None


def current_budget() -> dict[str, int]:
    """Return the remaining budget of the current call, to be sent upstream; empty without limits."""
    call = running_call()
    if call is None:
        return {}
    remaining_s, left = call.remaining_s(), call.runs.left
    budget = {} if remaining_s is None else {"remaining_ms": int(remaining_s * 1000)}
    return budget if left is None else {**budget, "runs_left": left + 1}


def inherit(call: Call) -> Call | None:
    """Limit a call by its parent call, which is returned, and by the budget in its request.

    Both can only reduce the limits. A task that outlives its handler belongs to no call.
    """
    outer, received = current_call.get(), call.scope.meta.get(BUDGET_KEY)
    if outer is None and received is None:  # most calls; the look at an abstract class below is dear
        return None
    outer = running_call()
    if outer is not None:
        call.outer, call.runs_above = outer, outer.runs
        if (remaining_s := outer.remaining_s()) is not None:
            _end_by(loop_time() + remaining_s, call)
    if isinstance(received, Mapping):
        if (remaining_s := _number(received.get("remaining_ms"), 1000)) is not None:
            _end_by(loop_time() + remaining_s, call)
        if (runs_left := _number(received.get("runs_left"))) is not None:
            call.runs_above = RunsLeft(max(0, int(runs_left) - 1), call.runs_above)
    return outer


def _end_by(until: float, call: Call) -> None:
    """Reduce the remaining time to end at `until`, on the event loop's clock in seconds."""
    call.inherited_until = until if call.inherited_until is None else min(call.inherited_until, until)


def _number(value: Any, divisor: int = 1) -> float | None:
    """Return a finite number divided by `divisor`, at least 0; None for any other value, which sets no bound."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return max(0.0, number / divisor) if math.isfinite(number) else None


async def nested(outer: Call, call: Call, calling: Awaitable[ToolResponse[Any]]) -> Any:
    """Run a call made by a handler, and record its failure on the outer call."""
    calls = tuple(around(outer))
    for one in calls:
        one.under_way_below = {*getattr(one, "under_way_below", ()), call}
    try:
        response = await calling
    finally:
        has_begun = call.attempt > 0 and not call.read_only
        for one in calls:
            one.under_way_below.discard(call)
            if has_begun:
                one.has_begun_below = True
    if response.error is not None:
        outer.failed_below(response.error.exception, was_retried=call.runs.taken > 0)
    return response


class TimeLimit:
    """Cancels the running task at a given time, and reports afterwards whether that ended the part.

    It follows the rules of the deadline (ADR 0002): the task is cancelled once and uncancelled on `close`, a
    cancellation from outside takes precedence, and a part that swallows ours and returns keeps its value. Between
    expiry and `close`, `call.expired` is above 0, so that nothing more is started for the call.

    Args:
        call: The call that the part belongs to.
        at: The time of expiry, on the event loop's clock, in seconds.
    """

    __slots__ = ("_at", "_before", "_began", "_call", "_loop", "_task", "_timer", "has_run_out")

    def __init__(self, call: Call, at: float) -> None:
        task = asyncio.current_task()
        if task is None:
            msg = "a call needs a task to run in"
            raise RuntimeError(msg)
        self.has_run_out = False
        self._call = call
        self._task = task
        self._before = task.cancelling()
        self._loop, self._at = asyncio.get_running_loop(), at
        self._began = self._loop.time()
        self._timer = self._loop.call_at(at, self._run_out)

    def close(self, raised: BaseException | None = None) -> bool:
        """Stop the timer; call it once, however the part ended.

        Args:
            raised: The exception of the part; None if it returned.

        Returns:
            Whether the limit caused the exception.
        """
        self._timer.cancel()
        if not self.has_run_out:
            return False
        self._call.expired -= 1
        return is_due_to_limit(self._task, self._before, raised)

    def _run_out(self) -> None:
        if self._timer.cancelled():  # closed while a person was asked
            return
        at = self._at + stood_still_s(self._call, self._began, self._run_out)
        if at > self._loop.time():
            if at < math.inf:
                self._timer = self._loop.call_at(at, self._run_out)
            return
        self.has_run_out = True
        self._call.expired += 1
        self._task.cancel()


def is_due_to_limit(task: asyncio.Task[Any], cancelled_before: int, raised: BaseException | None) -> bool:
    """Take back the cancellation by a limit that has expired, and return whether it caused the exception.

    The one rule for every limit: what was cancelled from outside as well stays cancelled, and a part that has returned
    keeps its value.
    """
    is_cancelled_besides = task.uncancel() > cancelled_before
    return raised is not None and not (is_cancelled_besides and issubclass(type(raised), asyncio.CancelledError))


async def run_until(call: Call, proceed: Proceed, until: float, limit_s: float) -> Any:
    """Run the rest of the chain until a time on the event loop's clock, and return its value.

    Raises:
        DEADLINE_EXCEEDED: That time has passed; the message says `limit_s`, in seconds.
    """
    limit = TimeLimit(call, until)
    try:
        value = await proceed(call)
    except BaseException as raised:
        if not limit.close(raised):
            raise
        call.tell(stop_reason="deadline")
        raise DeadlineExceeded(limit_s=limit_s) from raised
    limit.close()
    return value


async def run_with_reserve(call: Call, proceed: Proceed, reserve_s: float) -> Any:
    """Run the rest of the chain with an earlier deadline, and return its value.

    The remaining time is reserved for links outside, such as a fallback or a cached answer. No retry inside waits past
    the earlier deadline.

    Raises:
        DEADLINE_EXCEEDED: The earlier deadline passed. The call itself is not over.
    """
    end = call.deadline
    if end is None or reserve_s <= 0:
        return await proceed(call)
    until = call.deadline = end - reserve_s
    try:
        return await run_until(call, proceed, until, round((call.bound.timeout_s or 0.0) - reserve_s, 6))
    finally:
        if call.deadline is not None:
            call.deadline += reserve_s


def deadline(limit_s: float) -> Step:
    """Return the link that ends a call after `limit_s` seconds.

    It follows the rules of `asyncio.timeout`: the task is cancelled once, and only that cancellation becomes
    DEADLINE_EXCEEDED. One timer serves all calls of the operation (ADR 0002), because a timer per call would be the
    most expensive part of the success path.

    Raises:
        DEADLINE_EXCEEDED: The limit passed, even if the handler turned the cancellation into another exception. If it
            swallows the cancellation and returns, its value is returned, late.
    """
    watch: _DeadlineTimer | None = None

    async def step(call: Call, proceed: Proceed) -> Any:
        nonlocal watch
        loop = asyncio.get_running_loop()
        if call.inherited_until is not None and call.inherited_until < loop.time() + limit_s:
            return await inherited_deadline(call, proceed)
        task = asyncio.current_task(loop)
        if task is None:
            msg = "a call needs a task to run in"
            raise RuntimeError(msg)
        cancelled_before = task.cancelling()
        mine = watch
        if mine is None or mine.loop is not loop:
            mine = watch = _DeadlineTimer(loop, limit_s)  # the timer of another loop continues for its own calls
        call.loop, call.deadline = loop, loop.time() + limit_s
        mine.begin(call, task, call.deadline)
        try:
            value = await proceed(call)
        except BaseException as error:
            if not call.expired or not is_due_to_limit(task, cancelled_before, error):
                raise
            call.tell(stop_reason="deadline")
            raise DeadlineExceeded(limit_s=limit_s) from error
        else:
            if call.expired:
                task.uncancel()
            return value
        finally:
            mine.under_way.pop(call, None)

    return step


async def inherited_deadline(call: Call, proceed: Proceed) -> Any:
    """Run a call within the time left of its request or parent call, if that is the only or the earlier limit.

    Raises:
        DEADLINE_EXCEEDED: That time has passed; if it had before the call, nothing was begun.
    """
    until = call.inherited_until
    if until is None:
        return await proceed(call)
    loop = asyncio.get_running_loop()
    remaining_s = until - loop.time()
    if remaining_s <= 0:  # nothing is begun that cannot be waited for
        call.tell(stop_reason="deadline")
        raise DeadlineExceeded(limit_s=0.0, effect="none")
    call.loop, call.deadline = loop, until
    return await run_until(call, proceed, until, round(remaining_s, 3))


class _DeadlineTimer:
    """Ends the calls of one operation on one event loop when their time limit expires.

    All calls have the same limit, so the oldest one expires first and a single timer serves all. It keeps running when
    its call ends in time: it then moves on to the next call, or stops if there is none.

    Args:
        loop: The event loop of the calls.
        limit_s: Their limit, in seconds.
    """

    __slots__ = ("_limit_s", "_timer", "loop", "under_way")

    def __init__(self, loop: asyncio.AbstractEventLoop, limit_s: float) -> None:
        self.loop, self._limit_s = loop, limit_s
        self.under_way: dict[Call, tuple[float, asyncio.Task[Any]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, call: Call, task: asyncio.Task[Any], until: float) -> None:
        """Watch a call until it is taken out of `under_way`."""
        self.under_way[call] = (until, task)
        if self._timer is None:
            self._timer = self.loop.call_at(until, self._look)

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, now, following = None, self.loop.time(), math.inf
        for call, (until, task) in list(self.under_way.items()):
            if until > now:
                following = min(following, until)
                break
            later = until + stood_still_s(call, until - self._limit_s, self._look)
            if later > now:  # a call that begins meanwhile may end before it
                following = min(following, later, now + self._limit_s)
                continue
            del self.under_way[call]
            call.expired += 1
            task.cancel()
        if self.under_way:
            self._timer = self.loop.call_at(following, self._look)
