"""Workers are processes that may hang, die and be killed; the calls that they run for hear of it and go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, NotFound, Runtime, operation
from failsoft.recovery import RecoveryManager
from tests.doors import CallScope, FluxSettings, Workers, fork_server_module
from tests.programs.flux import IN_FLUX
from tests.tools.flux import tasks
from tests.tools.flux.lab import is_running, kill, until, workers_of

pytestmark = [*IN_FLUX, pytest.mark.anyio, pytest.mark.usefixtures("flux_python")]


class Runs(BaseTool):
    """Runs any task once, with a short limit or a long one."""

    def __init__(self, workers: Workers) -> None:
        super().__init__(runtime=Runtime(recovery=RecoveryManager()))
        self.workers = workers

    @operation(read_only=True, timeout=60)
    async def run(self, call: CallContext, task: str, given: list[Any] | None = None) -> Any:
        return await self.workers.run(call, getattr(tasks, task), *(given or ()))

    @operation(read_only=True, timeout=0.2)
    async def run_briefly(self, call: CallContext, task: str, given: list[Any] | None = None) -> Any:
        return await self.workers.run(call, getattr(tasks, task), *(given or ()))


@pytest.fixture(scope="module")
def workers(flux_python: str) -> Iterator[Workers]:
    """Workers that may be killed: others keep models in memory."""
    made = Workers(FluxSettings(workers=2, preload=()))
    yield made
    made.close()


@pytest.fixture
def runs(workers: Workers) -> Runs:
    return Runs(workers)


async def wait_for(holds: Callable[[], Any], what: str) -> Any:
    return await asyncio.to_thread(until, holds, what)


async def hanging(runs: Runs, mark: Path) -> tuple[asyncio.Task[Any], int]:
    """Return a call that hangs in a worker, and the worker's process id."""
    call = asyncio.create_task(runs.run(task="hang", given=[str(mark)]))
    return call, int(await wait_for(lambda: mark.exists() and mark.read_text(), "the task"))


async def test_a_task_runs_in_another_process_that_is_used_again(runs: Runs) -> None:
    answers = [(await runs.run(task="identity")).data for _ in range(5)]
    assert set(answers) <= set(workers_of(runs.workers))


async def test_tasks_run_beside_each_other_and_each_gets_its_own_answer(runs: Runs) -> None:
    answers = await asyncio.gather(*(runs.run(task="count", given=[number]) for number in range(1, 41)))
    assert [answer.data for answer in answers] == list(range(1, 41))


async def test_what_a_task_raises_arrives_as_it_was_raised(runs: Runs) -> None:
    answer = await runs.run(task="refuse")
    assert isinstance(answer.error.exception, NotFound)
    assert (answer.error.code, answer.error.suggestions[-1]) == ("NOT_FOUND", "Look elsewhere")


@pytest.mark.parametrize("task", ["crash", "unreadable"])
async def test_a_crash_is_an_unknown_error_that_reveals_nothing_to_the_caller(runs: Runs, task: str) -> None:
    answer = await runs.run(task=task)
    assert answer.error.code == "UNKNOWN_ERROR"
    assert "swordfish" not in str(answer.to_dict())


async def test_a_task_whose_worker_is_killed_is_run_again_in_another(runs: Runs, tmp_path: Path) -> None:
    answer = await runs.run(task="die_at_first", given=[str(tmp_path / "mark")])
    assert answer.data in workers_of(runs.workers)


@pytest.mark.parametrize(("task", "how"), [("die", "SIGKILL"), ("abort", "code 3")])
async def test_a_task_that_kills_every_worker_fails_and_says_how(runs: Runs, task: str, how: str) -> None:
    answer = await runs.run(task=task)
    assert (answer.error.code, answer.error.exception.exception_type) == ("COBRAPY_SOLVER_ERROR", "WorkerDied")
    assert how in answer.error.exception.exception_message
    assert (await runs.run(task="identity")).success


async def test_idle_workers_that_are_killed_are_replaced_unnoticed(runs: Runs) -> None:
    await asyncio.gather(*(runs.run(task="identity") for _ in range(8)))
    before = workers_of(runs.workers)
    for process_id in before:
        kill(process_id)
    answers = await asyncio.gather(*(runs.run(task="identity") for _ in range(8)))
    assert {answer.data for answer in answers}.isdisjoint(before)


async def test_a_cancelled_call_kills_the_worker_that_computes_for_it(runs: Runs, tmp_path: Path) -> None:
    call, process_id = await hanging(runs, tmp_path / "mark")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await wait_for(lambda: not is_running(process_id), "the worker's end")
    assert (await runs.run(task="identity")).success


async def test_a_call_that_waits_for_a_worker_can_be_cancelled(runs: Runs, tmp_path: Path) -> None:
    busy = [await hanging(runs, tmp_path / f"mark{number}") for number in range(2)]
    waiting = asyncio.create_task(runs.run(task="identity"))
    await wait_for(lambda: runs.workers.waiting, "the queue")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not runs.workers.waiting
    for call, _ in busy:
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert (await runs.run(task="identity")).success


async def test_the_deadline_of_a_call_kills_the_worker_as_well(runs: Runs, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    answer = await runs.run_briefly(task="hang", given=[str(mark)])
    assert answer.error.code == "DEADLINE_EXCEEDED"
    if mark.exists() and mark.read_text():
        await wait_for(lambda: not is_running(int(mark.read_text())), "the worker's end")


async def test_a_task_knows_how_long_it_may_take(runs: Runs) -> None:
    assert 0 < (await runs.run(task="time_left")).data <= 60


async def test_progress_arrives_in_order_before_the_answer(runs: Runs) -> None:
    reported: list[tuple[float, float | None, str | None]] = []

    async def listen(done: float, total: float | None, message: str | None) -> None:
        reported.append((done, total, message))

    bound = runs.operations["run"]
    answer = await bound.call({"task": "count", "given": [3]}, CallScope(report_progress=listen))
    assert answer.data == 3
    assert reported == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def test_a_large_answer_comes_whole(runs: Runs) -> None:
    async def measure(call: CallContext) -> int:
        return len(await runs.workers.run(call, tasks.large, 5_000_000))

    made: list[int] = []

    class Measures(BaseTool):
        @operation(read_only=True)
        async def measure(self, call: CallContext) -> int:
            made.append(await measure(call))
            return made[-1]

    assert (await Measures().measure()).data == 5_000_000


async def test_above_the_queue_calls_are_refused_with_a_wait(tmp_path: Path) -> None:
    """And a worker that has had more memory than it may is replaced after its task."""
    workers = Workers(FluxSettings(workers=1, queue=0, worker_bytes=100_000_000, preload=()))
    runs = Runs(workers)
    try:
        first, second = [(await runs.run(task="identity")).data for _ in range(2)]
        assert first != second
        call, _ = await hanging(runs, tmp_path / "mark")
        refused = await runs.run(task="identity")
        assert (refused.error.code, refused.error.retry.when) == ("OVERLOADED", "after_delay")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await runs.run(task="identity")).success
    finally:
        workers.close()


async def test_what_workers_print_never_reaches_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    """Where a client reads the protocol. And a fork server that is killed is started anew, workers and all."""
    workers = Workers(FluxSettings(workers=1, worker_tasks=2, preload=()))
    runs = Runs(workers)
    try:
        first, second, third = [(await runs.run(task="identity")).data for _ in range(3)]
        assert first == second != third
        assert (await runs.run(task="shout")).data == "done"
        assert workers._processes._fork_server._process is not None
        kill(workers._processes._fork_server._process.pid)
        assert (await runs.run(task="shout")).success
    finally:
        workers.close()
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "out loud\nand louder\n" in printed.err


async def test_a_task_that_takes_too_much_memory_fails_and_takes_no_other_with_it() -> None:
    workers = Workers(FluxSettings(workers=1, worker_bytes=100_000_000, preload=()))
    runs = Runs(workers)
    try:
        refused = await runs.run(task="large", given=[500_000_000])
        assert (refused.error.code, refused.error.exception.exception_type) == ("COBRAPY_SOLVER_ERROR", "MemoryError")
        assert (await runs.run(task="identity")).success
    finally:
        workers.close()


async def test_a_fork_server_that_cannot_start_fails_every_call_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server_module.sys, "executable", "/no/such/python")
    workers = Workers(FluxSettings(workers=1))
    runs = Runs(workers)
    answers = await asyncio.gather(*(runs.run(task="identity") for _ in range(3)))
    assert {answer.error.code for answer in answers} == {"UNAVAILABLE"}
    workers.close()
