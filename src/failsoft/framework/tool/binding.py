"""Assembles the chain of an operation from the runtime and its configuration."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from failsoft.framework.call.chain import Chain, Link, assemble, connect
from failsoft.framework.call.recovery_port import RecoveryConfigurationPort, RecoveryEngine, strategy_name
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.pipeline.check import check
from failsoft.framework.pipeline.deadline import deadline, inherited_deadline
from failsoft.framework.pipeline.invoke import invoke
from failsoft.framework.pipeline.observe import observe
from failsoft.framework.pipeline.recover import recover
from failsoft.framework.pipeline.validate import validate, validate_with
from failsoft.framework.tool.bound_operation import BoundOperation
from failsoft.framework.tool.declaration import Declaration

if TYPE_CHECKING:
    from failsoft.framework.tool.base import BaseTool

__all__ = ["bind"]


def bind(declaration: Declaration, tool: BaseTool) -> BoundOperation:
    """Return the operation bound to this toolset and its runtime, schemas checked, chain linked.

    Raises:
        TypeError: MCP cannot represent the signature or a schema.
        CONFIG_ERROR: The runtime and the declaration are not compatible.
    """
    interface = declaration.interface(f"{type(tool).__name__}.{declaration.attribute}")
    bound: BoundOperation = BoundOperation(declaration, tool, interface, _chain_of)
    tool.runtime.linked.add(bound)
    return bound


def _chain_of(bound: BoundOperation) -> Chain:
    """Return the chain of an operation for the current configuration.

    Raises:
        CONFIG_ERROR: Its strategies are not compatible with each other or with the operation.
    """
    tool, configuration = bound.tool, bound.tool.runtime.configuration
    bound.timeout_s = _timeout_s(bound, configuration)
    checks = bound.checks
    joins_stages = bool(checks) and bound.wire.name == "error_response"
    stage_1 = validate_with(checks) if joins_stages else validate
    links = [Link("observe", observe, "observe"), Link("validate", stage_1, "validate")]
    if bound.timeout_s is not None and math.isfinite(bound.timeout_s):
        links.append(Link("deadline", deadline(bound.timeout_s), "deadline"))
    else:
        links.append(Link("inherited_deadline", inherited_deadline, "deadline"))
    strategies: tuple[str, ...] = ()
    engine = _engine(bound, configuration)
    if engine is not None:
        links.append(Link("recover", recover(engine), "recover"))
        try:
            links += engine.links(bound)
        except ConfigurationError as error:
            if configuration is None:
                raise
            raise configuration.explain(error, tool.name, bound.name) from error
        strategies = tuple(engine.describe())
    if checks:
        links.append(Link("check", check(checks), "check"))
    assembled = assemble(links, (*tool.runtime.middleware, *tool.middleware))
    return Chain(assembled, strategies, connect(assembled, invoke), bound.timeout_s, _options(engine, bound.timeout_s))


def _options(engine: RecoveryEngine | None, timeout_s: float | None) -> dict[str, Mapping[str, Any]]:
    """Return the options of the steps by name; the retry budget is listed with `recover`, which uses it."""
    found: dict[str, Mapping[str, Any]] = {"deadline": {"timeout_s": timeout_s}}
    for strategy in getattr(engine, "strategies", ()):
        if dataclasses.is_dataclass(options := getattr(strategy, "options", None)):
            values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
            found[strategy_name(strategy)] = {
                name: value for name, value in values.items() if isinstance(value, (int, float, str))
            }
    if budget := found.get("retry_budget"):
        found["recover"] = {f"budget_{name}": value for name, value in budget.items()}
    return found


def _timeout_s(bound: BoundOperation, configuration: RecoveryConfigurationPort | None) -> float | None:
    declared, general = bound.declaration.timeout, bound.settings.default_timeout_s
    if configuration is None:
        return declared or general or None
    default = configuration.default_timeout_s()
    return configuration.timeout_s(bound.tool.name, bound.name) or declared or default or general or None


def _engine(bound: BoundOperation, configuration: RecoveryConfigurationPort | None) -> RecoveryEngine | None:
    tool, own = bound.tool, bound.declaration.recovery
    engine: RecoveryEngine | None = tool.recovery if tool.recovery is not None else tool.runtime.recovery
    if engine is not None and own is not None:
        engine = engine.with_strategies(own)
    elif own:
        raise ConfigurationError(issue=f"'{bound.name}' has recovery strategies, and its runtime no RecoveryManager")
    if configuration is None:
        return engine
    is_default = own is None and tool.recovery is None
    return configuration.engine(engine, tool.name, bound.name, is_default=is_default)
