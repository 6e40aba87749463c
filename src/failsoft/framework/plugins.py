"""Entry points of installed packages, found with one scan per process."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from failsoft.framework.errors import ToolError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def installed_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, in the order in which the packages are found.

    `importlib.metadata` reads the metadata of every package each time, which takes 10 ms with 200 packages.
    """
    return tuple(_scan(tuple(sys.path)).select(group=group))


@functools.lru_cache(maxsize=1)
def _scan(_path: tuple[str, ...]) -> Any:
    from importlib.metadata import entry_points  # noqa: PLC0415 - 10 ms that `import failsoft` does without

    return entry_points()


GROUP = "failsoft.normalizers"
"""The entry-point group that third parties add their rules to."""


Rule: TypeAlias = Callable[[BaseException], Any]


_rules: tuple[tuple[str, Rule], ...] | None = None


_loading = threading.Lock()


_reported: set[str] = set()


def by_entry_points(exc: BaseException) -> ToolError | None:
    """Return what the first third-party rule that knows the exception makes of it.

    A rule that raises, or returns something else, is skipped; the log says so once per rule.
    """
    for name, rule in _known_rules():
        try:
            error = rule(exc)
        except BaseException as broken:  # noqa: BLE001 - a broken rule must not cost the answer
            _report(name, "A third-party normalizer raised and was skipped", broken)
            continue
        if isinstance(error, ToolError):
            return error
        if error is not None:
            _report(name, "A third-party normalizer returned no ToolError and was skipped", None)
    return None


def _known_rules() -> tuple[tuple[str, Rule], ...]:
    if _rules is not None:
        return _rules
    try:
        return load_rules()
    except BaseException:  # noqa: BLE001 - no file descriptor or memory left: that is the failure to tell about
        return ()


def load_rules() -> tuple[tuple[str, Rule], ...]:
    """Return the rules, loaded once, in the order of their names; a server may call this before its first failure."""
    global _rules  # noqa: PLW0603 - loaded once per process
    with _loading:
        if _rules is None:
            points = sorted(installed_points(GROUP), key=lambda point: (point.name, point.value))
            _rules = tuple((point.name, rule) for point in points if (rule := _loaded(point)) is not None)
    return _rules


def _loaded(point: Any) -> Rule | None:
    try:
        rule = point.load()
    except BaseException as broken:  # noqa: BLE001 - a broken package must not cost the answer
        _report(point.name, "A third-party normalizer could not be loaded", broken)
        return None
    return rule if callable(rule) else None


def _report(name: str, what: str, broken: BaseException | None) -> None:
    if name in _reported:
        return
    _reported.add(name)
    from failsoft.framework.safe.author_reports import logger  # noqa: PLC0415 - loaded when there is something to say

    logger.bind(normalizer=name).opt(exception=broken).warning(what)
