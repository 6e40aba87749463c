"""Middleware that finds the session of a call, refuses locked sessions, and locks one after a violated invariant."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Middleware, Proceed
from failsoft.framework.errors import InvariantViolation, NextStep, ToolError
from failsoft.framework.normalize import members
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded
from failsoft.framework.threads import ThreadPool
from failsoft.tools.files import FileFault, Roots
from failsoft.tools.workspace.file_faults import to_error, to_root_error
from failsoft.tools.workspace.invariants import WORKSPACE_ROOT_UNCHANGED, violated
from failsoft.tools.workspace.plans.scope import list_step
from failsoft.tools.workspace.roles import Power, Roles
from failsoft.tools.workspace.sessions import Session, Sessions, report_step

_BEGINS, _REPORTS = "begin_session", "write_failure_report"
"""`begin_session` has no session yet; `write_failure_report` also works in a locked one."""
_WITHOUT_THE_FOLDER = frozenset({_REPORTS, "end_session"})
_found: ContextVar[Session | None] = ContextVar("failsoft_workspace_session", default=None)
"""The session of the call that runs here."""
_INVARIANT_AT_MOST = 100
_REPORTED = "already_reported"
_ELSEWHERE = frozenset({"outside", "missing", "not_a_folder", "link_loop"})


class SessionGate:
    """Lets a call through if its session is not locked, and locks the session when an invariant is violated.

    Args:
        sessions: The sessions of the server.
        roles: Its roles.
        roots: The allowed folders.
        threads: Runs the check of the folder.
    """

    def __init__(self, sessions: Sessions, roles: Roles, roots: Roots, threads: ThreadPool) -> None:
        self._sessions = sessions
        self._roles = roles
        self._roots = roots
        self._threads = threads
        self._locking: set[asyncio.Task[None]] = set()

    @property
    def steps(self) -> tuple[Middleware, ...]:
        """The links for the chain of every operation.

        The session is found first, so that every failure names it; the disk is read within the time limit.
        """
        return (
            Middleware(name="session", run=self._find, after="observe"),
            Middleware(name="session_root", run=self._look, after="deadline"),
        )

    async def session(self, call: Call, session_id: str | None, power: Power | None) -> Session:
        """Return the session of a call that came through the gate, if its role has a power.

        A session outlives its process, so the role that it has must still be one of this process and of the caller.

        Raises:
            SESSION_NOT_INITIALIZED: There is none, or it has ended.
            UNAUTHORIZED_ACTION: Its role may not do this, or is not the one that the process is bound to.
            INSUFFICIENT_PERMISSIONS: Its role is no longer granted to the caller.
        """
        session = _found.get()
        if session is None:
            raise await self._sessions.missing(call, session_id, power)
        self._roles.require_granted(session.role, session.principal)
        refusal = self._roles.refusal(session.role, power, call.operation, session.principal)
        if refusal:
            role = self._roles.reachable(power, session.principal)
            begins = {"workspace_root": session.workspace_root, "role": role}
            refusal.next_step = list_step(session) if role is None else NextStep(_BEGINS, begins)
            raise refusal
        return session

    def folder(self, path: str) -> tuple[str, str]:
        """Return the folder of a new session, absolute and without links, and its identity. For a worker thread.

        Raises:
            ToolError: No session can work there.
        """
        try:
            folder = self._roots.folder(path)
            return folder, root_identity(self._roots.beneath(folder), folder)
        except FileFault as fault:
            raise to_root_error(fault, "workspace_root", self._roots.folders) from fault

    async def _find(self, call: Call, proceed: Proceed) -> Any:
        """Proceed if the session of the call is not locked.

        A call without a session proceeds, too: its operation decides whether it needs one.

        Raises:
            SESSION_LOCKED: It is locked.
            INSUFFICIENT_PERMISSIONS: It belongs to another principal.
        """
        session = named = None
        if call.operation != _BEGINS and isinstance(call.params, Mapping):
            named = call.params.get("session_id")
            session = await self._sessions.find(call, named)
            if session is not None and call.operation != _REPORTS:
                await self._sessions.require_unlocked(session)
        token = _found.set(session)
        try:
            return await proceed(call)
        except ToolError as error:
            if session is not None:
                if error.next_step is None and isinstance(error, InvariantViolation):
                    error.next_step = report_step(session.session_id, str(error.invariant_id))
                step = error.next_step
                if named is not None and step is not None and step.tool in call.toolset.operations.keys() - {_BEGINS}:
                    error.next_step = NextStep(step.tool, {**step.arguments, "session_id": named})
            raise
        finally:
            _found.reset(token)

    async def _look(self, call: Call, proceed: Proceed) -> Any:
        """Proceed if the folder of the session is still the one in which it began.

        Raises:
            INVARIANT_VIOLATION: The folder was replaced.
        """
        session = _found.get()
        if session is not None and call.operation not in _WITHOUT_THE_FOLDER:
            await self._require_root(session)
        return await proceed(call)

    async def lock_after(self, failure: Failure, call: Call) -> None:
        """Lock the call's session if the failure is, or holds, an INVARIANT_VIOLATION."""
        violation = _violation_in(failure.exception)
        if violation is None or violation.details.get(_REPORTED):
            return
        session_id = None if call.governance is None else call.governance.session_id
        if session_id is None:
            return
        invariant_id = redact_text(bounded(str(violation.invariant_id or "UNNAMED"), _INVARIANT_AT_MOST))
        # A cancelled call must not leave the session unlocked.
        task = asyncio.ensure_future(
            self._sessions.lock(session_id, error_id=failure.error_id, invariant_id=invariant_id)
        )
        self._locking.add(task)
        task.add_done_callback(self._locking.discard)
        await asyncio.shield(task)

    async def _require_root(self, session: Session) -> None:
        if await self._threads.run(lambda: self._has_its_root(session)):
            return
        error = violated(WORKSPACE_ROOT_UNCHANGED)
        if await self._sessions.is_root_reported(session):
            # Another report would not restore the folder: this session can only end.
            error.details[_REPORTED] = True
            error.next_step = NextStep("end_session", {"session_id": session.session_id})
        raise error

    def _has_its_root(self, session: Session) -> bool:
        try:
            now = root_identity(self._roots.beneath(session.workspace_root), session.workspace_root)
        except FileFault as fault:
            raise to_error(fault, "read", root=session.workspace_root) from fault
        return is_same_root(session.root_identity, now)


def _violation_in(error: ToolError) -> InvariantViolation | None:
    if isinstance(error, InvariantViolation):
        return error
    cause = error.__cause__
    found = members(cause) if isinstance(cause, BaseExceptionGroup) else []
    return next((member for member in found if isinstance(member, InvariantViolation)), None)


def root_identity(roots: Roots, folder: str) -> str:
    """Return the identity of a folder: machine, device, inode. Empty if the folder no longer exists.

    Args:
        roots: The allowed folders.
        folder: Its absolute path; links are not followed.

    Raises:
        FileFault: The operating system reports an error.
    """
    try:
        with roots.resolve(folder, follow=False) as place:
            facts = place.facts()
    except FileFault as fault:
        if fault.kind in _ELSEWHERE:
            return ""
        raise
    return "" if facts is None else f"{platform.node()}/{facts.st_dev}/{facts.st_ino}"


def is_same_root(recorded: str, now: str) -> bool:
    """Return whether two identities are of one folder.

    Machines number devices differently, so between two machines that share a disk only the inode is compared.
    """
    if recorded == now:
        return bool(now)
    machine, _, number = recorded.partition("/")
    other, _, its_number = now.partition("/")
    return bool(now) and machine != other and number.rpartition("/")[2] == its_number.rpartition("/")[2]
