"""`Client`: calls the tools of any MCP server, and raises the server's typed errors on the caller's side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Self

import mcp_types as types
from mcp import Client as SdkClient

from failsoft.client.answers import data_in, failure_in, read_answer, stop_reason_of, without_advice
from failsoft.client.faults import all_pages, endless_list, fault_from, is_closed, not_connected
from failsoft.client.questions import OnQuestion, answering
from failsoft.client.targets import name_of, transport_to
from failsoft.framework.call import META_KEY
from failsoft.framework.call.rerun import Facts, why_not_rerun
from failsoft.framework.call.time_limits import BUDGET_KEY, current_budget, running_call
from failsoft.framework.errors import BadOutput, DeadlineExceeded, Timeout, ToolError
from failsoft.framework.safe.author_reports import logger

_PAGES_AT_MOST = 1_000
_LISTED_BYTES_AT_MOST = 16_000_000
_RETRIED = frozenset({"attempts", "budget", "repeated"})
"""Reasons for which a server stopped: the call had been run again, so that a repeat would multiply the runs."""


class Client:
    """A client of one server: `async with Client(...) as client: data = await client.call("add", {"a": 1})`.

    Args:
        target: A URL of streamable HTTP; a command, as one text or as words; toolsets, their classes, or a server of
            the SDK or of FastMCP in this process.
        token: A bearer token for a URL.
        attempts: How often a call is sent in all, where the server advises to repeat it; 1 never repeats.
        patience_s: The longest wait before a repeat, in seconds.
        connect_timeout_s: The limit for the start of the server and the first exchange with it, in seconds.
        mode: How the protocol's era is negotiated: `auto`, `legacy`, or a version.
        on_question: Answers questions of the server to a person, see `OnQuestion`; without it no person can be asked.
            The time of a call with `timeout_s` goes on meanwhile.

    Raises:
        ToolError: From `call`: what the server answered, with its code, category, advice, effect, next step and
            violations. A code that this process does not know keeps its name on the class of its category.

    Examples:
        >>> async def count() -> object:
        ...     async with Client(Shelf) as client:
        ...         return await client.call("count", {"title": "Dune"})
        >>> asyncio.run(count())
        2
    """

    def __init__(
        self,
        target: Any,
        *,
        token: str | None = None,
        attempts: int = 3,
        patience_s: float = 30.0,
        connect_timeout_s: float = 60.0,
        mode: str = "auto",
        on_question: OnQuestion | None = None,
    ) -> None:
        if attempts < 1:
            msg = f"attempts counts the first run, so it is at least 1, not {attempts}"
            raise ValueError(msg)
        self._target = target
        self._name = name_of(target)
        self._token = token
        self._attempts = attempts
        self._patience_s = patience_s
        self._connect_timeout_s = connect_timeout_s
        self._options: dict[str, Any] = {"mode": mode, "cache": None, "elicitation_callback": answering(on_question)}
        self._stack = AsyncExitStack()
        self._client: SdkClient | None = None
        self._is_lost = False
        self._listed: dict[str, types.Tool] | None = None

    async def __aenter__(self) -> Self:
        self._is_lost = False
        transport = transport_to(self._target, token=self._token)
        limit = asyncio.timeout(self._connect_timeout_s)
        try:
            async with limit:
                self._client = await self._stack.enter_async_context(SdkClient(transport, **self._options))
        except BaseException as error:
            await self._stack.aclose()
            if limit.expired():
                raise Timeout(message=f"The server '{self._name}' did not answer in time.") from error
            if isinstance(error, (Exception, BaseExceptionGroup)):
                raise _foreign(fault_from(error, server=self._name)) from _cause(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect; an error of the block leaves it as it is.

        The SDK's task groups would put it into groups. Only a cancellation is shown to them: it may be their own.
        """
        self._client = None
        was_cancelled, task = isinstance(error, asyncio.CancelledError), asyncio.current_task()
        requests = 0 if task is None else task.cancelling()
        try:
            await self._stack.__aexit__(*((kind, error, trace) if was_cancelled else (None, None, None)))
        except asyncio.CancelledError:
            # In Python 3.11 a task group of the block leaves its own request to cancel behind.
            if was_cancelled or error is None or task is None or task.cancelling() > requests:
                raise
        except (Exception, BaseExceptionGroup) as closing:
            if was_cancelled:
                raise _foreign(fault_from(closing, server=self._name)) from closing
            logger.opt(exception=closing).debug("A connection was not closed cleanly")

    async def tools(self) -> list[types.Tool]:
        """Return the server's tools, all pages.

        Raises:
            ToolError: The server cannot be asked.
            BAD_OUTPUT: Its list has no end, or more than 16 MB.
        """
        client, listed, size = self._connected(), [], 0
        if self._is_lost:
            raise not_connected(self._name)
        try:
            async for page in all_pages(
                lambda cursor: client.list_tools(cursor=cursor), server=self._name, at_most=_PAGES_AT_MOST
            ):
                listed += page.tools
                size += len(page.model_dump_json()) if page.next_cursor else 0
                if size > _LISTED_BYTES_AT_MOST:
                    raise endless_list(self._name)  # noqa: TRY301 - as one of too many pages
        except Exception as error:  # noqa: BLE001 - typed by what it says
            raise self._fault(error) from _cause(error)
        self._listed = {tool.name: tool for tool in listed}
        return listed

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Call a tool and return its data.

        Args:
            name: The tool's name.
            arguments: JSON values by name.
            key: An idempotency key, which makes a repeat of this very call safe.
            timeout_s: The limit of the call with all its repeats, in seconds; servers of failsoft learn it. In a
                handler, what its own call has left of time and runs is sent where that is less. Without one, a server
                that never answers is waited for.

        Returns:
            The `data` of a failsoft answer; else the structured content, the text, or the content blocks.

        Raises:
            ToolError: The failure that the server reports.
            DEADLINE_EXCEEDED: The time was up first.
            UNAVAILABLE: The connection was lost.
        """
        if timeout_s is not None and timeout_s <= 0:
            raise _foreign(DeadlineExceeded(limit_s=timeout_s, effect="none"))
        until = None if timeout_s is None else time.monotonic() + timeout_s
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                return await self._call_repeatedly(name, dict(arguments or {}), key, until)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise DeadlineExceeded(limit_s=timeout_s or 0.0) from error

    async def _call_repeatedly(self, name: str, arguments: dict[str, Any], key: str | None, until: float | None) -> Any:
        """Send the call until it succeeds or a repeat is no use; in a handler, within the runs of its own call."""
        outer, run = running_call(), 0
        while True:
            run += 1
            result, failed = await self._sent(name, arguments, _meta(key, until, self._attempts - run + 1))
            if failed is None:
                return data_in(result, declared=self._declared(name))
            was_retried = result is not None and stop_reason_of(read_answer(result)) in _RETRIED
            facts = Facts(
                effect=failed.effect or "unknown",
                is_repeatable=key is not None,
                retry=failed.retry,
                runs_left=self._runs_left(run),
                was_retried_below=was_retried,
                wait_s=failed.retry_after_seconds or 0.0,
                patience_s=self._patience_s,
                remaining_s=None if until is None else until - time.monotonic(),
            )
            if not await self._is_worth_a_repeat(facts, name):
                if outer is not None:
                    failed.message = without_advice(failed.message, name)
                    outer.failed_below(failed, was_retried=was_retried or run > 1)
                raise failed
            if outer is not None:
                outer.runs.take()
            await asyncio.sleep(facts.wait_s)

    def _runs_left(self, run: int) -> int:
        """Return how many repeats are left after this run, those of the call that it is part of included."""
        left, above = self._attempts - run, current_budget().get("runs_left")
        return left if above is None else min(left, above - 1)

    async def _is_worth_a_repeat(self, facts: Facts, name: str) -> bool:
        reason = why_not_rerun(facts)
        if reason == "effect_possible" and await self._may_repeat(name):
            facts.is_repeatable = True
            reason = why_not_rerun(facts)
        return reason is None

    async def _sent(self, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> tuple[Any, ToolError | None]:
        """Send the call once; return its `CallToolResult`, if one came, and the typed error if it failed."""
        client = self._connected()
        if self._is_lost:
            return None, not_connected(self._name)
        try:
            result: Any = await client.call_tool(name, arguments, meta=meta or None)  # type: ignore[arg-type]  # keys of our own
        except RuntimeError as raised:  # the SDK's word for a result that does not fit the tool's output schema
            error: ToolError = BadOutput(message=f"The result of `{name}` does not fit the tool's output schema.")
            cause: Exception = raised
        except Exception as raised:  # noqa: BLE001 - typed by what it says
            error, cause = self._fault(raised), raised
        else:
            answer = read_answer(result)
            if failure_in(answer) is not None and not answer.is_error:
                await self._list_once()  # an `error` that the tool declares is data
            return result, failure_in(answer, declared=self._declared(name))
        if error is not cause:
            error.__cause__ = cause
        return None, error

    async def _may_repeat(self, name: str) -> bool:
        """Return whether the tool's annotations allow a repeat of a call that may have had its effect."""
        await self._list_once()
        tool = (self._listed or {}).get(name)
        hints = None if tool is None else tool.annotations
        return hints is not None and (hints.read_only_hint is True or hints.idempotent_hint is True)

    async def _list_once(self) -> None:
        """List the tools unless they have been; where they cannot be, the failure of the call is the one to report."""
        if self._listed is None:
            with suppress(ToolError):
                await self.tools()

    def _declared(self, name: str) -> Mapping[str, Any] | None:
        """Return the output schema of a tool, if the tools have been listed."""
        tool = (self._listed or {}).get(name)
        return None if tool is None else tool.output_schema

    def _connected(self) -> SdkClient:
        if self._client is None:
            msg = "use the client inside `async with`"
            raise RuntimeError(msg)
        return self._client

    def _fault(self, error: Exception) -> ToolError:
        """Return the typed error for an exception of the connection.

        A lost connection is not opened again: what a server that ended had in memory would be missing without a word,
        and the scopes of the SDK's client belong to the task that has entered them.
        """
        self._is_lost = self._is_lost or is_closed(error)
        return _foreign(fault_from(error, server=self._name))


def _meta(key: str | None, until: float | None, runs_left: int) -> dict[str, Any]:
    meta: dict[str, Any] = {} if key is None else {META_KEY: key}
    budget = current_budget()
    if until is not None:
        own = {"remaining_ms": max(0, int((until - time.monotonic()) * 1000)), "runs_left": runs_left}
        budget = {name: min(value, budget.get(name, value)) for name, value in own.items()}
    return {**meta, BUDGET_KEY: budget} if budget else meta


def _foreign(error: ToolError) -> ToolError:
    """Return an error of the connection: in a handler it does not tell what the handler itself has changed."""
    error.effect_is_foreign = True
    return error


def _cause(error: BaseException) -> BaseException | None:
    """Return what the typed error for an exception is raised from: a typed one is raised itself."""
    return error.__cause__ if isinstance(error, ToolError) else error
