"""Server lifecycle: all-or-nothing start-up of toolsets, draining, orderly shutdown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import anyio

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import BootstrapFailure, InitializationError, SelfAuditFailure, ToolError, catalogue
from failsoft.framework.events import RefusalEvent
from failsoft.framework.safe.author_reports import is_real_cancellation, logger
from failsoft.framework.standalone import SystemErrorFactory
from failsoft.framework.state.store import StateStore
from failsoft.framework.text import bounded
from failsoft.server.reload import reload_on_change

ADMITTED = "failsoft.admitted"
"""Key in an ASGI scope: whether the server was ready when the request arrived."""
Phase: TypeAlias = Literal["starting", "ready", "draining", "stopped"]
_FAULTS_AT_MOST = 10
_CANCELLATION_S = 1.0
"""Time for a cancelled call to return its failure, in seconds."""


class Pause(NamedTuple):
    """An operation that an operator has paused.

    Args:
        reason: What callers are told.
        by: Who paused it.
        since: When, in ISO 8601.
    """

    reason: str
    by: str
    since: str


class Lifecycle:
    """Starts and stops the toolsets of one server, and tracks its readiness.

    An in-memory server is entered once for each client, so entries are counted: the first one starts the toolsets,
    the last exit stops them.

    Args:
        tools: In the order in which they are started; they are stopped in the reverse order.
        shutdown_limit_s: How long one toolset may take to shut down, in seconds.
    """

    def __init__(self, tools: Sequence[BaseTool], *, shutdown_limit_s: float = 10.0) -> None:
        self._tools = tuple(tools)
        self._shutdown_limit_s = shutdown_limit_s
        self._entries = 0
        self._lock = asyncio.Lock()
        self._watching = ExitStack()
        self._companions: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._around: list[Callable[[], AbstractContextManager[None]]] = []
        self._audit_logs = _audit_logs(self._tools)
        self._emptied: anyio.Event | None = None
        self._hurried = False
        self._calls: set[asyncio.Task[Any] | None] = set()
        self._cut_off: set[asyncio.Task[Any] | None] = set()
        self.phase: Phase = "starting"
        self.in_flight = 0
        self.paused: Mapping[str, Pause] = {}
        """By `toolset/operation`."""
        self.failure: ToolError | None = None
        """Why the toolsets could not start; some servers swallow the exception."""

    @asynccontextmanager
    async def running(self, _server: Any = None) -> AsyncIterator[Lifecycle]:
        """Run the toolsets while the block lasts: the lifespan of an SDK server.

        Raises:
            INIT_ERROR: A toolset failed to start. Those that had started are stopped again.
            BOOTSTRAP_FAILURE: A governed toolset failed to start.
            SELF_AUDIT_FAILURE: Governed toolsets do not pass their audit; nothing was started.
        """
        async with self._lock:
            if self._entries == 0:
                await self._start()
                for block in self._around:
                    self._watching.enter_context(block())
                self._watching.enter_context(reload_on_change(self._tools))
                for companion in self._companions:
                    self._watching.callback(asyncio.create_task(companion()).cancel)
            self._entries += 1
        try:
            yield self
        finally:
            # Shield the shutdown: under cancellation every await would raise at once.
            with anyio.CancelScope(shield=True):
                async with self._lock:
                    self._entries -= 1
                    if self._entries == 0:
                        self._watching.close()
                        self.phase = "stopped"
                        await self._end_detached()
                        await self._stop(self._tools)
                        for state in self._states():
                            await self._ended(state.close(), "The state store")

    def enclosed_by(self, *blocks: Callable[[], AbstractContextManager[None]]) -> None:
        """Enter these once the toolsets have been started, and leave them when all calls have ended."""
        self._around += blocks

    def while_running(self, companion: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a task whenever the toolsets have been started, and cancel it before they are stopped."""
        self._companions.append(companion)

    async def _start(self) -> None:
        self.phase, self.failure = "starting", None
        try:
            for state in self._states():
                await state.check()
            if any(tool.governed for tool in self._tools):
                await asyncio.to_thread(require_sound, self._tools)
        except ToolError as failure:
            self.phase, self.failure = "stopped", failure
            raise
        await open_audit_logs(self._tools)
        started: list[BaseTool] = []
        for tool in self._tools:
            try:
                await tool.start()
            except BaseException as error:
                with anyio.CancelScope(shield=True):
                    await self._stop(started)
                self.phase = "stopped"
                if is_real_cancellation(error):
                    raise
                self.failure = _not_started(tool, error)
                raise self.failure from error
            started.append(tool)
        self.phase = "ready"

    async def _stop(self, tools: Sequence[BaseTool]) -> None:
        for tool in reversed(tools):
            await self._ended(tool.stop(), f"The toolset '{tool.name}'")

    async def _ended(self, ending: Awaitable[None], what: str) -> None:
        """Wait for the end of a part of the server, within the time limit; log that it has failed."""
        try:
            with anyio.fail_after(self._shutdown_limit_s):
                await ending
        except BaseException as error:
            if is_real_cancellation(error):
                raise
            logger.opt(exception=error).error("{} did not shut down cleanly", what)

    def _states(self) -> list[StateStore]:
        return list({id(tool.runtime.state): tool.runtime.state for tool in self._tools}.values())

    @property
    def is_ready(self) -> bool:
        """Whether calls are accepted: the toolsets have started, and the server is not draining."""
        return self.phase == "ready"

    @property
    def degraded(self) -> list[str]:
        """What of the server does not work although it serves: `audit` if its log could not be written."""
        return ["audit"] if any(getattr(log, "fault", "") for log in self._audit_logs) else []

    @property
    def is_ending(self) -> bool:
        """Whether the server is draining or has stopped."""
        return self.phase in {"draining", "stopped"}

    def drain(self) -> None:
        """Accept no new calls; those in flight continue."""
        if self.phase == "ready":
            self.phase = "draining"

    def enter(self) -> None:
        """Count a request as in flight; transports call this when a request has been read."""
        self.in_flight += 1

    def leave(self) -> None:
        """Count a request as finished; transports call this when the response has been written."""
        self.in_flight -= 1
        if self.in_flight == 0 and self._emptied is not None:
            self._emptied.set()

    def refused(self, status: int) -> None:
        """Publish that an HTTP request was refused; transports call this when the response begins."""
        for tool in self._tools[:1]:
            tool.runtime.events.publish(RefusalEvent(status))

    def begin(self) -> asyncio.Task[Any] | None:
        """Register the current task as running a tool; return it, for `was_cut_off` and `end`."""
        task = asyncio.current_task()
        self._calls.add(task)
        return task

    def end(self, task: asyncio.Task[Any] | None) -> None:
        """Unregister the task."""
        self._calls.discard(task)

    def was_cut_off(self, task: asyncio.Task[Any] | None) -> bool:
        """Return whether `finish` cancelled the task; the cancellation then counts as handled (`uncancel`)."""
        if task is None or task not in self._cut_off:
            return False
        self._cut_off.discard(task)
        task.uncancel()
        return True

    async def finish(self, grace_s: float) -> None:
        """Wait for requests in flight and detached keyed calls; cancel those that exceed `grace_s`.

        A keyed call that is cancelled is recorded as interrupted, so that another process can resume it.
        """
        until = asyncio.get_running_loop().time() + grace_s
        await self._idle(grace_s, or_hurried=True)
        await self._detached_over(0.0 if self._hurried else until - asyncio.get_running_loop().time())
        under_way = self._detached()
        if not self.in_flight and not under_way:
            return
        # A request that awaits a keyed call is not cancelled itself: it returns that call's response.
        waiting = {task for tool in self._tools for task in tool.runtime.detached.waiting}
        self._cut_off |= under_way | (self._calls - waiting)
        for task in self._cut_off:
            if task is not None:
                task.cancel()
        await self._detached_over(_CANCELLATION_S)
        await self._idle(_CANCELLATION_S)

    async def _end_detached(self) -> None:
        """Wait for detached keyed calls before their toolset stops; cancel those that take too long."""
        await self._detached_over(self._shutdown_limit_s)
        under_way = self._detached()
        self._cut_off |= under_way
        for task in under_way:
            if task is not None:
                task.cancel()
        await self._detached_over(_CANCELLATION_S)

    def _detached(self) -> set[asyncio.Task[Any] | None]:
        return {task for tool in self._tools for task in tool.runtime.detached.tasks}

    async def _detached_over(self, limit_s: float) -> None:
        tasks = [task for task in self._detached() if task is not None]
        if tasks and limit_s > 0:
            await asyncio.wait(tasks, timeout=limit_s)

    async def _idle(self, limit_s: float, *, or_hurried: bool = False) -> None:
        if self.in_flight == 0 or (or_hurried and self._hurried):
            return
        if self._emptied is None or self._emptied.is_set():
            self._emptied = anyio.Event()  # one for all who wait: the end of input, and a signal after it
        with anyio.move_on_after(limit_s):
            await self._emptied.wait()

    def hurry(self) -> None:
        """Skip the shutdown grace period."""
        self._hurried = True
        if self._emptied is not None:
            self._emptied.set()


def _not_started(tool: BaseTool, error: BaseException) -> ToolError:
    if not tool.governed:
        return InitializationError(component=f"toolset '{tool.name}'")
    sentence = f"The server could not be set up: the toolset '{tool.name}' failed to start."
    return SystemErrorFactory.startup_failure(BootstrapFailure.code, human_message=sentence, cause=error)


async def open_audit_logs(tools: Iterable[BaseTool]) -> None:
    """Open each audit log of these toolsets once.

    A log that cannot be written does not prevent start-up: only failing calls report it. Governed toolsets require
    their log, see `require_sound`.
    """
    for trail in _audit_logs(tools):
        opening = getattr(trail, "open", None)  # optional for third-party trails
        if opening is not None:
            with suppress(ToolError):  # the log reports it, and so does `/readyz`
                await opening()


def _audit_logs(tools: Iterable[BaseTool]) -> list[Any]:
    """Return the audit logs of these toolsets, each once."""
    logs = [tool.audit if tool.audit is not None else tool.runtime.audit for tool in tools]
    return list({id(log): log for log in logs if log is not None}.values())


def require_sound(tools: Iterable[BaseTool]) -> None:
    """Audit the governed toolsets among these and what they depend on. Reads and writes files.

    Raises:
        SELF_AUDIT_FAILURE: The audit found faults; the message lists all of them.
    """
    governed = [tool for tool in tools if tool.governed]
    if not governed:
        return
    found = [(f"the catalogue: {fault}", None) for fault in catalogue.faults()]
    own = [(f"{tool.name}: {fault}", cause) for tool in governed for fault, cause in _audited(tool, writing=True)]
    faults = [*found, *own]
    if faults:
        listed = "; ".join(bounded(fault) for fault, _ in faults[:_FAULTS_AT_MOST])
        more = f"; and {len(faults) - _FAULTS_AT_MOST} more" if len(faults) > _FAULTS_AT_MOST else ""
        sentence = f"The server does not pass its start-up check: {listed}{more}."
        cause = next((cause for _, cause in faults if cause is not None), None)
        raise SystemErrorFactory.startup_failure(SelfAuditFailure.code, human_message=sentence, cause=cause)


def faults_of(tool: BaseTool) -> list[str]:
    """Return the faults of a governed toolset, without writing anything."""
    return [fault for fault, _ in _audited(tool, writing=False)] if tool.governed else []


def _audited(tool: BaseTool, *, writing: bool) -> list[tuple[str, BaseException | None]]:
    faults: list[tuple[str, BaseException | None]] = []
    try:
        faults += [(str(fault), None) for fault in tool.self_audit()]
    except Exception as error:  # noqa: BLE001 - an audit that raises has failed
        faults.append((f"its self-audit broke ({type(error).__name__})", error))
    # `failsoft doctor` checks the log of the runtime separately.
    trail: Any = tool.audit if tool.audit is not None or not writing else tool.runtime.audit
    if trail is not None:
        faults += _of_log(trail, writing=writing)
    return faults


def _of_log(trail: Any, *, writing: bool) -> list[tuple[str, BaseException | None]]:
    """Return what prevents writing the audit log; third-party logs may lack the check."""
    path, check = getattr(trail, "path", None), getattr(trail, "check", None)
    if check is None:
        return []
    if not writing and isinstance(path, Path) and not path.exists():
        return [] if _may_write(path.parent) else [(f"the audit log {path} cannot be made", None)]
    try:
        check()
    except ToolError as error:
        return [(error.message.rstrip("."), error.__cause__ or error)]
    return []


def _may_write(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
