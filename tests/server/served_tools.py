"""The tools that the server tests serve: well-behaved ones, and ones that do what no tool should."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from typing import Any

import anyio
from mcp_types import ImageContent, ResourceLink, TextContent

from failsoft import BaseTool, CallContext, DocumentNotFound, RecoveryManager, RecoveryResult, ToolError, operation

PNG = "iVBORw0KGgo="


class Elsewhere:
    """Finds `moved` at another place, and nothing else."""

    name = "elsewhere"

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        if not isinstance(error, DocumentNotFound) or call.arguments.get("name") != "moved":
            return None
        return RecoveryResult(await call.retry(name="here"), "Found at another place: here", {"name": "here"})


def _manager() -> RecoveryManager:
    manager = RecoveryManager()
    manager.register(DocumentNotFound, Elsewhere())
    return manager


class Polite(BaseTool):
    """Tools that behave."""

    recovery = _manager()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.events: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    @operation(read_only=True)
    async def process_id(self) -> int:
        """Return the id of the process that serves this."""
        return os.getpid()

    @operation(read_only=True)
    async def find(self, name: str) -> dict[str, Any]:
        """Return what has this name."""
        if name == "here":
            return {"name": name, "nothing": None}
        raise DocumentNotFound(path=name, suggestions=["here"])

    @operation(read_only=True)
    def double(self, number: int) -> int:
        """Return twice the number, from a thread."""
        return 2 * number

    @operation(read_only=True)
    def hold_a_thread(self) -> None:
        """Hold a worker thread for as long as the server runs."""
        threading.Event().wait(3600)

    @operation(read_only=True)
    async def count(self, steps: int, call: CallContext) -> int:
        """Report progress, twice for each step and once backwards."""
        for step in range(1, steps + 1):
            await call.report_progress(step, steps, f"step {step}")
            await call.report_progress(step, steps, "again")
            await call.report_progress(step - 1, steps, "backwards")
        return steps

    @operation(read_only=True, timeout=60)
    async def hang(self, key: str) -> None:
        """Never return; remember having started and having been cancelled."""
        self.events[f"{key} started"].set()
        try:
            await asyncio.sleep(3600)
        finally:
            self.events[f"{key} cancelled"].set()

    @operation(read_only=True, timeout=30)
    async def witness(self, event: str) -> bool:
        """Return once the event has happened."""
        await self.events[event].wait()
        return True

    @operation(read_only=True, timeout=60)
    async def finish_when(self, key: str) -> str:
        """Say that it has started, and return once it is let go."""
        self.events[f"{key} started"].set()
        await self.events[f"{key} let go"].wait()
        return "finished"

    @operation(read_only=True)
    async def let_go(self, key: str) -> bool:
        """Let the call with this key return."""
        self.events[f"{key} let go"].set()
        return True

    @operation(read_only=True, timeout=60)
    async def count_when_let_go(self, path: str, call: CallContext) -> int:
        """Wait for the file, then report progress and return: both after the server was asked to end."""
        self.events["counting"].set()
        while not await anyio.Path(path).exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        for step in range(1, 4):
            await call.report_progress(step, 3)
        return 3

    @operation(read_only=True)
    async def facts(self, call: CallContext) -> dict[str, Any]:
        """Return what the transport knows about this call."""
        return {
            "principal": call.principal,
            "has_request_id": bool(call.request_id),
            "session_id": call.session_id,
            "meta": {name: value for name, value in call.scope.meta.items() if name.startswith("dev.failsoft/")},
        }

    @operation(read_only=True)
    async def picture(self) -> Any:
        """Return data, an image, a text and a link."""
        return [
            {"width": 1},
            ImageContent(type="image", data=PNG, mime_type="image/png"),
            TextContent(type="text", text="a picture"),
            ResourceLink(type="resource_link", name="more", uri="file:///more.png"),
        ]

    @operation(read_only=True)
    async def large_picture(self) -> Any:
        """Return an image beyond the limit of an answer."""
        return ImageContent(type="image", data="A" * 1_200_000, mime_type="image/png")

    @operation(read_only=True)
    async def text_of(self, length: int) -> str:
        """Return so many letters."""
        return "x" * length


def _raise(kind: str) -> None:
    if kind == "system exit":
        raise SystemExit(3)
    if kind == "keyboard interrupt":
        raise KeyboardInterrupt
    if kind == "group":
        raise BaseExceptionGroup(kind, [SystemExit(1), ValueError(kind)])
    if kind == "generator exit":
        raise GeneratorExit
    if kind == "stray cancellation":
        raise asyncio.CancelledError
    if kind == "unspeakable":
        raise _Unspeakable
    if kind == "surrogate in the message":
        raise ValueError(kind + "\udcff")
    raise RecursionError(kind)


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


class _Odd:
    def __repr__(self) -> str:
        raise RuntimeError


def _value(kind: str) -> Any:
    cycle: list[Any] = [1]
    cycle.append(cycle)
    deep: Any = "bottom"
    for _ in range(5_000):
        deep = [deep]
    return {
        "surrogate": "file\udcff.txt",
        "surrogate key": {"file\udcff": 1},
        "nan": float("nan"),
        "infinity": [float("inf"), -float("inf")],
        "cycle": cycle,
        "object": object(),
        "odd object": _Odd(),
        "bytes": b"\xff\xfe\x00",
        "long integer": 10**5_000,
        "deep": deep,
        "huge": "x" * 5_000_000,
        "set": {1, "a"},
        "keys": {1: "a", None: "b", (1, 2): "c"},
        "class": int,
        "control": "a\x00b\x1b[31mc",
    }[kind]


RAISED = (
    "system exit",
    "keyboard interrupt",
    "group",
    "generator exit",
    "stray cancellation",
    "unspeakable",
    "surrogate in the message",
    "recursion",
)
RETURNED = (
    "surrogate",
    "surrogate key",
    "nan",
    "infinity",
    "cycle",
    "object",
    "odd object",
    "bytes",
    "long integer",
    "deep",
    "huge",
    "set",
    "keys",
    "class",
    "control",
)


class Hostile(BaseTool):
    """Tools that do what a server must survive."""

    @operation(read_only=True)
    def print_and_read(self) -> dict[str, str]:
        """Write to standard output and read standard input, here and in a child process."""
        print("noise", flush=True)  # noqa: T201 - it must not reach the wire
        os.write(1, b"noise\n")
        subprocess.run([sys.executable, "-c", "print('noise')"], check=True)
        reader = subprocess.run(
            [sys.executable, "-c", "import sys; print(sys.stdin.read())"], check=True, capture_output=True
        )
        return {"read": os.read(0, 100).decode(), "child": reader.stdout.decode().strip()}

    @operation(read_only=True)
    def print_in_passing(self) -> None:
        """Write to standard output, which keeps it for later."""
        print("noise")  # noqa: T201 - it must not reach the wire

    @operation(read_only=True)
    async def raise_it(self, kind: str) -> Any:
        """Raise."""
        _raise(kind)

    @operation(read_only=True)
    def raise_it_in_a_thread(self, kind: str) -> Any:
        """Raise."""
        _raise(kind)

    @operation(read_only=True)
    async def return_it(self, kind: str) -> Any:
        """Return."""
        return _value(kind)

    @operation(read_only=True)
    def return_it_from_a_thread(self, kind: str) -> Any:
        """Return."""
        return _value(kind)

    @operation(read_only=True)
    async def cancel_a_child(self) -> Any:
        """Await a task of its own that was cancelled."""
        task = asyncio.create_task(asyncio.sleep(60))
        await asyncio.sleep(0)
        task.cancel()
        await task

    @operation(read_only=True)
    async def odd_progress(self, call: CallContext) -> str:
        """Report progress that is none."""
        for done in (float("nan"), float("inf"), 1, 1, 0.5):
            await call.report_progress(done, float("nan"), "x\udcff" * 10)
        return "done"

    @operation(read_only=True, timeout=0.05)
    def sleep_through_the_limit(self) -> str:
        """Outlive the time limit in a thread."""
        time.sleep(0.3)
        return "late"


TOOLS = (Polite, Hostile)
