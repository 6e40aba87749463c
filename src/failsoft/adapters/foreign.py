"""A foreign tool as an operation, and one call of it, from the scope to the response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from failsoft.client.answers import from_json, to_json
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.answer.result import Result, schema_digest
from failsoft.framework.arguments import Arguments
from failsoft.framework.arguments.accepted import NOTHING_KNOWN, Accepted
from failsoft.framework.arguments.json_schema import JsonSchema, JsonSchemaArguments
from failsoft.framework.arguments.signature import read_parameters
from failsoft.framework.asking.waiting import standing_still
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import CONTEXTS, Interface, Operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.time_limits import running_call
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import BadOutput
from failsoft.framework.safe.author_reports import logger
from failsoft.server.protocol.caller import principal_of
from failsoft.server.telemetry import spans

_COMBINING = frozenset({"$ref", "allOf", "anyOf", "dependentSchemas", "else", "if", "oneOf", "then"})
"""Keywords at a schema's root that may list properties elsewhere than under `properties`."""

Request: TypeAlias = ServerRequestContext[Any, Any]
Run: TypeAlias = Callable[[dict[str, Any], Call], Awaitable[Any]]
"""Takes the validated arguments and the call; returns the tool's own result, whatever its type, or a `ToolQuestion`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTool:
    """The declaration of a foreign tool.

    Args:
        name: Its MCP name, as callers know it.
        input_schema: The JSON Schema of its arguments.
        title: A name for people.
        description: What it does.
        annotations: MCP tool annotations (`readOnlyHint`, `idempotentHint`, ...): retries depend on the first two.
        timeout_s: The limit of a call in seconds; None for the one of the settings, infinity for no limit.
        refuse_unknown: Whether arguments that the schema does not list are refused where the schema leaves it open.
        recovery: Its own recovery strategies; None for those of the toolset.
        output_schema: The JSON Schema of its structured content; None if it lists none.
        arguments: What checks its arguments; None for its schema, and for no check where that cannot be used.
        confirm: Whether the person who uses the client has to allow each call, as with `@operation`.
        atomic: Whether a tool that raises has changed nothing, as with `@operation`.
        verify_with: The tool that shows whether the work was done, as with `@operation`.
    """

    name: str
    input_schema: Mapping[str, Any]
    title: str | None = None
    description: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    refuse_unknown: bool = True
    recovery: Sequence[Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    arguments: Arguments | None = None
    confirm: bool | Literal["when destructive"] = False
    atomic: bool = False
    verify_with: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ForeignScope(CallScope):
    """A call's scope that also holds how to run the foreign tool, and the request that called it."""

    run: Run
    request: Request | None = None


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """What a tool asks its client before it can answer. The call has no outcome yet, so a key does not store it.

    Args:
        asked: The result that asks, or the exception that the protocol has for it.
    """

    asked: Any

    def put(self) -> Any:
        """Return or raise what the client is to be sent."""
        if isinstance(self.asked, MCPError):
            raise self.asked
        return self.asked


class ForeignTools(BaseTool):
    """The tools of one foreign server.

    Args:
        name: The label in metrics, logs and failures, usually the server's name.
        identity: What identifies the server beside its name; its records and counted state are scoped by it.
        restore: Makes a result of the server's library of its JSON object, for replays.
        runtime: The runtime of its calls; by default the process-wide one.
    """

    _adds_operations: ClassVar[bool] = True
    message_at_most: ClassVar[int] = 2_200  # 2,000 characters of the foreign server's text, and our sentence around it
    roots = (Path("/"),)  # reports of foreign tools keep their paths: they are written for callers

    def __init__(
        self,
        name: str,
        *,
        identity: str,
        restore: Callable[[dict[str, Any]], Any] = dict,
        runtime: Runtime | None = None,
    ) -> None:
        self._restore = restore
        super().__init__(runtime=runtime)
        self.name = name
        self.server_identity = identity

    def put(self, tool: ForeignTool) -> BoundOperation:
        """Add a tool, or replace the one of its name, and return it as an operation.

        A schema that cannot be used is logged, and the arguments of the tool are not checked.
        """
        bound = BoundOperation(
            _ForeignDeclaration(tool, self.name, _ForeignResult(self._restore, tool.output_schema)), self
        )
        self._operations[tool.name] = bound
        return bound

    async def answer(
        self, operation: BoundOperation, arguments: Mapping[str, Any], request: Request | None, run: Run
    ) -> ToolResponse[Any]:
        """Return the response of one call, described on the current span.

        Args:
            operation: As `put` has returned it.
            arguments: As received.
            request: The SDK's request; None for a call in this process.
            run: Runs the tool.
        """
        facts: Any = {} if request is None else {**spans.ids_of(request), "meta": request.meta or {}}
        if request is not None and request.session.can_send_request:
            _let_think(request.session)
        scope = ForeignScope(principal=principal_of(request), toolbox=self._toolbox, run=run, request=request, **facts)
        response = await operation.call(arguments, scope)
        spans.describe_call(response, operation, scope)
        return response

    def verifier_of(self, declaration: Operation) -> str | None:
        """Return the tool that `verify_with` names; it is known once it was put."""
        return declaration.verify_with

    def keep_only(self, names: set[str]) -> None:
        """Remove all tools except those with these names."""
        for name in self._operations.keys() - names:
            del self._operations[name]


def is_run_of(request: Request | None) -> bool:
    """Return whether the code that asks is the run of a foreign tool that this request has called."""
    call = running_call()
    return call is not None and isinstance(call.scope, ForeignScope) and call.scope.request is request


def _let_think(session: ServerSession) -> None:
    """Make the time of a call stand still while its tool asks the person through the session of the request."""
    put: Any = session.send_request

    async def send_request(request: types.ServerRequest, *args: Any, **options: Any) -> Any:
        call = running_call()
        if call is None or not isinstance(request, types.ElicitRequest):
            return await put(request, *args, **options)
        with standing_still(call):
            return await put(request, *args, **options)

    session.send_request = send_request  # type: ignore[method-assign]  # the SDK makes a session for each request


class _ForeignResult(Result):
    """A foreign result, passed on unchanged: it has its own content, structured content and metadata."""

    __slots__ = ("_declared", "_restore")
    is_passed_on: ClassVar[bool] = True

    def __init__(self, restore: Callable[[dict[str, Any]], Any], declared: Mapping[str, Any] | None) -> None:
        super().__init__(Any)
        self._restore = restore
        self._declared = declared

    @property
    def digest(self) -> str:
        """Return a hash of what the tool's server lists."""
        if not self._digest:
            self._digest = schema_digest(self._declared)
        return self._digest

    def is_final(self, value: Any) -> bool:
        """Return whether this answers the call, and asks nothing."""
        if isinstance(value, Mapping):
            return bool(value.get("resultType", "complete") == "complete")
        return type(value) is not ToolQuestion

    def kept(self, value: Any) -> Any:
        """Return the result as JSON."""
        return to_json(value)

    def restored(self, tree: Any, *, is_unchanged: bool) -> Any:
        """Return a result of the library's type."""
        raw = from_json(tree)
        if not is_unchanged and self._declared is not None:
            try:
                schema = JsonSchema("output", dict(self._declared), slow_patterns="skip")
                is_fit = schema.is_valid(raw.get("structuredContent"))
            except TypeError:  # it cannot be used
                is_fit = False
            if not is_fit:
                raise BadOutput(details={"schema": "another one"})
        return self._restore(raw)

    def split(self, value: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the value itself, and no further blocks."""
        return value, ()


class _AnyArguments:
    """Arguments of a tool whose schema cannot be used: any object."""

    accepted: ClassVar[Accepted] = NOTHING_KNOWN
    aliases: ClassVar[Mapping[str, str]] = {}
    validate_beside: ClassVar[None] = None

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = dict(schema)

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments as they are."""
        return dict(params or {})


async def _run(self: ForeignTools, /, _failsoft_call: Call, **arguments: Any) -> Any:  # noqa: ARG001 - a method
    scope: Any = _failsoft_call.scope
    return await scope.run(arguments, _failsoft_call)


class _ForeignDeclaration(Operation):
    """A foreign tool, declared by what its server lists."""

    def __init__(self, tool: ForeignTool, server: str, result: Result) -> None:
        hints = tool.annotations
        read_only = hints.get("readOnlyHint") is True
        super().__init__(
            _run,
            name="foreign",
            title=tool.title,
            read_only=read_only,
            destructive=None if read_only else hints.get("destructiveHint"),
            idempotent=hints.get("idempotentHint") is True,
            open_world=hints.get("openWorldHint"),
            timeout=tool.timeout_s if tool.timeout_s is not None and tool.timeout_s > 0 else None,
            recovery=tool.recovery,
            confirm=tool.confirm,
            atomic=tool.atomic,
            verify_with=tool.verify_with,
        )
        self.name = tool.name  # a foreign server may allow names that @operation refuses
        self.description = tool.description
        self._tool, self._server, self._result = tool, server, result

    def interface(self, owner: str) -> Interface:  # noqa: ARG002 - a foreign tool is named by its server
        """Return the arguments that the foreign server lists; its results are passed on unchanged."""
        _, context, _ = read_parameters(self.function, self.hints(), CONTEXTS)
        arguments = _arguments(self._server, self._tool, changes=not self.read_only)
        return arguments, self._result, (), context


def _arguments(owner: str, tool: ForeignTool, *, changes: bool) -> Arguments:
    if tool.arguments is not None:
        return tool.arguments
    try:
        return schema_arguments(
            f"{owner}.{tool.name}", tool.input_schema, changes=changes, refuse_unknown=tool.refuse_unknown
        )
    except TypeError as error:
        logger.bind(tool=owner, operation=tool.name).warning(
            "An input schema cannot be used, so arguments are passed on unchecked: {}", str(error)
        )
        return _AnyArguments({"type": "object", **tool.input_schema})


def schema_arguments(
    owner: str, schema: Mapping[str, Any], *, changes: bool, refuse_unknown: bool
) -> JsonSchemaArguments:
    """Return what checks the arguments of a foreign tool by its schema.

    Args:
        owner: The tool, for messages.
        schema: Its input schema.
        changes: Whether the tool may change something.
        refuse_unknown: See `ForeignTool`.

    Raises:
        TypeError: The schema cannot be used, see `JsonSchema`.
    """
    schema = {"type": "object", **schema}
    if not refuse_unknown:
        schema.setdefault("additionalProperties", True)
    elif _COMBINING & schema.keys() and not schema.keys() & {"additionalProperties", "patternProperties"}:
        schema.setdefault("unevaluatedProperties", False)
    return JsonSchemaArguments(owner, schema, changes=changes, slow_patterns="skip")
