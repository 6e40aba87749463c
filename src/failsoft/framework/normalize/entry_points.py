"""Third-party rules: entry points `failsoft.normalizers`, each `from_exception(exc) -> ToolError | None`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from failsoft.framework.errors import ToolError
from failsoft.framework.installed import installed_points

__all__ = ["GROUP", "by_entry_points", "load_rules"]

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
    from failsoft.framework.diagnostics.telling import logger  # noqa: PLC0415 - loaded when there is something to say

    logger.bind(normalizer=name).opt(exception=broken).warning(what)
