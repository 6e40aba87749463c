"""A keyed call through an adapter: its repeat gets the first answer, whatever the answer consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp_types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

from failsoft.testing import fresh_runtime
from tests.adapters.test_adapters import FastMCPServer, SdkServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

RECEIPT = "dev.failsoft/metadata"


class Parcel(BaseModel):
    """A parcel."""

    number: int
    ratio: float = 0.5


@dataclass
class Shelf:
    """A shelf."""

    names: list[str] = field(default_factory=lambda: ["tea", "café"])
    parcel: Parcel = field(default_factory=lambda: Parcel(number=7))


BLOCKS: dict[str, Any] = {
    "text": TextContent(type="text", text="on its way", annotations=Annotations(audience=["user"], priority=0.5)),
    "image": ImageContent(type="image", data="aGk=", mime_type="image/png", _meta={"com.example/width": 3}),
    "audio": AudioContent(type="audio", data="aGk=", mime_type="audio/wav"),
    "link": ResourceLink(type="resource_link", uri="file:///shop/a.txt", name="a.txt", description="A list."),
    "resource": EmbeddedResource(
        type="resource", resource=TextResourceContents(uri="file:///shop/a.txt", text="tea", mime_type="text/plain")
    ),
    "blob": EmbeddedResource(type="resource", resource=BlobResourceContents(uri="file:///shop/b", blob="aGk=")),
}
KINDS = [*BLOCKS, "list", "plain", "number", "nothing", "dict", "model", "shelf", "whole", "only_structured", "failed"]


def add_tools(tool: Any, tool_error: type[Exception], runs: list[str]) -> None:
    """Register a tool for each kind of answer."""
    whole = CallToolResult(
        content=list(BLOCKS.values()), structured_content={"number": 7}, _meta={"com.example/x": {"y": [1, None]}}
    )
    answers: dict[str, Any] = {
        **BLOCKS,
        "list": ["two", *list(BLOCKS.values())[:2]],
        "dict": {"a": [1, {"b": None}]},
        "whole": whole,
        "only_structured": CallToolResult(content=[], structured_content={"number": 7}),
        "failed": CallToolResult(content=[TextContent(type="text", text="no room on shelf 3")], is_error=True),
    }
    for name, answer in answers.items():

        def give(answer: Any = answer, name: str = name) -> Any:
            runs.append(name)
            return answer

        register(tool, name, give)

    @tool()
    def plain() -> str:
        """Return text."""
        runs.append("plain")
        return "sent"

    @tool()
    def number() -> int:
        """Return a number."""
        runs.append("number")
        return 7

    @tool()
    def nothing() -> None:
        """Return nothing."""
        runs.append("nothing")

    @tool()
    def model() -> Parcel:
        """Return a model."""
        runs.append("model")
        return Parcel(number=7)

    @tool()
    def shelf() -> Shelf:
        """Return a dataclass."""
        runs.append("shelf")
        return Shelf()


def register(tool: Any, name: str, give: Any) -> None:
    """Register a tool without parameters."""

    def handler() -> Any:
        return give()

    handler.__doc__ = f"Return {name}."
    tool(name=name)(handler)


@pytest.fixture(params=["mcpserver", "fastmcp"])
def library(request: pytest.FixtureRequest) -> Any:
    return FastMCPServer() if request.param == "fastmcp" else SdkServer("auto")


def wire(result: Any) -> dict[str, Any]:
    """Return what was sent, without the receipt of the replay and what is measured."""
    tree: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    meta = {name: value for name, value in tree.pop("_meta", {}).items() if not name.startswith("dev.failsoft/")}
    return {**tree, **({"_meta": meta} if meta else {})}


def told(result: Any) -> tuple[Any, ...]:
    """Return what a failure says, without its id."""
    error = result.structured_content["error"]
    return result.is_error, error["code"], error["effect"], "no room on shelf 3" in error["message"]


async def test_the_repeat_of_a_keyed_call_gets_the_first_answer(library):
    runs: list[str] = []
    bare = library.make(None)
    add_tools(bare.tool, library.tool_error, [])
    server = library.make({"runtime": fresh_runtime()})
    add_tools(server.tool, library.tool_error, runs)
    async with library.connected(server) as (call, _), library.connected(bare) as (call_bare, _):
        for kind in KINDS:
            keyed = {"meta": {"dev.failsoft/idempotency-key": f"once-{kind}"}}
            first, second = [await call(kind, {}, **keyed) for _ in range(2)]
            if kind == "failed":  # each failure has its own id and time
                assert told(second) == told(first)
                continue
            assert wire(second) == wire(first), kind
            assert wire(first) == wire(await call_bare(kind, {})), kind
            assert second.meta[RECEIPT]["recovery"]["strategy"] == "idempotency", kind
    assert sorted(runs) == sorted(KINDS)


async def test_a_keyed_call_that_asks_its_client_goes_on_under_its_key(library):
    runs: list[str] = []
    server = library.make({"runtime": fresh_runtime()})

    def order(ctx: Any) -> Any:
        """Order something, in two rounds."""
        runs.append(ctx.request_state or "")
        return "ordered" if ctx.request_state else InputRequiredResult(request_state="asked")

    order.__annotations__["ctx"] = library.context
    server.tool()(order)

    async with library.connected(server) as (call, _):
        answers = [await call("order", {}, meta={"dev.failsoft/idempotency-key": "order-7"}) for _ in range(2)]
    assert runs == ["", "asked"]
    assert [answer.content[0].text for answer in answers] == ["ordered", "ordered"]


async def test_a_recovered_call_says_so_whatever_result_it_returns(library):
    runs: list[str] = []
    server = library.make({"runtime": fresh_runtime()})

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def find() -> Any:
        """Fail once, then return a whole result."""
        runs.append("find")
        if len(runs) == 1:
            raise ConnectionResetError(104, "reset")
        return CallToolResult(content=[TextContent(type="text", text="tea")], _meta={"com.example/x": 1})

    async with library.connected(server) as (call, _):
        meta = (await call("find", {})).meta
    assert (meta[RECEIPT]["recovery"]["strategy"], meta["com.example/x"]) == ("retry", 1)


async def test_the_repeat_of_a_keyed_failure_has_its_category(library):
    server = library.make({"runtime": fresh_runtime()})

    def fetch() -> str:
        """Fetch a page."""
        raise library.tool_error("ENOENT: no such file or directory, open 'a.md'")

    server.tool()(fetch)
    async with library.connected(server) as (call, _):
        answers = [await call("fetch", {}, meta={"dev.failsoft/idempotency-key": "fetch-1"}) for _ in range(2)]
    assert [answer.structured_content["error"]["category"] for answer in answers] == ["not_found"] * 2
