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
    )
    from failsoft.framework.arguments import (
        Reference as Reference,
    )
    from failsoft.framework.chain import (
        Middleware as Middleware,
    )
    from failsoft.framework.context import (
        CallContext as CallContext,
    )
    from failsoft.framework.errors import (
        AlreadyExists as AlreadyExists,
    )
    from failsoft.framework.errors import (
        ApprovalRequired as ApprovalRequired,
    )
    from failsoft.framework.errors import (
        BadOutput as BadOutput,
    )
    from failsoft.framework.errors import (
        CircuitOpen as CircuitOpen,
    )
    from failsoft.framework.errors import (
        ConfigurationError as ConfigurationError,
    )
    from failsoft.framework.errors import (
        Conflict as Conflict,
    )
    from failsoft.framework.errors import (
        DatabaseError as DatabaseError,
    )
    from failsoft.framework.errors import (
        DeadlineExceeded as DeadlineExceeded,
    )
    from failsoft.framework.errors import (
        DocumentLoadError as DocumentLoadError,
    )
    from failsoft.framework.errors import (
        DocumentNotFound as DocumentNotFound,
    )
    from failsoft.framework.errors import (
        Infeasible as Infeasible,
    )
    from failsoft.framework.errors import (
        InitializationError as InitializationError,
    )
    from failsoft.framework.errors import (
        InternalError as InternalError,
    )
    from failsoft.framework.errors import (
        InvalidArgument as InvalidArgument,
    )
    from failsoft.framework.errors import (
        InvalidParameter as InvalidParameter,
    )
    from failsoft.framework.errors import (
        MultipleErrors as MultipleErrors,
    )
    from failsoft.framework.errors import (
        NextStep as NextStep,
    )
    from failsoft.framework.errors import (
        NotFound as NotFound,
    )
    from failsoft.framework.errors import (
        NotImplementedTool as NotImplementedTool,
    )
    from failsoft.framework.errors import (
        Overloaded as Overloaded,
    )
    from failsoft.framework.errors import (
        PermissionDenied as PermissionDenied,
    )
    from failsoft.framework.errors import (
        PreconditionFailed as PreconditionFailed,
    )
    from failsoft.framework.errors import (
        Public as Public,
    )
    from failsoft.framework.errors import (
        QuotaExhausted as QuotaExhausted,
    )
    from failsoft.framework.errors import (
        RateLimited as RateLimited,
    )
    from failsoft.framework.errors import (
        ReportedFailure as ReportedFailure,
    )
    from failsoft.framework.errors import (
        ResultTooLarge as ResultTooLarge,
    )
    from failsoft.framework.errors import (
        SearchError as SearchError,
    )
    from failsoft.framework.errors import (
        StorageError as StorageError,
    )
    from failsoft.framework.errors import (
        Timeout as Timeout,
    )
    from failsoft.framework.errors import (
        ToolError as ToolError,
    )
    from failsoft.framework.errors import (
        ToolSystemError as ToolSystemError,
    )
    from failsoft.framework.errors import (
        Unauthenticated as Unauthenticated,
    )
    from failsoft.framework.errors import (
        Unavailable as Unavailable,
    )
    from failsoft.framework.errors import (
        UnknownError as UnknownError,
    )
    from failsoft.framework.errors import (
        UnknownTool as UnknownTool,
    )
    from failsoft.framework.errors import (
        Unsupported as Unsupported,
    )
    from failsoft.framework.errors import (
        UpstreamError as UpstreamError,
    )
    from failsoft.framework.errors import (
        ValidationFailed as ValidationFailed,
    )
    from failsoft.framework.factory import (
        ErrorResponseFactory as ErrorResponseFactory,
    )
    from failsoft.framework.failure import (
        Failure as Failure,
    )
    from failsoft.framework.handler import (
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
    )
    from failsoft.recovery import (
        RecoveryManager as RecoveryManager,
    )
    from failsoft.recovery import (
        RecoveryResult as RecoveryResult,
    )
    from failsoft.recovery import (
        Retry as Retry,
    )
    from failsoft.server import (
        asgi_app as asgi_app,
    )
    from failsoft.server import (
        mcp_server as mcp_server,
    )
    from failsoft.server import (
        serve as serve,
    )

_HOMES = {
    "failsoft.framework.arguments": "Fault Reference",
    "failsoft.framework.chain": "Middleware",
    "failsoft.framework.context": "CallContext",
    "failsoft.framework.errors": (
        "AlreadyExists ApprovalRequired BadOutput CircuitOpen ConfigurationError Conflict DatabaseError "
        "DeadlineExceeded DocumentLoadError DocumentNotFound Infeasible InitializationError "
        "InternalError InvalidArgument InvalidParameter MultipleErrors NextStep NotFound "
        "NotImplementedTool Overloaded PermissionDenied PreconditionFailed Public QuotaExhausted "
        "RateLimited ReportedFailure ResultTooLarge SearchError StorageError Timeout ToolError "
        "ToolSystemError Unauthenticated Unavailable UnknownError UnknownTool Unsupported UpstreamError "
        "ValidationFailed"
    ),
    "failsoft.framework.factory": "ErrorResponseFactory",
    "failsoft.framework.failure": "Failure",
    "failsoft.framework.handler": "ErrorHandler",
    "failsoft.framework.logs": "configure_logging",
    "failsoft.framework.operation": "operation",
    "failsoft.framework.response": "ToolResponse",
    "failsoft.framework.runtime": "Runtime",
    "failsoft.framework.settings": "Settings",
    "failsoft.framework.tool": "BaseTool",
    "failsoft.framework.violations": "Violation",
    "failsoft.recovery": "AlternatePaths RecoveryManager RecoveryResult Retry",
    "failsoft.server": "asgi_app mcp_server serve",
}
_home_of = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AlreadyExists",
    "AlternatePaths",
    "ApprovalRequired",
    "BadOutput",
    "BaseTool",
    "CallContext",
    "CircuitOpen",
    "ConfigurationError",
    "Conflict",
    "DatabaseError",
    "DeadlineExceeded",
    "DocumentLoadError",
    "DocumentNotFound",
    "ErrorHandler",
    "ErrorResponseFactory",
    "Failure",
    "Fault",
    "Infeasible",
    "InitializationError",
    "InternalError",
    "InvalidArgument",
    "InvalidParameter",
    "Middleware",
    "MultipleErrors",
    "NextStep",
    "NotFound",
    "NotImplementedTool",
    "Overloaded",
    "PermissionDenied",
    "PreconditionFailed",
    "Public",
    "QuotaExhausted",
    "RateLimited",
    "RecoveryManager",
    "RecoveryResult",
    "Reference",
    "ReportedFailure",
    "ResultTooLarge",
    "Retry",
    "Runtime",
    "SearchError",
    "Settings",
    "StorageError",
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
