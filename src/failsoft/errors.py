"""All errors of the framework: `ToolError`, the categories, the concrete errors."""

from failsoft.framework.errors import *  # noqa: F403 - the list is kept in one place, framework.errors.__all__
from failsoft.framework.errors import __all__  # noqa: F401 - the list of this module too
