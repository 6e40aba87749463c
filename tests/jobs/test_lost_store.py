"""Jobs whose calls find the state store lost for a moment: claims, marks and outcomes of the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from failsoft import NOT_DONE, BaseTool, CallContext, Runtime, Settings, mcp_server, operation
from failsoft.testing import InstantClock
from tests.doors import Held, LocalState, StoreLost, Write, WriteRefused
from tests.jobs.caller import Caller
from tests.recovery.idempotency.processes import SharedRecords


class Losing(SharedRecords):
    """Records that are lost at one write to the ledger: before it, or after it and so without an answer."""

    def __init__(self, at: int, *, is_written: bool, lost: Exception) -> None:
        super().__init__()
        self.left, self.is_written, self.lost = at, is_written, lost
        self.was_lost = False

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        if "/key:" in key:
            self.left -= 1
        is_lost = self.left == 0 and not self.was_lost
        held = None if is_lost and not self.is_written else await super().swap(key, version, write)
        if is_lost:
            self.was_lost = True
            raise self.lost
        return held


class Till(BaseTool):
    """Charges cards."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime=runtime)
        self.charged: list[int] = []

    @operation(destructive=False, job="required", effects=True)
    async def charge(self, amount: int, call: CallContext) -> int:
        """Charge an amount."""
        await call.effect(
            "charge", run=lambda: self.charged.append(amount), probe=lambda: len(self.charged) or NOT_DONE
        )
        return amount


@pytest.mark.parametrize("at", [1, 2, 3, 4], ids=["claim", "mark", "value", "outcome"])
@pytest.mark.parametrize("how", ["refused", "lost", "answer lost"])
def test_a_job_that_finds_the_store_lost_is_done_once_and_completes(at: int, how: str) -> None:
    lost = WriteRefused("full") if how == "refused" else StoreLost("gone", may_be_written=True)
    records = Losing(at, is_written=how == "answer lost", lost=lost)
    till = Till(Runtime(settings=Settings(), state=LocalState(records=records)))

    async def main() -> Any:
        async with Client(mcp_server([till], name="till")) as client:
            caller = Caller(client)
            return await caller.ended((await caller.data("charge", {"amount": 5}))["job_id"])

    job = InstantClock().run(main())
    assert records.was_lost
    assert (job["state"], job["result"].get("data"), till.charged) == ("completed", 5, [5])


class Gone(SharedRecords):
    """Records of jobs that take no writes for so many tries, from the first charge on."""

    def __init__(self) -> None:
        super().__init__()
        self.refused, self.charged = 0, list[int]()
        self.written: list[tuple[str, Any]] = []

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        if "/job:" in key and self.charged and self.refused < 500:
            self.refused += 1
            raise StoreLost("gone")
        self.written.append((key, write.value))
        return await super().swap(key, version, write)


def test_a_runner_gives_up_a_store_that_is_gone_and_another_one_ends_the_job_without_doing_it_again() -> None:
    records = Gone()
    till = Till(Runtime(settings=Settings(), state=LocalState(records=records)))
    till.charged = records.charged

    async def main() -> Any:
        async with Client(mcp_server([till], name="till")) as client:
            caller = Caller(client)
            job_id = (await caller.data("charge", {"amount": 5}))["job_id"]
            for _ in range(1_000):
                job = await caller.ended(job_id)
                if job["state"] != "working":
                    break
            return job

    job = InstantClock().run(main())
    (runs,) = [record["runs"] for key, record in records.written if "/job:" in key][-1:]
    assert (records.refused, runs) == (500, 2)
    assert (job["state"], job["result"].get("data"), till.charged) == ("completed", 5, [5])
