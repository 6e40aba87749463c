"""Replaces the chains of operations in use by those of a new configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from loguru import logger

from failsoft.framework.call.recovery_port import RecoveryConfigurationPort
from failsoft.framework.errors import ConfigurationError

__all__ = ["Reloadable", "reload_recovery"]


class Reloadable(Protocol):
    """A recovery configuration and the operations that use it; implemented by `Runtime`."""

    settings: Any
    configuration: RecoveryConfigurationPort | None

    def read_configuration(self) -> RecoveryConfigurationPort | None:
        """Return the current configuration."""

    @property
    def linked(self) -> Iterable[Any]:
        """The operations."""


def reload_recovery(runtime: Reloadable, read: RecoveryConfigurationPort | ConfigurationError | None) -> bool:
    """Rebuild the chains of a runtime's operations for a new configuration; return whether that succeeded."""
    operations, before = list(runtime.linked), runtime.configuration
    try:
        if isinstance(read, ConfigurationError):
            raise read
        if read is None:
            read = runtime.read_configuration()
        runtime.configuration = read
        if read is not None:
            for bound in operations:
                read.check_operations(bound.tool.name, bound.tool.operations)
        chains = [bound.make_chain() for bound in operations]
        if read is not None:
            read.check_shared(operations)
    except ConfigurationError as error:
        runtime.configuration = before
        for bound in operations:
            bound.make_chain()  # restores the options that operations share by dependency
        logger.error("The recovery configuration was not reloaded: {}", error.message)
        return False
    for bound, chain in zip(operations, chains, strict=True):
        bound.use(chain)
    logger.info("The recovery configuration was reloaded, for {} operations", len(operations))
    return True
