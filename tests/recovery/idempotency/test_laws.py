"""Idempotency keys held to a model of what they promise."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from failsoft import BaseTool, NotFound, ToolResponse, operation
from failsoft.recovery import Idempotency
from failsoft.testing import InstantClock
from tests.doors import META_KEY, CallScope, LocalState, MemoryBackend, Step, report_to_ledger
from tests.framework.recording import quiet_runtime
from tests.thorough import examples

TTL_S = 100.0
LEASE_S = 9.0
LOST = "IDEMPOTENCY_OUTCOME_UNKNOWN"


class Mortal(MemoryBackend):
    """A store that hears nothing more of the processes that died."""

    def __init__(self) -> None:
        super().__init__()
        self.dead: set[str] = set()

    def change(self, step: Step, key: str, *arguments: Any, **more: Any) -> Any:
        if step is report_to_ledger and arguments[0].token in self.dead:
            return False
        return super().change(step, key, *arguments, **more)


class Till(BaseTool):
    """Takes money; every run ends when, and as, the test says."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.runs: list[asyncio.Future[int]] = []

    @operation(timeout=float("inf"), recovery=[Idempotency(ttl_s=TTL_S, lease_s=LEASE_S)])
    async def charge(self, amount: int) -> int:
        """Take an amount."""
        self.runs.append(asyncio.get_running_loop().create_future())
        return await self.runs[-1]


Task = asyncio.Task[ToolResponse[Any]]


@dataclass
class Kept:
    """What the model knows of one key.

    `record` is its name in the store, `run` the number of the run, `tasks` are the calls that have no answer yet, one
    of them at work while `works`. `reported` is the outcome, once there is one: the data, or the code.
    """

    amount: int
    record: str
    run: int
    tasks: list[Task]
    works: bool = True
    reported: Any = None
    lost_at: float = float("inf")
    ends_at: float = float("inf")


class Keys(RuleBasedStateMachine):
    """Callers send, repeat and give up; runs succeed, fail and vanish; time passes."""

    @initialize()
    def begin(self) -> None:
        self.clock = InstantClock().__enter__()
        self.state = Mortal()
        self.tool = Till(runtime=quiet_runtime(state=LocalState(records=self.state)))
        self.model: dict[str, Kept] = {}
        self.expected_runs = 0

    def teardown(self) -> None:
        if hasattr(self, "clock"):
            self.clock.__exit__(None, None, None)  # its runner cancels what is left

    def settle(self) -> None:
        """Let everything happen that happens without time passing."""

        async def turns() -> None:
            for _ in range(30):
                await asyncio.sleep(0)

        self.clock.run(turns())

    def records(self) -> dict[str, Any]:
        async def look() -> dict[str, Any]:
            return {item.key: item.value for item in await self.state.find("")}

        return self.clock.run(look())

    def working(self, *, alone: bool = False) -> list[str]:
        return sorted(key for key, kept in self.model.items() if kept.works and not (alone and len(kept.tasks) != 1))

    @rule(key=st.sampled_from("ab"), amount=st.integers(1, 2))
    def send(self, key: str, amount: int) -> None:
        known = self.model.get(key)
        if known is not None and self.clock.now_s >= known.ends_at:
            known = None
        before = self.records().keys()

        async def start() -> Task:
            scope = CallScope(meta={META_KEY: key}, principal="ann")
            calling: Any = self.tool.operations["charge"].call({"amount": amount}, scope)
            return asyncio.get_running_loop().create_task(calling)

        task = self.clock.run(start())
        self.settle()
        if known is None:
            assert not task.done()
            (record,) = self.records().keys() - before
            self.expected_runs += 1
            self.model[key] = Kept(amount, record, len(self.tool.runs) - 1, [task])
        elif known.amount != amount:
            assert answered(task) == "IDEMPOTENCY_CONFLICT"
        elif known.reported is not None:
            assert answered(task) == known.reported
        elif self.clock.now_s >= known.lost_at:
            assert answered(task) == LOST
        else:
            assert not task.done()
            known.tasks.append(task)

    @precondition(lambda self: self.working())
    @rule(data=st.data(), ending=st.sampled_from(["value", "nothing changed", "perhaps changed"]))
    def end_a_run(self, data: st.DataObject, ending: str) -> None:
        key = data.draw(st.sampled_from(self.working()))
        known = self.model[key]
        run = self.tool.runs[known.run]
        if ending == "value":
            run.set_result(known.run)
        else:
            run.set_exception(NotFound(effect="none" if ending == "nothing changed" else "unknown"))
        self.settle()
        outcome: Any = known.run if ending == "value" else "NOT_FOUND"
        done = [task for task in known.tasks if task.done()]
        assert {answered(task) for task in done} <= {outcome}
        if ending != "nothing changed":
            assert done == known.tasks
            known.tasks, known.works, known.reported, known.ends_at = [], False, outcome, self.clock.now_s + TTL_S
            return
        if known.tasks:
            assert len(done) <= 1  # none: the caller has left
            known.tasks = [task for task in known.tasks if task not in done]
        if known.tasks:
            self.expected_runs += 1
            known.run = len(self.tool.runs) - 1
        else:
            del self.model[key]

    @precondition(lambda self: self.working(alone=True))
    @rule(data=st.data(), dies=st.booleans())
    def lose_a_caller(self, data: st.DataObject, dies: bool) -> None:
        """A caller leaves, and its call goes on; or its process dies, and then nothing more is heard of it."""
        known = self.model[data.draw(st.sampled_from(self.working(alone=True)))]
        (task,) = known.tasks
        record = self.records()[known.record]
        task.cancel()
        self.settle()
        assert task.cancelled()
        known.tasks = []
        if dies:
            self.state.dead.add(record["owner"])
            self.tool.runs[known.run].cancel()
            self.settle()
            known.lost_at, known.ends_at, known.works = record["until"], record["end"], False

    @rule(seconds=st.sampled_from([0.5, 4.0, 10.0, 60.0, 101.0]))
    def wait(self, seconds: float) -> None:
        self.clock.run(asyncio.sleep(seconds))
        self.settle()
        for known in self.model.values():
            if self.clock.now_s >= known.lost_at + 1:
                assert {answered(task) for task in known.tasks} <= {LOST}
                known.tasks = []

    @invariant()
    def no_work_is_done_that_nobody_expects(self) -> None:
        if hasattr(self, "tool"):
            assert len(self.tool.runs) == self.expected_runs


def answered(task: Task) -> Any:
    """Return the data of an answer, or its code."""
    assert task.done()
    response = task.result()
    return response.data if response.error is None else response.error.code


TestKeys = Keys.TestCase
TestKeys.settings = settings(max_examples=examples(40), stateful_step_count=30)
