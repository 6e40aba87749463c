"""Any exception becomes a `ToolError`, by one table of rules."""

from failsoft.framework.normalize.entry_points import load_rules as load_rules
from failsoft.framework.normalize.rules import normalize as normalize
