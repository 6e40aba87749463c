"""Where states are kept: in memory (`failsoft.framework.state_port.LocalState`), or shared by replicas."""

from failsoft.recovery.state.opened import open_state
from failsoft.recovery.state.resilient import ResilientState, SharedState, StoreLost

__all__ = ["ResilientState", "SharedState", "StoreLost", "open_state"]
