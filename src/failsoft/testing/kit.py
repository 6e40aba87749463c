"""What tests of tools need beside scripts: captured events and calls, a client, a runtime, and assertions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from failsoft.cli.target import find_project
from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.chain import Chain, Recovery, connect
from failsoft.framework.call.run import invoke
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.captures.stored import Capture
from failsoft.framework.errors import ToolError
from failsoft.framework.events import Event, Events
from failsoft.framework.settings import Settings
from failsoft.metrics import PrometheusRecorder
from failsoft.recovery import RecoveryManager
from failsoft.replay import Replayed, run_again, settings_as_then
from failsoft.server.sources import Tools, as_tools, load_app, load_toolset

if TYPE_CHECKING:
    import httpx2
    from mcp import Client


E = TypeVar("E", bound=Event)
_UNKNOWN = {"tool": "", "toolset_class": "", "read_only": False, "timestamp": "", "error_id": "0" * 16}


class CapturedEvents:
    """Records a runtime's events while a `with` block lasts.

    Args:
        source: A runtime, or its `events`.
        kinds: The kinds to keep; none for all.

    Examples:
        >>> from failsoft import Runtime
        >>> from failsoft.framework.events import AuditEvent
        >>> runtime = Runtime()
        >>> with CapturedEvents(runtime) as captured:
        ...     runtime.events.publish(AuditEvent(ok=False, reason="full"))
        >>> [event.reason for event in captured.of(AuditEvent)]
        ['full']
    """

    def __init__(self, source: Runtime | Events, *kinds: type[Event]) -> None:
        self._events = source.events if isinstance(source, Runtime) else source
        self._kinds = kinds
        self.all: list[Event] = []
        """All recorded events, in order."""

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one kind, in order."""
        return [event for event in self.all if isinstance(event, kind)]

    def clear(self) -> None:
        """Discard the events recorded so far."""
        self.all.clear()

    def __enter__(self) -> Self:
        self._end = self._events.subscribe(self.all.append, *self._kinds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()


@asynccontextmanager
async def connected(tools: Tools, *, mode: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """Yield an MCP client that is connected in memory to a server for these tools.

    Calls go through the protocol, the server and the chain, as over stdio or HTTP.

    Args:
        tools: Toolsets, their classes, modules of `@soft` functions, or a function that returns any of these.
        mode: `auto`, `legacy` (a session, with the handshake of 2025), or a version of the protocol.
        options: Further options of the SDK's `mcp.Client`.

    Examples:
        >>> async def titles() -> list[str]:
        ...     async with connected(Shelf) as client:
        ...         return [tool.name for tool in (await client.list_tools()).tools]
        >>> asyncio.run(titles())
        ['count']
    """
    from mcp import Client  # noqa: PLC0415 - half a second that tests of tools alone need not pay

    from failsoft.server import mcp_server  # noqa: PLC0415 - the same

    async with Client(mcp_server(tools), mode=mode, **options) as client:
        yield client


def fresh_runtime(*, settings: Settings | None = None, **parts: Any) -> Runtime:
    """Return a runtime like the default one, with its own state, strategies and metrics.

    Args:
        settings: By default read from the environment.
        parts: Arguments of `Runtime` that replace the fresh parts.

    Examples:
        >>> shelf = Shelf(runtime=fresh_runtime(settings=Settings(default_timeout_s=1.0)))
    """
    settings = settings or Settings.load()
    parts.setdefault("recovery", RecoveryManager.default())
    parts.setdefault("metrics", PrometheusRecorder(label_limit=settings.metrics_label_limit))
    return Runtime(settings=settings, **parts)


@contextmanager
def without_recovery(*tools: BaseTool) -> Iterator[None]:
    """Let each call of these toolsets run its handler once while the block lasts, with no strategy around it.

    Nothing is repeated, waited for, cached, replaced or rejected. Limits on the whole call and idempotency keys stay.

    Args:
        tools: The toolsets.

    Examples:
        >>> import asyncio
        >>> from failsoft import BaseTool, Unavailable, operation
        >>> from failsoft.testing import FaultScript, without_recovery
        >>> class Stock(BaseTool):
        ...     @operation(read_only=True)
        ...     async def count(self, item: str) -> int: "Count."
        >>> stock, script = Stock(), FaultScript(Unavailable(), 7)
        >>> with without_recovery(stock), script.replaces(stock.count):
        ...     answer = asyncio.run(stock.count(item="tea"))
        >>> answer.error.code, len(script.calls)
        ('UNAVAILABLE', 1)
    """
    operations = {bound for tool in tools for bound in tool.operations.values()}
    for bound in operations:
        blocks, chain = _switched_off.get(bound, (0, bound.chain))
        _switched_off[bound] = blocks + 1, chain
        bound.use(_plain(chain))
    try:
        yield
    finally:
        for bound in operations:
            blocks, chain = _switched_off.pop(bound)
            if blocks > 1:
                _switched_off[bound] = blocks - 1, chain
            else:
                bound.use(chain)


_switched_off: dict[BoundOperation, tuple[int, Chain]] = {}
"""The number of blocks around an operation, which tasks may leave in any order, and its chain outside of them."""


def _plain(chain: Chain) -> Chain:
    """Return a chain without the strategies, but for idempotency keys, which every operation has."""
    dropped = [link for link in chain.recovery.links if link.place != "idempotency"]
    links = tuple(link for link in chain.links if link.place != "recover" and link not in dropped)
    recovery = Recovery(
        links=[link for link in chain.recovery.links if link not in dropped],
        derives_keys=chain.recovery.derives_keys,
        shared=chain.recovery.shared,
    )
    return Chain(links, connect(links, invoke), chain.timeout_s, recovery)


def replayed(tools: str | Tools, call: Mapping[str, Any]) -> Replayed:
    """Make a failed call again, and return how it ended.

    Marked effects and injected faults are answered from `call`; all else that the handler does, it does.

    Args:
        tools: `module:attribute` of an application, the name of an installed toolset, or tools.
        call: The call and its failure, as `failsoft replay --pytest` writes them: `operation`, `arguments`, `code`,
            `category`, `effect`, `type` and `function`; optional are `effects`, `faults`, `settings` and others.

    Raises:
        CONFIG_ERROR: The tools cannot be loaded.
        INVALID_PARAM: They do not have the operation.

    Examples:
        >>> from failsoft import BaseTool, operation
        >>> from failsoft.testing import replayed
        >>> class Stock(BaseTool):
        ...     @operation(read_only=True)
        ...     async def count(self, item: str) -> int:
        ...         "Count."
        ...         return {"tea": 2}.get(item, 0)
        >>> call = {"operation": "count", "arguments": {"item": "salt"}, "code": "UNKNOWN_ERROR"}
        >>> call |= {"category": "internal", "effect": "none", "type": "KeyError", "function": "Stock.count"}
        >>> replayed(Stock, call).outcome
        'worked'
    """
    capture = Capture.model_validate({"version": 1, **_UNKNOWN, **call})
    with settings_as_then(capture):
        loaded = _named(tools, capture) if isinstance(tools, str) else as_tools(tools)
        return asyncio.run(run_again(capture, loaded, include_writes=True))


def _named(name: str, capture: Capture) -> list[Any]:
    if ":" not in name and name == capture.tool and capture.toolset_class.startswith("failsoft.tools."):
        return [load_toolset(name, root=tuple(map(Path, capture.roots)))]
    project = find_project()
    return load_app(name, folder=project.folder if project is not None and project.app == name else None)


def fails_with(
    response: ToolResponse[Any], kind: type[ToolError], *, next_step: str | None = None, **facts: Any
) -> Failure:
    """Assert that a response is a failure of this kind, and return it.

    Args:
        response: The answer to a call.
        kind: The class of the error, or one above it.
        next_step: The tool of the failure's next step; not checked if left out.
        facts: Attributes of the failure, such as `effect="none"`.

    Raises:
        AssertionError: It is not; the message shows the actual response.
        TypeError: It is not a `ToolResponse`, but what a client returned, or a coroutine.

    Examples:
        >>> answer = asyncio.run(Shelf().execute_with_error_handling("count", {}))
        >>> fails_with(answer, InvalidParameter, effect="none").code
        'INVALID_PARAM'
    """
    given: Any = response
    failure: Failure | None = getattr(given, "error", given)
    if failure is given:
        msg = (
            f"fails_with takes the ToolResponse of a direct call, not {type(response).__name__}: of a client's result"
            " assert `structured_content['error']`"
        )
        raise TypeError(msg)
    if failure is None:
        msg = f"the call did not fail: {response.data!r}"
        raise AssertionError(msg)
    found: dict[str, Any] = {name: getattr(failure, name) for name in facts}
    if next_step is not None:
        facts["next_step"] = next_step
        found["next_step"] = failure.next_step.tool if failure.next_step is not None else None
    if not isinstance(failure.exception, kind) or found != facts:
        msg = f"expected {kind.__name__} with {facts}, not {failure.code} with {found}: {failure.message}"
        raise AssertionError(msg)
    return failure


def http_error(
    status: int, *, retry_after: float | None = None, url: str = "http://service.test/"
) -> httpx2.HTTPStatusError:
    """Return the exception that httpx2 raises for an HTTP error status.

    Args:
        status: The status, such as 429.
        retry_after: The seconds of the `Retry-After` header; by default there is no header.
        url: The URL of the request.

    Examples:
        >>> http_error(429, retry_after=2).response.headers["retry-after"]
        '2'
    """
    import httpx2  # noqa: PLC0415 - 100 ms, only for this function

    headers = (
        {}
        if retry_after is None
        else {"Retry-After": str(round(retry_after) if retry_after == round(retry_after) else retry_after)}
    )
    request = httpx2.Request("GET", url)
    response = httpx2.Response(status, headers=headers, request=request)
    return httpx2.HTTPStatusError(f"status {status}", request=request, response=response)
