"""Any exception becomes a `ToolError`, by one table of rules."""

from failsoft.framework.normalize.rules import normalize as normalize
from failsoft.framework.plugins import load_rules as load_rules
