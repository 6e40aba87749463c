"""`KeyRecord`: the durable record of one keyed call: its lease, marked effects and outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from failsoft.framework.errors import IdempotencyInProgress, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.state.records import Records
from failsoft.recovery.idempotency.steps import settle
from failsoft.recovery.strategy import run_in_background, shielded

_TRIES = 60
_PAUSE_AT_MOST_S = 10.0


class KeyRecord:
    """Implements `CallRecord`.

    Args:
        records: The store.
        key: The key of the record.
        owner: The token of the call.
        arguments: The hashes of its arguments.
        lease_s: The length of the lease, in seconds.
        ttl_s: How long the outcome is stored, in seconds.
        effects: The effects marked by an earlier call with the same key, as JSON; empty if there are none.
    """

    def __init__(
        self, records: Records, key: str, owner: str, arguments: str, *, lease_s: float, ttl_s: float, effects: str
    ) -> None:
        self._records = records
        self._key = key
        self._owner = owner
        self._arguments = arguments
        self._times = (lease_s, ttl_s)
        self.effects: dict[str, Any] = json.loads(effects) if effects else {}

    async def settle(self, phase: str, text: str = "") -> bool:
        """Report a phase; return whether this call still owns the record.

        Raises:
            STATE_UNAVAILABLE: The store does not answer.
        """
        facts = (self._owner, self._arguments, phase, text, *self._times)
        return bool(await self._records.change(settle, self._key, *facts, is_free=True))

    async def mark(self, name: str, **done: Any) -> None:
        """See `CallRecord`."""
        marked = {**self.effects, name: json_safe(done)}
        is_done = bool(done)
        try:
            is_ours = await shielded(self.settle("effect", json.dumps(marked)))
        except ToolError:
            if not is_done:
                raise
            logger.warning("The value of the effect '{}' was not stored; after a crash its probe is asked", name)
            is_ours = True
        if not is_ours and not is_done:
            raise IdempotencyInProgress(effect="none")
        self.effects = marked

    async def keep(self, phase: str, text: str) -> None:
        """Store the outcome despite cancellation; if the store is lost, retry in the background."""
        try:
            if self._records.is_local:
                await self.settle(phase, text)
            else:
                await shielded(self.settle(phase, text))
        except ToolError as lost:
            logger.error("The outcome of a keyed call could not be stored ({}): trying again", lost.operator_hint)
            run_in_background(self.keep_trying(phase, text))

    def keep_later(self, phase: str, text: str) -> None:
        """Store the outcome in the background, for a call whose deadline has passed."""
        run_in_background(self.keep(phase, text))

    async def keep_trying(self, phase: str, text: str) -> None:
        """Store the outcome once the store is back."""
        pause_s = 0.1
        for _ in range(_TRIES):
            await asyncio.sleep(pause_s)
            pause_s = min(_PAUSE_AT_MOST_S, 2 * pause_s)
            try:
                await self.settle(phase, text)
            except ToolError:  # still lost
                continue
            return
        logger.error("The outcome of a keyed call was not stored: repetitions cannot replay it")


class Lease:
    """A heartbeat that renews the lease of a record while the call runs.

    Args:
        loop: The running event loop.
        every_s: How often, in seconds.
        renew: Renews it once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, every_s: float, renew: Callable[[], Any]) -> None:
        self._loop = loop
        self._every_s = every_s
        self._renew = renew
        self._timer = loop.call_later(every_s, self._due)

    def end(self) -> None:
        """Stop renewing."""
        self._timer.cancel()

    def _due(self) -> None:
        run_in_background(self._once())
        self._timer = self._loop.call_later(self._every_s, self._due)

    async def _once(self) -> None:
        try:
            await self._renew()
        except ToolError:  # the next renewal may succeed before the lease ends
            return


def is_readable(effects: str) -> bool:
    """Return whether the effects that an earlier call marked can be read; an empty text is none."""
    try:
        return not effects or isinstance(json.loads(effects), dict)
    except (ValueError, RecursionError):
        return False
