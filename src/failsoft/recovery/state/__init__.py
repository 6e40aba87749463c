"""State stores: in memory (`LocalState`), in SQLite, or on Redis."""

from failsoft.framework.records import StoreLost
from failsoft.recovery.state.open_state import open_state
from failsoft.recovery.state.resilient import ResilientState, SharedState

__all__ = ["ResilientState", "SharedState", "StoreLost", "open_state"]
