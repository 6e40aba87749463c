"""The base of what runs jobs: `start`, `attach`, `cancel`, `heartbeat`, `result`; and the book that every engine uses.

A server begins a job in this order: its record is stored (`JobBook.open`), then `Engine.start` is called, then the
handle is answered. An engine only has to bring a job to a process that has the toolset and calls `run_job` there
(`failsoft.jobs.run`), as often as it likes: the record lets one runner have the job at a time, and the ledger decides
whether work that was begun may be done again. So an engine's own retries are off, and a job that it loses is started
again by whoever finds it (`JobBook.orphans`).
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from failsoft.framework.clock import loop_time, utc_timestamp
from failsoft.framework.state.backend import State
from failsoft.framework.state.records import Records
from failsoft.jobs.record import (
    ENDED,
    JOB_PREFIX,
    RESULT_PREFIX,
    SAME_PREFIX,
    Job,
    JobState,
    answered,
    cancelled,
    ended,
    opened,
    released,
    same,
    tag_of,
    taken,
    told,
)
from failsoft.recovery.idempotency.ledger import is_dead

OnNews: TypeAlias = Callable[[Job], Awaitable[object]]
_FIRST_PAUSE_S, _PAUSE_AT_MOST_S = 0.02, 0.25
"""How often a job that runs elsewhere is looked at, in seconds: at first, and at most."""
_READ_AT_ONCE = 500


class JobBook:
    """The records of the jobs of one server, in its state store.

    Args:
        records: The store.
        keep_s: How long an ended job and its answer are kept, in seconds.
    """

    def __init__(self, records: Records, keep_s: float) -> None:
        self.records = records
        self.keep_s = keep_s
        self._waiting: dict[str, list[asyncio.Event]] = {}
        """What wakes those who wait for a job in this process."""

    @property
    def is_local(self) -> bool:
        """Whether the jobs end with this process."""
        return self.records.is_local

    async def open(self, job: Job) -> Job:
        """Store a job; return the one that is there. Counts against the quota of its principal.

        Raises:
            QUOTA_EXHAUSTED: The quota is used up.
        """
        state: State = await self.records.change(opened, JOB_PREFIX + job.id, job.to_state(), principal=job.caller)
        return Job.from_state(state)

    async def note_same(
        self, name: str, job_id: str, hashes: str, principal: str | None, *, is_replaced: bool
    ) -> State | None:
        """Note the job of a key, or of equal calls; return what was noted before: `id` and `arguments`."""
        key = SAME_PREFIX + name
        facts = (job_id, hashes, self.keep_s, is_replaced)
        before: State | None = await self.records.change(same, key, *facts, principal=principal)
        return before

    async def read(self, job_id: str) -> Job | None:
        """Return a job, whoever's it is; None if there is none with this id."""
        job: Job | None = await self.records.get(JOB_PREFIX + job_id, Job.from_state)
        return job

    async def of(self, principal: str | None, state: str | None, *, at_most: int) -> tuple[list[Job], int]:
        """Return the newest jobs of a caller, those in a state if one is given, and how many there are in all."""
        caller = ("", True) if principal is None else (principal, False)

        def is_wanted(job: State) -> bool:
            return (job["principal"], job["is_anonymous"]) == caller and state in (None, job["state"])

        found = await self._found(JOB_PREFIX + tag_of(principal), is_wanted)
        return _jobs(heapq.nlargest(at_most, found, key=lambda job: str(job["created_at"]))), len(found)

    async def states(self) -> Counter[str]:
        """Return how many jobs there are in each state."""
        return Counter(job["state"] for job in await self._found(JOB_PREFIX, lambda _: True))

    async def orphans(self) -> list[str]:
        """Return the ids of the jobs that nobody runs: not yet taken, or with a runner that has died or is silent."""
        now = self.records.clock()

        def is_wanted(job: State) -> bool:
            return job["state"] not in ENDED and (job["until"] <= now or is_dead(job["owner"]))

        return [job["id"] for job in await self._found(JOB_PREFIX, is_wanted)]

    async def _found(self, prefix: str, is_wanted: Callable[[State], bool]) -> list[State]:
        """Return the jobs wanted of those whose keys have a prefix, as they are stored: making a `Job` takes longer."""
        found: list[State] = []
        for number, record in enumerate(await self.records.find(prefix)):
            if number % _READ_AT_ONCE == _READ_AT_ONCE - 1:
                await asyncio.sleep(0)  # other calls have their turn
            with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):  # a damaged record
                if is_wanted(record.value):
                    found.append(record.value)
        return found

    async def take(self, job_id: str, owner: str) -> Job | None:
        """Let a runner have a job; None if it has ended, or another runner has it."""
        known = await self.read(job_id)
        dead = known.owner if known is not None and known.owner and is_dead(known.owner) else ""
        return _job(await self.records.change(taken, JOB_PREFIX + job_id, owner, dead, utc_timestamp(), is_free=True))

    async def tell(self, job_id: str, owner: str, facts: State) -> Job | None:
        """Renew the lease of a runner; see `Engine.heartbeat`."""
        kept = {**facts, "changed_at": utc_timestamp()} if facts else facts
        return _job(await self.records.change(told, JOB_PREFIX + job_id, owner, kept, is_free=True))

    async def release(self, job_id: str, owner: str) -> bool:
        """Give a job back, so that another runner may take it at once."""
        is_done: bool = await self.records.change(released, JOB_PREFIX + job_id, owner, is_free=True)
        return is_done

    async def cancel(self, job_id: str) -> Job | None:
        """Ask for the end of a job; see `Engine.cancel`."""
        asked = (utc_timestamp(), self.keep_s)
        job = _job(await self.records.change(cancelled, JOB_PREFIX + job_id, *asked, is_free=True))
        self.wake(job_id)
        return job

    async def end(
        self,
        job: Job,
        owner: str,
        state: JobState,
        status: str,
        result: Mapping[str, Any] | None,
        *,
        is_free: bool = False,
    ) -> Job | None:
        """End a job with its answer; None if it has ended before, or is another runner's.

        The answer is stored first: a job is never seen ended without it. It counts against the quota of the job's
        principal unless it `is_free`.

        Raises:
            QUOTA_EXHAUSTED: The quota has no space for the answer; the job has not ended.
        """
        known = await self.read(job.id)
        if known is None or known.owner != owner or known.has_ended:  # the answer is another runner's by now
            return None
        if result is not None and is_free:
            await self.records.change(answered, RESULT_PREFIX + job.id, dict(result), self.keep_s, is_free=True)
        elif result is not None:
            await self.records.put(RESULT_PREFIX + job.id, dict(result), self.keep_s, principal=job.caller)
        facts = {"state": str(state), "status": status, "changed_at": utc_timestamp()}
        found = await self.records.change(ended, JOB_PREFIX + job.id, owner, facts, self.keep_s, is_free=True)
        self.wake(job.id)
        return _job(found)

    async def result(self, job_id: str) -> Mapping[str, Any] | None:
        """Return the stored answer of a job, or None."""
        kept: Mapping[str, Any] | None = await self.records.get(RESULT_PREFIX + job_id)
        return kept

    def wake(self, job_id: str) -> None:
        """Let those look again who wait for a job in this process."""
        for news in self._waiting.get(job_id, ()):
            news.set()

    async def wait(self, job_id: str, wait_s: float, on_news: OnNews | None = None) -> Job | None:
        """Wait until a job has ended, at most so many seconds; return it as it is then, None if there is none.

        A job that ends in this process is seen at once, one that ends elsewhere within a quarter of a second.
        """
        until, pause_s, done = loop_time() + wait_s, _FIRST_PAUSE_S, -1.0
        while True:
            with self.listening(job_id) as news:
                job = await self.read(job_id)
                left_s = until - loop_time()
                if job is None or job.has_ended or left_s <= 0:
                    return job
                if on_news is not None and job.done > done:
                    done = job.done
                    await on_news(job)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(pause_s, left_s)):
                        await news.wait()
            pause_s = min(2 * pause_s, _PAUSE_AT_MOST_S)

    @contextlib.contextmanager
    def listening(self, job_id: str) -> Iterator[asyncio.Event]:
        """Provide an event that is set whenever `wake` is called in this process while the block lasts."""
        news = asyncio.Event()
        waiting = self._waiting.setdefault(job_id, [])
        waiting.append(news)
        try:
            yield news
        finally:
            waiting.remove(news)
            if not waiting and self._waiting.get(job_id) is waiting:
                del self._waiting[job_id]


class Engine:
    """What runs jobs. Every method is called on the event loop of a server; jobs are named by their ids.

    This class is the part that is in the store, whatever brings jobs to their runners: all that a process needs which
    only runs them. Engines of servers are its subclasses.

    Args:
        book: The records.

    Raises:
        STATE_UNAVAILABLE: By every method: the store does not answer, or takes no writes for now.
        UNAVAILABLE: By `start`: the engine cannot be reached. The record stays, and the job is started later.
    """

    def __init__(self, book: JobBook) -> None:
        self.book = book

    async def start(self, job_id: str) -> None:
        """Have the job run in some process, now or when one is free; return as soon as that is arranged.

        Starting a job that runs already, or has ended, does nothing. Here the servers do it.
        """

    async def attach(self, job_id: str, wait_s: float, on_news: OnNews | None = None) -> Job | None:
        """Wait until the job has ended, at most so many seconds; return it as it is then, None if there is none.

        Args:
            job_id: The job.
            wait_s: How long, in seconds.
            on_news: Gets the job whenever its progress is seen to have increased meanwhile.
        """
        return await self.book.wait(job_id, wait_s, on_news)

    async def cancel(self, job_id: str) -> Job | None:
        """Ask for the end of the job; return it as it is then, None if there is none.

        It ends as cancelled only if its handler has begun no effect; else it runs to its end.
        """
        return await self.book.cancel(job_id)

    async def heartbeat(self, job_id: str, owner: str, facts: State) -> Job | None:
        """Report that the runner `owner` is still at work, with what is new of `status`, `done` and `total`.

        Called by `run_job`, in the process that runs the job.

        Returns:
            The job, whose `is_cancelled` says whether its end was asked for; None if it is no longer this runner's.
        """
        return await self.book.tell(job_id, owner, facts)

    async def result(self, job_id: str) -> Mapping[str, Any] | None:
        """Return the answer of a job that has ended, as `failsoft.jobs.answers` stores it; None without one."""
        return await self.book.result(job_id)

    def warm_up(self) -> None:
        """Prepare for the first job, in the background; called when the server starts."""

    async def close(self) -> None:
        """End or leave what runs in this process; jobs that have not ended are given back."""


def _job(state: State | None) -> Job | None:
    return None if state is None else Job.from_state(state)


def _jobs(states: Iterable[State]) -> list[Job]:
    """Return the jobs of records that were found, without those of damaged ones."""
    jobs: list[Job] = []
    for state in states:
        with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
            jobs.append(Job.from_state(state))
    return jobs
