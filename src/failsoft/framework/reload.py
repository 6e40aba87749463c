"""A new configuration for operations that are in use: linked beside the old one, then put in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from loguru import logger

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.recovery_port import RecoveryConfiguration

__all__ = ["Reloadable", "reload_recovery"]


class Reloadable(Protocol):
    """What has a configuration and operations that were linked by it; `Runtime` is the real one."""

    settings: Any
    configuration: RecoveryConfiguration | None

    @property
    def linked(self) -> Iterable[Any]:
        """The operations."""


def reload_recovery(runtime: Reloadable, read: Callable[[Any], RecoveryConfiguration | None]) -> bool:
    """Link the operations of a runtime by a configuration that is read anew; return whether that worked."""
    operations, before = list(runtime.linked), runtime.configuration
    try:
        runtime.configuration = new = read(runtime.settings)
        if new is not None:
            for bound in operations:
                new.check_operations(bound.tool.name, bound.tool.operations)
        chains = [bound.make_chain() for bound in operations]
    except ConfigurationError as error:
        runtime.configuration = before
        for bound in operations:
            bound.make_chain()  # what operations share by dependency goes by the old options again
        logger.error("The recovery configuration was not reloaded: {}", error.message)
        return False
    for bound, chain in zip(operations, chains, strict=True):
        bound.use(chain)
    logger.info("The recovery configuration was reloaded, for {} operations", len(operations))
    return True
