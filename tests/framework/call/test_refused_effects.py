"""An effect that a service refused was not carried out: real HTTP, answered by a server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from failsoft import BaseTool, CallContext, NotFound, ToolError, ToolResponse, Unavailable, operation
from failsoft.recovery import Retry
from tests.doors import CallScope
from tests.framework.recording import quiet_runtime
from tests.recovery.idempotency.processes import keyed

pytestmark = pytest.mark.anyio

REFUSED = [401, 403, 404, 409, 422, 429]
UNSURE = [400, 405, 408, 410, 412, 413, 415, 423, 500, 503]


class Shop(BaseTool):
    """Places orders with a service, by what its handlers mark."""

    base = ""
    left: asyncio.Future[Any] | None = None

    async def _post(self, name: str = "order") -> str:
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.post(f"{self.base}/{name}")).raise_for_status().text

    @operation(effects=True, verify_with="get_order")
    async def place(self, order: str, call: CallContext) -> str:
        """Place an order."""
        return str(await call.effect("place", run=self._post))

    @operation(effects=True)
    def place_in_a_thread(self, order: str, call: CallContext) -> str:
        """Place an order from a thread."""

        def post() -> str:
            return httpx.post(f"{self.base}/order", trust_env=False).raise_for_status().text

        return str(call.effect("place", run=post))

    @operation(effects=True)
    async def place_and_explain(self, order: str, call: CallContext) -> str:
        """Place an order, with an error of its own."""
        try:
            return str(await call.effect("place", run=self._post))
        except httpx.HTTPStatusError as refused:
            raise NotFound(f"There is no order {order}.") from refused

    @operation(effects=True, recovery=[Retry(attempts=3, base_s=0)])
    async def place_with_retries(self, order: str, call: CallContext) -> str:
        """Place an order, more than once."""
        return str(await call.effect("place", run=self._post))

    @operation(verify_with="get_order")
    async def place_unmarked(self, order: str) -> str:
        """Place an order, and mark nothing."""
        return await self._post()

    @operation(effects=True, recovery=[Retry(attempts=3, base_s=0)])
    async def reserve_and_place(self, order: str, call: CallContext) -> str:
        """Change two things, one after the other."""
        await call.effect("reserve", run=self._post)
        return str(await call.effect("place", run=self._post))

    @operation(effects=True)
    async def place_knowingly(self, order: str, call: CallContext) -> str:
        """Place an order, with an error that knows what it changed."""
        return str(await call.effect("place", run=self._post_knowingly))

    @operation(effects=True)
    async def reserve_and_place_knowingly(self, order: str, call: CallContext) -> str:
        """Change two things, the second with an error that knows what it changed."""
        await call.effect("reserve", run=self._post)
        return str(await call.effect("place", run=self._post_knowingly))

    async def _post_knowingly(self) -> str:
        try:
            return await self._post()
        except httpx.HTTPStatusError as refused:
            raise Unavailable("The shop is closed.", effect="none") from refused

    @operation(effects=True)
    async def place_two_at_once(self, order: str, call: CallContext) -> str:
        """Change two things at the same time."""
        done = await asyncio.gather(
            call.effect("first", run=self._post), call.effect("second", run=self._post), return_exceptions=True
        )
        raise next(one for one in done if isinstance(one, BaseException))

    @operation(effects=True)
    async def place_a_group(self, order: str, call: CallContext) -> str:
        """Send two requests in what is marked as one effect."""

        async def both() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._post("first"))
                group.create_task(self._post("second"))

        return str(await call.effect("both", run=both))

    @operation(effects=True)
    async def place_by_another_tool(self, order: str, call: CallContext) -> str:
        """Place an order through another tool, which marks nothing."""

        async def other() -> Any:
            return (await self.place_unmarked(order=order)).unwrap()

        return str(await call.effect("place", run=other))

    @operation(effects=True)
    async def place_and_look(self, order: str, call: CallContext) -> str:
        """Place an order, and look whether it is there, in what is marked as one effect."""

        async def both() -> Any:
            await self._post()
            async with httpx.AsyncClient(trust_env=False) as client:
                return (await client.get(f"{self.base}/order")).raise_for_status()

        return str(await call.effect("place", run=both))

    @operation(effects=True)
    async def place_again(self, order: str, call: CallContext) -> str:
        """Place an order, and once more if that fails."""

        async def twice() -> str:
            try:
                return await self._post()
            except httpx.HTTPStatusError:
                return await self._post()

        return str(await call.effect("place", run=twice))

    @operation(effects=True)
    async def place_in_the_background(self, order: str, call: CallContext) -> str:
        """Begin an order that nobody waits for, and fail."""
        self.left = asyncio.ensure_future(call.effect("place", run=self._post))
        raise RuntimeError

    @operation(effects=True)
    async def place_after_an_error(self, order: str, call: CallContext) -> str:
        """Place an order where something else has failed before."""
        try:
            return {}[order]
        except KeyError:
            return str(await call.effect("place", run=self._post))

    @operation(read_only=True)
    async def get_order(self, order: str) -> str:
        """Return an order."""
        return order


class Service:
    """Answers requests with these statuses, one after the other."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.headers = ""
        self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        await reader.readuntil(b"\r\n\r\n")
        status = self.answers[self.requests]
        self.requests += 1
        headers = self.headers if status >= 400 else ""
        writer.write(f"HTTP/1.1 {status} x\r\nContent-Length: 2\r\nConnection: close\r\n{headers}\r\nok".encode())
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def shop(*answers: int, headers: str = "") -> AsyncIterator[tuple[Shop, Service]]:
    """Provide the tool and the service that it talks to."""
    service, tool = Service(), Shop(runtime=quiet_runtime())
    service.answers, service.headers = list(answers), headers
    async with await asyncio.start_server(service.serve, "127.0.0.1", 0) as server:
        tool.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield tool, service


async def send(tool: Shop, name: str, scope: CallScope | None = None) -> ToolResponse[Any]:
    return await tool.operations[name].call({"order": "A-1"}, scope or CallScope())


def effect_of(response: ToolResponse[Any]) -> str:
    return response.error.effect if response.error is not None else "done"


@pytest.mark.parametrize("name", ["place", "place_in_a_thread", "place_and_explain", "place_after_an_error"])
async def test_a_refused_effect_has_changed_nothing(name: str) -> None:
    async with shop(*REFUSED) as (tool, _):
        assert {status: effect_of(await send(tool, name)) for status in REFUSED} == dict.fromkeys(REFUSED, "none")


async def test_any_other_status_leaves_the_effect_unknown() -> None:
    async with shop(*UNSURE) as (tool, _):
        assert {status: effect_of(await send(tool, "place")) for status in UNSURE} == dict.fromkeys(UNSURE, "unknown")


async def test_a_refusal_says_nothing_of_a_handler_that_marks_no_effects() -> None:
    async with shop(*REFUSED) as (tool, _):
        answers = [await send(tool, "place_unmarked") for _ in REFUSED]
    assert {effect_of(answer) for answer in answers} == {"unknown"}
    assert {answer.error.retry.when for answer in answers if answer.error is not None} == {"never"}
    steps = [answer.error.next_step for answer in answers if answer.error is not None]
    assert {step.tool for step in steps if step is not None} == {"get_order"}


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("reserve_and_place", (201, 422)),
        ("reserve_and_place_knowingly", (201, 503)),
        ("place_two_at_once", (201, 422)),
        ("place_a_group", (201, 422)),
        ("place_by_another_tool", (404,)),
        ("place_and_look", (201, 404)),
        ("place_again", (503, 409)),
    ],
)
async def test_a_refusal_says_nothing_of_what_was_done_beside_it(name: str, answers: tuple[int, ...]) -> None:
    async with shop(*answers) as (tool, _):
        assert effect_of(await send(tool, name)) == "unknown"


@pytest.mark.parametrize("scope", [CallScope, keyed])
async def test_no_effect_begins_after_its_call_has_failed(scope: Callable[[], CallScope]) -> None:
    async with shop(201) as (tool, service):
        assert effect_of(await send(tool, "place_in_the_background", scope())) == "none"
        assert tool.left is not None
        with pytest.raises(ToolError):
            await tool.left
    assert service.requests == 0


async def test_two_refused_effects_have_changed_nothing() -> None:
    async with shop(422, 404) as (tool, _):
        assert effect_of(await send(tool, "place_two_at_once")) == "none"


@pytest.mark.parametrize(("headers", "wait_s"), [("Retry-After: 7\r\n", 7), ("", 2)])
async def test_a_write_that_was_rate_limited_says_when_to_send_it_again(headers: str, wait_s: int) -> None:
    async with shop(429, headers=headers) as (tool, _):
        failure = (await send(tool, "place")).error
    assert failure is not None
    assert failure.retry.to_dict() == {"when": "after_delay", "after_seconds": wait_s}
    assert failure.next_step is not None
    assert failure.next_step.to_dict() == {"tool": "place", "arguments": {"order": "A-1"}}
    assert f"call `place` again in {wait_s} seconds." in failure.message


async def test_the_key_of_a_refused_call_is_free_again() -> None:
    async with shop(429, 422, 201) as (tool, service):
        answers = [await send(tool, "place", keyed()) for _ in range(4)]
    assert [effect_of(answer) for answer in answers] == ["none", "none", "done", "done"]
    assert service.requests == 3


async def test_the_key_is_free_after_an_effect_whose_error_says_that_nothing_was_changed() -> None:
    async with shop(503, 201) as (tool, _):
        answers = [await send(tool, "place_knowingly", keyed()) for _ in range(2)]
    assert [effect_of(answer) for answer in answers] == ["none", "done"]


async def test_the_key_of_a_call_that_was_refused_after_another_effect_is_not_free() -> None:
    async with shop(201, 422) as (tool, service):
        answers = [await send(tool, "reserve_and_place", keyed()) for _ in range(2)]
    assert [effect_of(answer) for answer in answers] == ["unknown", "unknown"]
    assert service.requests == 2


@pytest.mark.parametrize("scope", [CallScope, keyed])
async def test_a_rate_limited_effect_is_retried(scope: Callable[[], CallScope]) -> None:
    async with shop(429, 429, 201, headers="Retry-After: 0\r\n") as (tool, service):
        response = await send(tool, "place_with_retries", scope())
    assert (response.data, service.requests) == ("ok", 3)


async def test_a_rate_limited_effect_is_not_retried_after_another_one() -> None:
    async with shop(201, 429, headers="Retry-After: 0\r\n") as (tool, service):
        failure = (await send(tool, "reserve_and_place")).error
    assert failure is not None
    assert (failure.effect, failure.retry.when, failure.stop_reason) == ("unknown", "never", "effect_possible")
    assert service.requests == 2
