"""An operator's recovery options: read from TOML, checked against the strategies, and laid over those of the code."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from typing_extensions import TypedDict

import failsoft.recovery
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.chain import RecoveryEngine, strategy_name
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.errors.violations import Violation
from failsoft.framework.files import read_regular
from failsoft.framework.text import bounded
from failsoft.recovery.manager import RecoveryManager

if TYPE_CHECKING:
    from failsoft.framework.call.toolset import BaseTool

_FILE_AT_MOST = 1_000_000
_VARIABLE = "FAILSOFT_RECOVERY"
_LIMIT = {"timeout_s": Annotated[float, Field(gt=0, allow_inf_nan=False)]}
_BESIDES = {**_LIMIT, "dependency": Annotated[str, Field(min_length=1)]}


def read_table(path: Path, kind: Any) -> Any:
    """Return the content of a TOML file as a value of a type.

    Args:
        path: A regular file of at most 1,000,000 bytes.
        kind: What pydantic makes of the file, such as a model; it is validated strictly.

    Raises:
        CONFIG_ERROR: The file cannot be read, is no TOML, or does not fit; lists all faults by their keys.
    """
    return _validated(_tree(path, path.name), TypeAdapter(kind), path.name)


def read_configuration(path: Path | None, text: str = "") -> RecoveryConfiguration | None:
    """Return the configuration from a file and a text, which takes precedence; None if both are missing.

    Args:
        path: A TOML file.
        text: TOML, as in FAILSOFT_RECOVERY.

    Raises:
        CONFIG_ERROR: As with `read_table`.
    """
    if path is None and not text:
        return None
    file = "" if path is None else f"{path.name} ({_VARIABLE}_FILE)"
    tree = _merged({} if path is None else _tree(path, file), _parsed(_VARIABLE, text))
    source = " and ".join(name for name in (_VARIABLE if text else "", file) if name)
    return RecoveryConfiguration(source, _validated(tree, _file_type(), source))


def _tree(path: Path, name: str) -> dict[str, Any]:
    try:
        content = read_regular(path, _FILE_AT_MOST + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            issue=f"{name} cannot be read ({type(error).__name__})", resolution="correct the path"
        ) from error
    if len(content) > _FILE_AT_MOST:
        raise ConfigurationError(issue=f"{name} has more than {_FILE_AT_MOST} bytes")
    return _parsed(name, text)


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of numbers with thousands of digits
        raise ConfigurationError(issue=f"{name} is not valid TOML ({bounded(str(error))})") from error


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return both trees merged; values of `above` take precedence."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = _merged(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


def _validated(tree: Mapping[str, Any], kind: TypeAdapter[Any], source: str) -> Any:
    try:
        return kind.validate_python(tree, strict=True)
    except ValidationError as error:
        issue = "it is nested too deeply"
        with suppress(RecursionError):  # of a key of thousands of parts
            issue = "; ".join(map(_fault, violations_from_pydantic(error, kind.json_schema(), tree)))
        raise ConfigurationError(issue=f"{source}: {issue}", resolution="correct the configuration there") from None


def _fault(violation: Violation) -> str:
    """Return one problem as a clause that begins with its keys."""
    if violation.reason != "unexpected":
        return f"{violation.path}: {violation.message.replace('expected object', 'expected a table')}"
    if violation.suggestion:
        return f"{violation.path}: no such key; did you mean '{violation.suggestion}'?"
    return f"{violation.path}: no such key; there are {', '.join(map(str, violation.allowed))}"


def _all_strategies() -> dict[str, type[Any]]:
    names: list[str] = failsoft.recovery.__all__  # type: ignore[attr-defined]  # the stub has the names alone
    known: list[Any] = [getattr(failsoft.recovery, name) for name in names]
    return {item.name: item for item in known if isinstance(getattr(item, "name", None), str)}


STRATEGIES = _all_strategies()
"""The strategies that a file can name, by their names in receipts, metrics and `describe()`."""


def fields_of(strategy: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """Return the options of a strategy that a file can set, by name."""
    return {field.name: field for field in dataclasses.fields(strategy) if "in_code" not in field.metadata}


@cache
def _file_type() -> TypeAdapter[Any]:
    strategies = {name: _strategy_type(known, can_disable=True) for name, known in STRATEGIES.items()}
    sharing = {name: known for name, known in STRATEGIES.items() if "dependency" in fields_of(known)}
    shared = {name: _strategy_type(known, can_disable=False) for name, known in sharing.items()}
    operation = _table_type(strategies | _BESIDES)
    tool = _table_type(strategies | _BESIDES | {"operations": GenericAlias(dict, (str, operation))})
    sections = {
        "defaults": _table_type(strategies | _LIMIT),
        "tools": GenericAlias(dict, (str, tool)),
        "dependencies": GenericAlias(dict, (str, _table_type(shared))),
    }
    return TypeAdapter(_table_type(sections))


def _strategy_type(strategy: type[Any], *, can_disable: bool) -> Any:
    """Return the type of one strategy in a section: a table of its options, true for no options, or false for None."""
    hints = get_type_hints(strategy)

    def read(value: Any, validate: ValidatorFunctionWrapHandler) -> dict[str, Any] | None:
        if value is False:
            if can_disable:
                return None
            msg = "switch it off where it is used, for a tool or an operation"
            raise ValueError(msg)
        options: dict[str, Any] = validate({} if value is True else value)
        if not _why_not_added(strategy, options):
            try:
                strategy(**options)  # raises ValueError if they do not go together
            except TypeError as refused:
                raise ValueError(str(refused)) from None
        return options

    return Annotated[_table_type({name: hints[name] for name in fields_of(strategy)}), WrapValidator(read)]


def _table_type(keys: dict[str, Any]) -> Any:
    """Return the type of a table with these keys, each of which may be missing."""
    table = TypedDict("Table", keys, total=False)  # type: ignore[misc]  # made at run time
    table.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[attr-defined]  # pydantic reads it from the class
    return table


def _why_not_added(strategy: type[Any], options: Mapping[str, Any]) -> str:
    """Return why a file cannot add a strategy with these options; "" if it can."""
    if getattr(strategy, "added_in", "file") == "code":
        return f"a '{strategy.name}' can only be added in code"
    needed = [name for name, field in fields_of(strategy).items() if field.default is dataclasses.MISSING]
    missing = ", ".join(name for name in needed if name not in options)
    return f"'{strategy.name}' needs {missing}" if missing else ""


@dataclasses.dataclass(frozen=True, slots=True)
class RecoveryConfiguration:
    """Implements `RecoveryConfigurationPort`; a more specific section takes precedence over a general one.

    Args:
        source: Where it comes from, for messages.
        tree: Its tables, validated. Of a strategy, a table with its options, or None to remove it.
    """

    source: str
    tree: Mapping[str, Any]

    def applied(
        self, bound: BoundOperation, engine: RecoveryEngine | None
    ) -> tuple[RecoveryEngine | None, float | None]:
        """See `RecoveryConfigurationPort`."""
        own = bound.declaration
        defaults = self._section("defaults")
        tool = self._section("tools", bound.tool_name)
        operation = self._section("tools", bound.tool_name, "operations", bound.name)
        timeouts = (
            *(operation.get("timeout_s"), tool.get("timeout_s"), own.timeout),
            *((None if bound.job else defaults.get("timeout_s")), bound.default_timeout_s),
        )
        timeout_s = next((limit for limit in timeouts if limit), None)
        sections = [tool, operation]
        if own.recovery is None and bound.tool.recovery is None:
            sections.insert(0, defaults)
        if engine is None or not (self._section("dependencies") or any(sections)):
            return engine, timeout_s
        place = self._place(bound)
        try:
            if not isinstance(engine, RecoveryManager):
                return _foreign(engine, sections), timeout_s
            return _Overlay(self._section("dependencies"), sections).applied(engine, place), timeout_s
        except ValueError as fault:
            raise ConfigurationError(
                issue=f"the recovery of '{bound.name}' cannot be configured ({place}): {fault}",
                resolution="correct the recovery configuration",
            ) from fault

    def check(self, tools: Sequence[BaseTool], *, are_all: bool) -> None:
        """See `RecoveryConfigurationPort`."""
        sections = self._section("tools")
        served = {tool.name: tool.operations for tool in tools}
        for name, section in sections.items():
            if name in served:
                self._check_names(("tools", name, "operations"), section.get("operations", ()), served[name])
        if not are_all:
            return
        self._check_names(("tools",), sections, served)
        below = [operation for section in sections.values() for operation in section.get("operations", {}).values()]
        known = [item["dependency"] for item in (*sections.values(), *below) if "dependency" in item]
        bounds = [bound for tool in tools for bound in tool.operations.values()]
        used = [dependency for bound in bounds for _, dependency in bound.chain.recovery.shared]
        self._check_names(("dependencies",), self._section("dependencies"), (*used, *known))

    def _check_names(self, path: tuple[str, ...], given: Iterable[str], known: Iterable[str]) -> None:
        for name in given:
            if name not in known:
                closest = closest_name(name, tuple(known))
                meant = f"; did you mean '{closest}'?" if closest else ""
                fault = {"tools": "there is no toolset", "operations": "there is no operation"}.get(
                    path[-1], "no operation uses the dependency"
                )
                raise ConfigurationError(
                    issue=f"{self.source}: {'.'.join((*path, name))}: {fault} '{name}'{meant}",
                    resolution="correct the recovery configuration there",
                )

    def _section(self, *path: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.tree
        for key in path:
            found = found.get(key, {})
        return found

    def _place(self, bound: BoundOperation) -> str:
        """Return where the options of an operation come from, the most specific section; "" if it has none."""
        paths = (("tools", bound.tool_name, "operations", bound.name), ("tools", bound.tool_name), ("defaults",))
        found = next((path for path in paths if self._section(*path)), ())
        return f"{self.source}: {'.'.join(found)}" if found else ""


def _foreign(engine: RecoveryEngine, sections: Iterable[Mapping[str, Any]]) -> RecoveryEngine:
    """Return an engine that is not ours, for which a file can set a time limit and nothing else."""
    if any(section.keys() - {"timeout_s", "operations"} for section in sections):
        msg = "its recovery engine is not a RecoveryManager"
        raise ValueError(msg)
    return engine


class _Overlay:
    """The options for one operation.

    Args:
        dependencies: The sections of the dependencies.
        sections: Those that apply to the operation, the most general first.
    """

    def __init__(self, dependencies: Mapping[str, Any], sections: Iterable[Mapping[str, Any]]) -> None:
        self._dependencies = dependencies
        self._dependency: str | None = None
        self._wanted: dict[str, dict[str, Any] | None] = {}
        for section in sections:
            self._dependency = section.get("dependency", self._dependency)
            for name, options in section.items():
                if name in STRATEGIES:
                    self._wanted[name] = None if options is None else {**(self._wanted.get(name) or {}), **options}

    def applied(self, engine: RecoveryManager, place: str) -> RecoveryManager:
        """Return the reconfigured manager.

        Raises:
            ValueError: The options are invalid; the message says why.
        """
        present = {(strategy_name(item), _dependency_of(item)) for item in engine.strategies}
        names = {name for name, _ in present}
        added = []
        for name, options in self._wanted.items():
            if options is not None and name not in names:
                is_sharing = self._dependency is not None and "dependency" in fields_of(STRATEGIES[name])
                own = {"dependency": self._dependency, **options} if is_sharing else options
                added.append(_made(name, {**self._shared(name, own.get("dependency")), **own}))
        for name, options in self._dependencies.get(self._dependency or "", {}).items():
            if (name, self._dependency) not in present and name not in self._wanted:
                added.append(_made(name, {**options, "dependency": self._dependency}))
        return engine.reconfigured(self._changed, added, place)

    def _changed(self, strategy: Any) -> Any | None:
        """Return a strategy of the code with the options of the file; None to remove it."""
        name = strategy_name(strategy)
        known: Any = STRATEGIES.get(name)
        if known is None or not isinstance(strategy, known):
            return strategy
        own = self._wanted.get(name, {})
        if own is None:
            return None
        options = {**self._shared(name, own.get("dependency") or _dependency_of(strategy)), **own}
        return dataclasses.replace(strategy, **options) if options else strategy

    def _shared(self, name: str, dependency: str | None) -> Mapping[str, Any]:
        return self._dependencies.get(dependency or "", {}).get(name) or {}


def _made(name: str, options: Mapping[str, Any]) -> Any:
    why_not = _why_not_added(STRATEGIES[name], options)
    if why_not:
        raise ValueError(why_not)
    return STRATEGIES[name](**options)


def _dependency_of(strategy: Any) -> str | None:
    dependency: str | None = getattr(strategy, "dependency", None)
    return dependency
