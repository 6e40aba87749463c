"""The events of calls and of recovery, and the bus that publishes them."""

from failsoft.framework.services.events import *  # noqa: F403 - the list is kept in one place, services.events.__all__
from failsoft.framework.services.events import __all__  # noqa: F401 - the list of this module too
