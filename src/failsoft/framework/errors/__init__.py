"""The error hierarchy, three levels: `ToolError`, the categories, the concrete errors."""

from failsoft.framework.errors.base import (
    Actor,
    CatalogueError,
    Effect,
    NextStep,
    Public,
    RetryWhen,
    ToolError,
    Words,
)
from failsoft.framework.errors.categories import *  # noqa: F403 - the list is kept in one place, categories.__all__
from failsoft.framework.errors.categories import __all__ as _categories
from failsoft.framework.errors.core import *  # noqa: F403 - the list is kept in one place, core.__all__
from failsoft.framework.errors.core import __all__ as _core
from failsoft.framework.errors.governance import *  # noqa: F403 - the list is kept in one place, governance.__all__
from failsoft.framework.errors.governance import __all__ as _governance
from failsoft.framework.errors.idempotency import *  # noqa: F403 - the list is kept in one place, idempotency.__all__
from failsoft.framework.errors.idempotency import __all__ as _idempotency
from failsoft.framework.errors.state import *  # noqa: F403 - the list is kept in one place, state.__all__
from failsoft.framework.errors.state import __all__ as _state

__all__ = [
    "Actor",
    "CatalogueError",
    "Effect",
    "NextStep",
    "Public",
    "RetryWhen",
    "ToolError",
    "Words",
    *_categories,
    *_core,
    *_governance,
    *_idempotency,
    *_state,
]
