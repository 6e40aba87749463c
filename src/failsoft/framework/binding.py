"""From the declaration of an operation to its linked chain: the one place that knows every link."""

from __future__ import annotations

import functools
import inspect
import math
import time
from collections.abc import Iterable
from typing import Any

from failsoft.framework.arguments import SignatureArguments, read_parameters
from failsoft.framework.chain import Chain, Link, assemble, connect
from failsoft.framework.checks import checks_of, reviews_of
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.guarded_metrics import guarded
from failsoft.framework.json_schema_arguments import JsonSchemaArguments
from failsoft.framework.links.check import check
from failsoft.framework.links.deadline import deadline
from failsoft.framework.links.invoke import invoke
from failsoft.framework.links.observe import observe
from failsoft.framework.links.recover import recover
from failsoft.framework.links.validate import validate
from failsoft.framework.operation import BoundOperation, Operation
from failsoft.framework.recovery_port import RecoveryConfiguration, RecoveryEngine
from failsoft.framework.result import Result
from failsoft.framework.toolset import Toolset
from failsoft.framework.wire import find_format

__all__ = ["bind"]


def bind(declaration: Operation[..., Any], tool: Toolset) -> BoundOperation[..., Any]:
    """Return the operation bound to this toolset and its runtime, schemas checked, chain linked.

    Raises:
        TypeError: The signature or a schema cannot be offered over MCP.
        CONFIG_ERROR: The runtime and the declaration do not go together.
    """
    owner = f"{type(tool).__name__}.{declaration.attribute}"
    hints = declaration.hints()
    parameters, context, keywords = read_parameters(declaration.function, hints)
    if declaration.input_schema is None and keywords is not None:
        msg = f"{owner} takes **{keywords}: give it an input_schema, so that callers know what it accepts"
        raise TypeError(msg)
    arguments = (
        SignatureArguments.from_parameters(owner, parameters)
        if declaration.input_schema is None
        else JsonSchemaArguments(owner, declaration.input_schema)
    )
    if declaration.input_schema is not None:
        _check_taken(
            owner, declaration, arguments.schema.get("properties", {}), context, takes_any=keywords is not None
        )
    bound = BoundOperation(declaration, tool, arguments, Result(hints.get("return", Any)))
    bound.parameters = tuple(parameters)
    bound.context_parameter = context
    _attach(bound, tool)
    bound.make_chain = functools.partial(_chain_of, bound)
    bound.use(bound.make_chain())
    tool.runtime.linked.add(bound)
    return bound


def _check_taken(
    owner: str, declaration: Operation[..., Any], names: Iterable[str], context: str | None, *, takes_any: bool
) -> None:
    """Refuse a schema with a name that the handler cannot be given."""
    signature = inspect.signature(declaration.function).parameters
    itself = next(iter(signature.values()))
    taken = {context} if itself.kind is itself.POSITIONAL_ONLY else {context, itself.name}
    for name in names:
        if name in taken or not (takes_any or name in signature):
            msg = f"{owner} cannot be given '{name}', which its input schema lists; `self` may stand before a `/`"
            raise TypeError(msg)


def _attach(bound: BoundOperation[..., Any], tool: Toolset) -> None:
    runtime = tool.runtime
    settings = bound.settings = runtime.settings
    bound.metrics = guarded(runtime.metrics.bind(tool.name, bound.name))
    bound.threads = runtime.threads
    bound.audit = tool.audit if tool.audit is not None else runtime.audit
    bound.governed = tool.governed
    bound.state, bound.events = runtime.state, runtime.events
    bound.clock = time.monotonic
    bound.wire = find_format(
        tool.wire_format if settings.wire_format == "auto" else settings.wire_format,
        docs_url=settings.error_docs_url or "",
    )
    bound.reviews = reviews_of(bound.declaration, tool)


def _chain_of(bound: BoundOperation[..., Any]) -> Chain:
    """Return the chain of an operation as it is configured now.

    Raises:
        CONFIG_ERROR: Its strategies do not go together, or not with it.
    """
    tool, configuration = bound.tool, bound.tool.runtime.configuration
    bound.timeout_s = _timeout_s(bound, configuration)
    links = [Link("observe", observe, "observe"), Link("validate", validate, "validate")]
    if bound.timeout_s is not None and math.isfinite(bound.timeout_s):
        links.append(Link("deadline", deadline(bound.timeout_s), "deadline"))
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
    checks = checks_of(bound.declaration, tool, list(bound.parameters), bound.input_schema)
    if checks:
        links.append(Link("check", check(checks), "check"))
    assembled = assemble(links, (*tool.runtime.middleware, *tool.middleware))
    return Chain(assembled, strategies, connect(assembled, invoke), bound.timeout_s)


def _timeout_s(bound: BoundOperation[..., Any], configuration: RecoveryConfiguration | None) -> float | None:
    declared, general = bound.declaration.timeout, bound.settings.default_timeout_s
    if configuration is None:
        return declared or general or None
    default = configuration.default_timeout_s()
    return configuration.timeout_s(bound.tool.name, bound.name) or declared or default or general or None


def _engine(bound: BoundOperation[..., Any], configuration: RecoveryConfiguration | None) -> RecoveryEngine | None:
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
