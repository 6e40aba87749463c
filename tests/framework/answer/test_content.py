"""What a handler may return besides plain data: MCP blocks, results of other servers, and reports of a failure."""

from __future__ import annotations

from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from failsoft import BaseTool, operation
from tests.doors import is_block, reported_failure, split_content
from tests.each import each
from tests.framework.recording import Recording, quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio

TEXT = TextContent(text="hello")
IMAGE = ImageContent(data="iVBORw0KGgo=", mime_type="image/png")
SOUND = AudioContent(data="AAAA", mime_type="audio/wav")
LINK = ResourceLink(uri="docs://a", name="a", description="A page")
EMBEDDED = EmbeddedResource(resource=TextResourceContents(uri="docs://b", text="content"))


@pytest.mark.parametrize("block", [TEXT, IMAGE, SOUND, LINK, EMBEDDED], ids=lambda block: block.type)
def test_blocks_are_known_by_their_module_and_type(block: Any) -> None:
    assert is_block(block)
    assert not is_block(block.model_dump())
    assert not is_block(type(block))


SPLITS: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (5, 5, ()),
    (None, None, ()),
    ([], [], ()),
    ([1, 2], [1, 2], ()),
    ({"a": TEXT}, {"a": TEXT}, ()),
    (TEXT, "hello", ()),
    ([TEXT, TextContent(text="you")], "hello\nyou", ()),
    (IMAGE, {"content": [{"type": "image", "mime_type": "image/png"}]}, (IMAGE,)),
    (
        (LINK,),
        {"content": [{"type": "resource_link", "name": "a", "uri": "docs://a", "description": "A page"}]},
        (LINK,),
    ),
    ([{"rows": 3}, IMAGE], {"rows": 3}, (IMAGE,)),
    ([1, IMAGE, 2], [1, 2], (IMAGE,)),
    (CallToolResult(content=[TEXT]), "hello", ()),
    (CallToolResult(content=[]), [], ()),
    (CallToolResult(content=[TEXT, IMAGE], structured_content={"a": 1}), {"a": 1}, (IMAGE,)),
]


@each(("value", "data", "blocks"), SPLITS)
def test_blocks_are_separated_from_data(value: Any, data: Any, blocks: tuple[Any, ...]) -> None:
    assert split_content(value) == (data, blocks)


class Blocks(BaseTool):
    """Returns what it is told to."""

    value: Any = None

    @operation(read_only=True)
    async def anything(self) -> Any:
        """Return anything."""
        return self.value

    @operation(read_only=True)
    async def untyped(self):  # type: ignore[no-untyped-def]
        """Return anything, undeclared."""
        return self.value

    @operation(read_only=True)
    async def listed(self) -> list[Any]:
        """Return a list of anything."""
        return [self.value]

    @operation(read_only=True)
    async def mapped(self) -> dict[str, Any]:
        """Return a mapping of anything."""
        return {"value": self.value}

    @operation(read_only=True)
    async def declared(self) -> ImageContent | TextContent | CallToolResult | ResourceLink:
        """Return a block."""
        return self.value  # type: ignore[no-any-return]

    @operation(read_only=True)
    async def maybe(self) -> list[Any] | None:
        """Return a list of anything, or nothing."""
        return [self.value, 5]


@each("name", ["anything", "untyped", "listed", "mapped", "declared", "maybe"])
@each(
    "value",
    [TEXT, IMAGE, LINK, CallToolResult(content=[TEXT, IMAGE]), CallToolResult(content=[], structured_content={"a": 1})],
)
async def test_blocks_leave_beside_data_of_the_published_shape(name: str, value: Any) -> None:
    tool = Blocks(runtime=quiet_runtime())
    tool.value = value
    response = await tool.execute_with_error_handling(name, {})
    wire = check_wellformed(response, tool.operations[name])
    assert response.success
    assert all(is_block(block) for block in response.encode().content)
    if value is IMAGE and name != "mapped":
        assert response.encode().content == (IMAGE,)
        assert "iVBOR" not in str(wire)


FAILED: list[tuple[Any, str]] = [
    ({"success": False}, "no reason given"),
    ({"success": False, "message": "the customer is unknown"}, "the customer is unknown"),
    ({"error": "the disk is full"}, "the disk is full"),
    ({"error": {"message": "the disk is full", "code": 5}}, "the disk is full"),
    ({"error": {"code": "E5"}}, "E5"),
    ({"error": True, "message": "later"}, "later"),
    ({"isError": True, "content": [{"type": "text", "text": "upstream is down"}]}, "upstream is down"),
    ({"isError": True, "content": []}, "no reason given"),
    (UserDict({"error": "own mapping"}), "own mapping"),
    (MappingProxyType({"success": False}), "no reason given"),
    (CallToolResult(content=[TEXT, IMAGE], is_error=True), "hello"),
    (CallToolResult(content=[], is_error=True), "no reason given"),
    ({"error": "x" * 5_000}, "x" * 299 + "…"),
    ({"error": "line\nline\u202e"}, "line line"),
]


@each(("value", "report"), FAILED)
async def test_a_value_that_says_it_failed_is_a_failure(value: Any, report: str) -> None:
    assert reported_failure(value) == report
    metrics = Recording()
    tool = Blocks(runtime=quiet_runtime(metrics=metrics))
    tool.value = value
    response = await tool.anything()
    check_wellformed(response, tool.operations["anything"])
    assert response.error is not None
    assert (response.error.code, response.error.category) == ("REPORTED_FAILURE", "upstream_error")
    assert metrics.of("finished") == ["error"]
    assert metrics.of("attempted") == ["error"]


WORKED: list[Any] = [
    {"success": True},
    {"success": None},
    {"success": 0},
    {"success": "false"},
    {"error": None},
    {"error": ""},
    {"error": 0},
    {"error": False},
    {"error": []},
    {"error": {}},
    {"error": 5},
    {"error": ["a"]},
    {"errors": ["a"]},
    {"isError": False},
    {"isError": "true"},
    [{"error": "inside"}],
    {"rows": [{"success": False}]},
    CallToolResult(content=[TEXT]),
    "error",
    False,
    None,
]


@each("value", WORKED)
async def test_a_value_that_merely_speaks_of_errors_is_none(value: Any) -> None:
    assert reported_failure(value) is None
    tool = Blocks(runtime=quiet_runtime())
    tool.value = value
    assert (await tool.anything()).success


class Hostile(UserDict[str, Any]):
    def get(self, key: str, default: Any = None) -> Any:  # type: ignore[override]
        raise SystemExit


async def test_a_value_that_breaks_when_it_is_asked_is_a_failure_too() -> None:
    tool = Blocks(runtime=quiet_runtime())
    tool.value = Hostile({"a": 1})
    response = await tool.anything()
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"
