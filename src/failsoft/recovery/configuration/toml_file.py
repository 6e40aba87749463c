"""Reads a `RecoveryConfiguration` from TOML; pydantic validates it, and every problem is reported with its line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.files import read_regular
from failsoft.recovery.configuration.configurable import CONFIGURABLE, Configurable
from failsoft.recovery.configuration.configuration import RecoveryConfiguration, Section
from failsoft.recovery.configuration.source import ConfigurationSource

_FILE_AT_MOST = 1_000_000
_VARIABLE = "FAILSOFT_RECOVERY"
_SECTIONS = ("defaults", "tools", "dependencies")
_LIMIT = {"timeout_s": Annotated[float, Field(gt=0, allow_inf_nan=False)]}
_BESIDES = {**_LIMIT, "dependency": Annotated[str, Field(min_length=1)]}


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
    source = ConfigurationSource(tuple(given))
    try:
        _file_type().validate_python(tree)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise ConfigurationError(
            issue="; ".join(
                f"{source.place([str(key) for key in fault['loc']])}: {_described(fault)}" for fault in faults
            ),
            resolution="correct the recovery configuration there",
        ) from error
    tools = tree.get("tools", {})
    return RecoveryConfiguration(
        source,
        _section(tree.get("defaults", {})),
        {tool: _section(table) for tool, table in tools.items()},
        {
            (tool, operation): _section(below)
            for tool, table in tools.items()
            for operation, below in table.get("operations", {}).items()
        },
        {name: _section(table) for name, table in tree.get("dependencies", {}).items()},
    )


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
        raise ConfigurationError(issue=f"{name} is not valid TOML: {error}") from error


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return both trees merged; values of `above` take precedence."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = _merged(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


def _section(table: Mapping[str, Any]) -> Section:
    """Return the section of a valid table: true adds a strategy with its defaults, false disables it."""
    strategies = {
        name: value if isinstance(value, dict) else {} if value else None
        for name, value in table.items()
        if name in CONFIGURABLE
    }
    return Section(strategies, table.get("timeout_s"), table.get("dependency"))


@cache
def _file_type() -> TypeAdapter[Any]:
    """Return the type of the whole file."""
    strategies = {name: _strategy_type(known, can_disable=True) for name, known in CONFIGURABLE.items()}
    shared = {
        name: _strategy_type(known, can_disable=False) for name, known in CONFIGURABLE.items() if known.has_dependency
    }
    operation = _table_type(strategies | _BESIDES)
    tool = _table_type(strategies | _BESIDES | {"operations": _by_name(operation)})
    types = (_table_type(strategies | _LIMIT), _by_name(tool), _by_name(_table_type(shared)))
    return TypeAdapter(_table_type(dict(zip(_SECTIONS, types, strict=True))))


def _strategy_type(known: Configurable, *, can_disable: bool) -> Any:
    """Return the type of one strategy in a section: a table of its options, true, or false."""
    hints = get_type_hints(known.options) if known.options is not None else {}
    options = _table_type({name: hints[name] for name in known.fields})

    def switched(value: Any) -> Any:
        if value is False and not can_disable:
            msg = "switch it off where it is used, for a tool or an operation"
            raise ValueError(msg)
        return {} if isinstance(value, bool) else value

    return Annotated[options, AfterValidator(known.check), BeforeValidator(switched)]


def _table_type(keys: dict[str, Any]) -> Any:
    """Return the type of a table with these keys, each of which may be missing."""
    table = TypedDict("Table", keys, total=False)  # type: ignore[misc]  # made at run time
    table.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[attr-defined]  # pydantic reads it from the class
    return table


def _by_name(table: Any) -> Any:
    """Return the type of a table with such tables under any name."""
    return GenericAlias(dict, (str, table))


def _described(fault: Mapping[str, Any]) -> str:
    """Return one problem as a clause."""
    *above, name = fault["loc"]
    if fault["type"] == "extra_forbidden":
        return _unknown(name, above)
    if fault["type"] == "dict_type":
        return "this has to be a table" + (" of options, true, or false" if name in CONFIGURABLE else "")
    return str(fault.get("ctx", {}).get("error", fault["msg"]))


def _unknown(name: str, above: list[str]) -> str:
    depth = {"defaults": 1, "tools": 4 if above[2:3] == ["operations"] else 2, "dependencies": 2}
    if not above:
        return f"there is no such section; there are {', '.join(_SECTIONS)}"
    if len(above) > depth[above[0]]:
        kind, names = "option", tuple(CONFIGURABLE[above[-1]].fields)
    elif name in CONFIGURABLE:
        return "this strategy does not belong to a dependency; set it for a tool or an operation"
    else:
        besides = {"defaults": tuple(_LIMIT), "dependencies": ()}.get(above[0], tuple(_BESIDES))
        kind, names = "strategy", (*CONFIGURABLE, *besides)
    closest = closest_name(name, names)
    return f"there is no such {kind}" + (f"; did you mean '{closest}'?" if closest else "")
