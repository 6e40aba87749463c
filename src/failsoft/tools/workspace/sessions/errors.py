"""Errors of sessions and roles (seed 001, section 2)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import Actor, Conflict, PermissionDenied, PreconditionFailed, Public, StorageError, Words

__all__ = [
    "InsufficientPermissions",
    "RoleMismatch",
    "SessionInitializationFailed",
    "SessionLocked",
    "SessionNotInitialized",
    "UnauthorizedAction",
]


class SessionNotInitialized(PreconditionFailed):
    """The call has no session.

    Raised when: `session_id` names an unknown session, or one that has ended or expired; or it is left out by a caller
    without a session, or over HTTP.
    Caller: call `begin_session`, and pass the `session_id` that it returns.
    Operator: raise `FAILSOFT_WORKSPACE_SESSION_S` if sessions expire too soon.
    Example:
        >>> code_of(SessionNotInitialized())
        'SESSION_NOT_INITIALIZED'
    """

    code: ClassVar[str] = "SESSION_NOT_INITIALIZED"
    message: str = "The call has no session."
    hints: ClassVar[tuple[str, ...]] = ("Begin a session, and pass its session_id with every call",)
    since: ClassVar[str] = "0.1.0"


class SessionLocked(PreconditionFailed):
    """The session is locked because an invariant was violated.

    Raised when: an earlier call of the session ended with `INVARIANT_VIOLATION`, and no report on it was written since.
    Caller: call `write_failure_report` with what you did and saw; then the session works again.
    Operator: find `cause_error_id` in the audit log, and read the report in the workspace's reports folder.
    Example:
        >>> code_of(SessionLocked(cause_error_id="0af3", violated="WORKSPACE_ROOT_UNCHANGED"))
        'SESSION_LOCKED'
    """

    cause_error_id: Public[Words]
    violated: Public[Words]
    code: ClassVar[str] = "SESSION_LOCKED"
    message: str = "The session is locked: {violated} was violated (error id {cause_error_id})."
    hints: ClassVar[tuple[str, ...]] = ("Write a failure report; the session works again once it is written",)
    since: ClassVar[str] = "0.1.0"


class SessionInitializationFailed(StorageError):
    """A session could not begin although its arguments are valid.

    Raised when: the operating system denies access to the workspace's folder.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the reason names: the permissions of the folder, or its links.
    Example:
        >>> code_of(SessionInitializationFailed(reason="permission denied"))
        'SESSION_INITIALIZATION_FAILED'
    """

    reason: Public[Words]
    code: ClassVar[str] = "SESSION_INITIALIZATION_FAILED"
    message: str = "The session could not begin: {reason}."
    since: ClassVar[str] = "0.1.0"


class InsufficientPermissions(PermissionDenied):
    """The role is not granted to the caller, or the session belongs to another principal.

    Raised when: over HTTP, the server's settings do not grant the role to the principal, or the session was begun by
    another principal; or plans cannot be approved, because callers are not authenticated.
    Caller: do not repeat the call; report the refusal to the user.
    Operator: give the principal the role in `FAILSOFT_WORKSPACE_PRINCIPALS` if that is wanted.
    Example:
        >>> code_of(InsufficientPermissions(reason="the session belongs to another principal"))
        'INSUFFICIENT_PERMISSIONS'
    """

    reason: Public[Words]
    code: ClassVar[str] = "INSUFFICIENT_PERMISSIONS"
    message: str = "Access was refused: {reason}."
    since: ClassVar[str] = "0.1.0"


class RoleMismatch(Conflict):
    """The caller has another role in this workspace, or in one that overlaps with it.

    Raised when: over HTTP, the principal has begun a session in this workspace in another role, and the settings do not
    grant it several roles: one principal must not both plan and execute.
    Caller: begin the session in the role that you have, `current_role`.
    Operator: list the roles of each principal in `FAILSOFT_WORKSPACE_PRINCIPALS`; without, a role is bound to its
    principal for as long as a session lasts.
    Example:
        >>> code_of(RoleMismatch(current_role="ANTIGRAVITY", role="WINDSURF"))
        'ROLE_MISMATCH'
    """

    current_role: Public[Words]
    role: Public[Words]
    code: ClassVar[str] = "ROLE_MISMATCH"
    message: str = "You have the role {current_role} in this workspace and cannot take {role} as well."
    hints: ClassVar[tuple[str, ...]] = ("Use the role {current_role}",)
    since: ClassVar[str] = "0.1.0"


class UnauthorizedAction(PermissionDenied):
    """The role of the session may not do this.

    Raised when: an operation needs a power that the role does not have, or an author approves their own plan.
    Caller: leave it to a session in a role that may do it; have another author approve your plan.
    Operator: give the role the power in `FAILSOFT_WORKSPACE_ROLES` if that is wanted.
    Example:
        >>> code_of(UnauthorizedAction(role="ANTIGRAVITY", action="write"))
        'UNAUTHORIZED_ACTION'
    """

    role: Public[Words]
    action: Public[Words]
    code: ClassVar[str] = "UNAUTHORIZED_ACTION"
    message: str = "The role {role} may not {action} here."
    actor: ClassVar[Actor] = "caller"
    hints: ClassVar[tuple[str, ...]] = ("Leave this to a session in a role that may do it",)
    since: ClassVar[str] = "0.1.0"
