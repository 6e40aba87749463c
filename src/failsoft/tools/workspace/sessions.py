"""Sessions: a caller, a folder, a role and an expiry. Durable, and shared by replicas."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from failsoft.framework.answer.failure import Governance
from failsoft.framework.call.call import Call
from failsoft.framework.errors import NextStep
from failsoft.framework.files import shape_of
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.state.records import Records
from failsoft.framework.state.store import changed_names
from failsoft.framework.text import quoted
from failsoft.tools.workspace.errors import InsufficientPermissions, RoleMismatch, SessionLocked, SessionNotInitialized
from failsoft.tools.workspace.invariants import WORKSPACE_ROOT_UNCHANGED
from failsoft.tools.workspace.roles import Power, Roles

_VIOLATIONS_AT_MOST = 100
_LOCKED_AT_MOST = 500
_REMEMBERED_S = 604_800.0
"""How long an ended session is remembered as one that has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session.

    Args:
        session_id: Its id, as calls name it.
        role: Its role.
        workspace_root: Its folder, absolute and without links.
        principal: The authenticated caller that began it; None without authentication.
        root_identity: The identity of the folder when it began; see `root_identity`.
    """

    session_id: str
    role: str
    workspace_root: str
    principal: str | None
    root_identity: str = ""

    @property
    def governance(self) -> Governance:
        """The facts that every failure of its calls carries."""
        return Governance(role=self.role, session_id=self.session_id, workspace_root=self.workspace_root)


@dataclass(frozen=True, slots=True)
class LockCause:
    """Why a session is locked.

    Args:
        violations: The error id and the invariant of each violation without a report, the oldest first.
    """

    violations: tuple[str, ...]

    @property
    def error_id(self) -> str:
        """The error id of the first violation."""
        return self.violations[0].partition(" ")[0]

    @property
    def invariant_id(self) -> str:
        """The invariant of the first violation."""
        return self.violations[0].partition(" ")[2]


class Sessions:
    """The sessions of a server, each for a fixed time.

    Args:
        store: The records; keys are hashes of ids, so that the store reveals no usable id.
        lifetime_s: Seconds after which a session expires.
        roles: The roles of the server.
        root: The folder to name where a caller has no session.
    """

    def __init__(self, store: Records, *, lifetime_s: float, roles: Roles, root: str) -> None:
        self._store = store
        self._lifetime_s = lifetime_s
        self._roles = roles
        self._root = root
        self._last: str | None = None
        self._locked_here: dict[str, str] = {}
        """Locked sessions of the local client by lock key, to name the one that needs a report."""

    async def begin(self, call: Call, *, role: str, workspace_root: str, root_identity: str) -> Session:
        """Return a new session of this caller.

        Args:
            call: The call that begins it.
            role: A role that the caller may take.
            workspace_root: Its folder, absolute and without links.
            root_identity: Which folder that is.

        Raises:
            ROLE_MISMATCH: The caller has another role on this server.
            SESSION_LOCKED: A session of the caller is locked until a report is written: any one over HTTP where the
                settings do not grant roles, else one in that role, there or in an overlapping folder. Callers without
                a principal, over HTTP without tokens, are not recognised.
        """
        if call.principal is not None:
            is_bound = call.principal != LOCAL_PRINCIPAL and not self._roles.principals
            if is_bound:
                await self._bind(call.principal, role)
            await self._require_no_pending_report(call.principal, None if is_bound else (role, workspace_root))
        # A UUID of version 4 has 122 random bits of the operating system, so it cannot be guessed.
        session = Session(
            session_id=str(uuid.uuid4()),
            role=role,
            workspace_root=workspace_root,
            principal=call.principal,
            root_identity=root_identity,
        )
        await self._keep(session, until=self._store.clock() + self._lifetime_s)
        if call.principal == LOCAL_PRINCIPAL:
            self._last = session.session_id
        call.governance = session.governance
        return session

    async def find(self, call: Call, session_id: object) -> Session | None:
        """Return the session of a call, locked or not, and note it on the call; None if there is none.

        Args:
            call: The call.
            session_id: As the caller named it; left out by the local client, the session that it began last.

        Raises:
            INSUFFICIENT_PERMISSIONS: It belongs to another principal.
        """
        if session_id is None and call.principal == LOCAL_PRINCIPAL:
            session_id = self._last
        if not isinstance(session_id, str):
            return None
        session, until = await self._kept(session_id)
        if session is None or self._store.clock() >= until:
            return None
        if session.principal != call.principal:
            raise InsufficientPermissions(reason="the session belongs to another principal", effect="none")
        call.governance = session.governance
        return session

    async def missing(self, call: Call, session_id: str | None, power: Power | None) -> SessionNotInitialized:
        """Return the error for a call without a session, with the call that begins a fitting one.

        Args:
            call: The call.
            session_id: As the caller named it.
            power: What the call needs; None for a session of any role.
        """
        known = self._last if session_id is None and call.principal == LOCAL_PRINCIPAL else session_id
        ended = None if known is None else (await self._kept(known))[0]
        if ended is not None and ended.principal != call.principal:
            ended = None
        roles = [name for name in self._roles.with_power(power) if name in self._roles.names]
        role = ended.role if ended is not None and ended.role in roles else next(iter(roles), None)
        if session_id is None:
            said = "The call has no session." if ended is None else "The session begun last has ended."
        else:
            said = f"{'There is no' if ended is None else 'The'} session {quoted(session_id, 100)}"
            said += "." if ended is None else " has ended."
        if call.operation == "end_session":
            return SessionNotInitialized(message=f"{said} There is nothing to end.", effect="none")
        if role is None:
            able = ", ".join(self._roles.with_power(power))
            said += f" `{call.operation}` needs a role that may {power}, and this server offers none (others: {able})."
            return SessionNotInitialized(message=said, effect="none")
        if session_id is not None and call.read_only and await self._is_open_for(call, power):
            arguments = {name: value for name, value in call.params.items() if name != "session_id"}
            return SessionNotInitialized(
                message=f"{said} Leave session_id out to use the session that is open.",
                next_step=NextStep(call.operation, arguments),
                effect="none",
            )
        may = "" if power is None else f" (may {power})"
        root = self._root if ended is None else ended.workspace_root
        return SessionNotInitialized(
            message=f"{said} Begin a session as {role}{may} and repeat the call with the id that it returns.",
            next_step=NextStep("begin_session", {"workspace_root": root, "role": role}),
            effect="none",
        )

    async def _is_open_for(self, call: Call, power: Power | None) -> bool:
        """Return whether the local client has a session open that may do this."""
        if call.principal != LOCAL_PRINCIPAL or self._last is None:
            return False
        session, until = await self._kept(self._last)
        return session is not None and self._store.clock() < until and session.role in self._roles.with_power(power)

    async def _keep(self, session: Session, *, until: float) -> None:
        kept = {name: value for name, value in asdict(session).items() if name != "session_id"}
        lasts_s = max(0.0, until - self._store.clock()) + _REMEMBERED_S
        await self._store.put(
            _key("session", session.session_id), {**kept, "until": until}, lasts_s, principal=session.principal
        )

    async def _kept(self, session_id: str) -> tuple[Session | None, float]:
        """Return a session that is known, ended or not, and when it ends on the store's clock."""

        def read(kept: Mapping[str, Any]) -> tuple[Session, float]:
            facts = dict(kept)
            until = float(facts.pop("until"))
            return Session(session_id=session_id, **facts), until

        return await self._store.get(_key("session", session_id), read) or (None, 0.0)

    async def lock(self, session_id: str, *, error_id: str, invariant_id: str) -> None:
        """Lock a session on all replicas until a report on the failure is written."""
        key = _key("lock", session_id)
        await self._change(key, added=f"{error_id} {invariant_id}", at_most=_VIOLATIONS_AT_MOST)
        kept = await self._store.get(_key("session", session_id))
        if kept is None or kept["principal"] is None:
            return
        pending = _pending(key, kept["role"], kept["workspace_root"])
        await self._change(_key("locked", kept["principal"]), added=pending, at_most=_LOCKED_AT_MOST)
        if kept["principal"] == LOCAL_PRINCIPAL:
            self._locked_here[key] = session_id

    async def lock_cause(self, session: Session) -> LockCause | None:
        """Return why a session is locked; None if it is not."""
        return await self._cause(_key("lock", session.session_id))

    async def unlock(self, session: Session, known: LockCause) -> bool:
        """Unlock a session and return True, unless another violation came after the known ones."""
        key = _key("lock", session.session_id)
        left: list[str] = []
        for violation in known.violations:
            left = await self._change(key, removed=violation, at_most=_VIOLATIONS_AT_MOST)
        if left:
            return False
        if session.principal is not None:
            pending, locked = _pending(key, session.role, session.workspace_root), _key("locked", session.principal)
            await self._change(locked, removed=pending, at_most=_LOCKED_AT_MOST)
            if await self._names(key):  # locked again meanwhile
                await self._change(locked, added=pending, at_most=_LOCKED_AT_MOST)
                return False
        self._locked_here.pop(key, None)
        if any(violation.endswith(f" {WORKSPACE_ROOT_UNCHANGED.id}") for violation in known.violations):
            reported = _key("root-reported", session.session_id)
            await self._store.put(reported, 1, self._lifetime_s, principal=session.principal)
        return True

    async def is_root_reported(self, session: Session) -> bool:
        """Return whether a report on the replaced folder of this session was written: then it can only end."""
        return await self._store.get(_key("root-reported", session.session_id)) is not None

    async def require_unlocked(self, session: Session) -> None:
        """Raise if the session is locked.

        Raises:
            SESSION_LOCKED: It is; the next step writes the report that is wanted.
        """
        cause = await self.lock_cause(session)
        if cause is None:
            return
        step = report_step(session.session_id, cause.invariant_id, f" with the error id {cause.error_id}")
        raise SessionLocked(cause_error_id=cause.error_id, violated=cause.invariant_id, next_step=step, effect="none")

    async def _require_no_pending_report(self, principal: str, place: tuple[str, str] | None) -> None:
        """Raise SESSION_LOCKED if a session of the principal is: any, or one in this role whose folder overlaps."""
        for pending in await self._names(_key("locked", principal)):
            key, role, root = pending.split("\n", 2)
            if place is None or (place[0] == role and _overlap(shape_of(place[1]), shape_of(root))):
                cause = await self._cause(key)
                if cause is not None:
                    self._refuse(key, cause)

    async def _cause(self, key: str) -> LockCause | None:
        violations = await self._names(key)
        return LockCause(tuple(violations)) if violations else None

    async def _names(self, key: str) -> list[str]:
        return await self._store.get(key, lambda kept: [str(name) for name in kept["names"]]) or []

    async def _change(self, key: str, *, added: str = "", removed: str = "", at_most: int) -> list[str]:
        names: list[str] = await self._store.change(
            changed_names, key, added, removed, at_most, self._lifetime_s, is_free=True
        )
        return names

    def _refuse(self, lock_key: str, cause: LockCause) -> NoReturn:
        session_id = self._locked_here.get(lock_key)
        step = (
            None
            if session_id is None
            else report_step(session_id, cause.invariant_id, f" with the error id {cause.error_id}")
        )
        raise SessionLocked(
            message=(
                f"One of your sessions is locked: {cause.invariant_id} was violated (error id "
                f"{cause.error_id}). Write a failure report under its session_id before you begin another one."
            ),
            cause_error_id=cause.error_id,
            violated=cause.invariant_id,
            next_step=step,
            effect="none",
        )

    async def end(self, session: Session) -> None:
        """End a session on all replicas."""
        await self._keep(session, until=self._store.clock())

    async def _bind(self, principal: str, role: str) -> None:
        """Hold a principal to its first role, for as long as a session that begins now may last.

        Raises:
            ROLE_MISMATCH: It has another role.
        """
        key = _key("role", principal)
        if not await self._store.put(key, role, self._lifetime_s, only_if_absent=True, principal=principal):
            current = await self._store.get(key)
            if current not in {None, role}:
                raise RoleMismatch(current_role=current, role=role, effect="none")
            await self._store.put(key, role, self._lifetime_s, principal=principal)


def report_step(session_id: str, invariant_id: str, which: str = "") -> NextStep:
    """Return the call that writes a minimal report on a violated invariant.

    Args:
        session_id: The session that reports.
        invariant_id: The invariant.
        which: Words that identify the failed call.
    """
    body = f"The call that failed{which} found that {invariant_id} does not hold."
    report = {"title": f"{invariant_id} was violated", "body": body, "session_id": session_id}
    return NextStep("write_failure_report", report)


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether one path, as a sequence of names, is the other or contains it."""
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]


def _pending(key: str, role: str, workspace_root: str) -> str:
    """Return the entry for a locked session in the list of its principal."""
    return f"{key}\n{role}\n{workspace_root}"


def _key(kind: str, name: str) -> str:
    return f"{kind}:{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"
