# Made by scripts/reference.py from `_FACE` in __init__.py.

from failsoft._version import __version__ as __version__
from failsoft.adapters.soft import (
    soft as soft,
)
from failsoft.framework.answer.failure import (
    Failure as Failure,
    Governance as Governance,
)
from failsoft.framework.answer.response import (
    Failed as Failed,
    Success as Success,
    ToolResponse as ToolResponse,
)
from failsoft.framework.arguments.marks import (
    Alias as Alias,
    Fault as Fault,
    Reference as Reference,
)
from failsoft.framework.audit.trail import (
    AuditLog as AuditLog,
)
from failsoft.framework.call import (
    CallContext as CallContext,
)
from failsoft.framework.call.chain import (
    Middleware as Middleware,
)
from failsoft.framework.call.effects import (
    NOT_DONE as NOT_DONE,
)
from failsoft.framework.call.operation import (
    operation as operation,
)
from failsoft.framework.call.runtime import (
    Runtime as Runtime,
)
from failsoft.framework.call.toolset import (
    BaseTool as BaseTool,
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
from failsoft.framework.errors.violations import (
    Violation as Violation,
)
from failsoft.framework.events import (
    AttemptEvent as AttemptEvent,
    CircuitEvent as CircuitEvent,
    IdempotencyEvent as IdempotencyEvent,
    RecoveryEvent as RecoveryEvent,
)
from failsoft.framework.logs.logs import (
    configure_logging as configure_logging,
)
from failsoft.framework.offers import (
    completion as completion,
    prompt as prompt,
    resource as resource,
)
from failsoft.framework.settings import (
    Settings as Settings,
    ToolsetSettings as ToolsetSettings,
)
from failsoft.framework.standalone import (
    ErrorContext as ErrorContext,
    ErrorHandler as ErrorHandler,
    ErrorResponse as ErrorResponse,
    ErrorResponseFactory as ErrorResponseFactory,
    SystemErrorFactory as SystemErrorFactory,
)
from failsoft.recovery import (
    AlternatePaths as AlternatePaths,
    AskPerson as AskPerson,
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
