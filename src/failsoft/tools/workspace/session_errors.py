"""What can go wrong with a session and its role (seed 001, section 2)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import Conflict, PermissionDenied, PreconditionFailed, Public, StorageError

__all__ = [
    "InsufficientPermissions",
    "RoleMismatch",
    "SessionInitializationFailed",
    "SessionLocked",
    "SessionNotInitialized",
    "UnauthorizedAction",
]


class SessionNotInitialized(PreconditionFailed):
    """The call belongs to no session.

    Raised when: `session_id` names no session, or one that has ended or expired; or it is left out by a caller that
    has none, or that is not the only client of the server.
    Caller: call `begin_session`, and pass the `session_id` that it returns.
    Operator: raise `FAILSOFT_WORKSPACE_SESSION_S` if sessions expire too soon.
    Example:
        >>> code_of(SessionNotInitialized())
        'SESSION_NOT_INITIALIZED'
    """

    code: ClassVar[str] = "SESSION_NOT_INITIALIZED"
    message: str = "There is no session for this call."
    hints: ClassVar[tuple[str, ...]] = ("Begin a session, and pass its session_id with every call",)
    since: ClassVar[str] = "0.1.0"


class SessionLocked(PreconditionFailed):
    """The session is locked, because an invariant did not hold.

    Raised when: an earlier call of the session ended with `INVARIANT_VIOLATION`, and no report on it was written since.
    Caller: call `write_failure_report` with what you did and saw; then the session works again.
    Operator: find `cause_error_id` in the audit log, and read the report in the workspace's reports folder.
    Example:
        >>> code_of(SessionLocked(cause_error_id="0af3", violated="WORKSPACE_ROOT_UNCHANGED"))
        'SESSION_LOCKED'
    """

    cause_error_id: Public[str]
    violated: Public[str]
    code: ClassVar[str] = "SESSION_LOCKED"
    message: str = "The session is locked: {violated} did not hold (error id {cause_error_id})."
    hints: ClassVar[tuple[str, ...]] = ("Write a failure report; the session works again once it is written",)
    since: ClassVar[str] = "0.1.0"


class SessionInitializationFailed(StorageError):
    """A session could not be begun, although nothing was wrong with what was asked.

    Raised when: the operating system does not let the server into the workspace's folder.
    Caller: do not repeat the call; tell the person you work for, with the error id.
    Operator: mend what the reason names: the rights of the folder, or its links.
    Example:
        >>> code_of(SessionInitializationFailed(reason="permission denied"))
        'SESSION_INITIALIZATION_FAILED'
    """

    reason: Public[str]
    code: ClassVar[str] = "SESSION_INITIALIZATION_FAILED"
    message: str = "The session could not be begun: {reason}."
    since: ClassVar[str] = "0.1.0"


class InsufficientPermissions(PermissionDenied):
    """The caller has no right to the role, or to the session.

    Raised when: over HTTP, the principal is not given the role by the server's settings, or the session was begun by
    another principal.
    Caller: do not repeat the call; tell the person you work for what was refused.
    Operator: give the principal the role in `FAILSOFT_WORKSPACE_PRINCIPALS` if that is wanted.
    Example:
        >>> code_of(InsufficientPermissions(reason="the session belongs to somebody else"))
        'INSUFFICIENT_PERMISSIONS'
    """

    reason: Public[str]
    code: ClassVar[str] = "INSUFFICIENT_PERMISSIONS"
    message: str = "The access was refused: {reason}."
    since: ClassVar[str] = "0.1.0"


class RoleMismatch(Conflict):
    """The caller has another role already.

    Raised when: over HTTP, the principal has begun a session in this workspace under another role, and no settings say
    which roles it has: nobody may plan and execute under two names.
    Caller: begin the session with the role that you have, `current_role`.
    Operator: list the roles of each principal in `FAILSOFT_WORKSPACE_PRINCIPALS`; without, a role is bound to its
    principal for as long as a session lasts.
    Example:
        >>> code_of(RoleMismatch(current_role="ANTIGRAVITY", role="WINDSURF"))
        'ROLE_MISMATCH'
    """

    current_role: Public[str]
    role: Public[str]
    code: ClassVar[str] = "ROLE_MISMATCH"
    message: str = "You have the role {current_role} in this workspace, and cannot take {role} as well."
    hints: ClassVar[tuple[str, ...]] = ("Use the role {current_role}",)
    since: ClassVar[str] = "0.1.0"


class UnauthorizedAction(PermissionDenied):
    """The role of the session may not do this.

    Raised when: an operation needs a power that the role does not have, or the author of a plan would approve it.
    Caller: leave it to a session of another role, and the approval of your plan to another author.
    Operator: give the role the power in `FAILSOFT_WORKSPACE_ROLES` if that is wanted.
    Example:
        >>> code_of(UnauthorizedAction(role="ANTIGRAVITY", action="write"))
        'UNAUTHORIZED_ACTION'
    """

    role: Public[str]
    action: Public[str]
    code: ClassVar[str] = "UNAUTHORIZED_ACTION"
    message: str = "The role {role} may not {action} here."
    hints: ClassVar[tuple[str, ...]] = ("Leave this to a session whose role may do it",)
    since: ClassVar[str] = "0.1.0"
