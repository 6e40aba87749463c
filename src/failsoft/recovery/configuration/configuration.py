"""`RecoveryConfiguration`: an operator's recovery options by tool, operation and dependency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.chain import Chain, RecoveryEngine, strategy_name
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.recovery.combinations import check_shared
from failsoft.recovery.configuration.configurable import CONFIGURABLE
from failsoft.recovery.configuration.source import ConfigurationSource
from failsoft.recovery.manager import RecoveryManager


@dataclass(frozen=True, slots=True)
class Section:
    """The options for one tool, operation or dependency.

    Args:
        strategies: The options by strategy name; None disables the strategy.
        timeout_s: The time limit of the whole call, in seconds.
        dependency: The dependency that the operation, or the whole toolset, uses.
    """

    strategies: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    timeout_s: float | None = None
    dependency: str | None = None


_NOTHING = Section()


@dataclass(frozen=True, slots=True)
class RecoveryConfiguration:
    """Implements `RecoveryConfigurationPort`; a more specific section takes precedence over a general one.

    Read one with `failsoft.recovery.configuration.toml_file.read_configuration`.

    Args:
        source: Where the configuration comes from, for messages.
        defaults: For operations that use the runtime's strategies.
        tools: By toolset.
        operations: By toolset and operation.
        dependencies: By the dependency name used in strategies.
    """

    source: ConfigurationSource
    defaults: Section = _NOTHING
    tools: Mapping[str, Section] = field(default_factory=dict)
    operations: Mapping[tuple[str, str], Section] = field(default_factory=dict)
    dependencies: Mapping[str, Section] = field(default_factory=dict)

    def timeout_s(self, tool: str, operation: str) -> float | None:
        """See `RecoveryConfigurationPort`."""
        particular = self.operations.get((tool, operation), _NOTHING).timeout_s
        return particular if particular is not None else self.tools.get(tool, _NOTHING).timeout_s

    def default_timeout_s(self) -> float | None:
        """See `RecoveryConfigurationPort`."""
        return self.defaults.timeout_s

    def engine(
        self, engine: RecoveryEngine | None, tool: str, operation: str, *, is_default: bool
    ) -> RecoveryEngine | None:
        """See `RecoveryConfigurationPort`."""
        sections = [self.defaults] if is_default else []
        sections += [self.tools.get(tool, _NOTHING), self.operations.get((tool, operation), _NOTHING)]
        if engine is None or not (self.dependencies or any(item.strategies or item.dependency for item in sections)):
            return engine
        if not isinstance(engine, RecoveryManager):
            raise self._refused(tool, operation, "its recovery engine is not a RecoveryManager")
        wanted: dict[str, dict[str, Any] | None] = {}
        for section in sections:
            for name, options in section.strategies.items():
                wanted[name] = None if options is None else {**(wanted.get(name) or {}), **options}
        try:
            return _Reconfiguration(self, wanted, sections[-1].dependency or sections[-2].dependency).applied(engine)
        except ValueError as error:
            raise self._refused(tool, operation, str(error)) from error

    def explain(self, error: ConfigurationError, tool: str, operation: str) -> ConfigurationError:
        """See `RecoveryConfigurationPort`."""
        is_meant = tool in self.tools or (tool, operation) in self.operations or self.defaults != _NOTHING
        if not is_meant:
            return ConfigurationError(issue=error.issue, resolution=error.resolution)
        return ConfigurationError(issue=f"{error.issue} ({self._place(tool, operation)})", resolution=error.resolution)

    def check_operations(self, tool: str, operations: Iterable[str]) -> None:
        """See `RecoveryConfigurationPort`."""
        known = tuple(operations)
        for place_tool, operation in self.operations:
            if place_tool == tool and operation not in known:
                path = ("tools", tool, "operations", operation)
                raise self.source.refused(path, f"'{tool}' has no operation '{operation}'{_meant(operation, known)}")

    def check_tools(self, tools: Iterable[str]) -> None:
        """See `RecoveryConfigurationPort`."""
        known = tuple(tools)
        for tool in (*self.tools, *(tool for tool, _ in self.operations)):
            if tool not in known:
                raise self.source.refused(("tools", tool), f"there is no toolset '{tool}'{_meant(tool, known)}")

    def check_dependencies(self, used: Iterable[str]) -> None:
        """See `RecoveryConfigurationPort`."""
        sections = (*self.tools.values(), *self.operations.values())
        known = dict.fromkeys((*used, *(section.dependency for section in sections if section.dependency is not None)))
        for name in self.dependencies:
            if name not in known:
                path = ("dependencies", name)
                raise self.source.refused(path, f"no operation uses the dependency '{name}'{_meant(name, known)}")

    def check_shared(self, chains: Mapping[BoundOperation, Chain]) -> None:
        """See `RecoveryConfigurationPort`."""
        check_shared(chains)

    def _refused(self, tool: str, operation: str, why: str) -> ConfigurationError:
        return ConfigurationError(
            issue=f"the recovery of '{operation}' cannot be configured: {why} ({self._place(tool, operation)})",
            resolution="correct the recovery configuration",
        )

    def _place(self, tool: str, operation: str) -> str:
        if (tool, operation) in self.operations:
            return self.source.place(("tools", tool, "operations", operation))
        return self.source.place(("tools", tool) if tool in self.tools else ("defaults",))


@dataclass(frozen=True, slots=True)
class _Reconfiguration:
    """Applies a configuration to the strategies of one operation."""

    configuration: RecoveryConfiguration
    wanted: Mapping[str, Mapping[str, Any] | None]
    dependency: str | None

    def applied(self, engine: RecoveryManager) -> RecoveryManager:
        """Return the reconfigured manager.

        Raises:
            ValueError: The options are invalid; the message says why.
        """
        present = {(strategy_name(item), _dependency(item)) for item in engine.strategies}
        names = {name for name, _ in present}
        added = []
        for name, options in self.wanted.items():
            if options is not None and name not in names:
                added.append(self._made(name, self._with_dependency(name, options)))
        if self.dependency is not None:
            shared = self.configuration.dependencies.get(self.dependency, _NOTHING).strategies
            for name, options in shared.items():
                is_there = (name, self.dependency) in present or name in self.wanted
                if options is not None and not is_there:
                    added.append(self._made(name, {**options, "dependency": self.dependency}))
        return engine.reconfigured(self._changed, added)

    def _changed(self, strategy: Any) -> Any | None:
        name = strategy_name(strategy)
        known = CONFIGURABLE.get(name)
        if known is None or not isinstance(strategy, known.strategy):
            return strategy
        if name in self.wanted and self.wanted[name] is None:
            return None
        own = self.wanted.get(name) or {}
        shared = self._shared(name, own.get("dependency") or _dependency(strategy))
        return known.changed(strategy, {**shared, **own})

    def _made(self, name: str, options: Mapping[str, Any]) -> Any:
        known = CONFIGURABLE[name]
        missing = known.missing(options)
        if not known.is_made or missing:
            needs = f"'{name}' needs {', '.join(missing)}" if missing else f"a '{name}' can only be added in code"
            raise ValueError(needs)
        return known.make(options)

    def _with_dependency(self, name: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options of an added strategy, merged over those of its dependency."""
        dependency = options.get("dependency") or (self.dependency if CONFIGURABLE[name].has_dependency else None)
        if dependency is None:
            return options
        return {**self._shared(name, dependency), "dependency": dependency, **options}

    def _shared(self, name: str, dependency: str | None) -> Mapping[str, Any]:
        section = self.configuration.dependencies.get(dependency or "", _NOTHING)
        return section.strategies.get(name) or {}


def _dependency(strategy: Any) -> str | None:
    dependency: str | None = getattr(getattr(strategy, "options", strategy), "dependency", None)
    return dependency


def _meant(name: str, known: Iterable[str]) -> str:
    closest = closest_name(name, tuple(known))
    return f"; did you mean '{closest}'?" if closest else ""
