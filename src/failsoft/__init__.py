"""failsoft: MCP tools that fail soft.

Subclass `BaseTool`, decorate methods with `@operation`, raise errors of the catalogue. Every call is validated, every
failure typed, recovery tried where it is safe, and the answer says what failed, whether anything changed, and which
call to make next. All names load on first use, so that importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import Any

from failsoft._version import __version__ as __version__
from failsoft.composition import install as _install

# The only list of the public names. At most 100 are here, since authors raise errors without looking for a second
# module; each loads on first access. The stub is made from this list, and a record of the API shows every change.
_FACE = {
    "write": {
        "failsoft.adapters.soft": "soft",
        "failsoft.framework.answer.response": "Failed Success ToolResponse",
        "failsoft.framework.arguments.marks": "Alias Fault Reference",
        "failsoft.framework.call": "CallContext",
        "failsoft.framework.call.effects": "NOT_DONE",
        "failsoft.framework.call.operation": "operation",
        "failsoft.framework.call.toolset": "BaseTool",
        "failsoft.framework.errors": "NextStep Public",
        "failsoft.framework.errors.violations": "Violation",
        "failsoft.framework.offers": "completion prompt resource",
        "failsoft.framework.settings": "ToolsetSettings",
    },
    "fail": {
        "failsoft.framework.errors": (
            "AlreadyExists ApprovalRequired AuditLockFailed AuditLogFailed BadOutput BootstrapFailure "
            "CircuitOpen ConfigurationError Conflict DatabaseError DeadlineExceeded DocumentLoadError "
            "DocumentNotFound IdempotencyConflict IdempotencyInProgress IdempotencyKeyInvalid "
            "IdempotencyOutcomeUnknown Infeasible InitializationError InternalError InvalidArgument "
            "InvalidParameter InvariantViolation MultipleErrors NotFound NotImplementedTool Overloaded "
            "PermissionDenied PreconditionFailed QuotaExhausted RateLimited ReportedFailure ResultTooLarge "
            "SearchError SelfAuditFailure StorageError Timeout ToolError "
            "ToolSystemError Unauthenticated Unavailable UnknownError UnknownTool Unsupported UpstreamError "
            "ValidationFailed"
        ),
    },
    "recover": {
        "failsoft.recovery": (
            "AlternatePaths AskPerson AttemptTimeout Bulkhead Chaos CircuitBreaker Fallback Hedge Idempotency "
            "RateLimit RecoveryManager RecoveryResult RepairArguments Retry RetryBudget StaleCache"
        ),
    },
    "run": {
        "failsoft.framework.call.chain": "Middleware",
        "failsoft.framework.call.runtime": "Runtime",
        "failsoft.framework.logs.logs": "configure_logging",
        "failsoft.framework.settings": "Settings",
        "failsoft.framework.standalone": (
            "ErrorContext ErrorHandler ErrorResponse ErrorResponseFactory SystemErrorFactory"
        ),
        "failsoft.server": "asgi_app mcp_server serve",
    },
    "watch": {
        "failsoft.framework.answer.failure": "Failure Governance",
        "failsoft.framework.audit.trail": "AuditLog",
        "failsoft.framework.events": ("AttemptEvent CircuitEvent IdempotencyEvent RecoveryEvent"),
    },
}
"""The public names: task -> module -> names. `__init__.pyi` is generated from this.

The complete lists are in `failsoft.errors`, `failsoft.recovery`, `failsoft.events` and `failsoft.testing`.
"""

_homes = {name: module for homes in _FACE.values() for module, names in homes.items() for name in names.split()}

__all__ = sorted(["__version__", *_homes])  # noqa: PLE0605 - made from the one list of names


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first access."""
    home = _homes.get(name)
    if home is None:
        msg = f"module 'failsoft' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_install()
