"""The error categories: who acts, whether a retry helps, and their names in other protocols (contract, section 3)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors.base import Actor, Public, RetryWhen, ToolError, Words

__all__ = [
    "AlreadyExists",
    "ApprovalRequired",
    "BadOutput",
    "CircuitOpen",
    "ConfigurationError",
    "Conflict",
    "DatabaseError",
    "DeadlineExceeded",
    "Infeasible",
    "InternalError",
    "InvalidArgument",
    "NotFound",
    "Overloaded",
    "PermissionDenied",
    "PreconditionFailed",
    "QuotaExhausted",
    "RateLimited",
    "StorageError",
    "Timeout",
    "Unauthenticated",
    "Unavailable",
    "Unsupported",
    "UpstreamError",
]


class InvalidArgument(ToolError, ValueError, category="invalid_argument"):
    """An argument of the call is invalid.

    Raised when: an argument has the wrong type, form or value, or a name that the operation does not have.
    Caller: correct the arguments that the answer names, then call again.
    Operator: nothing to do, unless every caller makes the same mistake: then the description misleads.
    Example:
        >>> code_of(InvalidArgument(message="The range ends before it starts."))
        'INVALID_ARGUMENT'
    """

    code: ClassVar[str] = "INVALID_ARGUMENT"
    message: str = "An argument was not acceptable."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 400
    error_type: ClassVar[str] = "validation_error"
    numeric_code: ClassVar[int] = -32000
    retry: ClassVar[RetryWhen] = "after_fix"
    actor: ClassVar[Actor] = "caller"


class NotFound(ToolError, LookupError, category="not_found"):
    """The requested object does not exist.

    Raised when: no object has the id, path or name, for example a missing file.
    Caller: look up another id, then call again with it.
    Operator: nothing to do, unless the object should exist.
    Example:
        >>> code_of(lambda: open("no such file"))
        'NOT_FOUND'
    """

    code: ClassVar[str] = "NOT_FOUND"
    message: str = "What was asked for does not exist."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 404
    error_type: ClassVar[str] = "not_found_error"
    numeric_code: ClassVar[int] = -32001
    retry: ClassVar[RetryWhen] = "after_fix"
    actor: ClassVar[Actor] = "caller"


class AlreadyExists(ToolError, category="already_exists"):
    """The object to be created exists already.

    Raised when: an object of the same name exists, for example a file.
    Caller: use the existing one, or call again with another name.
    Operator: nothing to do.
    Example:
        >>> code_of(lambda: os.mkdir(os.curdir))
        'ALREADY_EXISTS'
    """

    code: ClassVar[str] = "ALREADY_EXISTS"
    message: str = "It exists already."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 409
    error_type: ClassVar[str] = "validation_error"
    numeric_code: ClassVar[int] = -32000
    retry: ClassVar[RetryWhen] = "after_fix"
    actor: ClassVar[Actor] = "caller"


class Conflict(ToolError, category="conflict"):
    """The object was changed since the caller read it, or is in use.

    Raised when: a version, a hash or a lock shows a concurrent change.
    Caller: read the current state, then repeat the call on top of it.
    Operator: nothing to do.
    Example:
        >>> code_of(OSError(errno.EBUSY, "in use"))
        'CONFLICT'
    """

    code: ClassVar[str] = "CONFLICT"
    message: str = "It was changed or is in use by another caller."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 409
    error_type: ClassVar[str] = "validation_error"
    numeric_code: ClassVar[int] = -32000
    retry: ClassVar[RetryWhen] = "after_fix"
    actor: ClassVar[Actor] = "caller"


class PreconditionFailed(ToolError, category="precondition_failed"):
    """Another call has to come first.

    Raised when: the operation needs a state that an earlier call would have set up.
    Caller: make the call that the answer names, then repeat this one.
    Operator: nothing to do.
    Example:
        >>> code_of(PreconditionFailed(message="No project is active."))
        'PRECONDITION_FAILED'
    """

    code: ClassVar[str] = "PRECONDITION_FAILED"
    message: str = "Another call has to come first."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 412
    error_type: ClassVar[str] = "validation_error"
    numeric_code: ClassVar[int] = -32000
    retry: ClassVar[RetryWhen] = "after_fix"
    actor: ClassVar[Actor] = "caller"


class Unauthenticated(ToolError, category="unauthenticated"):
    """The service behind the tool did not accept the credentials.

    Raised when: credentials are missing, expired or refused.
    Caller: use the login tool if the answer names one; otherwise report it to the user.
    Operator: renew the credentials that the tool uses.
    Example:
        >>> code_of(Unauthenticated())
        'UNAUTHENTICATED'
    """

    code: ClassVar[str] = "UNAUTHENTICATED"
    message: str = "The service did not accept the credentials."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 401
    retry: ClassVar[RetryWhen] = "after_fix"
    actor: ClassVar[Actor] = "person"


class PermissionDenied(ToolError, PermissionError, category="permission_denied"):
    """The caller is known, but lacks the permission.

    Raised when: a rule, a role or the operating system refuses the access.
    Caller: do not repeat the call; report the refusal to the user.
    Operator: grant the access if it is wanted.
    Example:
        >>> code_of(PermissionError(errno.EACCES, "refused"))
        'PERMISSION_DENIED'
    """

    code: ClassVar[str] = "PERMISSION_DENIED"
    message: str = "The access was refused."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 403
    actor: ClassVar[Actor] = "person"


class ApprovalRequired(ToolError, category="approval_required"):
    """A person has to approve this first.

    Raised when: a policy demands an approval that has not been given.
    Caller: ask the user to approve it; do not repeat the call before that.
    Operator: approve or refuse.
    Example:
        >>> code_of(ApprovalRequired(message="Deleting a project needs an approval."))
        'APPROVAL_REQUIRED'
    """

    code: ClassVar[str] = "APPROVAL_REQUIRED"
    message: str = "A person has to approve this first."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 403
    actor: ClassVar[Actor] = "person"


class RateLimited(ToolError, category="rate_limited"):
    """Too many calls in too short a time.

    Raised when: this server or the service behind it limits the rate of calls.
    Caller: repeat the call after the wait that the answer gives.
    Operator: raise the limit, or spread the load.
    Example:
        >>> code_of(RateLimited(retry_after_seconds=2))
        'RATE_LIMITED'
    """

    code: ClassVar[str] = "RATE_LIMITED"
    message: str = "Too many calls in a short time."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 429
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class QuotaExhausted(ToolError, category="quota_exhausted"):
    """A quota is used up, and waiting a moment does not refill it.

    Raised when: a paid or daily allowance is spent.
    Caller: do not repeat the call; report it to the user.
    Operator: raise the quota.
    Example:
        >>> code_of(OSError(errno.EDQUOT, "quota"))
        'QUOTA_EXHAUSTED'
    """

    code: ClassVar[str] = "QUOTA_EXHAUSTED"
    message: str = "A quota is used up."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 429
    actor: ClassVar[Actor] = "person"


class Infeasible(ToolError, category="infeasible"):
    """The arguments are valid, but the problem has no solution.

    Raised when: a solver or a planner finds that no solution satisfies all constraints.
    Caller: relax the constraint that the answer names, then call again.
    Operator: nothing to do.
    Example:
        >>> code_of(Infeasible(message="No route meets both limits."))
        'INFEASIBLE'
    """

    code: ClassVar[str] = "INFEASIBLE"
    message: str = "Nothing satisfies all the demands of the call."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 422
    error_type: ClassVar[str] = "infeasibility_error"
    numeric_code: ClassVar[int] = -32002
    retry: ClassVar[RetryWhen] = "after_fix"
    actor: ClassVar[Actor] = "caller"


class Timeout(ToolError, TimeoutError, category="timeout"):
    """One attempt took longer than it may.

    Raised when: a time-out of the handler itself, of the operating system or of a client library fires.
    Caller: call again after the wait that the answer gives, if it says so.
    Operator: find out why the dependency is slow.
    Example:
        >>> code_of(TimeoutError())
        'TIMEOUT'
    """

    code: ClassVar[str] = "TIMEOUT"
    message: str = "The attempt took too long."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 504
    error_type: ClassVar[str] = "timeout_error"
    numeric_code: ClassVar[int] = -32005
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class DeadlineExceeded(ToolError, TimeoutError, category="deadline_exceeded"):
    """The whole call, its retries included, took longer than it may.

    Raised when: the operation's time-out passes before the handler answers.
    Caller: call again after the wait that the answer gives, if it says so.
    Operator: raise the operation's time-out, or find out why it is slow.
    Example:
        >>> code_of(lambda: time.sleep(1), timeout=0.01)
        'DEADLINE_EXCEEDED'
    """

    limit_s: Public[float] = 0.0
    code: ClassVar[str] = "DEADLINE_EXCEEDED"
    message: str = "The call did not finish within its limit of {limit_s:g} seconds."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 504
    error_type: ClassVar[str] = "timeout_error"
    numeric_code: ClassVar[int] = -32005
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class Unavailable(ToolError, ConnectionError, category="unavailable"):
    """The service behind the tool cannot be reached.

    Raised when: a connection is refused, reset or lost.
    Caller: call again after the wait that the answer gives, if it says so.
    Operator: check whether the service runs.
    Example:
        >>> code_of(ConnectionRefusedError(errno.ECONNREFUSED, "refused"))
        'UNAVAILABLE'
    """

    code: ClassVar[str] = "UNAVAILABLE"
    message: str = "The service behind this tool cannot be reached."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 503
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class Overloaded(ToolError, category="overloaded"):
    """The server has reached its limit of concurrent work.

    Raised when: a limit on concurrent work, threads, memory or file descriptors is reached.
    Caller: call again after the wait that the answer gives.
    Operator: look for calls that hang, or raise the limit.
    Example:
        >>> code_of(OSError(errno.EMFILE, "too many open files"))
        'OVERLOADED'
    """

    code: ClassVar[str] = "OVERLOADED"
    message: str = "The server has more work than it takes on at once."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 503
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class CircuitOpen(ToolError, category="circuit_open"):
    """A dependency failed repeatedly, so calls to it are rejected for a while.

    Raised when: the circuit breaker of the dependency is open; nothing was sent.
    Caller: call again after the wait that the answer gives.
    Operator: look why the dependency fails.
    Example:
        >>> code_of(CircuitOpen(retry_after_seconds=30))
        'CIRCUIT_OPEN'
    """

    code: ClassVar[str] = "CIRCUIT_OPEN"
    message: str = "The service behind this tool failed repeatedly and is given time to recover."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 503
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class UpstreamError(ToolError, category="upstream_error"):
    """The service behind the tool answered with a failure of its own.

    Raised when: a server, a library or another MCP server reports a fault that is not the caller's.
    Caller: call again after the wait that the answer gives, if it says so.
    Operator: look at the service's own log.
    Example:
        >>> code_of(UpstreamError())
        'UPSTREAM_ERROR'
    """

    code: ClassVar[str] = "UPSTREAM_ERROR"
    message: str = "The service behind this tool reported a failure."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 502
    error_type: ClassVar[str] = "library_error"
    numeric_code: ClassVar[int] = -32003
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class BadOutput(ToolError, category="bad_output"):
    """The result of the tool does not fit its declared type.

    Raised when: the handler's value does not match its declared type, or cannot be written as JSON.
    Caller: do not repeat the call; report the error id to the user.
    Operator: report it to the tool's author.
    Example:
        >>> code_of(BadOutput())
        'BAD_OUTPUT'
    """

    code: ClassVar[str] = "BAD_OUTPUT"
    message: str = "The tool produced a result that does not fit its own declaration."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 502
    error_type: ClassVar[str] = "library_error"
    numeric_code: ClassVar[int] = -32003


class DatabaseError(ToolError, category="database_error"):
    """The database failed.

    Raised when: a database driver reports a fault that is not the caller's.
    Caller: call again after the wait that the answer gives, if it says so.
    Operator: check the database's log and connections.
    Example:
        >>> code_of(sqlite3.OperationalError("disk I/O error"))
        'DATABASE_ERROR'
    """

    code: ClassVar[str] = "DATABASE_ERROR"
    message: str = "The database failed."
    since: ClassVar[str] = "0.1.0"
    error_type: ClassVar[str] = "database_error"
    numeric_code: ClassVar[int] = -32004
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "operator"


class StorageError(ToolError, category="storage_error"):
    """The disk is full, read-only or damaged.

    Raised when: reading or writing fails because of the disk.
    Caller: do not repeat the call; report it to the user.
    Operator: free space, or look at the disk and its mount options.
    Example:
        >>> code_of(OSError(errno.ENOSPC, "no space"))
        'STORAGE_ERROR'
    """

    code: ClassVar[str] = "STORAGE_ERROR"
    message: str = "The disk cannot hold or give the data."
    since: ClassVar[str] = "0.1.0"
    aliases: ClassVar[dict[str, str]] = {"error_response": "FILE_SYSTEM_ERROR"}
    http_status: ClassVar[int] = 507
    actor: ClassVar[Actor] = "operator"


class Unsupported(ToolError, NotImplementedError, category="unsupported"):
    """The server does not support the request.

    Raised when: the operation, or an option of it, does not exist on this server.
    Caller: use another tool.
    Operator: nothing to do.
    Example:
        >>> code_of(NotImplementedError())
        'UNSUPPORTED'
    """

    code: ClassVar[str] = "UNSUPPORTED"
    message: str = "This server does not do that."
    since: ClassVar[str] = "0.1.0"
    http_status: ClassVar[int] = 501
    actor: ClassVar[Actor] = "caller"


class ConfigurationError(ToolError, category="configuration"):
    """The server is configured wrongly.

    Raised when: a setting, a file or a credential that the server needs is missing or wrong.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct the setting that the log names.
    Example:
        >>> code_of(ConfigurationError(issue="no folder to serve", resolution="pass --root"))
        'CONFIG_ERROR'
    """

    issue: Public[Words] = ""
    resolution: Words = ""
    code: ClassVar[str] = "CONFIG_ERROR"
    message: str = "Configuration error: {issue}."
    since: ClassVar[str] = "0.1.0"
    actor: ClassVar[Actor] = "operator"
    critical: ClassVar[bool] = True


class InternalError(ToolError, category="internal"):
    """A defect in the tool or the server.

    Raised when: a programming error surfaces.
    Caller: do not repeat the call; report the error id to the user.
    Operator: find the error id in the log and report it to the author.
    Example:
        >>> code_of(InternalError())
        'INTERNAL_ERROR'
    """

    code: ClassVar[str] = "INTERNAL_ERROR"
    message: str = "Something in this server is broken."
    since: ClassVar[str] = "0.1.0"
