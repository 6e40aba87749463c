"""Packages that may be there: plug-ins by entry points, scanned and loaded once; extras, and the error without one."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from failsoft.framework.errors import ConfigurationError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def installed_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, in the order in which the packages are found.

    `importlib.metadata` reads the metadata of every package each time, which takes 10 ms with 200 packages.
    """
    return tuple(_scan(tuple(sys.path)).select(group=group))


def sorted_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group by name, in an order that does not depend on the installation."""
    return sorted(installed_points(group), key=lambda point: (point.name, point.value))


@functools.lru_cache(maxsize=1)
def _scan(_path: tuple[str, ...]) -> Any:
    from importlib.metadata import entry_points  # noqa: PLC0415 - 10 ms that `import failsoft` does without

    return entry_points()


def missing_extra(*, extra: str, what: str, package: str, otherwise: str = "") -> ConfigurationError:
    """Return the error for an extra that is not installed, with the command that installs it.

    Args:
        extra: The extra of failsoft.
        what: What needs it: a setting, an option, or a toolset by `the toolset 'flux'`.
        package: The package of it that is missing.
        otherwise: What can be done instead.
    """
    return ConfigurationError(
        issue=f"{what} needs {package}, which is not installed",
        resolution=f"pip install 'failsoft[{extra}]'" + (f", or {otherwise}" if otherwise else ""),
        details={"extra": extra},
    )


class Plugins:
    """The functions of a group of entry points, loaded once; a broken one is skipped, and the log says so once.

    Args:
        group: The group of entry points.
        kind: What one is called in the log (`normalizer`); also the name under which its own name is bound.
    """

    def __init__(self, group: str, kind: str) -> None:
        self._group = group
        self._kind = kind
        self._loading = threading.Lock()
        self._loaded: tuple[tuple[str, Callable[..., Any]], ...] | None = None
        self._reported: set[str] = set()

    def load(self) -> tuple[tuple[str, Callable[..., Any]], ...]:
        """Return the functions with their names, in that order; a server may call this before it needs them."""
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = tuple(self._usable())
        return self._loaded

    def report(self, name: str, what: str, broken: BaseException | None = None) -> None:
        """Log what is wrong with one of them (`raised and was skipped`), once for each."""
        if name in self._reported:
            return
        self._reported.add(name)
        from failsoft.framework.safe.author_reports import logger  # noqa: PLC0415 - when there is something to say

        about = logger.bind(**{self._kind: name}).opt(exception=broken)
        about.warning("A third-party {} {}", self._kind, what)

    def _usable(self) -> list[tuple[str, Callable[..., Any]]]:
        found = []
        for point in sorted_points(self._group):
            try:
                function = point.load()
            except BaseException as broken:  # noqa: BLE001 - a broken package must not cost the answer
                self.report(point.name, "could not be loaded", broken)
                continue
            if callable(function):
                found.append((point.name, function))
        return found
