"""`BoundOperation`: one operation of one toolset, with its chain linked."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, overload

from typing_extensions import ParamSpec, TypeVar

from failsoft.framework.answer.formats import find_format
from failsoft.framework.arguments.marks import under_own_names
from failsoft.framework.arguments.schemas import or_handle
from failsoft.framework.call import META_KEY, NO_SCOPE, CallScope
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Chain, Link, Recovery, assemble, connect
from failsoft.framework.call.checks import check, checks_of, confirm, reviews_of, validate
from failsoft.framework.call.operation import Operation, located
from failsoft.framework.call.run import invoke, observe, recover
from failsoft.framework.call.time_limits import deadline, inherit, inherited_deadline, nested
from failsoft.framework.clock import new_id
from failsoft.framework.errors import ConfigurationError, UnknownTool
from failsoft.framework.errors.unknown_tools import Offered, unknown_tool
from failsoft.framework.events import AttemptEvent, CallEvent
from failsoft.framework.recorders import guarded
from failsoft.framework.safe.author_reports import tell
from failsoft.framework.safe.tracebacks import author_line

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.answer.response import Failed, Success
    from failsoft.framework.call.chain import RecoveryEngine
    from failsoft.framework.call.toolset import BaseTool
    from failsoft.framework.events import AttemptResult, Outcome
    from failsoft.framework.recorders import OperationMetrics


P = ParamSpec("P", default=...)


R_co = TypeVar("R_co", covariant=True, default=Any)
"""The return value of the handler; for an async one, the coroutine."""


T = TypeVar("T")


class BoundOperation(Generic[P, R_co]):
    """One operation of one toolset with its chain, for servers and for direct calls.

    Args:
        declaration: The author's declaration.
        tool: The toolset.

    Raises:
        TypeError: MCP cannot represent the signature or a schema, or a check or `verify_with` does not fit.
        CONFIG_ERROR: The runtime and the declaration are not compatible.
    """

    timeout_s: float | None = None
    chain: Chain

    def __init__(self, declaration: Operation, tool: BaseTool) -> None:
        with located(declaration.function):
            self._declare(declaration, tool)
            self._equip(tool)
            self.use(self.make_chain())
        tool.runtime.linked.add(self)

    def _declare(self, declaration: Operation, tool: BaseTool) -> None:
        """Take over what the author declares."""
        self.declaration = declaration
        self.tool = tool
        self.tool_name = tool.name
        self.name = declaration.name
        self.title = declaration.title
        self.description = declaration.description
        self.read_only = declaration.read_only
        self.destructive = declaration.destructive
        self.idempotent = declaration.idempotent
        self.atomic = declaration.atomic
        self.marks_effects = declaration.effects
        self.open_world = declaration.open_world
        may_destroy = self.destructive or (self.destructive is None and not self.read_only)
        self.needs_consent = declaration.confirm is True or bool(declaration.confirm and may_destroy)
        self.job = declaration.job
        self.verify_with = tool.verifier_of(declaration)
        self.function = declaration.function
        self.is_async = declaration.is_async
        self.governed = tool.governed
        self.arguments, self.result, self.parameters, self.context_parameter = declaration.interface(
            f"{type(tool).__name__}.{declaration.attribute}"
        )
        self.name_kinds: Mapping[str, str] = {
            item.name: mark.kind for item in self.parameters for mark in (*item.references, *item.item_references)
        }
        self.dropped_steps: set[str] = set()
        self.checks = tuple(checks_of(declaration, tool, self.parameters, self.input_schema))
        self.reviews = reviews_of(declaration, tool)

    def _equip(self, tool: BaseTool) -> None:
        """Take over the parts of the runtime that calls use."""
        runtime = tool.runtime
        self.settings = runtime.settings
        self.metrics = guarded(runtime.metrics.bind(tool.name, self.name))
        self.threads, self.state = runtime.threads, runtime.state
        self.events, self.gauges = runtime.events, runtime.gauges
        self.recent = runtime.recent.of(vars(tool).setdefault("_identity", new_id()), self.name)
        self.captures = runtime.captures
        self.audit = tool.audit if tool.audit is not None else runtime.audit
        self.wire = find_format(
            tool.wire_format if self.settings.wire_format == "auto" else self.settings.wire_format,
            style=self.settings.answer,
            docs_url=self.settings.error_docs_url or "",
        )

    @overload
    def __call__(
        self: BoundOperation[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, Success[T] | Failed]: ...
    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Success[R_co] | Failed]: ...
    async def __call__(self, /, *args: Any, **kwargs: Any) -> Success[Any] | Failed:
        """Run the operation with these arguments and return its response; never raises for a failure of the tool."""
        params: dict[str, Any] = dict(kwargs)
        names = [parameter.name for parameter in self.parameters]
        for position, value in enumerate(args):
            # Too many positional arguments, or one that is also given by name: a name that stage 1 rejects.
            is_free = position < len(names) and names[position] not in kwargs
            params[names[position] if is_free else f"argument_{position + 1}"] = value
        return await self.tool.call_started(self, params)

    def call(
        self,
        params: Mapping[str, Any] | None,
        scope: CallScope | None = None,
        *,
        handler: Callable[..., Any] | None = None,
    ) -> Awaitable[Success[Any] | Failed]:
        """Run the operation for a transport, with the arguments as received and the facts about the caller."""
        call = Call(self, {} if params is None else params, scope or NO_SCOPE, handler)
        outer = inherit(call)
        chain = self.chain
        calling = chain.proceed(call)
        if chain.recovery.derives_keys or (not self.read_only and META_KEY in call.scope.meta):
            calling = self.tool.runtime.detached.run(call, calling, call.scope if outer is None else outer.scope)
        return calling if outer is None else nested(outer, call, calling)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.arguments.schema

    def output_schema(self) -> dict[str, Any] | None:
        """Return the JSON Schema of the response, failures included, as `FAILSOFT_OUTPUT_SCHEMA` asks for it."""
        if self.settings.output_schema == "full":
            return self.wire.answer_schema(or_handle(self.result.schema) if self.job else self.result.schema)
        return self.wire.short_schema() if self.settings.output_schema == "short" else None

    @property
    def default_timeout_s(self) -> float | None:
        """The limit of a call where neither code nor recovery file set one, in seconds; None for no limit."""
        settings = self.settings
        return (settings.job_timeout_s if self.job else settings.default_timeout_s) or None

    @property
    def annotations(self) -> dict[str, bool]:
        """The MCP tool annotations, without the ones that were not declared."""
        declared = {
            "readOnlyHint": self.read_only,
            "destructiveHint": False if self.read_only else self.destructive,
            "idempotentHint": self.idempotent or self.read_only,
            "openWorldHint": self.open_world,
        }
        return {name: value for name, value in declared.items() if value is not None}

    def handler_arguments(self, call: Call) -> dict[str, Any]:
        """Return the validated arguments for the handler."""
        if self.context_parameter is None:
            return call.arguments
        return {**call.arguments, self.context_parameter: call}

    def with_changes(self, params: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with changes applied, under any name of their parameters."""
        aliases = self.arguments.aliases
        if not aliases:
            return {**params, **changed}
        return {**under_own_names(params, aliases), **under_own_names(changed, aliases)}

    @property
    def strategies(self) -> tuple[Any, ...]:
        """The recovery strategies in force, from code and recovery file."""
        return self.chain.recovery.strategies

    def describe(self) -> list[str]:
        """Return the names of the steps, outermost first."""
        return self.chain.describe()

    def use(self, chain: Chain) -> None:
        """Use this chain for new calls; running ones finish with the old chain."""
        self.chain, self.timeout_s = chain, chain.timeout_s

    def make_chain(self) -> Chain:
        """Return the chain for the current configuration.

        Raises:
            CONFIG_ERROR: Its strategies are not compatible with each other or with the operation.
        """
        (engine, timeout_s), checks, tool = self._in_force(), self.checks, self.tool
        joined = checks if self.wire.name == "error_response" else ()
        links = [Link("observe", observe, "observe"), Link("validate", validate(joined), "validate")]
        if timeout_s is not None and math.isfinite(timeout_s):
            links.append(Link("deadline", deadline(timeout_s), "deadline"))
        else:
            links.append(Link("inherited_deadline", inherited_deadline, "deadline"))
        recovery = Recovery()
        if engine is not None:
            recovery = self._recovery_by(engine, timeout_s)
            links += [Link("recover", recover(engine), "recover"), *recovery.links]
        if self.needs_consent:
            links.append(Link("confirm", confirm(checks), "confirm"))
        if checks:
            links.append(Link("check", check(checks), "check"))
        assembled = assemble(links, (*tool.runtime.middleware, *tool.middleware))
        return Chain(assembled, connect(assembled, invoke), timeout_s, recovery)

    def _in_force(self) -> tuple[RecoveryEngine | None, float | None]:
        """Return the recovery engine and the limit of a call, in seconds, as code and recovery file set them."""
        tool, own = self.tool, self.declaration.recovery
        engine = tool.recovery_engine
        if engine is not None and own is not None:
            engine = engine.with_strategies(own)
        elif own:
            raise ConfigurationError(issue=f"'{self.name}' has recovery strategies, and its runtime no RecoveryManager")
        if tool.runtime.configuration is None:
            return engine, self.declaration.timeout or self.default_timeout_s
        return tool.runtime.configuration.applied(self, engine)

    def _recovery_by(self, engine: RecoveryEngine, timeout_s: float | None) -> Recovery:
        """Return what the strategies add; while they are linked, `timeout_s` is the limit that will be in force."""
        in_force, self.timeout_s = self.timeout_s, timeout_s
        try:
            return engine.protect(self)
        finally:
            self.timeout_s = in_force

    def under_name(self, *, metrics: OperationMetrics, **facts: Any) -> BoundOperation[P, R_co]:
        """Return a copy with other metrics and these attributes changed, for a failure under another name."""
        vars(copied := copy.copy(self)).update(facts, metrics=metrics)
        return copied

    def publish_run(self, call: Call, result: AttemptResult, began: float) -> None:
        """Publish that a run of the handler is over; `began` is its start, on the clock of `time.perf_counter`."""
        tell(self._publish_run, call, result, time.perf_counter() - began)

    def _publish_run(self, call: Call, result: AttemptResult, duration_s: float) -> None:
        raised = call.raised if result != "ok" else None
        event = AttemptEvent(
            tool=call.tool,
            operation=call.operation,
            request_id=call.request_id,
            attempt=call.attempt,
            result=result,
            code=call.typed(raised).code if raised is not None else None,
            duration_s=duration_s,
        )
        self.events.publish(event)

    def alert(self, failure: Failure) -> None:
        """Pass a critical failure to the alert sinks, asynchronously."""
        alerts = self.tool.runtime.alerts
        if alerts is not None and not failure.recoverable:
            alerts.dispatch(failure)

    def publish_end(self, call: Call, outcome: Outcome, duration_s: float, failure: Failure | None = None) -> None:
        """Publish that a call failed, or was recovered."""
        receipt = call.told.receipt
        error = call.error if failure is None else failure.exception
        event = CallEvent(
            tool=call.tool,
            operation=call.operation,
            request_id=call.request_id,
            outcome=outcome,
            code="" if error is None else error.code,
            category="" if error is None else error.category,
            effect="" if failure is None else failure.effect,
            duration_s=duration_s,
            attempts=call.attempt,
            strategy="" if failure is not None or receipt is None else receipt.strategy,
            error_id="" if failure is None else failure.error_id,
            place="" if failure is None or failure.exception.__cause__ is None else author_line(failure.exception),
        )
        self.events.publish(event)


class Toolbox:
    """The operations of toolsets by MCP name, in the order of registration; of one toolset also those that come later.

    Raises:
        CONFIG_ERROR: Two operations have one name; the message says how to rename one of them.
    """

    __slots__ = ("_operations", "tools")

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        self.tools: tuple[BaseTool, ...] = tuple(tools)
        found: dict[str, BoundOperation] = {}
        for tool in self.tools:
            for name, bound in tool.operations.items():
                if (taken := found.get(name)) is not None:
                    where = f"in {taken.tool_name} and {tool.name}"
                    raise ConfigurationError(
                        issue=f"two tools are named '{name}' ({where}): prefix one of the names",
                        resolution=f'rename one: @operation(name="{tool.name}_{name}")',
                    )
                found[name] = bound
        self._operations: Mapping[str, BoundOperation] = self.tools[0].operations if len(self.tools) == 1 else found

    @property
    def operations(self) -> Mapping[str, BoundOperation]:
        """The operations by MCP tool name."""
        return self._operations

    @property
    def names(self) -> tuple[str, ...]:
        """The MCP tool names, in the order of registration."""
        return tuple(self._operations)

    def find(self, name: str) -> BoundOperation | None:
        """Return the operation of that MCP name, or None."""
        return self._operations.get(name)

    def unknown(self, name: str, arguments: Mapping[str, Any]) -> UnknownTool:
        """Return the error of a call of a name that no tool has."""
        offered = {
            own: Offered(bound.read_only, bound.input_schema, bound.arguments.validate)
            for own, bound in self._operations.items()
        }
        return unknown_tool(name, arguments, offered)

    def __iter__(self) -> Iterator[BoundOperation]:
        return iter(self._operations.values())
