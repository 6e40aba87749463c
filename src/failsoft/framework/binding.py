"""From the declaration of an operation to its linked chain: the one place that knows every link."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from failsoft.framework.arguments import Parameter, SignatureArguments, read_parameters
from failsoft.framework.chain import Link, assemble, connect
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError, InvalidParameter
from failsoft.framework.guarded_metrics import guarded
from failsoft.framework.json_schema_arguments import JsonSchemaArguments
from failsoft.framework.links.check import check
from failsoft.framework.links.deadline import deadline
from failsoft.framework.links.invoke import invoke
from failsoft.framework.links.observe import observe
from failsoft.framework.links.recover import recover
from failsoft.framework.links.validate import validate
from failsoft.framework.operation import BoundOperation, Operation, Toolset
from failsoft.framework.result import Result
from failsoft.framework.violations import Violation
from failsoft.framework.wire import find_format

__all__ = ["bind"]

_NEVER_POSITIONAL = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


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
    _link(bound, tool, parameters)
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
    bound.timeout_s = bound.declaration.timeout or settings.default_timeout_s or None
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
    bound.reviews = tuple(_review(method, tool) for method in _own(bound.declaration.reviews, tool))


def _link(bound: BoundOperation[..., Any], tool: Toolset, parameters: list[Parameter]) -> None:
    links = [Link("observe", observe, "observe"), Link("validate", validate, "validate")]
    if bound.timeout_s is not None and math.isfinite(bound.timeout_s):
        links.append(Link("deadline", deadline(bound.timeout_s), "deadline"))
    engine = tool.recovery if tool.recovery is not None else tool.runtime.recovery
    own = bound.declaration.recovery
    if engine is not None and own is not None:
        engine = engine.with_strategies(own)
    elif own:
        raise ConfigurationError(issue=f"'{bound.name}' has recovery strategies, and its runtime no RecoveryManager")
    if engine is not None:
        links.append(Link("recover", recover(engine), "recover"))
        links += engine.links(bound)
        bound.strategies = tuple(engine.describe())
    checks = [examine for parameter in parameters for examine in _references(parameter, tool)]
    defaults = {item.name: item.default for item in parameters if item.default is not inspect.Parameter.empty}
    if bound.declaration.input_schema is not None:
        defaults = {name: item.get("default") for name, item in bound.input_schema.get("properties", {}).items()}
    known = {*defaults, *(item.name for item in parameters)}
    checks += [_check(method, tool, defaults, known) for method in _own(bound.declaration.checks, tool)]
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
    parameters = inspect.signature(lookup).parameters.values()
    needed = [item for item in parameters if item.default is item.empty and item.kind not in _NEVER_POSITIONAL]
    wants_tool = len(needed) > 1
    return (lambda value: lookup(tool, value)) if wants_tool else lookup


def _reference(name: str, lookup: Callable[[Any], Any]) -> Callable[[CallContext], Any]:
    async def examine(call: CallContext) -> None:
        value = call.arguments.get(name)
        if value is not None:
            await _require(name, lookup(value))

    return examine


def _item_reference(name: str, lookup: Callable[[Any], Any]) -> Callable[[CallContext], Any]:
    async def examine(call: CallContext) -> None:
        for place, item in enumerate(call.arguments.get(name) or ()):
            await _require(f"{name}.{place}", lookup(item))

    return examine


async def _require(path: str, verdict: Any) -> None:
    """Take False for a value that leads nowhere: whoever writes a predicate means it."""
    if inspect.isawaitable(verdict):
        verdict = await verdict
    if verdict is False:
        raise InvalidParameter.from_violations([Violation(path=path, reason="reference", message="leads nowhere")])


def _own(methods: Iterable[Callable[..., Any]], tool: Toolset) -> Iterator[Callable[..., Any]]:
    """Yield the checks of an operation, each as this toolset's class has it: a subclass may override them by name."""
    family = type(tool).__mro__
    for method in methods:
        name = method.__name__
        is_attribute = any(vars(kind).get(name) is method for kind in family)
        yield getattr(type(tool), name) if is_attribute else method


def _check(
    method: Callable[..., Any], tool: Toolset, defaults: dict[str, Any], known: set[str]
) -> Callable[[CallContext], Any]:
    parameters = dict(list(inspect.signature(method).parameters.items())[1:])
    context = next((name for name, item in parameters.items() if _is_context(item.annotation)), None)
    names = [name for name in parameters if name != context]
    for name in names:
        if name not in known and parameters[name].default is inspect.Parameter.empty:
            msg = f"{method.__qualname__} asks for '{name}', which the operation it checks does not take"
            raise TypeError(msg)

    def examine(call: CallContext) -> Any:
        at_hand = {**defaults, **call.arguments}
        values = {name: at_hand[name] for name in names if name in at_hand}
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
