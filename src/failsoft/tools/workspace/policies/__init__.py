"""Policies: rules on what may be written into a workspace. Third parties add theirs through an entry point."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.plugins import sorted_points
from failsoft.framework.text import bounded
from failsoft.tools.workspace.policies.generic import GenericPolicy
from failsoft.tools.workspace.policies.judging import Finding, Policy, judge
from failsoft.tools.workspace.policies.languages import LANGUAGES
from failsoft.tools.workspace.policies.parsing import LanguagePolicy

__all__ = ["Finding", "Policy", "judge", "load_policies", "rules_of"]

ENTRY_POINT_GROUP = "failsoft.policies"
_VARIABLE = "FAILSOFT_WORKSPACE_POLICIES"
_BUILT_IN: dict[str, Callable[[], Policy]] = {
    "generic": GenericPolicy,
    **{name: partial(LanguagePolicy, name, language) for name, language in LANGUAGES.items()},
}


def load_policies(names: Sequence[str]) -> tuple[Policy, ...]:
    """Return the policies of these names, each once, in that order.

    Raises:
        CONFIG_ERROR: There is no such policy, or it cannot be loaded.
    """
    installed: dict[str, EntryPoint] | None = None
    policies: list[Policy] = []
    for name in dict.fromkeys(names):
        if name in _BUILT_IN:
            policies.append(_BUILT_IN[name]())
            continue
        if installed is None:
            installed = {point.name: point for point in reversed(sorted_points(ENTRY_POINT_GROUP))}
        if name not in installed:
            raise _unknown(name, [*_BUILT_IN, *sorted(installed)])
        policies.append(_loaded(name, installed[name]))
    return tuple(policies)


def rules_of(policies: Sequence[Policy]) -> frozenset[str] | None:
    """Return the ids of all rules of some policies; None if one of them does not list its rules."""
    if not all(hasattr(policy, "rules") for policy in policies):
        return None
    return frozenset(rule for policy in policies for rule in policy.rules)  # type: ignore[attr-defined]  # checked above


def _loaded(name: str, point: EntryPoint) -> Policy:
    """Return the policy of an entry point, which names one, or a callable that makes one."""
    try:
        found: Any = point.load()
        if inspect.isclass(found) or not isinstance(found, Policy):
            found = found()
    except Exception as error:
        issue = f"the policy '{bounded(name)}' of {_VARIABLE} cannot be loaded ({type(error).__name__})"
        raise ConfigurationError(issue=issue, resolution="correct it, or leave it out of the setting") from error
    if not isinstance(found, Policy):
        issue = f"the policy '{bounded(name)}' of {_VARIABLE} lacks a name or findings(path, text)"
        raise ConfigurationError(issue=issue, resolution="correct it, or leave it out of the setting")
    return found


def _unknown(name: str, known: Sequence[str]) -> ConfigurationError:
    closest = closest_name(name, known)
    meant = f"; did you mean '{closest}'?" if closest else ""
    return ConfigurationError(
        issue=f"{_VARIABLE} names '{bounded(name)}', which is not a policy{meant}",
        resolution=f"use {', '.join(known)}",
    )
