"""The status of a server, over all its workers: `/status.json` (contract, section 6)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_json

from failsoft.framework.clock import utc_timestamp
from failsoft.framework.events import CallEvent, EffectEvent, IdempotencyEvent, RecoveryEvent, ReloadEvent, StoreEvent
from failsoft.metrics import PrometheusRecorder
from failsoft.metrics.board import Board, WorkerFacts, in_use
from failsoft.metrics.definitions import (
    BULKHEAD_RUNNING,
    BULKHEAD_WAITING,
    RETRY_BUDGET,
    STATE_QUOTA,
    STATE_STORE_UNAVAILABLE,
)
from failsoft.metrics.status import SAMPLE_EVERY_S, StatusNumbers
from failsoft.recovery.strategies.circuit_breaker import Circuit, CircuitBreaker
from failsoft.server.assembly import Assembly
from failsoft.server.page.findings.evidence import Evidence
from failsoft.server.page.findings.headline import headline
from failsoft.server.page.findings.pace import Pace
from failsoft.server.page.story import StepLog, story_of

_PLACE_AT_MOST = 300
_BEAT_EVERY_S = 0.5
_RESTS = 3
"""Times that gathering the status took, before it is gathered anew."""


class Snapshot(NamedTuple):
    """The status at one moment, which nobody changes, and as JSON."""

    facts: dict[str, Any]
    text: bytes


class Status:
    """Gathers the status of one server.

    Args:
        assembly: The server. Its failed and recovered calls are noted on the board of this process from now on.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._started = time.monotonic()
        shared = in_use()
        self._board = shared or Board.create(None, slot=0)
        runtimes = {id(tool.runtime): tool.runtime for tool in assembly.tools}.values()
        recorders = dict.fromkeys(runtime.metrics for runtime in runtimes)
        self._recorders = [recorder for recorder in recorders if isinstance(recorder, PrometheusRecorder)]
        self._numbers = StatusNumbers(self._recorders, objective=assembly.settings.objective)
        self._is_development = assembly.settings.environment == "development"
        self._pace = Pace()
        self._evidence = Evidence()
        self._steps = StepLog()
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[Snapshot] | None = None
        """What has not begun to be gathered."""
        self._next_at = 0.0
        for runtime in runtimes:
            runtime.events.subscribe(self._note_call, CallEvent)
            runtime.events.subscribe(self._note_reload, ReloadEvent)
            runtime.events.subscribe(self._note_store, StoreEvent)
            runtime.events.subscribe(self._steps.note, RecoveryEvent, EffectEvent, IdempotencyEvent)
        assembly.lifecycle.while_running(self._sample)
        assembly.lifecycle.while_running(partial(self._tell, beats=shared is None))

    def public(self) -> dict[str, Any]:
        """Return what anybody may know: name and phase."""
        return {"name": self._assembly.name, "phase": self._assembly.lifecycle.phase}

    def ended(self, before: Snapshot) -> dict[str, Any]:
        """Return what of a status changes when the server ends: its phase, and the headline."""
        facts = {**before.facts, **self.public()}
        return {**self.public(), "headline": headline(facts, self._evidence)}

    def history(self) -> dict[str, Any]:
        """Return what was counted at each minute of the last hour: `at`, and `errors` by code."""
        return self._numbers.history()

    async def story(self, wanted: str) -> dict[str, Any] | None:
        """Return the story of a call by its error id or request id; None if it is none of the last 200."""
        calls = await asyncio.to_thread(self._board.server.calls)
        return await story_of(wanted, calls, self._assembly.tools)

    async def snapshot(self) -> Snapshot:
        """Return the status, as `docs/schemas/status.schema.json` describes it.

        Files and stores are read elsewhere. Readers that come while it is gathered share the next one, and gathering
        takes a fourth of the time at most.
        """
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._read_in_turn(), name="failsoft status reader")
        return await asyncio.shield(self._next)

    async def _read_in_turn(self) -> Snapshot:
        async with self._turn:
            await asyncio.sleep(max(0.0, self._next_at - time.monotonic()))
            self._next = None
            began = time.monotonic()
            try:
                facts = await self._gather()
                return Snapshot(facts, await asyncio.to_thread(to_json, facts, inf_nan_mode="null"))
            finally:
                ended = time.monotonic()
                self._next_at = ended + _RESTS * (ended - began)

    async def _gather(self) -> dict[str, Any]:
        for recorder in self._recorders:
            await recorder.refresh()
        return await asyncio.to_thread(self._gathered, await self._circuits())

    def _gathered(self, circuits: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what is read from the boards and from the system; for a thread."""
        numbers = self._numbers.read()
        series, signs, failing_since = (numbers.pop(name) for name in ("series", "signs", "failing_since"))
        faults = [fault for (fault,), (value,) in series[STATE_STORE_UNAVAILABLE.name].items() if value]
        self._note("store", is_ok=not faults)
        self._note_audit()
        workers = self._board.server.workers(loads=True)
        living = [worker for worker in workers if worker.slot >= 0 and worker.is_alive]
        failing: dict[str, list[str]] = {}
        for worker in living:
            for name, found in worker.failing.items():
                failing[name] = min(found, failing.get(name, found))  # the earliest
        state = self._assembly.tools[0].runtime.settings.state_url
        recent = [{key: value for key, value in call.items() if key != "steps"} for call in self._board.server.calls()]
        self._complete(numbers, recent)
        facts = {
            **self.public(),
            "version": self._assembly.version,
            "uptime_s": round(time.monotonic() - self._started, 3),
            "workers": [self._shown(worker) for worker in living],
            **numbers,
            "recent": recent,
            "dependencies": _dependencies(circuits, series),
            "store": {
                "kind": _kind(state.get_secret_value().partition(":")[0]) if state is not None else "memory",
                "available": not faults,
                **({"fault": faults[0]} if faults else {}),
            },
            "audit": {"ok": "audit" not in failing},
            "reload": {
                "ok": "reload" not in failing,
                **({"error": failing["reload"][1]} if "reload" in failing else {}),
            },
        }
        self._evidence = Evidence(
            failing={name: since for name, (since, _) in failing.items()},
            failing_since=failing_since,
            signs=signs,
            slow=self._pace.slow(facts["operations"], time.monotonic()),
            blocking={worker.pid: worker.running for worker in living if worker.running},
            ends=[(at, reason) for worker in workers for at, reason in worker.ends],
            quota_used=max((value for (value,) in series[STATE_QUOTA.name].values()), default=0.0),
        )
        return {**facts, "headline": headline(facts, self._evidence)}

    def _complete(self, numbers: dict[str, Any], recent: list[dict[str, Any]]) -> None:
        """Add to the operations and errors what their numbers do not say."""
        last: dict[tuple[str, ...], str] = {}
        for call in recent:
            last.setdefault((call["tool"], call["operation"], call["code"]), call["timestamp"])
        for error in numbers["errors"]:
            error["last"] = last.get((error["tool"], error["operation"], error["code"]))
        known = {(bound.tool_name, name): bound for name, bound in self._assembly.toolbox.operations.items()}
        for operation in numbers["operations"]:
            bound = known.pop((operation["tool"], operation["operation"]), None)
            operation["read_only"] = bound is not None and bound.read_only
            pause = self._assembly.lifecycle.paused.get(f"{operation['tool']}/{operation['operation']}")
            if pause is not None:
                operation["paused"] = pause._asdict()

    def _shown(self, worker: WorkerFacts) -> dict[str, Any]:
        memory_bytes, threads = _process(worker.pid)
        return {
            "pid": worker.pid,
            "phase": worker.phase or (self._assembly.lifecycle.phase if worker.pid == os.getpid() else "starting"),
            "restarts": worker.restarts,
            "in_flight": worker.in_flight,
            "loop_lag_s": round(worker.lag_s, 3),
            "memory_bytes": memory_bytes,
            "threads": threads,
        }

    async def _circuits(self) -> list[dict[str, Any]]:
        """Return the circuit breakers, asked of their store at once."""
        seen = await asyncio.gather(*map(_seen, circuits_of(self._assembly)), return_exceptions=True)
        return [found for found in seen if isinstance(found, dict)]

    def _note_call(self, event: CallEvent) -> None:
        facts = {
            "timestamp": utc_timestamp(),
            "tool": event.tool,
            "operation": event.operation,
            "code": event.code,
            "category": event.category,
            "outcome": event.outcome,
            "effect": event.effect,
            "duration_ms": round(event.duration_s * 1_000, 3),
            "attempts": event.attempts,
            "error_id": event.error_id,
            "request_id": event.request_id,
            "fingerprint": _fingerprint(event),
        }
        if steps := self._steps.take(event.request_id):
            facts["steps"] = steps
        if event.strategy:
            facts["strategy"] = event.strategy
        if event.place and self._is_development:
            facts["origin"] = event.place.partition(" in ")[0][:_PLACE_AT_MOST]
        self._board.note_call(facts)

    def _note_reload(self, event: ReloadEvent) -> None:
        self._note("reload", is_ok=event.ok, why=event.reason)

    def _note_store(self, event: StoreEvent) -> None:
        self._note("store", is_ok=event.available)

    def _note_audit(self) -> None:
        self._note("audit", is_ok="audit" not in self._assembly.lifecycle.degraded)

    def _note(self, name: str, *, is_ok: bool, why: str = "") -> None:
        self._board.note_failing(name, None if is_ok else why)

    async def _tell(self, *, beats: bool) -> None:
        """Tell the other workers what fails here and, in an ASGI server of somebody else, that the event loop runs."""
        while True:
            self._note_audit()
            if beats:
                self._board.beat(phase=self._assembly.lifecycle.phase)
            await asyncio.sleep(_BEAT_EVERY_S)

    async def _sample(self) -> None:
        """Keep a sample of the numbers each minute."""
        await asyncio.to_thread(self._numbers.begin)
        while True:
            await asyncio.sleep(SAMPLE_EVERY_S)
            await asyncio.to_thread(self._numbers.sample)


def circuits_of(assembly: Assembly) -> Iterable[Circuit]:
    """Return the circuit breakers of a server, each once."""
    found = (CircuitBreaker.of(bound) for bound in assembly.toolbox)
    return {id(circuit): circuit for circuit in found if circuit is not None}.values()


async def _seen(circuit: Circuit) -> dict[str, Any]:
    view = await circuit.view()
    since = utc_timestamp(after_s=-view.for_s)
    facts: dict[str, Any] = {"name": view.dependency, "circuit": view.state, "since": since}
    if view.held_by:
        facts["held_by"] = view.held_by
    elif view.state == "open":
        facts["retry_at"] = utc_timestamp(after_s=view.wait_s)
    return facts


def _dependencies(circuits: list[dict[str, Any]], series: Any) -> list[dict[str, Any]]:
    """Return what is known of each dependency by its name: its circuit, retries left, and places that are taken."""
    found = {facts["name"]: facts for facts in circuits}
    for key, metric in (("budget", RETRY_BUDGET), ("limit", BULKHEAD_RUNNING), ("queue", BULKHEAD_WAITING)):
        for (name,), (value,) in series[metric.name].items():
            found.setdefault(name, {"name": name})[key] = value
    return [found[name] for name in sorted(found)]


def _fingerprint(event: CallEvent) -> str:
    """Return what equal failures have in common: code, operation and origin."""
    text = f"{event.code}\n{event.operation}\n{event.place}"
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=6).hexdigest()


def _kind(scheme: str) -> str:
    """Return the kind of store that an address of this scheme names."""
    return "redis" if scheme in {"redis", "rediss", "unix"} else scheme


def _process(pid: int) -> tuple[int | None, int | None]:
    """Return the resident memory in bytes and the threads of a process; None where the system does not say."""
    with suppress(OSError, ValueError, KeyError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        facts = dict(line.split(":", 1) for line in lines if ":" in line)
        return int(facts["VmRSS"].split()[0]) * 1_024, int(facts["Threads"])
    return None, None
