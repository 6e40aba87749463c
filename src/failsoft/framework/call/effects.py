"""`call.effect`: marks a handler's effects, so that a repeated call after a crash can check which were done."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import inspect
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from failsoft.framework.asking.waiting import asked_in
from failsoft.framework.call import NO_SCOPE, CallScope
from failsoft.framework.captures.trail import effect_in, note_found
from failsoft.framework.errors import ConfigurationError, IdempotencyOutcomeUnknown, ToolError
from failsoft.framework.events import EffectEvent
from failsoft.framework.normalize import is_refused
from failsoft.framework.safe.author_reports import is_real_cancellation, report_mistake
from failsoft.framework.text import quoted

if TYPE_CHECKING:
    from failsoft.framework.call.call import Call


class _NotDone(enum.Enum):
    NOT_DONE = "NOT_DONE"

    def __repr__(self) -> str:
        return "failsoft.NOT_DONE"


NOT_DONE: Final = _NotDone.NOT_DONE
"""Returned by an effect's probe if the work was not done."""


class CallRecord(Protocol):
    """Protocol of the durable record of one keyed call."""

    @property
    def effects(self) -> Mapping[str, Any]:
        """The marked effects by name: `{}` for one that was begun, `{"value": ...}` for one that was completed."""

    async def mark(self, name: str, **done: Any) -> None:
        """Record that an effect begins, or with `value` that it is complete; return once that is durable.

        Raises:
            IDEMPOTENCY_IN_PROGRESS: Another call has taken the work over.
            STATE_UNAVAILABLE: The store does not answer.
        """

    def unmark(self, name: str) -> None:
        """Forget an effect that was not carried out; the store learns of it with the next mark, or the outcome."""


_COUNTING = threading.Lock()
"""Guards the counts of effects: a sync handler may begin effects in several threads."""

Step: TypeAlias = Callable[[], Any]
"""A function that may return an awaitable, run on the loop or in the handler's thread."""


def run_effect(call: Call, name: str, run: Step, probe: Step | None) -> Any:
    """Run an effect where its handler runs: on the event loop, to be awaited there, or in the thread of a sync one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _effect_in_thread(call, name, run, probe)
    return _effect_on_loop(call, name, run, probe)


async def _effect_on_loop(call: Call, name: str, run: Step, probe: Step | None) -> Any:
    """Run an effect of an async handler and return its value. Sync functions run in a thread."""
    steps = _steps(call, name, run, probe)

    async def done(step: Step) -> Any:
        return await call.bound.threads.run_author(step, is_async=isinstance(step, _OnLoop) or None)

    outcome: Callable[[], Step] = functools.partial(next, steps)
    while True:
        try:
            step = outcome()
        except StopIteration as end:
            return end.value
        try:
            outcome = functools.partial(steps.send, await done(step))
        except BaseException as error:  # noqa: BLE001 - the steps decide what becomes of it
            outcome = functools.partial(steps.throw, error)


def _effect_in_thread(call: Call, name: str, run: Step, probe: Step | None) -> Any:
    """Run an effect of a sync handler in its thread and return its value; async functions run on the call's loop.

    Raises:
        RuntimeError: The call has no event loop.
    """
    loop = call.loop
    if loop is None:
        msg = "call.effect of a sync handler needs the event loop of its call"
        raise RuntimeError(msg)
    steps = _steps(call, name, run, probe)

    def done(step: Step) -> Any:
        value = step()
        return asyncio.run_coroutine_threadsafe(_awaited(value), loop).result() if inspect.isawaitable(value) else value

    outcome: Callable[[], Step] = functools.partial(next, steps)
    while True:
        try:
            step = outcome()
        except StopIteration as end:
            return end.value
        try:
            outcome = functools.partial(steps.send, done(step))
        except BaseException as error:  # noqa: BLE001 - the steps decide what becomes of it
            outcome = functools.partial(steps.throw, error)


class _OnLoop:
    """A step that returns an awaitable and does nothing that blocks."""

    def __init__(self, begin: Step) -> None:
        self._begin = begin

    def __call__(self) -> Any:
        return self._begin()


def _steps(call: Call, name: str, run: Step, probe: Step | None) -> Generator[Step, Any, Any]:
    """Yield the functions to run, receive their results, and return the value of the effect.

    Raises:
        CONFIG_ERROR: The operation does not declare `effects=True`, or its caller was told that nothing was changed;
            nothing has been run.
    """
    if not call.bound.marks_effects:
        issue = f"`{call.bound.name}` marks the effect {quoted(name, 80)} and does not declare that it marks effects"
        report_mistake(f"{issue}: add effects=True to its @operation", operation=call.bound.name)
        raise ConfigurationError(issue=issue, resolution="add effects=True to its @operation")
    record = call.record
    marked = None if record is None else record.effects.get(name)
    if record is not None and marked is None:
        yield _OnLoop(functools.partial(record.mark, name))
    if not call.is_running and call.effect_of() == "none":
        issue = f"the effect {quoted(name, 80)} of `{call.bound.name}` begins after a failure that changed nothing"
        report_mistake(f"{issue}: wait for it in the handler", operation=call.bound.name)
        raise ConfigurationError(issue=issue, resolution="wait for it in the handler")
    with _COUNTING:
        call.effects_begun += 1
    if record is not None and marked is not None:
        found = marked["value"] if "value" in marked else (yield from _found(probe))
        if found is not NOT_DONE:
            if "value" not in marked:
                yield _OnLoop(functools.partial(record.mark, name, value=found))
            note_found(call, name, found)
            return found
    handled = sys.exception()
    try:
        value = yield from _carried_out(call, name, run)
    except Exception as error:
        if marked is None and (_says_none(error) or is_refused(error, handled)):
            _take_back(call, name, error)
        raise
    if record is not None:
        yield _OnLoop(functools.partial(record.mark, name, value=value))
    return value


def _says_none(error: Exception) -> bool:
    """Return whether the author says that nothing was changed."""
    if not issubclass(type(error), ToolError):  # isinstance would ask `error.__class__`, which may raise
        return False
    stated: Any = error
    return stated.effect == "none" and not stated.effect_is_foreign


def _take_back(call: Call, name: str, error: Exception) -> None:
    """Count an effect that was refused as one that was never begun; its error says nothing of other effects."""
    with _COUNTING:
        call.effects_begun -= 1
    if call.record is not None:
        call.record.unmark(name)
    if call.effects_begun and issubclass(type(error), ToolError):
        vars(error)["effect_is_foreign"] = True


def _carried_out(call: Call, name: str, run: Step) -> Generator[Step, Any, Any]:
    """Yield the effect, return its value, and publish how it went if anybody listens.

    It is noted for a capture, and answered from one in a replay.
    """
    run, note = effect_in(call, name, run)
    if note is None and not call.bound.events.wants(EffectEvent):
        return (yield run)
    began = time.perf_counter()
    result: Literal["ok", "error", "cancelled"] = "error"
    try:
        value = yield run
        result = "ok"
        if note is not None:
            note("value", value)
    except BaseException as error:
        result = "cancelled" if is_real_cancellation(error) else "error"
        if note is not None:
            note("error" if isinstance(error, Exception) else "unfinished", error)
        raise
    finally:
        if call.bound.events.wants(EffectEvent):
            ids = {"tool": call.tool, "operation": call.operation, "request_id": call.request_id}
            duration_s = time.perf_counter() - began
            call.bound.events.publish(EffectEvent(**ids, name=name, result=result, duration_s=duration_s))
    return value


def _found(probe: Step | None) -> Generator[Step, Any, Any]:
    """Return the probe's result for an effect that was begun by an interrupted call."""
    if probe is None:
        raise IdempotencyOutcomeUnknown(effect="unknown")
    try:
        return (yield probe)
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        raise IdempotencyOutcomeUnknown(effect="unknown") from error


def _has_begun(call: Call) -> bool:
    """Return whether the call, or an interrupted one with its key, has begun an effect."""
    return bool(call.effects_begun or (call.record is not None and call.record.effects))


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


class DetachedCalls:
    """The keyed calls in flight in one runtime."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[Any]] = set()
        """Tasks that a server drains at shutdown; the event loop holds only weak references."""
        self.waiting: set[asyncio.Task[Any] | None] = set()
        """The tasks of requests that wait for such a call."""

    async def run(self, call: Call, calling: Awaitable[Any], scope: CallScope) -> Any:
        """Run a call in a separate task and return its answer.

        If the caller is cancelled the call continues, unless that was requested (`CallScope.cancels`) and no effect has
        begun, in an interrupted call with its key either. The scope, which is that of the request, then gets the task.
        """
        task = asyncio.get_running_loop().create_task(_awaited(calling))
        self.tasks.add(task)
        task.add_done_callback(self._over)
        caller = asyncio.current_task()
        self.waiting.add(caller)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if (asked := asked_in(call)) is not None:
                asked.stop()
            call.scope = dataclasses.replace(call.scope, ask=None)
            if not task.done() and not _has_begun(call) and call.scope.cancels():
                task.cancel()
                await asyncio.wait([task])
            raise
        finally:
            self.waiting.discard(caller)
            if not task.done() and scope is not NO_SCOPE:
                scope.left_running = (*scope.left_running, task)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, because the caller may be gone
