"""The error hierarchy, three levels: `ToolError`, the categories, the concrete errors."""

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

__all__ = ["Actor", "CatalogueError", "Effect", "NextStep", "Public", "RetryWhen", "ToolError", *_categories, *_core]
