"""Errors of the workspace toolset, in the order of seed 001, section 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.errors import (
    AlreadyExists,
    ApprovalRequired,
    Conflict,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    PreconditionFailed,
    Public,
    StorageError,
    Words,
)


class SessionNotInitialized(PreconditionFailed):
    """The call has no session.

    Raised when: `session_id` names no session, or one that has ended or expired; or it is left out over HTTP, or before
    any session was begun.
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

    Raised when: the folder of the workspace cannot be opened: permissions, symbolic links or the disk prevent it.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the reason names.
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
    """The caller has another role on this server.

    Raised when: over HTTP, the principal has begun a session in another role, and the settings do not grant it several
    roles: one principal must not both plan and execute.
    Caller: begin the session in the role that you have, `current_role`.
    Operator: list the roles of each principal in `FAILSOFT_WORKSPACE_PRINCIPALS`. Without it, a principal keeps its
    first role until `FAILSOFT_WORKSPACE_SESSION_S` after the last session that it began.
    """

    current_role: Public[Words]
    role: Public[Words]
    code = "ROLE_MISMATCH"
    message = "You have the role {current_role} on this server and cannot take {role} as well."
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


class InvalidPath(InvalidArgument):
    """The path cannot be used.

    Raised when: it is empty or too long, contains a NUL character, cannot be encoded as a file name, or leads to
    another kind of thing, for example to a file where a folder is needed.
    Caller: correct the path as the reason says.
    """

    reason: Public[Words]
    code = "INVALID_PATH"
    message = "The path cannot be used: {reason}."


class PathNotFound(NotFound):
    """There is nothing at this path.

    Raised when: the file or folder that was named, or a folder on the way to it, does not exist.
    Caller: correct the path; `list_files` lists what there is.
    """

    path: Public[str]
    code = "PATH_NOT_FOUND"
    message = "There is nothing at {path}."


class PathTraversalBlocked(InvalidArgument):
    """A path contains `..`.

    Raised when: one of the names in the path is `..`, wherever it would lead.
    Caller: give the path without `..`.
    """

    code = "PATH_TRAVERSAL_BLOCKED"
    message = "The path contains '..'."
    hints = ("Give the path without '..'",)


class OutsideWorkspace(PermissionDenied):
    """The path leads out of the folders of this server, or of the session's workspace.

    Raised when: the path, or a link on the way, leads outside, or to what tools may not touch: `.failsoft/`, the audit
    log and the server's own settings; or the file has several hard links, of which one may lie outside.
    Caller: use a path within the workspace.
    Operator: name the folder with `--root` if it should be served; set `FAILSOFT_WORKSPACE_HARD_LINKS` if files have
    several hard links, all of them in the workspace.
    """

    code = "OUTSIDE_WORKSPACE"
    message = "The path lies outside the workspace."
    actor = "caller"
    hints = ("Use a path within the workspace of the session",)


class FileAlreadyExists(AlreadyExists):
    """The file exists already.

    Raised when: `write_file` is called without `expected_hash`, and the path exists.
    Caller: read the file, and pass its `sha256` as `expected_hash` to replace it; or choose another path.
    """

    path: Public[str]
    code = "FILE_ALREADY_EXISTS"
    message = "The file {path} exists."
    hints = ("To replace it, pass the sha256 that read_file returns as expected_hash",)


class FileReadFailed(StorageError):
    """The operating system refused to read the file.

    Raised when: permissions, symbolic links or the disk prevent it.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the reason names.
    """

    reason: Public[Words]
    code = "FILE_READ_FAILED"
    message = "The file could not be read: {reason}."


class FileWriteFailed(StorageError):
    """The file could not be written.

    Raised when: permissions, symbolic links or the disk prevent it, or a crash interrupted an earlier call that changes
    the file, and this server cannot finish it.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the reason names: permissions, free space, or the state folder of failsoft. To finish an
    interrupted call, start the server once with the `--root` that it had then.
    """

    reason: Public[Words]
    code = "FILE_WRITE_FAILED"
    message = "The file could not be written: {reason}."


class PatchInvalid(InvalidArgument):
    """The patch is not a unified diff that changes or makes this one file.

    Raised when: a line does not follow the format, the counts or positions of a hunk are wrong, it names another file,
    or it does something unsupported: delete or rename a file, change its mode, or patch several or binary files.
    Caller: correct the patch at the line that the answer names.
    """

    reason: Public[Words]
    line: Public[int]
    code = "PATCH_INVALID"
    message = "The patch cannot be used, line {line}: {reason}."
    hints = (
        "Give a unified diff for this one file, whose hunks have the exact line numbers and counts",
        "To write the whole file instead, use write_file",
    )


class PatchApplyFailed(Conflict):
    """The patch does not fit the file.

    Raised when: a line that a hunk expects is not in the file at that position; other positions are not tried.
    `suggestions` has the expected and the actual line; it is not logged.
    Caller: read the file again, and make a new patch from its content.
    """

    content_fields = frozenset({"suggestions"})
    hunk: Public[int]
    line: Public[int]
    reason: Public[Words]
    code = "PATCH_APPLY_FAILED"
    message = "Nothing was changed: the patch does not fit the file at line {line}: {reason}."
    hints = ("Read the file again, and make the patch from its current content",)


class PlanNotFound(NotFound):
    """There is no plan with this hash in the workspace.

    Raised when: a call names a plan, as `plan_hash` or in `_meta["dev.failsoft/context"]`, that was not submitted for
    this workspace, or that has expired or was withdrawn.
    Caller: use a `plan_hash` that `list_plans` returns.
    Operator: raise `FAILSOFT_WORKSPACE_PLAN_S` if plans expire too soon.
    """

    code = "PLAN_NOT_FOUND"
    message = "There is no such plan in this workspace; `list_plans` gives full hashes."
    hints = ("Use a plan_hash that list_plans returns",)


class PlanNotApproved(ApprovalRequired):
    """A file cannot be written because no plan for it is approved.

    Raised when: the plan that a write names is not approved; or the write names none, and the workspace has no approved
    plan.
    Caller: have another author approve the plan, in a role that may approve, or ask the user to run
    `failsoft plans approve`; then call again.
    Operator: approve the plan if it is wanted; some role needs the power `approve` in `FAILSOFT_WORKSPACE_ROLES`.
    """

    code = "PLAN_NOT_APPROVED"
    message = "Nothing was written: no approved plan covers it. One session submits a plan, another author approves it."
    hints = ("A plan is approved by another author, in a role that may approve",)


class PlanEnforcementFailed(InvalidArgument):
    """The plan cannot be enforced.

    Raised when: a plan names no files or too many; a pattern is absolute, contains `..`, names a folder, or uses `**`
    within a name; the plan waives a rule that no policy of this server has; or its author or the workspace has the
    largest number of plans.
    Caller: correct every entry that `violations` lists, or withdraw a plan, and submit the plan again.
    """

    code = "PLAN_ENFORCEMENT_FAILED"
    message = "The plan cannot be enforced."
    hints = ("Name files relative to the workspace, such as src/app.py or docs/**",)


class PlanScopeViolation(PermissionDenied):
    """A write lies outside the plan.

    Raised when: neither the plan that the write names, nor, if it names none, any approved plan of the workspace covers
    the path, or covers where the path leads through links.
    Caller: write only what the plan covers, or have another plan approved.
    Operator: nothing to do.
    """

    path: Public[str]
    code = "PLAN_SCOPE_VIOLATION"
    message = "{path} was not written: no approved plan covers it."
    hints = ("Names that begin with a dot are covered only where the plan names them so",)


class PolicyViolation(InvalidArgument):
    """The new content breaks a policy of this server.

    Raised when: a policy finds something in the content of a write that was not in the file before: a secret, a merge
    marker, a stub, or what a policy of the operator looks for. Nothing was written.
    Caller: correct the places that `details.findings` lists, and write again; or have a plan approved that waives the
    rule.
    Operator: nothing to do; `FAILSOFT_WORKSPACE_POLICIES` sets the policies.
    """

    policies: Public[Words]
    found: Public[Words]
    findings: Public[Sequence[Mapping[str, Any]]] = ()
    code = "POLICY_VIOLATION"
    message = "Nothing was written: the new content breaks the policy {policies}: {found}."


class RustPolicyViolation(InvalidArgument):
    """The new content breaks the policy for Rust.

    Raised when: a write adds `unsafe` or `static mut` to a file named `*.rs`, or `unwrap`, `expect` or `panic!` outside
    of its tests. Nothing was written.
    Caller: correct the places that `details.findings` lists, and write again; or have a plan approved that waives the
    rule.
    Operator: nothing to do; `FAILSOFT_WORKSPACE_POLICIES` sets the policies.
    """

    policies: Public[Words]
    found: Public[Words]
    findings: Public[Sequence[Mapping[str, Any]]] = ()
    code = "RUST_POLICY_VIOLATION"
    message = "Nothing was written: the new content breaks the policy {policies}: {found}."


class PreflightFailed(PreconditionFailed):
    """A preflight command of this server failed.

    Raised when: a command exits with a status other than 0, is ended by a signal or a time-out, or cannot be started.
    The commands after it are not run. What it changed in the workspace is unknown.
    Caller: correct what the end of the output shows, and call `run_preflight` again; if the command could not be
    started, report it to the user.
    Operator: `FAILSOFT_WORKSPACE_PREFLIGHT` sets the commands, `FAILSOFT_WORKSPACE_PREFLIGHT_S` their time.
    """

    command: Public[str]
    outcome: Public[Words]
    exit_code: Public[int | None] = None
    duration_s: Public[float | None] = None
    output_snippet: Public[str] = ""
    code = "PREFLIGHT_FAILED"
    message = "The preflight command {command} {outcome}."
    hints = ("Correct what the end of its output shows",)
    remedy = "Fix what the end of the output shows and"
    actor = "caller"
