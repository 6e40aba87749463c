"""Errors of sessions and roles (seed 001, section 2)."""

from __future__ import annotations

from failsoft.framework.errors import Conflict, PermissionDenied, PreconditionFailed, Public, StorageError, Words


class SessionNotInitialized(PreconditionFailed):
    """The call has no session.

    Raised when: `session_id` names an unknown session, or one that has ended or expired; or it is left out by a caller
    without a session, or over HTTP.
    Caller: call `begin_session`, and pass the `session_id` that it returns.
    Operator: raise `FAILSOFT_WORKSPACE_SESSION_S` if sessions expire too soon.
    """

    code = "SESSION_NOT_INITIALIZED"
    message = "The call has no session."
    hints = ("Begin a session, and pass its session_id with every call",)


class SessionLocked(PreconditionFailed):
    """The session is locked because an invariant was violated.

    Raised when: an earlier call of the session ended with `INVARIANT_VIOLATION`, and no report on it was written since.
    Caller: call `write_failure_report` with what you did and saw; then the session works again.
    Operator: find `cause_error_id` in the audit log, and read the report in the workspace's reports folder.
    """

    cause_error_id: Public[Words]
    violated: Public[Words]
    code = "SESSION_LOCKED"
    message = "The session is locked: {violated} was violated (error id {cause_error_id})."
    hints = ("Write a failure report; the session works again once it is written",)


class SessionInitializationFailed(StorageError):
    """A session could not begin although its arguments are valid.

    Raised when: the operating system denies access to the workspace's folder.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the reason names: the permissions of the folder, or its links.
    """

    reason: Public[Words]
    code = "SESSION_INITIALIZATION_FAILED"
    message = "The session could not begin: {reason}."


class InsufficientPermissions(PermissionDenied):
    """The role is not granted to the caller, or the session belongs to another principal.

    Raised when: over HTTP, the server's settings do not grant the role to the principal, or the session was begun by
    another principal; or plans cannot be approved, because callers are not authenticated.
    Operator: give the principal the role in `FAILSOFT_WORKSPACE_PRINCIPALS` if that is wanted.
    """

    reason: Public[Words]
    code = "INSUFFICIENT_PERMISSIONS"
    message = "Access was refused: {reason}."


class RoleMismatch(Conflict):
    """The caller has another role in this workspace, or in one that overlaps with it.

    Raised when: over HTTP, the principal has begun a session in this workspace in another role, and the settings do not
    grant it several roles: one principal must not both plan and execute.
    Caller: begin the session in the role that you have, `current_role`.
    Operator: list the roles of each principal in `FAILSOFT_WORKSPACE_PRINCIPALS`; without, a role is bound to its
    principal for as long as a session lasts.
    """

    current_role: Public[Words]
    role: Public[Words]
    code = "ROLE_MISMATCH"
    message = "You have the role {current_role} in this workspace and cannot take {role} as well."
    hints = ("Use the role {current_role}",)


class UnauthorizedAction(PermissionDenied):
    """The role of the session may not do this.

    Raised when: an operation needs a power that the role does not have, or an author approves their own plan.
    Caller: leave it to a session in a role that may do it; have another author approve your plan.
    Operator: give the role the power in `FAILSOFT_WORKSPACE_ROLES` if that is wanted.
    """

    role: Public[Words]
    action: Public[Words]
    code = "UNAUTHORIZED_ACTION"
    message = "The role {role} may not {action} here."
    actor = "caller"
    hints = ("Leave this to a session in a role that may do it",)
