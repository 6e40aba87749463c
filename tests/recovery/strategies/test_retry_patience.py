"""How long `Retry` waits when a service asks for a wait."""

from __future__ import annotations

import pytest

from failsoft import BaseTool, RateLimited, Retry, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio

WAITED: list[float] = []


async def sleep(seconds: float) -> None:
    WAITED.append(seconds)


class Limited(BaseTool):
    """Asks for a wait of ten seconds."""

    @operation(read_only=True, recovery=[Retry(sleep=sleep)])
    async def look(self) -> int:
        """Look."""
        raise RateLimited("Slower.", retry_after_seconds=10)


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="By default `Retry` waits up to 30 s inside a call; above 5 s the wait is the caller's.",
)
async def test_a_wait_of_more_than_five_seconds_goes_to_the_caller_by_default() -> None:
    WAITED.clear()
    failure = (await Limited(runtime=quiet_runtime()).look()).error
    if failure is None:
        pytest.fail("the call has worked")
    assert WAITED == []
    assert failure.retry.after_seconds == 10
