"""A toolset whose handlers leave lines in files of the current folder, as other processes can read them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from failsoft import NOT_DONE, BaseTool, CallContext, operation
from tests.doors import fork_server_module


def note(name: str, text: str) -> None:
    """Append a line to a file, at once for all processes."""
    with Path(name).open("a", encoding="utf-8") as lines:
        lines.write(f"{text}\n")


def noted(name: str) -> list[str]:
    """Return the lines of a file."""
    file = Path(name)
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def may_end(*, is_so: bool = True) -> None:
    """Let all work end, or hold what begins from now on."""
    if is_so:
        Path("go").touch()
    else:
        Path("go").unlink()


def serve_again() -> None:
    """Do what a program does that serves when it is imported."""
    server = fork_server_module.ForkServer("tests.jobs.works:note", {"name": "begun", "text": "again"})
    try:
        server.fork()
    except OSError as refused:
        note("refused", str(refused))
    server.close()


def _outlive() -> None:
    """Stay until there is a file `over`, in a process of its own."""
    until = time.monotonic() + 30.0
    while not Path("over").exists() and time.monotonic() < until:
        time.sleep(0.01)
    os._exit(0)


def _goes_on() -> bool:
    return not Path("go").exists()


class Works(BaseTool):
    """Work in other processes."""

    @operation(read_only=True, job=True)
    async def look(self) -> int:
        """Say which process this is."""
        return os.getpid()

    @operation(read_only=True, job="required")
    def burn(self) -> int:
        """Compute for a minute."""
        note("begun", f"burn {os.getpid()}")
        until = time.monotonic() + 60.0
        while time.monotonic() < until:
            pass
        return 0

    @operation(read_only=True, job="required")
    async def read(self, name: str) -> str:
        """Read for as long as there is no file `go`."""
        return await self._worked(name)

    @operation(read_only=True, job="required")
    async def fork(self, name: str) -> str:
        """Read, with a process that goes on without this one until there is a file `over`."""
        if not noted("begun") and os.fork() == 0:
            _outlive()
        return await self._worked(name)

    @operation(destructive=False, job="required")
    async def write(self, name: str) -> str:
        """Write, without a mark."""
        return await self._worked(name)

    @operation(destructive=False, job="required", effects=True)
    async def pay(self, name: str, call: CallContext) -> str:
        """Pay once, whatever happens to the process."""

        def paid() -> object:
            return name if name in noted("paid") else NOT_DONE

        async def run() -> str:
            note("paid", name)
            return name

        await call.effect("pay", run=run, probe=paid)
        return await self._worked(name)

    @staticmethod
    async def _worked(name: str) -> str:
        note("begun", f"{name} {os.getpid()}")
        for _ in range(3_000):
            if not _goes_on():
                return f"{name} done"
            await asyncio.sleep(0.01)
        raise TimeoutError
