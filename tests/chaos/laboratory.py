"""A toolset under the default and under the full chain, with books of its own beside the metrics."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from failsoft import (
    AttemptTimeout,
    BaseTool,
    CallContext,
    CircuitBreaker,
    Fallback,
    Hedge,
    Middleware,
    RecoveryManager,
    RepairArguments,
    Retry,
    RetryBudget,
    Runtime,
    Settings,
    StaleCache,
    Unavailable,
    operation,
)
from failsoft.metrics import PrometheusRecorder, render
from failsoft.recovery import Bulkhead, Proceed, RateLimit

LIMIT_S = 30.0
SETTINGS = Settings()
Behave = Callable[[CallContext], Any]


def full_manager(*more: Any, reads: bool, room: int = 3, patience: int = 20) -> RecoveryManager:
    """Return a manager with every strategy that goes with an operation; hedges and caches only with one that reads.

    Args:
        more: Further strategies.
        reads: Whether it is for an operation that only reads.
        room: Runs at once.
        patience: Failed runs before the circuit opens.
    """
    manager = RecoveryManager()
    manager.add(
        RepairArguments(),
        RateLimit("1000000/second"),
        Fallback(lambda: -1, on=Unavailable),
        Retry(attempts=3, base_s=0.5),
        RetryBudget(ratio=0.5, floor=50),
        CircuitBreaker(min_calls=patience, failure_ratio=0.8, open_s=5),
        Bulkhead(room, wait_s=2.0, queue=1_000),
        AttemptTimeout(4.0),
    )
    if reads:
        manager.add(StaleCache(1.0, 60.0), Hedge(1.5))
    manager.add(*more)
    return manager


class Ledger:
    """Counts what really happens around the handler: a run begins, and ends in one of two ways."""

    def __init__(self) -> None:
        self.began = 0
        self.returned = 0
        self.raised = 0
        self.running = 0
        self.answers: Counter[str] = Counter()

    async def watch(self, call: CallContext, proceed: Proceed) -> Any:
        """Wrap the handler directly."""
        runs = call.attempt
        self.running += 1
        try:
            value = await proceed(call)
        except BaseException:
            self.raised += call.attempt - runs
            raise
        else:
            self.returned += 1
            return value
        finally:
            self.began += call.attempt - runs  # none, if the pool had no thread for it
            self.running -= 1


class Subject(BaseTool):
    """Behaves as configured, in every kind of operation."""

    def __init__(self, behave: Behave, manager: RecoveryManager | None = None) -> None:
        self.ledger = Ledger()
        self.recorder = PrometheusRecorder()
        self.behave = behave
        self.released = threading.Event()
        super().__init__(
            runtime=Runtime(
                settings=SETTINGS,
                recovery=manager if manager is not None else RecoveryManager.default(),
                metrics=self.recorder,
                middleware=[Middleware(name="ledger", run=self.ledger.watch, before="handler")],
            )
        )

    async def _work(self, call: CallContext) -> Any:
        outcome = self.behave(call)
        return await outcome if asyncio.iscoroutine(outcome) else outcome

    async def answer(self, name: str, **params: Any) -> Any:
        """Call an operation, and count how it was answered."""
        response = await self.execute_with_error_handling(name, {"item": 1, **params})
        self.ledger.answers["success" if response.success else "failure"] += 1
        return response


class Reading(Subject):
    """Only reads."""

    name = "subject"

    @operation(read_only=True, timeout=LIMIT_S)
    async def work(self, item: int, call: CallContext) -> int:
        """Change nothing."""
        return await self._work(call)  # type: ignore[no-any-return]

    @work.check
    async def item_is_there(self, item: int) -> None:
        await asyncio.sleep(0)


class Writing(Subject):
    """Does its work twice if it is run twice."""

    name = "subject"

    @operation(timeout=LIMIT_S)
    async def work(self, item: int, call: CallContext) -> int:
        """Do the work."""
        return await self._work(call)  # type: ignore[no-any-return]


class Putting(Subject):
    """Does its work again without harm."""

    name = "subject"

    @operation(idempotent=True, timeout=LIMIT_S)
    async def work(self, item: int, call: CallContext) -> int:
        """Do the work."""
        return await self._work(call)  # type: ignore[no-any-return]


KINDS: dict[str, type[Subject]] = {"reading": Reading, "writing": Writing, "putting": Putting}


def subject(kind: str, chain: str, behave: Behave, *more: Any) -> Subject:
    """Return a toolset of a kind, under the chain `default` or `full`."""
    if chain == "full":
        return KINDS[kind](behave, full_manager(*more, reads=kind == "reading"))
    manager = RecoveryManager.default()
    manager.add(*more)
    return KINDS[kind](behave, manager)


class Books:
    """The numbers as Prometheus would scrape them."""

    def __init__(self, recorder: PrometheusRecorder) -> None:
        text = render(recorder)[0].decode()
        self._samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum over all series of a name that have these labels."""
        wanted = labels.items()
        return sum(sample.value for sample in self._samples if sample.name == name and wanted <= sample.labels.items())


def check_books(tool: Subject, *, calls: int) -> None:
    """Hold the metrics to what really happened, to the unit."""
    books, ledger = Books(tool.recorder), tool.ledger
    outcomes = {
        outcome: books.total("mcp_tool_calls_total", outcome=outcome)
        for outcome in ("ok", "recovered", "degraded", "error", "rejected", "cancelled")
    }
    assert sum(outcomes.values()) == books.total("mcp_tool_calls_total") == calls
    assert outcomes["ok"] + outcomes["recovered"] + outcomes["degraded"] == ledger.answers["success"]
    assert outcomes["error"] + outcomes["rejected"] == ledger.answers["failure"]
    assert books.total("mcp_tool_errors_total") == ledger.answers["failure"]
    assert outcomes["cancelled"] == calls - ledger.answers.total()
    assert books.total("mcp_tool_call_duration_seconds_count") == calls
    results = {
        result: books.total("mcp_tool_attempts_total", result=result)
        for result in ("ok", "error", "timeout", "cancelled")
    }
    assert sum(results.values()) == books.total("mcp_tool_attempts_total") == ledger.began
    assert results["ok"] == ledger.returned
    assert results["error"] + results["timeout"] + results["cancelled"] == ledger.raised
    assert books.total("mcp_tool_inflight") == 0
    assert ledger.running == 0
