"""The story of one failed or recovered call: what was tried, what was changed, and where more is recorded.

It names strategies, effects and codes, and holds nothing that was sent or answered.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.captures.folder import captures_folder
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.events import EffectEvent, IdempotencyEvent, RecoveryEvent
from failsoft.framework.text import bounded

STEPS_AT_MOST = 10
_CALLS_AT_MOST = 1_000
_NAME_AT_MOST = 60
_AUDIT_BYTES_AT_MOST = 4 << 20
_TONES = {"recovered": "blue", "failed": "bad", "skipped": "note", "ok": "good", "error": "bad", "cancelled": "warn"}


class StepLog:
    """The steps of calls that have not ended, by request: bounded, the oldest are forgotten first."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, list[list[str]]] = OrderedDict()

    def note(self, event: RecoveryEvent | EffectEvent | IdempotencyEvent) -> None:
        """Keep a step of a call."""
        if isinstance(event, RecoveryEvent):
            step = ["recovery", event.strategy, event.result, f"{event.code} in attempt {event.attempt}"]
        elif isinstance(event, EffectEvent):
            step = ["effect", event.name, event.result, f"{event.duration_s * 1_000:.0f} ms"]
        else:
            step = ["key", event.verdict, "", ""]
        steps = self._of.setdefault(event.request_id, [])
        if len(steps) < STEPS_AT_MOST:
            steps.append([utc_timestamp(), *(bounded(part, _NAME_AT_MOST) for part in step)])
        if len(self._of) > _CALLS_AT_MOST:
            self._of.popitem(last=False)

    def take(self, request_id: str) -> list[list[str]]:
        """Return the steps of a call that has ended, and forget them."""
        return self._of.pop(request_id, [])


async def story_of(wanted: str, calls: Iterable[Mapping[str, Any]], tools: Sequence[BaseTool]) -> dict[str, Any] | None:
    """Return `call`, `steps` and `commands` of the call with this error id or request id; None if it is not known.

    Args:
        wanted: The id.
        calls: The last calls, newest first, with their `steps`.
        tools: Those of the server; the last 4 MiB of their audit logs are searched.
    """
    found = next((call for call in calls if wanted and wanted in (call["error_id"], call["request_id"])), None)
    if found is None:
        return None
    call = {key: value for key, value in found.items() if key != "steps"}
    kept = found.get("steps")
    steps = [_step(*step) for step in kept] if isinstance(kept, list) else []
    steps += [_audited(entry) async for entry in _entries(call["error_id"], tools)] if call["error_id"] else []
    return {"call": call, "steps": steps, "commands": await asyncio.to_thread(lambda: [*_commands(call)])}


def _step(timestamp: str, kind: str, name: str, result: str, about: str) -> dict[str, str]:
    if kind == "recovery":
        what = f"{name} {_RECOVERIES.get(result, result)}"
    elif kind == "effect":
        what = f"The effect {name} {_EFFECTS.get(result, result)}"
    else:
        what = _KEYS.get(name, name)
    return {"timestamp": timestamp, "what": what, "said": about, "tone": _TONES.get(result, "note")}


_RECOVERIES = {"recovered": "recovered the call", "failed": "was tried and failed", "skipped": "was not tried"}
_EFFECTS = {"ok": "was carried out", "error": "failed", "cancelled": "was cancelled"}
_KEYS = {
    "replayed": "The idempotency key had an outcome, which was answered again",
    "conflict": "The idempotency key was sent with other arguments before",
    "in_progress": "The first call with this idempotency key was still running",
    "lost": "The first call with this idempotency key left no outcome",
}


async def _entries(error_id: str, tools: Sequence[BaseTool]) -> Any:
    """Yield the entries of audit logs about an error."""
    logs = (tool.audit if tool.audit is not None else tool.runtime.audit for tool in tools)
    for log in {id(log): log for log in logs if log is not None}.values():
        newest = getattr(log, "newest", None)  # an audit trail of a third party may have none
        if newest is not None:
            with suppress(OSError):  # the panel of the audit log shows that it does not work
                bounds = {"limit": 3, "bytes_at_most": _AUDIT_BYTES_AT_MOST}
                entries, _ = await asyncio.to_thread(newest, "error_id", error_id, **bounds)
                for entry in entries:
                    yield entry


def _audited(entry: Mapping[str, Any]) -> dict[str, str]:
    timestamp = str(entry.get("timestamp", ""))
    return {
        "timestamp": timestamp,
        "what": f"It was written to the audit log as entry {entry.get('seq', '?')}",
        "said": timestamp,
        "tone": "note",
    }


def _commands(call: Mapping[str, Any]) -> Iterator[str]:
    if call["error_id"] or call["request_id"]:
        yield f"failsoft find {shlex.quote(call['error_id'] or call['request_id'])} --log server.log"
    if call["error_id"] and (captures_folder() / f"{call['error_id']}.json").exists():
        yield f"failsoft replay {shlex.quote(call['error_id'])}"
    if call["code"]:
        yield f"failsoft explain {shlex.quote(call['code'])}"
