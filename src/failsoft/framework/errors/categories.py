"""The error categories: who acts, whether a retry helps, and their names in other protocols (contract, section 3)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors.tool_error import ToolError
from failsoft.framework.errors.vocabulary import Public, Words


class InvalidArgument(
    ToolError,
    ValueError,
    category="invalid_argument",
    http=400,
    coded="validation_error",
    retry="after_fix",
    actor="caller",
):
    """An argument of the call is invalid.

    Raised when: an argument has the wrong type, form or value, or a name that the operation does not have.
    Caller: correct the arguments that the answer names, then call again.
    Operator: nothing to do. If many callers make the same mistake, improve the description of the tool.
    """

    code = "INVALID_ARGUMENT"
    message = "An argument is invalid."


class NotFound(
    ToolError, LookupError, category="not_found", http=404, coded="not_found_error", retry="after_fix", actor="caller"
):
    """The requested object does not exist.

    Raised when: no object has the id, path or name, for example a missing file.
    Caller: look up the right id, path or name, then call again with it.
    Operator: nothing to do, unless the object should exist.
    """

    code = "NOT_FOUND"
    message = "What was asked for does not exist."


class AlreadyExists(
    ToolError, category="already_exists", http=409, coded="validation_error", retry="after_fix", actor="caller"
):
    """The object to be created exists already.

    Raised when: an object of the same name exists, for example a file.
    Caller: use the existing one, or call again with another name.
    Operator: nothing to do.
    """

    code = "ALREADY_EXISTS"
    message = "It exists already."


class Conflict(ToolError, category="conflict", http=409, coded="validation_error", retry="after_fix", actor="caller"):
    """The object was changed since the caller read it, or is in use.

    Raised when: a version, a hash or a lock shows a concurrent change.
    Caller: read the current state, then make the call again for it.
    Operator: nothing to do.
    """

    code = "CONFLICT"
    message = "It was changed, or is in use, by another caller."


class PreconditionFailed(
    ToolError, category="precondition_failed", http=412, coded="validation_error", retry="after_fix", actor="caller"
):
    """Another call has to come first.

    Raised when: the operation needs a state that an earlier call would have set up.
    Caller: make the call that the answer names, then repeat this one.
    Operator: nothing to do.
    """

    code = "PRECONDITION_FAILED"
    message = "Another call has to come first."


class Unauthenticated(ToolError, category="unauthenticated", http=401, retry="after_fix", actor="person"):
    """The service behind the tool did not accept the credentials.

    Raised when: credentials are missing, expired or refused.
    Caller: use the login tool if the answer names one; otherwise report it to the user.
    Operator: renew the credentials that the tool uses.
    """

    code = "UNAUTHENTICATED"
    message = "The service did not accept the credentials."


class PermissionDenied(ToolError, PermissionError, category="permission_denied", http=403, actor="person"):
    """The caller is known, but lacks the permission.

    Raised when: a rule, a role or the operating system refuses the access.
    Caller: do not repeat the call; report the refusal to the user.
    Operator: grant the access if it is wanted.
    """

    code = "PERMISSION_DENIED"
    message = "The access was refused."


class ApprovalRequired(ToolError, category="approval_required", http=403, actor="person"):
    """A person has to approve this first.

    Raised when: an operation needs a person's consent (`confirm`), and the person declined, closed the question or did
    not answer in time, or the client cannot ask; or a rule requires an approval that is missing.
    Caller: ask the user to approve it; do not repeat the call before that.
    Operator: approve or refuse it, if the rule names you.
    """

    code = "APPROVAL_REQUIRED"
    message = "A person has to approve this first."


class RateLimited(ToolError, category="rate_limited", http=429, retry="after_delay", actor="framework"):
    """Too many calls in too short a time.

    Raised when: this server or the service behind it limits the rate of calls.
    Caller: repeat the call after the wait that the answer gives.
    Operator: raise the limit, or spread the load.
    """

    code = "RATE_LIMITED"
    message = "Too many calls in a short time."


class QuotaExhausted(ToolError, category="quota_exhausted", http=429, actor="person"):
    """A quota is used up, and waiting a moment does not refill it.

    Raised when: the allowance of a service is spent, or the caller has as many durable records on this server as
    `FAILSOFT_STATE_QUOTA_BYTES` allows.
    Caller: do not repeat the call; report it to the user.
    Operator: raise the quota.
    """

    code = "QUOTA_EXHAUSTED"
    message = "A quota is used up."


class Infeasible(
    ToolError, category="infeasible", http=422, coded="infeasibility_error", retry="after_fix", actor="caller"
):
    """The arguments are valid, but the problem has no solution.

    Raised when: a solver or a planner finds that no solution satisfies all constraints.
    Caller: relax the constraint that the answer names, then call again.
    Operator: nothing to do.
    """

    code = "INFEASIBLE"
    message = "No solution satisfies all constraints of the call."


class Timeout(
    ToolError, TimeoutError, category="timeout", http=504, coded="timeout_error", retry="after_delay", actor="framework"
):
    """One attempt exceeded its time limit.

    Raised when: a time-out of the strategy `AttemptTimeout`, the handler, the operating system or a client library
    expires.
    Caller: call again after the wait that the answer gives, if it gives one.
    Operator: find out why the dependency is slow.
    """

    code = "TIMEOUT"
    message = "The attempt took too long."


class DeadlineExceeded(
    ToolError,
    TimeoutError,
    category="deadline_exceeded",
    http=504,
    coded="timeout_error",
    retry="after_delay",
    actor="framework",
):
    """The call as a whole, retries included, exceeded its time limit.

    Raised when: the operation's time-out, or what was left of the time of the request or call around it, expires.
    Caller: call again after the wait that the answer gives, if it gives one.
    Operator: raise the operation's time-out, or find out why it is slow.
    """

    limit_s: Public[float] = 0.0
    code = "DEADLINE_EXCEEDED"
    message = "The call did not finish within its limit of {limit_s:g} seconds."


class Unavailable(ToolError, ConnectionError, category="unavailable", http=503, retry="after_delay", actor="framework"):
    """The service behind the tool cannot be reached.

    Raised when: a connection is refused, reset or lost; the server shuts down; or an operator paused the operation.
    Caller: call again after the wait that the answer gives, if it gives one.
    Operator: check whether the service runs; the page of the server lists paused operations.
    """

    code = "UNAVAILABLE"
    message = "The service behind this tool cannot be reached."


class Overloaded(ToolError, category="overloaded", http=503, retry="after_delay", actor="framework"):
    """The server has reached its limit of concurrent work.

    Raised when: all places of a `Bulkhead`, of the caller or of the server are taken, or no thread, memory or file
    descriptor is left.
    Caller: call again after the wait that the answer gives.
    Operator: look for calls that hang, or raise the limit: that of the `Bulkhead`, `FAILSOFT_MAX_THREADS`,
    `FAILSOFT_MAX_CALLS_PER_PRINCIPAL` or `FAILSOFT_MAX_CONNECTIONS`.
    """

    code = "OVERLOADED"
    message = "The server is at its limit of concurrent work."


class CircuitOpen(ToolError, category="circuit_open", http=503, retry="after_delay", actor="framework"):
    """A dependency failed repeatedly, so calls to it are rejected for a while.

    Raised when: the circuit breaker of the dependency is open; nothing was sent.
    Caller: call again after the wait that the answer gives.
    Operator: find out why the dependency fails; `failsoft state reset NAME` closes the breaker at once.
    """

    code = "CIRCUIT_OPEN"
    message = "The service behind this tool failed repeatedly and is given time to recover."


class UpstreamError(
    ToolError, category="upstream_error", http=502, coded="library_error", retry="after_delay", actor="framework"
):
    """The service behind the tool reported a failure of its own.

    Raised when: a service, a library or another MCP server reports a fault that is not the caller's.
    Caller: call again after the wait that the answer gives, if it gives one.
    Operator: look in the log of the service.
    """

    code = "UPSTREAM_ERROR"
    message = "The service behind this tool reported a failure."


class BadOutput(ToolError, category="bad_output", http=502, coded="library_error"):
    """The result of the tool does not fit its declared type.

    Raised when: the handler's value does not match its declared type or cannot be written as JSON, or data that it
    read is malformed.
    Caller: do not repeat the call; report the error id to the user.
    Operator: report it to the tool's author.
    """

    code = "BAD_OUTPUT"
    message = "The tool produced a result that does not fit its declared type."


class DatabaseError(
    ToolError, category="database_error", coded="database_error", retry="after_delay", actor="operator"
):
    """The database failed.

    Raised when: a database driver reports a fault that is not the caller's.
    Caller: call again after the wait that the answer gives, if it gives one.
    Operator: check the log and the connections of the database.
    """

    code = "DATABASE_ERROR"
    message = "The database failed."


class StorageError(ToolError, category="storage_error", http=507, actor="operator"):
    """The disk is full, read-only or damaged.

    Raised when: reading or writing fails because of the disk.
    Caller: do not repeat the call; report it to the user.
    Operator: free space, or look at the disk and its mount options.
    """

    code = "STORAGE_ERROR"
    message = "The data cannot be read from the disk or written to it."
    aliases: ClassVar[dict[str, str]] = {"error_response": "FILE_SYSTEM_ERROR"}


class Unsupported(ToolError, NotImplementedError, category="unsupported", http=501, actor="caller"):
    """The server does not support the request.

    Raised when: the operation, or an option of it, does not exist on this server.
    Caller: use another tool.
    Operator: nothing to do.
    """

    code = "UNSUPPORTED"
    message = "This server does not do that."


class ConfigurationError(ToolError, category="configuration", actor="operator"):
    """The server is configured wrongly.

    Raised when: a setting, a file or a credential that the server needs is missing or wrong, or a tool uses the
    framework in a way that it has to declare first.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the log names under the error id.
    """

    issue: Public[Words] = ""
    resolution: Words = ""
    code = "CONFIG_ERROR"
    message = "Configuration error: {issue}."
    critical = True


class InternalError(ToolError, category="internal"):
    """A defect in the tool or the server.

    Raised when: a tool reports a defect of its own, for example a branch that should not be reached.
    Caller: do not repeat the call; report the error id to the user.
    Operator: find the error id in the log and report it to the author of the tool.
    """

    code = "INTERNAL_ERROR"
    message = "This server has a defect."
