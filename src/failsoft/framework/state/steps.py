"""A key changed by a step: one compare-and-swap for all steps of this process that wait for the key."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.state.backend import (
    NOTHING,
    UNREADABLE,
    WRONG_SHAPE,
    Account,
    Backend,
    Changed,
    Held,
    QuotaReached,
    Step,
    StoreLost,
    UnreadableValue,
    Write,
    WriteRefused,
    new_version,
)

_TRIES = 100
"""How often a swap may lose against other processes before the store counts as lost."""
_KNOWN_AT_MOST = 1_000
_SMALL = 2_000
"""Only values of up to so many characters are remembered: breakers and limits, and no outcomes of calls."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    answer: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    step: Step
    arguments: tuple[Any, ...]
    account: Account | None
    may_grow: bool
    answer: asyncio.Future[Any]

    def settle(self, outcome: _Outcome) -> None:
        if self.answer.done():  # its caller was cancelled
            return
        if outcome.error is not None:
            self.answer.set_exception(outcome.error)
        else:
            self.answer.set_result(outcome.answer)


@dataclass(slots=True, eq=False)
class _Queue:
    """The steps that wait for one key, and the task that runs them."""

    waiting: list[_Waiting] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Steps:
    """Runs steps over the keys of a backend that other processes change, too.

    Steps of one key that wait together are applied one after the other and swapped in once: one round trip for all of
    them where nobody else writes. A lost swap returns what is there, and they are applied to that. A caller that is
    cancelled, or whose step raises, changes nothing for the others.

    Args:
        backend: The store.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lines: dict[str, _Queue] = {}
        self._known: OrderedDict[str, Held] = OrderedDict()
        self._knows_time = False
        """Whether the store has answered a read, and so told its time."""

    async def run(
        self, step: Step, key: str, *arguments: Any, account: Account | None = None, may_grow: bool = True
    ) -> Any:
        """Run one step atomically over the value of a key, and return its answer.

        Args:
            step: See `Step`; it may run several times.
            key: The key.
            arguments: Those of the step after value and time.
            account: Whose quota a new record counts against.
            may_grow: See `Write`.

        Raises:
            WriteRefused: The store takes no writes: the step was not taken, by what can be read.
            StoreLost: What is there is unknown; `may_be_written` says whether the step may have been taken.
            UnreadableValue: What is there is no value of this step; it was left as it is.
            QuotaReached: The quota has no space for the record.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._lines = loop, {}
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Queue()
        asked = _Waiting(step, arguments, account, may_grow, loop.create_future())
        line.waiting.append(asked)
        if line.task is None:
            line.task = loop.create_task(self._serve(self._lines, key, line))
        return await asked.answer

    async def _serve(self, lines: dict[str, _Queue], key: str, line: _Queue) -> None:
        try:
            while line.waiting:
                batch, line.waiting = line.waiting, []
                await self._take(key, [item for item in batch if not item.answer.done()])
        finally:
            del lines[key]
            for item in line.waiting:  # the loop ends
                item.answer.cancel()

    async def _take(self, key: str, batch: list[_Waiting]) -> None:
        """Run a batch, and give each caller its answer or its error."""
        try:
            outcomes = await self._swapped(key, batch)
        except QuotaReached as full:
            if len(batch) == 1:
                outcomes = [_Outcome(error=full)]
            else:
                for item in batch:
                    await self._take(key, [item])
                return
        except Exception as error:  # noqa: BLE001 - the callers' to handle
            outcomes = [_Outcome(error=error) for _ in batch]
        except BaseException:
            for item in batch:
                item.answer.cancel()
            raise
        for item, outcome in zip(batch, outcomes, strict=True):
            item.settle(outcome)

    async def _swapped(self, key: str, batch: list[_Waiting]) -> list[_Outcome]:
        """Apply the steps of a batch and swap the result in; return the outcome of each.

        A key that is not known counts as new: mostly it is, and otherwise the swap tells what is there. The first key
        is read, since the store's answer tells its time.
        """
        held, is_read = self._known.pop(key, Held(NOTHING, None)), False
        if not self._knows_time:
            held, is_read = await self._read(key), True
            self._knows_time = True
        for _ in range(_TRIES):
            write, outcomes = _applied(held, batch, self._backend.clock())
            if write is None and is_read:
                return outcomes
            if write is None:  # what is known may be over, so that it decides nothing
                held, is_read = await self._read(key), True
                continue
            try:
                there = await self._backend.swap(key, held.version, write)
            except WriteRefused as refused:  # a store without writes may know the answer
                held = held if is_read else await self._read(key, may_be_written=refused.may_be_written)
                alone = [_applied(held, [item], self._backend.clock()) for item in batch]
                return [taken[0] if needed is None else _Outcome(error=refused) for needed, taken in alone]
            if there is None:
                self._remember(key, write)
                return outcomes
            held, is_read = there, True
        msg = "other processes change the same key all the time"
        raise StoreLost(msg)

    async def _read(self, key: str, *, may_be_written: bool = False) -> Held:
        try:
            return await self._backend.read(key)
        except StoreLost as lost:  # what is there stays unknown, also where the store has answered
            raise StoreLost(str(lost), fault=lost.fault, may_be_written=may_be_written) from lost

    def _remember(self, key: str, write: Write) -> None:
        if write.value is None or not _is_small(write.value):
            return
        self._known[key] = Held(write.version, write.value)
        if len(self._known) > _KNOWN_AT_MOST:
            self._known.popitem(last=False)


def _applied(held: Held, batch: list[_Waiting], now: float) -> tuple[Write | None, list[_Outcome]]:
    """Return the write that the steps amount to, or None if they change nothing; and the outcome of each."""
    value, ttl_s, outcomes = held.value, 0.0, []
    account, may_grow, is_new = None, True, False
    for item in batch:
        if value is UNREADABLE and item.step is not forgotten:
            outcomes.append(_Outcome(error=UnreadableValue("its value cannot be read")))
            continue
        try:
            changed = item.step(value, now, *item.arguments)
        except Exception as error:  # noqa: BLE001 - its caller's to handle
            outcomes.append(_Outcome(error=_fault(error, value)))
            continue
        outcomes.append(_Outcome(changed.answer))
        if changed.is_new(value):
            is_new, value, ttl_s = True, changed.state, changed.ttl_s
            account, may_grow = account or item.account, may_grow and item.may_grow
    if not is_new:
        return None, outcomes
    return Write(new_version(now), value, ttl_s, account, may_grow), outcomes


def _fault(error: Exception, value: Any) -> Exception:
    """Return the error of a step: a value of another shape is to blame for what it raises."""
    if value is None or not isinstance(error, WRONG_SHAPE):
        return error
    unreadable = UnreadableValue("its value has another shape")
    unreadable.__cause__ = error
    return unreadable


def forgotten(value: Any, _now: float) -> Changed:
    """Delete a key; the answer is whether there was one. A step."""
    return Changed(None, value is not None, 1.0)


def _is_small(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    left = _SMALL
    for item in value.values():
        left -= len(item) * (1 if isinstance(item, str) else 20) if isinstance(item, (str, list)) else 20
    return left >= 0
