"""The error hierarchy, three levels: `ToolError`, the categories, the concrete errors."""

from failsoft.framework.errors.categories import *  # noqa: F403 - the list is kept in one place, categories.__all__
from failsoft.framework.errors.categories import __all__ as _categories
from failsoft.framework.errors.core import *  # noqa: F403 - the list is kept in one place, core.__all__
from failsoft.framework.errors.core import __all__ as _core
from failsoft.framework.errors.governance import *  # noqa: F403 - the list is kept in one place, governance.__all__
from failsoft.framework.errors.governance import __all__ as _governance
from failsoft.framework.errors.tool_error import CatalogueError, ToolError
from failsoft.framework.errors.vocabulary import Actor, Effect, NextStep, Public, RetryWhen, Words

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
]
