"""Reads a `RecoveryConfiguration` from TOML and reports every problem with its location."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.services.regular_files import read_regular
from failsoft.recovery.configuration.configurable import CONFIGURABLE
from failsoft.recovery.configuration.configuration import RecoveryConfiguration, Section
from failsoft.recovery.configuration.source import ConfigurationSource

__all__ = ["read_configuration"]

_FILE_AT_MOST = 1_000_000
_VARIABLE = "FAILSOFT_RECOVERY"


def read_configuration(path: Path | None, text: str = "") -> RecoveryConfiguration | None:
    """Return the configuration from a file and a text, which takes precedence; None if both are missing.

    Args:
        path: A TOML file.
        text: TOML, as in FAILSOFT_RECOVERY.

    Raises:
        CONFIG_ERROR: The file cannot be read or is invalid; lists all problems with their locations.
    """
    if path is None and not text:
        return None
    given = [(_VARIABLE, text)] if text else []
    if path is not None:
        given.append((path.name, _contents(path)))
    tree: dict[str, Any] = {}
    for name, one in reversed(given):
        tree = _merged(tree, _parsed(name, one))
    reader = _Reader(ConfigurationSource(tuple(given)))
    configuration = reader.configuration(tree)
    if reader.faults:
        raise ConfigurationError(issue="; ".join(reader.faults), resolution="correct the recovery configuration there")
    return configuration


def _contents(path: Path) -> str:
    try:
        content = read_regular(path, _FILE_AT_MOST + 1)
        if len(content) > _FILE_AT_MOST:
            raise ConfigurationError(issue=f"{path.name} has more than {_FILE_AT_MOST} bytes")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            issue=f"FAILSOFT_RECOVERY_FILE cannot be read: {type(error).__name__}", resolution="correct the path"
        ) from error


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(issue=f"{name} is no TOML: {error}") from error


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return both trees merged; values of `above` take precedence."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = _merged(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


class _Reader:
    """Reads a parsed TOML tree and collects its problems."""

    def __init__(self, source: ConfigurationSource) -> None:
        self._source = source
        self.faults: list[str] = []

    def configuration(self, tree: Mapping[str, Any]) -> RecoveryConfiguration:
        for name in tree.keys() - {"defaults", "tools", "dependencies"}:
            self._fault((name,), "there is no such section; there are defaults, tools and dependencies")
        tools, operations = {}, {}
        for tool, about in self._tables(tree.get("tools", {}), ("tools",)).items():
            path = ("tools", tool)
            tools[tool] = self._section(about, path, besides=("timeout_s", "dependency", "operations"))
            for operation, section in self._tables(about.get("operations", {}), (*path, "operations")).items():
                place = (*path, "operations", operation)
                operations[tool, operation] = self._section(section, place, besides=("timeout_s", "dependency"))
        dependencies = self._tables(tree.get("dependencies", {}), ("dependencies",))
        return RecoveryConfiguration(
            self._source,
            self._section(tree.get("defaults", {}), ("defaults",), besides=("timeout_s",)),
            tools,
            operations,
            {name: self._dependency(about, name) for name, about in dependencies.items()},
        )

    def _dependency(self, about: Mapping[str, Any], name: str) -> Section:
        path = ("dependencies", name)
        shared = {key: value for key, value in about.items() if key not in CONFIGURABLE or _is_shared(key)}
        for key in about.keys() - shared.keys():
            self._fault(
                (*path, key), "this strategy does not belong to a dependency; set it for a tool or an operation"
            )
        section = self._section(shared, path, besides=())
        for key, value in shared.items():
            if value is False:
                self._fault((*path, key), "switch it off where it is used, for a tool or an operation")
        return section

    def _section(self, about: Any, path: tuple[str, ...], *, besides: tuple[str, ...]) -> Section:
        if not isinstance(about, dict):
            self._fault(path, "this has to be a table")
            return Section()
        strategies: dict[str, Mapping[str, Any] | None] = {}
        for name, value in about.items():
            if name in CONFIGURABLE:
                strategies[name] = self._options(name, value, (*path, name))
            elif name not in besides:
                closest = closest_name(name, (*CONFIGURABLE, *besides))
                meant = f"; did you mean '{closest}'?" if closest else ""
                self._fault((*path, name), f"there is no such strategy{meant}")
        return Section(strategies, self._seconds(about, path), self._named(about, path))

    def _options(self, name: str, value: Any, path: tuple[str, ...]) -> Mapping[str, Any] | None:
        if value is True or value is False:
            return {} if value else None
        if not isinstance(value, dict):
            self._fault(path, "this has to be a table of options, true, or false")
            return {}
        for option, why in CONFIGURABLE[name].faults(value).items():
            self._fault((*path, option) if option else path, why)
        return value

    def _seconds(self, about: Mapping[str, Any], path: tuple[str, ...]) -> float | None:
        value = about.get("timeout_s")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
            self._fault((*path, "timeout_s"), "this has to be a number of seconds above 0")
            return None
        return float(value)

    def _named(self, about: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
        value = about.get("dependency")
        if value is not None and (not isinstance(value, str) or not value):
            self._fault((*path, "dependency"), "this has to be the name of a dependency")
            return None
        return value

    def _tables(self, value: Any, path: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
        if not isinstance(value, dict):
            self._fault(path, "this has to be a table")
            return {}
        tables: dict[str, Mapping[str, Any]] = {}
        for name, below in value.items():
            if isinstance(below, dict):
                tables[name] = below
            else:
                self._fault((*path, name), "this has to be a table")
        return tables

    def _fault(self, path: tuple[str, ...], why: str) -> None:
        self.faults.append(f"{self._source.place(path)}: {why}")


def _is_shared(name: str) -> bool:
    return CONFIGURABLE[name].has_dependency
