"""Sessions: who works where, in which role, until when. They live in the state store, so replicas share them."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import asdict, dataclass

from failsoft.framework.context import LOCAL_PRINCIPAL, CallContext
from failsoft.framework.errors import NextStep
from failsoft.framework.governance import Governance
from failsoft.framework.state_port import StateStore
from failsoft.tools.workspace.locks import LockCause, SessionLocks
from failsoft.tools.workspace.session_errors import (
    InsufficientPermissions,
    RoleMismatch,
    SessionLocked,
    SessionNotInitialized,
)

__all__ = ["Session", "Sessions", "report_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session.

    Args:
        session_id: What its calls name it by.
        role: The role in it.
        workspace_root: Its folder, absolute and without links.
        principal: Who began it, as authenticated; None if nobody was.
        root_identity: Which folder that was; see `root_identity`.
    """

    session_id: str
    role: str
    workspace_root: str
    principal: str | None
    root_identity: str = ""

    @property
    def governance(self) -> Governance:
        """What every failure of its calls says."""
        return Governance(role=self.role, session_id=self.session_id, workspace_root=self.workspace_root)


class Sessions:
    """The sessions of a server, each for a fixed time.

    Args:
        store: Where they are kept, under the hash of their id: whoever reads the store cannot use them.
        lifetime_s: Seconds after which a session has expired.
        first_step: The call that begins a session, for those who have none.
    """

    def __init__(self, store: StateStore, *, lifetime_s: float, first_step: NextStep) -> None:
        self._store = store
        self._lifetime_s = lifetime_s
        self._first_step = first_step
        self._locks = SessionLocks(store, lifetime_s=lifetime_s)
        self._last: str | None = None
        self._locked_here: dict[str, str] = {}
        """The only client's locked sessions, so that it can be told which one it owes a report on."""

    async def begin(
        self, call: CallContext, *, role: str, workspace_root: str, root_identity: str, is_bound: bool
    ) -> Session:
        """Return a new session of this caller.

        Args:
            call: The call that begins it.
            role: A role that the caller may take.
            workspace_root: Its folder, absolute and without links.
            root_identity: Which folder that is.
            is_bound: Whether the caller is held to the first role that it takes in a workspace.

        Raises:
            ROLE_MISMATCH: The caller has another role there.
            SESSION_LOCKED: The caller owes a report on a session in that role there: nobody gets round it by beginning
                another. Callers without a name, over HTTP without tokens, are not known again.
        """
        if is_bound and call.principal is not None:
            await self._bind(call.principal, role, workspace_root)
        await self._require_nothing_owed(call, role, workspace_root)
        # A UUID of version 4 has 122 random bits of the operating system: nobody guesses one.
        session = Session(
            session_id=str(uuid.uuid4()),
            role=role,
            workspace_root=workspace_root,
            principal=call.principal,
            root_identity=root_identity,
        )
        kept = {name: value for name, value in asdict(session).items() if name != "session_id"}
        await self._store.put(_key("session", session.session_id), kept, self._lifetime_s)
        if call.principal == LOCAL_PRINCIPAL:
            self._last = session.session_id
        call.governance = session.governance
        return session

    async def of(self, call: CallContext, session_id: str | None, *, even_if_locked: bool = False) -> Session:
        """Return the session of a call, and note it there for whatever the call comes to.

        Args:
            call: The call.
            session_id: As the caller named it; see `find`.
            even_if_locked: For the call that reports on what locked it.

        Raises:
            SESSION_NOT_INITIALIZED: There is none.
            SESSION_LOCKED: An invariant did not hold, and nobody has reported on that yet.
            INSUFFICIENT_PERMISSIONS: It belongs to another principal.
        """
        session = await self.find(call, session_id)
        if session is None:
            raise SessionNotInitialized(next_step=self._first_step, effect="none")
        if not even_if_locked:
            await self.require_unlocked(session)
        return session

    async def find(self, call: CallContext, session_id: object) -> Session | None:
        """Return the session of a call, locked or not, and note it there; None if there is none.

        Args:
            call: The call.
            session_id: As the caller named it; left out, the only client of a server means the session begun last.

        Raises:
            INSUFFICIENT_PERMISSIONS: It belongs to another principal.
        """
        if session_id is None and call.principal == LOCAL_PRINCIPAL:
            session_id = self._last
        if not isinstance(session_id, str):
            return None
        kept = await self._store.get(_key("session", session_id))
        if kept is None:
            return None
        session = Session(session_id=session_id, **kept)
        if session.principal != call.principal:
            raise InsufficientPermissions(reason="the session belongs to somebody else", effect="none")
        call.governance = session.governance
        return session

    async def lock(self, session_id: str, *, error_id: str, invariant_id: str) -> None:
        """Lock a session because of a failure: from now on it does nothing, on any replica, until that is reported."""
        key = _key("lock", session_id)
        await self._locks.lock(key, error_id=error_id, invariant_id=invariant_id)
        kept = await self._store.get(_key("session", session_id))
        if kept is None or kept["principal"] is None:
            return
        owed = _owed_key(kept["principal"], kept["role"], kept["workspace_root"])
        await self._store.put(owed, key, self._lifetime_s)
        if kept["principal"] == LOCAL_PRINCIPAL:
            self._locked_here[key] = session_id

    async def lock_cause(self, session: Session) -> LockCause | None:
        """Return why a session is locked; None if it is not."""
        return await self._locks.cause(_key("lock", session.session_id))

    async def unlock(self, session: Session, known: LockCause) -> bool:
        """Let a session work again and return True, unless something else happened since the cause was asked for."""
        key = _key("lock", session.session_id)
        is_unlocked = await self._locks.unlock(key, known)
        if is_unlocked:
            self._locked_here.pop(key, None)
        return is_unlocked

    async def require_unlocked(self, session: Session) -> None:
        """Raise if the session is locked.

        Raises:
            SESSION_LOCKED: It is; the next step writes the report that is wanted.
        """
        cause = await self.lock_cause(session)
        if cause is None:
            return
        step = report_step(session.session_id, cause.invariant_id, _found_by(cause))
        raise SessionLocked(cause_error_id=cause.error_id, violated=cause.invariant_id, next_step=step, effect="none")

    async def _require_nothing_owed(self, call: CallContext, role: str, workspace_root: str) -> None:
        if call.principal is None:
            return
        lock_key = await self._store.get(_owed_key(call.principal, role, workspace_root))
        cause = None if lock_key is None else await self._locks.cause(lock_key)
        if cause is None:
            return
        session_id = self._locked_here.get(lock_key)
        step = None if session_id is None else report_step(session_id, cause.invariant_id, _found_by(cause))
        raise SessionLocked(
            message=(
                f"Your session in this workspace is locked: {cause.invariant_id} did not hold (error id "
                f"{cause.error_id}). Report on that under its session_id before you begin another one."
            ),
            cause_error_id=cause.error_id,
            violated=cause.invariant_id,
            next_step=step,
            effect="none",
        )

    async def end(self, session: Session) -> None:
        """Forget a session: from now on no call belongs to it, on any replica."""
        await self._store.delete(_key("session", session.session_id))
        if self._last == session.session_id:
            self._last = None

    async def _bind(self, principal: str, role: str, workspace_root: str) -> None:
        """Hold a principal to one role in a workspace, for as long as a session that begins now may last."""
        key = _key("role", f"{principal}\0{workspace_root}")
        if await self._store.put(key, role, self._lifetime_s, only_if_absent=True):
            return
        current = await self._store.get(key)
        if current is not None and current != role:
            raise RoleMismatch(current_role=current, role=role, effect="none")
        await self._store.put(key, role, self._lifetime_s)


def report_step(session_id: str, invariant_id: str, which: str = "") -> NextStep:
    """Return the call that writes the least report there is on an invariant that did not hold.

    Args:
        session_id: Whose report it is.
        invariant_id: The invariant.
        which: Words for the call that found out.
    """
    told = f"The call that failed{which} found that {invariant_id} does not hold."
    report = {"title": f"{invariant_id} did not hold", "body": told, "session_id": session_id}
    return NextStep("write_failure_report", report)


def _found_by(cause: LockCause) -> str:
    return f" with the error id {cause.error_id}"


def _owed_key(principal: str, role: str, workspace_root: str) -> str:
    return _key("owed", f"{principal}\0{role}\0{workspace_root}")


def _key(kind: str, name: str) -> str:
    return f"workspace-{kind}:{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"
