"""The events of calls and of recovery, and the bus that publishes them."""

from failsoft.framework.events import *  # noqa: F403 - the list is kept in one place, framework.events.__all__
from failsoft.framework.events import __all__  # noqa: F401 - the list of this module too
