"""The demo's server: `failsoft serve docs` in a separate process."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import as_file, files

from failsoft.framework.errors import InitializationError

_STARTS_WITHIN_S = 60.0
_ENDS_WITHIN_S = 15.0
_URL = re.compile(r"http://[\w.:\[\]]+(?=/mcp)")
_NOT_OURS = ("FAILSOFT_", "PROMETHEUS_", "DEBUG_STACK")
"""Variables that are removed, so that the user's settings do not change the demo."""


@dataclass(slots=True)
class DemoServer:
    """A server in a separate process; `exit_code` is set once it has ended."""

    process: asyncio.subprocess.Process
    exit_code: int | None = None

    async def url(self) -> str:
        """Return its address once it answers.

        Raises:
            INIT_ERROR: It did not start; the line that says why is quoted.
        """
        return await _url(self.process)


@asynccontextmanager
async def started_server() -> AsyncIterator[DemoServer]:
    """Start the server over the documents that ship with the package, on a free port, and end it afterwards."""
    with as_file(files("failsoft.tools.docs") / "demo") as folder, tempfile.TemporaryDirectory() as cache:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "failsoft", "serve", "docs", "--root", str(folder)),
            *("--transport", "http", "--port", "0"),
            env={**_environment(), "XDG_CACHE_HOME": cache},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            server = DemoServer(process)
            yield server
            await _end(process)
            server.exit_code = process.returncode
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)}


async def _url(process: asyncio.subprocess.Process) -> str:
    """Return the address that the server announces on its standard error."""
    assert process.stderr is not None  # noqa: S101 - it was asked for
    last = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(_STARTS_WITHIN_S):
            async for line in process.stderr:
                text = line.decode(errors="replace").rstrip()
                if found := _URL.search(text):
                    return found[0]
                # Indented lines continue the line above, so the last line without indentation names the cause.
                last = text if text[:1].strip() else last
    raise InitializationError(message=f"The demo's server did not start: {last or 'it said nothing'}", component="demo")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Terminate the server and wait. `communicate` also reads its log lines, since a full pipe would block it."""
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(_ENDS_WITHIN_S):
            await process.communicate()
