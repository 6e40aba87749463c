"""The error hierarchy, three levels: `ToolError`, the categories, the concrete errors."""

from failsoft.framework.errors.audit import *  # noqa: F403 - the list is kept in one place, audit.__all__
from failsoft.framework.errors.audit import __all__ as _audit
from failsoft.framework.errors.base import (
    Actor,
    CatalogueError,
    Effect,
    NextStep,
    Public,
    RetryWhen,
    ToolError,
)
from failsoft.framework.errors.categories import *  # noqa: F403 - the list is kept in one place, categories.__all__
from failsoft.framework.errors.categories import __all__ as _categories
from failsoft.framework.errors.core import *  # noqa: F403 - the list is kept in one place, core.__all__
from failsoft.framework.errors.core import __all__ as _core
from failsoft.framework.errors.idempotency import *  # noqa: F403 - the list is kept in one place, idempotency.__all__
from failsoft.framework.errors.idempotency import __all__ as _idempotency
from failsoft.framework.errors.invariants import *  # noqa: F403 - the list is kept in one place, invariants.__all__
from failsoft.framework.errors.invariants import __all__ as _invariants
from failsoft.framework.errors.startup import *  # noqa: F403 - the list is kept in one place, startup.__all__
from failsoft.framework.errors.startup import __all__ as _startup

__all__ = [
    "Actor",
    "CatalogueError",
    "Effect",
    "NextStep",
    "Public",
    "RetryWhen",
    "ToolError",
    *_audit,
    *_categories,
    *_core,
    *_idempotency,
    *_invariants,
    *_startup,
]
