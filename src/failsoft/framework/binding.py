"""From the declaration of an operation to its linked chain: the one place that knows every link."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

from failsoft.framework.arguments import Parameter, SignatureArguments, read_parameters
from failsoft.framework.chain import Link, assemble, connect
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.json_schema_arguments import JsonSchemaArguments
from failsoft.framework.links.check import check
from failsoft.framework.links.deadline import deadline
from failsoft.framework.links.invoke import invoke
from failsoft.framework.links.observe import observe
from failsoft.framework.links.recover import recover
from failsoft.framework.links.validate import validate
from failsoft.framework.operation import BoundOperation, Operation, Toolset
from failsoft.framework.result import Result
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
    bound = BoundOperation(declaration, tool, arguments, Result(hints.get("return", Any)))
    bound.parameters = tuple(parameters)
    bound.context_parameter = context
    _attach(bound, tool)
    _link(bound, tool, parameters)
    return bound


def _attach(bound: BoundOperation[..., Any], tool: Toolset) -> None:
    runtime = tool.runtime
    settings = bound.settings = runtime.settings
    bound.timeout_s = bound.declaration.timeout or settings.default_timeout_s or None
    bound.metrics = runtime.metrics.bind(tool.name, bound.name)
    bound.threads = runtime.threads
    bound.clock = time.monotonic
    bound.wire = find_format(
        tool.wire_format if settings.wire_format == "auto" else settings.wire_format, docs_url=settings.error_docs_url
    )
    bound.reviews = tuple(_review(method, tool) for method in bound.declaration.reviews)


def _link(bound: BoundOperation[..., Any], tool: Toolset, parameters: list[Parameter]) -> None:
    links = [Link("observe", observe, "observe"), Link("validate", validate, "validate")]
    if bound.timeout_s is not None:
        links.append(Link("deadline", deadline(bound.timeout_s), "deadline"))
    engine = tool.recovery if tool.recovery is not None else tool.runtime.recovery
    own = bound.declaration.recovery
    if engine is not None and own is not None:
        engine = engine.with_strategies(own)
    elif own:
        raise ConfigurationError(issue=f"'{bound.name}' has recovery strategies, and its runtime no RecoveryManager")
    if engine is not None:
        links.append(Link("recover", recover(engine), "recover"))
        bound.strategies = tuple(engine.describe())
    checks = [examine for parameter in parameters for examine in _references(parameter, tool)]
    defaults = {item.name: item.default for item in parameters if item.default is not inspect.Parameter.empty}
    checks += [_check(method, tool, defaults) for method in bound.declaration.checks]
    if checks:
        links.append(Link("check", check(checks), "check"))
    bound.links = assemble(links, tool.runtime.middleware)
    bound.proceed = connect(bound.links, invoke)


def _references(parameter: Parameter, tool: Toolset) -> Iterator[Callable[[CallContext], Any]]:
    for mark in parameter.references:
        yield _reference(parameter.name, _lookup(mark.lookup, tool))
    for mark in parameter.item_references:
        yield _item_reference(parameter.name, _lookup(mark.lookup, tool))


def _lookup(lookup: Callable[..., Any], tool: Toolset) -> Callable[[Any], Any]:
    wants_tool = len(inspect.signature(lookup).parameters) > 1
    return (lambda value: lookup(tool, value)) if wants_tool else lookup


def _reference(name: str, lookup: Callable[[Any], Any]) -> Callable[[CallContext], Any]:
    def examine(call: CallContext) -> Any:
        value = call.arguments.get(name)
        return None if value is None else lookup(value)

    return examine


def _item_reference(name: str, lookup: Callable[[Any], Any]) -> Callable[[CallContext], Any]:
    async def examine(call: CallContext) -> None:
        for item in call.arguments.get(name) or ():
            verdict = lookup(item)
            if inspect.isawaitable(verdict):
                await verdict

    return examine


def _check(method: Callable[..., Any], tool: Toolset, defaults: dict[str, Any]) -> Callable[[CallContext], Any]:
    signature = inspect.signature(method)
    names = list(signature.parameters)[1:]
    context = next((name for name in names if _is_context(signature.parameters[name].annotation)), None)

    def examine(call: CallContext) -> Any:
        known = {**defaults, **call.arguments}
        values = {name: known[name] for name in names if name in known}
        if context is not None:
            values[context] = call
        return method(tool, **values)

    return examine


def _is_context(annotation: Any) -> bool:
    return annotation is CallContext or annotation == CallContext.__name__


def _review(method: Callable[..., Any], tool: Toolset) -> Callable[[CallContext, Any], Any]:
    def review(call: CallContext, value: Any) -> Any:  # noqa: ARG001 - one signature for all reviews
        return method(tool, value)

    return review
