"""`ProxyTools`: the tools of one upstream as a toolset, updated while the proxy runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mcp_types as types
import pydantic_core
from mcp.server.session import ServerSession

from failsoft.adapters.foreign import ForeignTool, ForeignTools
from failsoft.adapters.results import widened
from failsoft.client.answers import ToolAnswer, failure_in, has_own_keys, read_answer, without_advice, without_own_keys
from failsoft.client.faults import fault_from
from failsoft.framework.call import ProgressReporter
from failsoft.framework.call.call import Call
from failsoft.framework.call.time_limits import BUDGET_KEY, current_budget
from failsoft.framework.errors import BadOutput, NextStep, ResultTooLarge, ToolError, Unsupported, UpstreamError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.safe.author_reports import logger
from failsoft.proxy.clients import Front
from failsoft.proxy.listing import ListedTool, ListReader, Overrides, ToolOverride
from failsoft.proxy.questions import Questions
from failsoft.proxy.targets import UpstreamTarget
from failsoft.proxy.upstream import Upstream
from failsoft.recovery import CircuitBreaker, RecoveryManager, Retry, RetryBudget, StaleCache

_OWN_META = "io.modelcontextprotocol/"
_EVIDENCE, _OPEN_S = 20, 5.0
"""Minimum calls and open time (seconds) of an upstream's circuit breaker, which covers tools of every kind."""
_BESIDE_OTHERS_S = 20.0
"""How long the start of a proxy waits for one of several upstreams; its tools are announced when it answers later."""
_TRACED = frozenset({"x-request-id", "traceparent"})
_KEPT_META = frozenset({"io.modelcontextprotocol/logLevel"})


@dataclass(slots=True, kw_only=True)
class ProxyRequest:
    """What a client sent besides the arguments, how to reach it, and what the upstream has asked it."""

    session: ServerSession
    meta: Mapping[str, Any]
    progress: ProgressReporter | None
    answers_later: bool = False
    """Whether its person can be asked, and answers with another request."""
    asked: dict[str, Any] | None = None
    """The upstream's result that was put as a question, whose answer this request brings; or where it waits for it."""
    answered: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of `tools/call`: the answer, for every later run."""


class UpstreamBreaker(CircuitBreaker):
    """The circuit breaker of one upstream: its circuit is not that of another server that has the same name."""

    is_private = True


class ProxyTools(ForeignTools):
    """The tools of one upstream.

    Args:
        target: The upstream.
        overrides: What the operator changes about its tools.
        prefix: Put before the names of its tools, where there are several upstreams.
        front: The proxy's clients.
    """

    def __init__(self, target: UpstreamTarget, *, overrides: Overrides, front: Front, prefix: str) -> None:
        super().__init__(target.name, identity=target.identity)
        self._reader = ListReader(target.name, prefix, overrides, self.runtime.settings.proxy_max_tools)
        self.prefix = prefix
        self.front = front
        limit = self.runtime.settings.max_response_bytes
        self._limit_bytes = limit
        self._questions = Questions(target.name, front)
        self.upstream = Upstream(
            target, limit_bytes=8 * limit, front=front, questions=self._questions, on_tools=self._take
        )
        self.recovery = RecoveryManager.default()
        self.recovery.add(UpstreamBreaker(dependency=target.name, min_calls=_EVIDENCE, open_s=_OPEN_S))
        self.listed: dict[str, ListedTool] = {}
        self.shown: dict[str, types.Tool] = {}
        """The tools as clients see them: their output schemas accept failures, too."""
        self._taking = asyncio.Lock()
        self.on_listed: Callable[[], None] = lambda: None
        self.neighbors: Sequence[ProxyTools] = ()

    async def startup(self) -> None:
        """Connect to all upstreams, and wait for this one; one that is down is tried again while the proxy runs."""
        for tool in self.neighbors:
            tool.upstream.begin()
        await (self.upstream.start(patience_s=_BESIDE_OTHERS_S) if self.neighbors else self.upstream.start())

    async def shutdown(self) -> None:
        """Disconnect, and end the upstream's process."""
        await self._questions.end()
        await self.upstream.stop()

    async def _take(self, entries: Any) -> None:
        """Replace the tools by what the upstream lists."""
        async with self._taking:
            # The schemas of a long list take seconds to be checked: beside the loop, on which calls go on.
            listed = await asyncio.to_thread(self._reader.read, entries, self.listed)
            for name, tool in listed.items():
                if self.listed.get(name) is not tool:
                    wire = self.put(self._foreign(tool)).wire
                    schema = widened(tool.shown.output_schema, wire)
                    self.shown[name] = tool.shown.model_copy(update={"output_schema": schema})
                    await asyncio.sleep(0)
            self.listed = listed
            self.keep_only(set(listed))
            self.shown = {name: self.shown[name] for name in listed}
        self._warn_of_unused(entries)
        self.on_listed()

    def _warn_of_unused(self, entries: Any) -> None:
        """Log overrides of tools that the upstream does not have: a misspelt name hides nothing."""
        named = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        names = {f"{self.prefix}{entry.get('name')}" for entry in named}
        for name in self._reader.overrides.tools:
            if name.startswith(self.prefix) and name not in names:
                closest = closest_name(name, names) or ""
                logger.bind(upstream=self.name, override=name, closest=closest).warning(
                    "An override names a tool that the upstream does not have"
                )

    def _foreign(self, tool: ListedTool) -> ForeignTool:
        annotations = tool.shown.annotations
        hints = {} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)
        return ForeignTool(
            name=tool.shown.name,
            title=tool.shown.title,
            description=tool.shown.description or "",
            input_schema=tool.shown.input_schema,
            output_schema=tool.shown.output_schema,
            arguments=tool.arguments,
            annotations=hints,
            confirm=self._reader.overrides.defaults.confirm if tool.override.confirm is None else tool.override.confirm,
            timeout_s=tool.override.timeout_s or self._reader.overrides.defaults.timeout_s,
            recovery=self._strategies(tool.override, read_only=hints.get("readOnlyHint") is True),
        )

    def _strategies(self, override: ToolOverride, *, read_only: bool) -> Sequence[Any] | None:
        """Return the tool's own strategies, or None for those of the toolset."""
        if override.attempts is None and override.stale_s is None:
            return None
        own: list[Any] = [UpstreamBreaker(dependency=self.name, min_calls=_EVIDENCE, open_s=_OPEN_S)]
        if override.attempts != 1:
            own += [Retry(override.attempts or 3), RetryBudget()]
        if override.stale_s is not None and read_only:
            own.append(StaleCache(0.0, override.stale_s))
        return own

    async def run(self, name: str, arguments: Mapping[str, Any], call: Call, request: ProxyRequest) -> dict[str, Any]:
        """Call the upstream's tool and return its result as it came.

        Raises:
            ToolError: The upstream's failure, whatever its shape.
        """
        listed = self.listed.get(name)
        if listed is None:
            raise _removed(self.name, name)
        params = {
            "name": listed.upstream_name,
            "arguments": dict(arguments),
            "_meta": _passed_on(request.meta, call),
        }
        refused = self.front.refused
        try:
            with self.front.calling(request.session), self._questions.during(call):
                raw = request.asked
                if raw is None or request.answered:
                    asking = self._request({**params, **request.answered}, call, request)
                    raw = await (self._questions.held(asking, call) if request.answers_later else asking)
                elif "resultType" not in raw:
                    raw = await self._questions.go_on(raw, call)
                if not request.answered and (more := await self._questions.answers_for(raw, call)) is not None:
                    request.answered = more
                    raw = await self._request({**params, **more}, call, request)
        except ToolError:
            raise
        except Exception as error:
            raise fault_from(error, server=self.name, restarts=True) from error
        answer = read_answer(raw)
        await self._check(listed, raw, answer)
        failed = failure_in(answer, declared=listed.entry.get("outputSchema"))
        if failed is None:
            return in_its_own_name(raw)
        if self.front.refused > refused:
            raise Unsupported(message=f"`{name}` asks its user something, which this client cannot be asked.")
        failed.message = without_advice(failed.message, listed.upstream_name)
        failed.next_step = self._own_step(failed.next_step, name)
        raise failed

    async def _request(self, params: Mapping[str, Any], call: Call, request: ProxyRequest) -> dict[str, Any]:
        patience_s = call.remaining_s()
        return await self.upstream.request("tools/call", params, progress=request.progress, patience_s=patience_s)

    def _own_step(self, step: NextStep | None, called: str) -> NextStep | None:
        """Return the next step that an upstream names, by the name that its tool has here.

        None for a tool of another upstream, and for one that may destroy something and is not the one that was called.
        """
        for name, tool in self.listed.items():
            if step is not None and tool.upstream_name == step.tool:
                hints = tool.shown.annotations
                is_safe = hints is not None and (hints.read_only_hint is True or hints.destructive_hint is False)
                return replace(step, tool=name) if is_safe or name == called else None
        return None

    async def _check(self, listed: ListedTool, raw: Mapping[str, Any], answer: ToolAnswer) -> None:
        """Refuse a result that no client could use."""
        if raw.get("resultType", "complete") != "complete":
            raise Unsupported(message="The server asks its user something, which this client cannot be asked.")
        size = len(pydantic_core.to_json(raw))
        if size > self._limit_bytes:
            raise ResultTooLarge(size_bytes=size, limit_bytes=self._limit_bytes)
        if listed.output is None or answer.is_error:
            return
        if not await listed.output.is_valid_beside(answer.structured, self.runtime.threads.run):
            raise BadOutput(message=f"The server '{self.name}' sent a result that breaks the tool's output schema.")


def in_its_own_name(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an upstream's raw result without metadata that clients would take for ours."""
    meta = raw.get("_meta")
    if not isinstance(meta, Mapping) or not has_own_keys(meta):
        return dict(raw)
    return {**raw, "_meta": without_own_keys(meta)}


def _removed(server: str, name: str) -> UpstreamError:
    """Return the failure of a call whose tool a new list of the upstream has removed meanwhile."""
    failure = UpstreamError(message=f"The server '{server}' has removed its tool `{name}`.", effect="none")
    failure.retry = "never"  # type: ignore[misc]  # of this failure: the tool is gone
    return failure


def _passed_on(meta: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """Return the metadata of a request without what belongs to its connection, with the budget that is left.

    The request id and the trace context are those of the call, which a client may have sent in headers.
    """
    kept = {
        name: value
        for name, value in meta.items()
        if name in _KEPT_META or (name != "progressToken" and not name.startswith(_OWN_META))
    }
    kept |= {name: value for name, value in call.http_headers().items() if name in _TRACED}
    budget = current_budget()
    return {**kept, BUDGET_KEY: budget} if budget else kept
