"""What holds a key while its call runs: renewals beside the end of the call, and a lease longer than the outcome."""

from __future__ import annotations

import asyncio

import pytest

from tests.doors import Claimant, KeyRecord, MemoryBackend, OwnerReport, Phase, Verdict, claim
from tests.recovery.idempotency.test_ledger import Hashes
from tests.recovery.state.stores import records_in
from tests.recovery.state.test_steps import Slow

pytestmark = pytest.mark.anyio


def claimant(call: str, ttl_s: float) -> Claimant:
    return Claimant(call, Hashes("h"), Phase.RUNNING, 10.0, ttl_s)


async def test_a_renewal_that_comes_while_a_key_is_freed_does_not_make_its_record_again() -> None:
    backend = Slow()
    backend.gate.set()
    records, ours = records_in(backend), claimant("one", 86_400.0)
    await records.change(claim, "key:k", ours, False, "")
    record = KeyRecord(records, "key:k", ours)
    backend.gate.clear()
    freed = asyncio.create_task(record.keep(OwnerReport.FREE))
    await asyncio.sleep(0)
    renewed = asyncio.create_task(record.report(OwnerReport.RENEW))
    await asyncio.sleep(0)
    backend.gate.set()
    assert (await freed, await renewed) == (None, True)
    assert await records.find("key:") == []


@pytest.mark.parametrize("said", [None, OwnerReport.RENEW, OwnerReport.MARK])
async def test_a_key_is_held_while_its_call_runs_however_short_its_outcome_is_kept(said: OwnerReport | None) -> None:
    now = [0.0]
    backend = MemoryBackend(lambda: now[0])
    records, ours = records_in(backend), claimant("one", 2.0)
    await records.change(claim, "key:k", ours, False, "")
    record = KeyRecord(records, "key:k", ours)
    if said is not None:
        await record.report(said)
    now[0] = 3.0  # before the first renewal
    other = await records.change(claim, "key:k", claimant("two", 2.0), False, "")
    assert other.verdict == Verdict.WAIT
    await record.keep(OwnerReport.DONE, "{}")
    now[0] = 5.1
    assert await records.find("key:") == []
