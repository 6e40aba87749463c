"""Makes the engine of `FAILSOFT_FLEET_URL`."""

from __future__ import annotations

import hashlib
import importlib.util
from typing import TYPE_CHECKING

from failsoft.framework.call.bound import Toolbox
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.plugins import missing_extra
from failsoft.framework.setting_types import fleet_of
from failsoft.jobs.engine import JobBook

if TYPE_CHECKING:
    from failsoft.jobs.fleet.temporal import TemporalEngine

SETTING = "FAILSOFT_FLEET_URL"


def check_fleet(book: JobBook) -> None:
    """Check what can be checked of a fleet before its engine is reached.

    Raises:
        CONFIG_ERROR: The extra is not installed, or the records are in the memory of this process.
    """
    if book.is_local:
        raise ConfigurationError(
            issue=f"{SETTING} needs a state store that servers and workers share",
            resolution="set FAILSOFT_STATE_URL, to redis://... for workers on other machines",
        )
    if importlib.util.find_spec("temporalio") is None:
        raise missing_extra(extra="temporal", what=SETTING, package="temporalio")


def fleet_engine(url: str, book: JobBook, toolbox: Toolbox) -> TemporalEngine:
    """Return the engine at an address; nothing is connected yet.

    Args:
        url: `temporal://HOST:PORT/NAMESPACE`.
        book: The records of the jobs of a server.
        toolbox: Its tools.
    """
    from failsoft.jobs.fleet.temporal import TemporalEngine  # noqa: PLC0415 - an extra, and 0.3 s

    server, namespace = fleet_of(url)
    scope = book.records.scope
    queue = f"failsoft-{scope.partition('/')[0]}-{hashlib.sha256(scope.encode()).hexdigest()[:8]}"
    return TemporalEngine(book, toolbox, server=server, namespace=namespace, queue=queue)
