"""Tools whose dependency, threads, loop and process can be brought into each incident."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import httpx2

from failsoft import BaseTool, CallContext, CircuitBreaker, NotFound, Retry, Unavailable, operation


class Till(BaseTool):
    """Takes money through the bank that BANK names."""

    async def startup(self) -> None:
        """Do not start while the file that GATE names is there."""
        _check_gate()
        self.bank = httpx2.AsyncClient(base_url=os.environ["BANK"], timeout=20.0)

    async def shutdown(self) -> None:
        """Close the connections."""
        await self.bank.aclose()

    @operation(
        read_only=True, recovery=[CircuitBreaker("bank", min_calls=2, confidence=0.5, open_s=0.25, max_open_s=0.25)]
    )
    async def balance(self) -> str:
        """Ask the bank."""
        return (await self.bank.get("/")).raise_for_status().text

    @operation(read_only=True, recovery=[Retry(attempts=2, base_s=0.01)])
    async def statement(self) -> str:
        """Ask the bank twice."""
        return (await self.bank.get("/")).raise_for_status().text

    @operation
    async def pay(self, order: str) -> str:
        """Pay an order."""
        return order

    @operation
    async def pay_slowly(self, order: str) -> str:
        """Pay an order, for as long as the process lives."""
        await asyncio.sleep(60)
        return order

    @operation(read_only=True, recovery=[Retry(attempts=2, base_s=0.01)])
    async def second_attempt(self, call: CallContext) -> int:
        """Work at the second attempt."""
        if call.attempt == 1:
            raise Unavailable
        return call.attempt

    @operation(read_only=True)
    async def leak(self) -> None:
        """Leave threads behind."""
        for _ in range(100):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()

    @operation(read_only=True)
    async def look_up(self, order: str) -> str:
        """Find no order."""
        raise NotFound(message=f"There is no order {order}.")

    @operation(read_only=True)
    async def total(self) -> int:
        """Fail at a mistake of the author."""
        return {"sum": 1}["total"]

    @operation(read_only=True, timeout=60)
    async def block(self) -> None:
        """Block the event loop."""
        time.sleep(30)  # noqa: ASYNC251 - the incident

    @operation(read_only=True, timeout=60)
    async def block_briefly(self) -> None:
        """Block the event loop for less than counts as a stall."""
        time.sleep(2.5)  # noqa: ASYNC251 - the incident

    @operation(read_only=True, timeout=60)
    def hang(self) -> None:
        """Hold a thread."""
        time.sleep(30)

    @operation(read_only=True)
    async def process_id(self) -> int:
        """Return the id of the process."""
        return os.getpid()


def _check_gate() -> None:
    if Path(os.environ["GATE"]).exists():
        message = "the till is locked"
        raise RuntimeError(message)
