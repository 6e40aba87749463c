"""failsoft: MCP tools that fail soft.

Subclass `BaseTool`, decorate methods with `@operation`, raise errors of the catalogue. Every call is validated, every
failure typed, recovery tried where it is safe, and the answer says what failed, whether anything changed, and which
call to make next. All names load on first use, so that importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from loguru import logger as _logger

from failsoft._version import __version__
from failsoft.composition import install as _install

if TYPE_CHECKING:
    from failsoft.framework.arguments import (
        Fault as Fault,
        Reference as Reference,
    )
    from failsoft.framework.audit.trail import (
        AuditLog as AuditLog,
    )
    from failsoft.framework.canonical import (
        SystemErrorFactory as SystemErrorFactory,
    )
    from failsoft.framework.chain import (
        Middleware as Middleware,
        Proceed as Proceed,
    )
    from failsoft.framework.context import (
        CallContext as CallContext,
    )
    from failsoft.framework.errors import (
        AlreadyExists as AlreadyExists,
        ApprovalRequired as ApprovalRequired,
        AuditLockFailed as AuditLockFailed,
        AuditLogFailed as AuditLogFailed,
        BadOutput as BadOutput,
        BootstrapFailure as BootstrapFailure,
        CircuitOpen as CircuitOpen,
        ConfigurationError as ConfigurationError,
        Conflict as Conflict,
        DatabaseError as DatabaseError,
        DeadlineExceeded as DeadlineExceeded,
        DocumentLoadError as DocumentLoadError,
        DocumentNotFound as DocumentNotFound,
        IdempotencyConflict as IdempotencyConflict,
        IdempotencyInProgress as IdempotencyInProgress,
        IdempotencyKeyInvalid as IdempotencyKeyInvalid,
        IdempotencyOutcomeUnknown as IdempotencyOutcomeUnknown,
        Infeasible as Infeasible,
        InitializationError as InitializationError,
        InternalError as InternalError,
        InvalidArgument as InvalidArgument,
        InvalidParameter as InvalidParameter,
        InvariantViolation as InvariantViolation,
        MultipleErrors as MultipleErrors,
        NextStep as NextStep,
        NotFound as NotFound,
        NotImplementedTool as NotImplementedTool,
        Overloaded as Overloaded,
        PermissionDenied as PermissionDenied,
        PreconditionFailed as PreconditionFailed,
        Public as Public,
        QuotaExhausted as QuotaExhausted,
        RateLimited as RateLimited,
        ReportedFailure as ReportedFailure,
        ResultTooLarge as ResultTooLarge,
        SearchError as SearchError,
        SelfAuditFailure as SelfAuditFailure,
        StorageError as StorageError,
        Timeout as Timeout,
        ToolError as ToolError,
        ToolSystemError as ToolSystemError,
        Unauthenticated as Unauthenticated,
        Unavailable as Unavailable,
        UnknownError as UnknownError,
        UnknownTool as UnknownTool,
        Unsupported as Unsupported,
        UpstreamError as UpstreamError,
        ValidationFailed as ValidationFailed,
    )
    from failsoft.framework.events import (
        AttemptEvent as AttemptEvent,
        BudgetEvent as BudgetEvent,
        CircuitEvent as CircuitEvent,
        IdempotencyEvent as IdempotencyEvent,
        RecoveryEvent as RecoveryEvent,
        StateStoreEvent as StateStoreEvent,
    )
    from failsoft.framework.factory import (
        ErrorResponse as ErrorResponse,
        ErrorResponseFactory as ErrorResponseFactory,
    )
    from failsoft.framework.failure import (
        Failure as Failure,
    )
    from failsoft.framework.governance import (
        Governance as Governance,
    )
    from failsoft.framework.handler import (
        ErrorContext as ErrorContext,
        ErrorHandler as ErrorHandler,
    )
    from failsoft.framework.logs import (
        configure_logging as configure_logging,
    )
    from failsoft.framework.operation import (
        operation as operation,
    )
    from failsoft.framework.response import (
        ToolResponse as ToolResponse,
    )
    from failsoft.framework.runtime import (
        Runtime as Runtime,
    )
    from failsoft.framework.settings import (
        Settings as Settings,
    )
    from failsoft.framework.tool import (
        BaseTool as BaseTool,
    )
    from failsoft.framework.violations import (
        Violation as Violation,
    )
    from failsoft.recovery import (
        AlternatePaths as AlternatePaths,
        AttemptTimeout as AttemptTimeout,
        Bulkhead as Bulkhead,
        Chaos as Chaos,
        CircuitBreaker as CircuitBreaker,
        Fallback as Fallback,
        Hedge as Hedge,
        Idempotency as Idempotency,
        RateLimit as RateLimit,
        RecoveryManager as RecoveryManager,
        RecoveryResult as RecoveryResult,
        RepairArguments as RepairArguments,
        Retry as Retry,
        RetryBudget as RetryBudget,
        StaleCache as StaleCache,
    )
    from failsoft.server import (
        asgi_app as asgi_app,
        mcp_server as mcp_server,
        serve as serve,
    )

_HOMES = {
    "failsoft.framework.arguments": "Fault Reference",
    "failsoft.framework.audit.trail": "AuditLog",
    "failsoft.framework.canonical": "SystemErrorFactory",
    "failsoft.framework.chain": "Middleware Proceed",
    "failsoft.framework.context": "CallContext",
    "failsoft.framework.errors": (
        "AlreadyExists ApprovalRequired AuditLockFailed AuditLogFailed BadOutput BootstrapFailure CircuitOpen "
        "ConfigurationError Conflict DatabaseError DeadlineExceeded DocumentLoadError DocumentNotFound "
        "IdempotencyConflict IdempotencyInProgress IdempotencyKeyInvalid IdempotencyOutcomeUnknown "
        "Infeasible InitializationError InternalError InvalidArgument InvalidParameter InvariantViolation "
        "MultipleErrors NextStep NotFound NotImplementedTool Overloaded PermissionDenied "
        "PreconditionFailed Public QuotaExhausted RateLimited ReportedFailure ResultTooLarge SearchError "
        "SelfAuditFailure StorageError Timeout ToolError ToolSystemError Unauthenticated Unavailable UnknownError "
        "UnknownTool Unsupported UpstreamError ValidationFailed"
    ),
    "failsoft.framework.events": (
        "AttemptEvent BudgetEvent CircuitEvent IdempotencyEvent RecoveryEvent StateStoreEvent"
    ),
    "failsoft.framework.factory": "ErrorResponse ErrorResponseFactory",
    "failsoft.framework.failure": "Failure",
    "failsoft.framework.governance": "Governance",
    "failsoft.framework.handler": "ErrorContext ErrorHandler",
    "failsoft.framework.logs": "configure_logging",
    "failsoft.framework.operation": "operation",
    "failsoft.framework.response": "ToolResponse",
    "failsoft.framework.runtime": "Runtime",
    "failsoft.framework.settings": "Settings",
    "failsoft.framework.tool": "BaseTool",
    "failsoft.framework.violations": "Violation",
    "failsoft.recovery": (
        "AlternatePaths AttemptTimeout Bulkhead Chaos CircuitBreaker Fallback Hedge Idempotency RateLimit "
        "RecoveryManager RecoveryResult RepairArguments Retry RetryBudget StaleCache"
    ),
    "failsoft.server": "asgi_app mcp_server serve",
}
_home_of = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AlreadyExists",
    "AlternatePaths",
    "ApprovalRequired",
    "AttemptEvent",
    "AttemptTimeout",
    "AuditLockFailed",
    "AuditLog",
    "AuditLogFailed",
    "BadOutput",
    "BaseTool",
    "BootstrapFailure",
    "BudgetEvent",
    "Bulkhead",
    "CallContext",
    "Chaos",
    "CircuitBreaker",
    "CircuitEvent",
    "CircuitOpen",
    "ConfigurationError",
    "Conflict",
    "DatabaseError",
    "DeadlineExceeded",
    "DocumentLoadError",
    "DocumentNotFound",
    "ErrorContext",
    "ErrorHandler",
    "ErrorResponse",
    "ErrorResponseFactory",
    "Failure",
    "Fallback",
    "Fault",
    "Governance",
    "Hedge",
    "Idempotency",
    "IdempotencyConflict",
    "IdempotencyEvent",
    "IdempotencyInProgress",
    "IdempotencyKeyInvalid",
    "IdempotencyOutcomeUnknown",
    "Infeasible",
    "InitializationError",
    "InternalError",
    "InvalidArgument",
    "InvalidParameter",
    "InvariantViolation",
    "Middleware",
    "MultipleErrors",
    "NextStep",
    "NotFound",
    "NotImplementedTool",
    "Overloaded",
    "PermissionDenied",
    "PreconditionFailed",
    "Proceed",
    "Public",
    "QuotaExhausted",
    "RateLimit",
    "RateLimited",
    "RecoveryEvent",
    "RecoveryManager",
    "RecoveryResult",
    "Reference",
    "RepairArguments",
    "ReportedFailure",
    "ResultTooLarge",
    "Retry",
    "RetryBudget",
    "Runtime",
    "SearchError",
    "SelfAuditFailure",
    "Settings",
    "StaleCache",
    "StateStoreEvent",
    "StorageError",
    "SystemErrorFactory",
    "Timeout",
    "ToolError",
    "ToolResponse",
    "ToolSystemError",
    "Unauthenticated",
    "Unavailable",
    "UnknownError",
    "UnknownTool",
    "Unsupported",
    "UpstreamError",
    "ValidationFailed",
    "Violation",
    "__version__",
    "asgi_app",
    "configure_logging",
    "mcp_server",
    "operation",
    "serve",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home when it is first asked for."""
    home = _home_of.get(name)
    if home is None:
        msg = f"module 'failsoft' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_logger.disable("failsoft")
_install()
