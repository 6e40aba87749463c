"""Every end of a question to a person, the same over each transport, in both eras, with the clients that people use."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import fastmcp
import mcp_types as types
import pytest
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from failsoft import Runtime, Settings, mcp_server
from tests.server.asked_tools import Asked
from tests.server.processes import BOUND_S, SERVING, Served
from tests.server.transports import TRANSPORTS
from tests.zygote import PYTHON

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

MODES = {"modern": "2026-07-28", "legacy": "legacy"}
SHORT_S = 0.3
PATIENT = "120"
ENDS: dict[str, tuple[Any, str, int]] = {
    "agreed": (types.ElicitResult(action="accept", content={"confirm": True}), "", 1),
    "not agreed": (types.ElicitResult(action="accept", content={"confirm": False}), "did not allow", 0),
    "declined": (types.ElicitResult(action="decline"), "did not allow", 0),
    "declined, yet with consent": (types.ElicitResult(action="decline", content={"confirm": True}), "did not allow", 0),
    "dismissed": (types.ElicitResult(action="cancel"), "without an answer", 0),
    "of another type": (types.ElicitResult(action="accept", content={"confirm": "true"}), "did not allow", 0),
    "empty": (types.ElicitResult(action="accept"), "did not allow", 0),
    "too late": (None, "No person answered", 0),
    "refused by the client": (types.ErrorData(code=-1, message="no person is here"), "No person answered", 0),
    "impossible": (None, "no person can be asked", 0),
}
"""What the client answers, what the failure says of it, and how often the work was done."""


class Person:
    """Who sits before a client, and does the same at each question until told otherwise."""

    def __init__(self) -> None:
        self.end = ""
        self.asked: list[str] = []
        self.forgotten = 0

    async def __call__(self, _ctx: Any, params: Any) -> Any:
        self.asked.append(params.message)
        if self.end == "too late":
            try:
                await anyio.sleep(2 * SHORT_S if self.waits_in_vain else BOUND_S)
            except anyio.get_cancelled_exc_class():
                self.forgotten += 1
                raise
            return types.ElicitResult(action="accept", content={"confirm": True})
        if self.end == "with an address":
            return types.ElicitResult(action="accept", content={"address": "Abbey Road 3"})
        return ENDS[self.end][0]

    waits_in_vain = False
    """Whether nobody tells the client that an answer would come too late: where the question is a result."""


@pytest.fixture(scope="module")
def urls() -> Iterator[Callable[[str], str]]:
    """Return the address of a server over HTTP where a person has so many seconds."""
    servers: dict[str, tuple[Served, str]] = {}

    def url(timeout_s: str) -> str:
        if timeout_s not in servers:
            server = Served("http", "tools=asked", FAILSOFT_ASK_TIMEOUT_S=timeout_s)
            servers[timeout_s] = server, f"{server.wait_for('ready')}/mcp"
        return servers[timeout_s][1]

    yield url
    for server, _ in servers.values():
        server.close()


def target_of(transport: str, timeout_s: str, urls: Callable[[str], str]) -> Any:
    """Return what a client of the SDK connects to."""
    if transport == "http":
        return urls(timeout_s)
    if transport == "memory":
        return mcp_server(Asked(runtime=Runtime(settings=Settings(ask_timeout_s=float(timeout_s)))))
    environment = {**os.environ, "FAILSOFT_ASK_TIMEOUT_S": timeout_s}
    return StdioServerParameters(command=PYTHON, args=[str(SERVING), "stdio", "tools=asked"], env=environment)


@pytest.fixture(scope="module", params=TRANSPORTS)
async def way(request: pytest.FixtureRequest, urls: Callable[[str], str]) -> AsyncIterator[tuple[str, Client, Person]]:
    """Connect over each transport in each era."""
    transport, _, era = request.param.partition("-")
    person = Person()
    async with Client(target_of(transport, PATIENT, urls), mode=MODES[era], elicitation_callback=person) as client:
        yield request.param, client, person


async def bought(client: Client) -> int:
    """Return how often the work was done."""
    result = (await client.call_tool("count", {})).structured_content
    assert result is not None
    return int(result["data"])


async def has_end(client: Client, end: str, *, is_modern: bool) -> None:
    """Make a call whose question ends so, and check the answer and what was done."""
    _, said, times = ENDS[end]
    before = await bought(client)
    if end == "refused by the client" and is_modern:  # the client never sends the call again
        with pytest.raises(MCPError, match="no person is here"):
            await client.call_tool("buy", {"what": "tea"})
    else:
        result = (await client.call_tool("buy", {"what": "tea"})).structured_content
        assert result is not None
        if times:
            assert result["data"] == "tea"
        else:
            assert (result["error"]["code"], result["error"]["effect"]) == ("APPROVAL_REQUIRED", "none"), result
            assert said in result["error"]["message"]
    assert await bought(client) - before == times


@pytest.mark.parametrize("end", [end for end in ENDS if end not in {"too late", "impossible"}])
async def test_each_end_of_a_question_is_typed_and_only_consent_has_an_effect(
    way: tuple[str, Client, Person], end: str
) -> None:
    transport, client, person = way
    person.end = end
    person.asked.clear()
    await has_end(client, end, is_modern="modern" in transport)
    assert len(person.asked) == 1
    assert '"tea"' in person.asked[0]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_an_answer_that_comes_too_late_is_none_and_one_who_waits_is_told(
    transport: str, urls: Callable[[str], str]
) -> None:
    way, _, era = transport.partition("-")
    person = Person()
    person.end, person.waits_in_vain = "too late", era == "modern"
    async with Client(target_of(way, str(SHORT_S), urls), mode=MODES[era], elicitation_callback=person) as client:
        await has_end(client, "too late", is_modern=era == "modern")
    assert (len(person.asked), person.forgotten) == (1, int(era == "legacy"))


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_client_that_does_not_offer_to_ask_is_not_asked(transport: str, urls: Callable[[str], str]) -> None:
    way, _, era = transport.partition("-")
    async with Client(target_of(way, PATIENT, urls), mode=MODES[era]) as client:
        await has_end(client, "impossible", is_modern=era == "modern")


async def test_an_argument_that_a_person_gives_recovers_the_call(way: tuple[str, Client, Person]) -> None:
    _, client, person = way
    person.end = "with an address"
    result = (await client.call_tool("deliver", {})).structured_content
    assert result is not None
    assert result["data"] == "to Abbey Road 3"
    receipt = result["metadata"]["recovery"]
    assert (receipt["strategy"], receipt["changed"]) == ("ask_person", {"address": "Abbey Road 3"})


@pytest.mark.parametrize("transport", [transport for transport in TRANSPORTS if "memory" not in transport])
async def test_a_client_of_fastmcp_answers_by_an_object(transport: str, urls: Callable[[str], str]) -> None:
    way, _, era = transport.partition("-")
    asked = []

    async def person(message: str, _form: Any, _params: Any, _ctx: Any) -> dict[str, bool]:
        asked.append(message)
        return {"confirm": len(asked) == 1}

    target = target_of(way, PATIENT, urls)
    if way == "stdio":
        target = StdioTransport(target.command, target.args, env=target.env)
    async with fastmcp.Client(target, mode=MODES[era], elicitation_handler=person) as client:
        agreed = await client.call_tool("buy", {"what": "tea"}, raise_on_error=False)
        refused = await client.call_tool("buy", {"what": "tea"}, raise_on_error=False)
    assert (agreed.is_error, refused.is_error) == (False, True)
    assert len(asked) == 2


@pytest.mark.parametrize("transport", [transport for transport in TRANSPORTS if "legacy" in transport])
async def test_a_call_that_its_client_gives_up_takes_its_question_back(
    transport: str, urls: Callable[[str], str]
) -> None:
    is_asked = anyio.Event()
    is_taken_back = anyio.Event()

    async def person(_ctx: Any, _params: Any) -> Any:
        is_asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            is_taken_back.set()

    way, _, era = transport.partition("-")
    async with (
        Client(target_of(way, PATIENT, urls), mode=MODES[era], elicitation_callback=person) as client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(client.call_tool, "buy", {"what": "tea"})
        with anyio.fail_after(BOUND_S):
            await is_asked.wait()
        before = await bought(client)
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True), anyio.fail_after(BOUND_S):
            if way != "http":
                await is_taken_back.wait()
            assert await bought(client) == before
