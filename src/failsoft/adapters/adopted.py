"""The tools of a server in this process: bound as they are seen, their answers, and the exceptions that they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from logging import LogRecord
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
import pydantic_core
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.adapters.foreign import ForeignTool, ForeignTools, ToolQuestion
from failsoft.adapters.results import failure_result, recovery_meta, widened
from failsoft.adapters.server_log import ServerLog
from failsoft.client.faults import from_raised
from failsoft.client.known_texts import class_of
from failsoft.client.reports import quoted
from failsoft.framework.answer.formats import find_format
from failsoft.framework.answer.response import METADATA_KEY, ToolResponse
from failsoft.framework.arguments.signature import read_parameters
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import CONTEXTS, located
from failsoft.framework.call.runtime import Runtime, default_runtime
from failsoft.framework.errors import ToolError, UnknownError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.errors.unknown_tools import Offered, unknown_tool
from failsoft.framework.normalize.reasons import text_of
from failsoft.framework.normalize.system_errors import raised_in
from failsoft.framework.safe.author_reports import report_mistake
from failsoft.framework.soft import SoftOperation, declaration_of
from failsoft.framework.text import quoted as as_quotation
from failsoft.recovery import RecoveryManager
from failsoft.server.protocol.wire import no_such_tool

_SERVERS = ("mcp.server.", "fastmcp.server.")
"""Packages that refuse a request for want of a client's capability; raised elsewhere, another server refused."""


_LARGE_BYTES = 20_000
"""Size of the schemas of a tool beyond which they take some milliseconds to be read."""


class Adopted(NamedTuple):
    """A tool as it was last seen."""

    facts: tuple[Any, ...]
    operation: BoundOperation
    output_schema: dict[str, Any] | None
    is_soft: bool


class AdoptedTools(ForeignTools):
    """The tools of a server of the SDK or of FastMCP.

    Args:
        name: The label in metrics, logs and failures.
        identity: What identifies the server beside its name.
        log: The server's own log.
        made: Makes a result of the server's library of the SDK's.
        runtime: The runtime of its calls; by default the process-wide one.
        timeout_s: The limit of each call in seconds; by default the tool's own.
        refuse_unknown: See `ForeignTool`.
    """

    def __init__(
        self,
        name: str,
        *,
        identity: str,
        log: ServerLog,
        made: Callable[[types.CallToolResult], Any],
        runtime: Runtime | None,
        timeout_s: float | None,
        refuse_unknown: bool,
    ) -> None:
        super().__init__(name, identity=identity, restore=self._restored, runtime=runtime)
        self.known: dict[str, Adopted] = {}
        self._log = log
        self._made = made
        self._timeout_s = timeout_s
        self._refuse_unknown = refuse_unknown
        self._lacking: set[str] = set()

    def adopted(self, tool: Any) -> Adopted:
        """Return a tool of either library as an operation, bound again when its declaration has changed."""
        facts = _facts(tool)
        declaration, output_schema = declaration_of(getattr(tool, "fn", None)), _output_schema(tool)
        known = self.known.get(tool.name)
        if known is None or known.facts != facts:
            hints = tool.annotations
            foreign = ForeignTool(
                name=tool.name,
                title=tool.title,
                description=tool.description or "",
                input_schema=tool.parameters,
                output_schema=output_schema,
                annotations={} if hints is None else hints.model_dump(by_alias=True, exclude_none=True),
                timeout_s=self._timeout_s or vars(tool).get("timeout"),  # FastMCP's tools have one
                refuse_unknown=self._refuse_unknown,
            )
            is_soft = declaration is not None
            if declaration is not None:
                foreign = _as_declared(foreign, declaration)
            known = self.known[tool.name] = Adopted(facts, self.put(foreign), output_schema, is_soft)
        return known

    async def adopted_beside(self, tool: Any) -> Adopted:
        """Return what `adopted` does; where the tool is new and its schemas are large, a worker thread reads them."""
        known = self.known.get(tool.name)
        if (known is not None and known.facts == _facts(tool)) or not _is_large(tool):
            return self.adopted(tool)
        return await anyio.to_thread.run_sync(self.adopted, tool)

    async def listed(self, tool: Any, declared: Any = None) -> Any:
        """Return a tool as it is listed: its output schema accepts a failure, too.

        Args:
            tool: Its entry in a list.
            declared: What the server knows of it, if that is another object.
        """
        adopted = await self.adopted_beside(declared or tool)
        await anyio.lowlevel.checkpoint()
        if adopted.is_soft:
            return tool
        return tool.model_copy(update={"output_schema": widened(tool.output_schema, adopted.operation.wire)})

    def lacks_verifier(self, operation: str, verifier: str, names: Iterable[str]) -> None:
        """Report once that no tool has the name that `verify_with` of another one gives."""
        if verifier not in self._lacking:
            self._lacking.add(verifier)
            closest = closest_name(verifier, [*names])
            meant = f"; did you mean {closest!r}?" if closest else ""
            report_mistake(f"verify_with names no tool of this server: {verifier!r}{meant}", operation=operation)

    def sent(self, response: ToolResponse[Any], held: list[LogRecord] | None = None) -> Any:
        """Return what a client is sent: the tool's own result, with what recovery did, or the failure, logged.

        Args:
            response: The response of the call.
            held: What the server would have logged of its runs.

        Raises:
            MCPError: The protocol has it for what the tool asks the client.
        """
        if response.error is not None:
            self._log.failed(response.error, held)
            return self._made(failure_result(response))
        result: Any = response.data
        if type(result) is ToolQuestion:
            return result.put()
        facts = recovery_meta(response)
        if facts is None:
            return result
        whole = getattr(result, "_raw_mcp_result", None)  # what a tool of FastMCP has returned, sent in its place
        told = (whole or result).model_copy(update={"meta": {**(result.meta or {}), METADATA_KEY: facts}})
        return told if whole is None else self._made(told)

    def unknown(self, name: str, arguments: Mapping[str, Any] | None, listed: Iterable[Any]) -> MCPError:
        """Return the protocol's error for a tool that does not exist, with the listed tools that may be meant."""

        def offered(tool: Any) -> Offered:
            def validate(given: dict[str, Any]) -> Any:
                return self.adopted(tool).operation.arguments.validate(given)

            return Offered(_is_read_only(tool), tool.parameters, validate)

        tools = {tool.name: offered(tool) for tool in listed if tool.name != name}
        return no_such_tool(unknown_tool(name, arguments or {}, tools))

    def _restored(self, tree: dict[str, Any]) -> Any:
        return self._made(types.CallToolResult.model_validate(tree, by_alias=True, by_name=False))


_soft: WeakKeyDictionary[Any, dict[str, AdoptedTools]] = WeakKeyDictionary()
"""The tools of each server whose functions have `@soft`, by the identity of the code that declares them."""


def soft_tools(
    server: Any, declaration: SoftOperation, *, log: ServerLog, made: Callable[[types.CallToolResult], Any]
) -> AdoptedTools:
    """Return the tools of a server that fail soft by themselves; the other arguments are those of `AdoptedTools`."""
    known = _soft.setdefault(server, {})
    if declaration.identity not in known:
        known[declaration.identity] = AdoptedTools(
            server.name,
            identity=declaration.identity,
            log=log,
            made=made,
            runtime=None,
            timeout_s=None,
            refuse_unknown=True,
        )
    return known[declaration.identity]


def check_below_server(declaration: SoftOperation) -> None:
    """Check the declaration of a function that becomes a tool of a server of another library.

    Raises:
        TypeError: It has an option that the server's own decorator sets, or what only a toolset knows; or a strategy is
            not usable.
    """
    with located(declaration.function):
        if declaration.recovery is not None:
            RecoveryManager().with_strategies(declaration.recovery)
        parameters, context, _ = read_parameters(declaration.function, declaration.hints(), CONTEXTS)
        marked = [one.name for one in parameters if one.faults or one.references or one.item_references or one.aliases]
        problem = ""
        if own := declaration.declared & {"name", "title"}:
            problem = f"give {' and '.join(sorted(own))} to the server's decorator, not to @soft"
        elif declaration.input_schema is not None:
            problem = "input_schema is for a toolset: serve its module with failsoft"
        elif context is not None or declaration.effects:
            wanted = f"the parameter '{context}'" if context is not None else "effects=True"
            problem = f"{wanted} needs a CallContext, which only a toolset passes: serve its module with failsoft"
        elif declaration.job:
            problem = (
                "a job needs get_job beside it, which only a server of failsoft has: serve its module with failsoft"
            )
        elif marked:
            problem = f"only a toolset knows Alias, Fault and Reference, which '{marked[0]}' has: serve its module"
        if problem:
            msg = f"{declaration.function.__qualname__}: {problem}"
            raise TypeError(msg)


def annotated(own: types.ToolAnnotations | None, declaration: SoftOperation) -> types.ToolAnnotations | None:
    """Return a tool's annotations, those that its server's decorator leaves out from what `@soft` declares."""
    hints: dict[str, Any] = {
        "readOnlyHint": declaration.read_only or None,
        "destructiveHint": declaration.destructive,
        "idempotentHint": declaration.idempotent or None,
        "openWorldHint": declaration.open_world,
    }
    given = {} if own is None else own.model_dump(by_alias=True, exclude_none=True)
    hints = {**{name: hint for name, hint in hints.items() if hint is not None}, **given}
    return types.ToolAnnotations.model_validate(hints, by_alias=True, by_name=False) if hints else None


def listed_output_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the output schema of a soft tool as its server lists it: it accepts a failure, too."""
    chosen = default_runtime().settings.wire_format
    return widened(schema, find_format("tool_response" if chosen == "auto" else chosen))


def _as_declared(tool: ForeignTool, declaration: SoftOperation) -> ForeignTool:
    return replace(
        tool,
        timeout_s=declaration.timeout or tool.timeout_s,
        recovery=declaration.recovery,
        confirm=declaration.confirm,
        atomic=declaration.atomic,
        verify_with=declaration.verify_with,
    )


def asks_the_client(error: MCPError) -> bool:
    """Return whether the protocol has this error for its client to act on; any other is a failure of the tool."""
    code = error.error.code
    if code == types.MISSING_REQUIRED_CLIENT_CAPABILITY:
        return raised_in(error).startswith(_SERVERS)
    return code == types.URL_ELICITATION_REQUIRED


def shown(raised: BaseException, text: str, call: Call) -> ToolError:
    """Return the typed error for an exception of a tool, with the text that its server would have shown.

    Args:
        raised: What the tool raised.
        text: What the server would have shown of it; empty if it masks it.
        call: The call that it was raised in.
    """
    text = text.strip()
    if isinstance(raised, MCPError) and text:
        return from_raised(text, raised)
    if isinstance(raised, ValidationError) and not text:  # the arguments were right: it is about data of the tool's own
        return UnknownError(type_name=type(raised).__name__)
    error = call.typed(raised)
    if error is raised:
        return error
    message = error.message.rstrip()
    if not text:  # masked; the reason that `normalize` quotes may be the exception's own text
        message = message.removesuffix(f" It said: {as_quotation(text_of(raised).strip())}.")
    elif isinstance(error, UnknownError) and class_of(text) is not None:
        told = from_raised(text, raised)
        told.details, told.operator_hint, told.__cause__ = error.details, error.operator_hint, raised
        return told
    elif text not in message and as_quotation(text) not in message:
        message = f"{message} It said: {quoted(text, has_host_paths=True)}."
        if isinstance(error, UnknownError):
            error.actor = "caller"  # type: ignore[misc]  # of this failure: the text may well be about the arguments
    error.message, error.args = message, (message,)
    return error


def foreseen(text: str, cause: BaseException | None) -> ToolError:
    """Return the typed error for an exception that an author raised to tell callers something."""
    is_hidden = isinstance(cause, MCPError) and cause.error.message not in text
    return from_raised(text, None if is_hidden else cause)


def _facts(tool: Any) -> tuple[Any, ...]:
    """Return what a tool declares."""
    timeout_s = vars(tool).get("timeout")
    return (tool.parameters, tool.annotations, timeout_s, _output_schema(tool), tool.title, tool.description)


def _output_schema(tool: Any) -> Any:
    """Return the schema of what a tool returns, without the failures of a soft one."""
    return tool.output_schema if declaration_of(getattr(tool, "fn", None)) is None else tool.bare_output_schema


def _is_large(tool: Any) -> bool:
    try:
        return len(pydantic_core.to_json((tool.parameters, tool.output_schema))) > _LARGE_BYTES
    except (ValueError, RecursionError):  # to be refused
        return True


def _is_read_only(tool: Any) -> bool:
    return tool.annotations is not None and tool.annotations.read_only_hint is True
