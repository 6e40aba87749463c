"""Sessions: who works where, in which role, until when. They live in the state store, so replicas share them."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import asdict, dataclass

from failsoft.framework.context import LOCAL_PRINCIPAL, CallContext
from failsoft.framework.errors import NextStep
from failsoft.framework.governance import Governance
from failsoft.framework.state_port import StateStore
from failsoft.tools.workspace.session_errors import InsufficientPermissions, RoleMismatch, SessionNotInitialized

__all__ = ["Session", "Sessions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session.

    Args:
        session_id: What its calls name it by.
        role: The role in it.
        workspace_root: Its folder, absolute and without links.
        principal: Who began it, as authenticated; None if nobody was.
    """

    session_id: str
    role: str
    workspace_root: str
    principal: str | None

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
        self._last: str | None = None

    async def begin(self, call: CallContext, *, role: str, workspace_root: str, is_bound: bool) -> Session:
        """Return a new session of this caller.

        Args:
            call: The call that begins it.
            role: A role that the caller may take.
            workspace_root: Its folder, absolute and without links.
            is_bound: Whether the caller is held to the first role that it takes in a workspace.

        Raises:
            ROLE_MISMATCH: The caller has another role there.
        """
        if is_bound and call.principal is not None:
            await self._bind(call.principal, role, workspace_root)
        # A UUID of version 4 has 122 random bits of the operating system: nobody guesses one.
        session = Session(
            session_id=str(uuid.uuid4()), role=role, workspace_root=workspace_root, principal=call.principal
        )
        kept = {name: value for name, value in asdict(session).items() if name != "session_id"}
        await self._store.put(_key("session", session.session_id), kept, self._lifetime_s)
        if call.principal == LOCAL_PRINCIPAL:
            self._last = session.session_id
        call.governance = session.governance
        return session

    async def of(self, call: CallContext, session_id: str | None) -> Session:
        """Return the session of a call, and note it there for whatever the call comes to.

        Args:
            call: The call.
            session_id: As the caller named it; left out, the only client of a server means the session begun last.

        Raises:
            SESSION_NOT_INITIALIZED: There is none.
            INSUFFICIENT_PERMISSIONS: It belongs to another principal.
        """
        if session_id is None and call.principal == LOCAL_PRINCIPAL:
            session_id = self._last
        kept = await self._store.get(_key("session", session_id)) if session_id is not None else None
        if session_id is None or kept is None:
            raise SessionNotInitialized(next_step=self._first_step, effect="none")
        session = Session(session_id=session_id, **kept)
        if session.principal != call.principal:
            raise InsufficientPermissions(reason="the session belongs to somebody else", effect="none")
        call.governance = session.governance
        return session

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


def _key(kind: str, name: str) -> str:
    return f"workspace-{kind}:{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"
