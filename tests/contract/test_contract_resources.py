"""Contract, section 2: resources, prompts and completions of a toolset, over MCP in both eras."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from prometheus_client import generate_latest
from pydantic import Field

from failsoft import (
    BaseTool,
    ConfigurationError,
    DocumentNotFound,
    Runtime,
    Settings,
    completion,
    mcp_server,
    operation,
    prompt,
    resource,
)
from failsoft.metrics import PrometheusRecorder
from failsoft.tools.docs import Docs
from tests.contract.surroundings import runtime, write_documents
from tests.doors import UriTemplate

pytestmark = pytest.mark.anyio


class Shelf(BaseTool):
    """Books."""

    @operation(read_only=True)
    async def count(self) -> int:
        """Count."""
        return 2

    @resource("shelf://rules")
    def rules(self) -> str:
        """The rules."""
        return "Be quiet."

    @resource("shelf://books/{title}/{+page}", mime_type="text/plain")
    async def page(self, title: Annotated[str, Field(max_length=10)], page: str) -> str:
        """A page."""
        if title == "crash":
            msg = "/secret/path"
            raise RuntimeError(msg)
        if title != "known":
            raise DocumentNotFound(path=title, suggestions=["known"])
        return f"{title}: {page}"

    @page.list
    async def pages(self, cursor: str | None = None) -> dict[str, Any]:
        """Two pages, one at a time."""
        number = int(cursor or 1)
        listed: dict[str, Any] = {"resources": [{"uri": f"shelf://books/known/{number}", "name": f"page {number}"}]}
        return {**listed, "next_cursor": "2"} if number == 1 else listed

    @resource("shelf://cover")
    def cover(self) -> dict[str, str]:
        """A picture."""
        return {"blob": "aGVsbG8=", "mime_type": "image/png"}

    @prompt
    def summarize(self, title: str, sentences: Annotated[int, Field(ge=1, description="How many")] = 3) -> str:
        """Ask for a summary."""
        return f"Summarize {title} in {sentences} sentences."

    @prompt(name="talk")
    def conversation(self) -> list[dict[str, str]]:
        """A conversation."""
        return [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}]

    @completion(page, "title")
    async def complete_title(self, value: str) -> list[str]:
        """Titles."""
        return [title for title in ("known", "knight") if title.startswith(value)]

    @completion(page, "page")
    async def complete_page(self, value: str, arguments: dict[str, str]) -> list[str]:
        """Pages of the title that was chosen."""
        return [f"{arguments['title']}-{value}{number}" for number in range(150)]

    @completion("summarize", "title")
    def complete_summarized(self, value: str) -> list[str]:
        """Titles."""
        return [value + "!"]


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with Client(mcp_server(Shelf(runtime=runtime())), mode=request.param) as made:
        yield made


async def test_resources_are_listed_page_by_page(client: Client) -> None:
    seen: list[str] = []
    cursor = None
    while True:
        page = await client.list_resources(cursor=cursor)
        seen += [str(item.uri) for item in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == ["shelf://rules", "shelf://cover", "shelf://books/known/1", "shelf://books/known/2"]
    templates = (await client.list_resource_templates()).resource_templates
    assert [(item.uri_template, item.mime_type) for item in templates] == [
        ("shelf://books/{title}/{+page}", "text/plain")
    ]


async def test_resources_are_read(client: Client) -> None:
    rules = (await client.read_resource("shelf://rules")).contents[0]
    page = (await client.read_resource("shelf://books/known/1/a%20b")).contents[0]
    cover = (await client.read_resource("shelf://cover")).contents[0]
    assert (rules.text, page.text) == ("Be quiet.", "known: 1/a b")  # type: ignore[union-attr]
    assert (cover.blob, cover.mime_type) == ("aGVsbG8=", "image/png")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("uri", "code", "data_code"),
    [
        ("shelf://books/other/1", -32602, "DOC_NOT_FOUND"),
        ("shelf://books/much-too-long/1", -32602, "INVALID_PARAM"),
        ("shelf://books/crash/1", -32603, "UNKNOWN_ERROR"),
        ("shelf://rule", -32602, "NOT_FOUND"),
    ],
)
async def test_a_resource_that_cannot_be_read_is_a_typed_error(
    client: Client, uri: str, code: int, data_code: str
) -> None:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    assert (caught.value.error.code, caught.value.error.data["code"]) == (code, data_code)
    assert "/secret" not in json.dumps([caught.value.error.message, caught.value.error.data])


async def test_prompts_are_listed_and_filled_in(client: Client) -> None:
    prompts = {item.name: item for item in (await client.list_prompts()).prompts}
    assert [(item.name, item.required) for item in prompts["summarize"].arguments or ()] == [
        ("title", True),
        ("sentences", False),
    ]
    filled = await client.get_prompt("summarize", {"title": "A", "sentences": "2"})
    assert filled.messages[0].content.text == "Summarize A in 2 sentences."  # type: ignore[union-attr]
    assert [item.role for item in (await client.get_prompt("talk")).messages] == ["user", "assistant"]


@pytest.mark.parametrize("arguments", [{}, {"title": "A", "sentences": "0"}, {"title": "A", "sentences": "x"}])
async def test_faulty_arguments_of_a_prompt_are_a_typed_error(client: Client, arguments: dict[str, str]) -> None:
    with pytest.raises(MCPError) as caught:
        await client.get_prompt("summarize", arguments)
    assert (caught.value.error.code, caught.value.error.data["code"]) == (-32602, "INVALID_PARAM")
    assert caught.value.error.data["violations"]


async def test_an_unknown_prompt_is_refused_with_the_closest(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.get_prompt("sumarize", {})
    assert caught.value.error.data["suggestion"] == "summarize"


async def test_arguments_are_completed(client: Client) -> None:
    template = ResourceTemplateReference(type="ref/resource", uri="shelf://books/{title}/{+page}")
    titles = await client.complete(template, {"name": "title", "value": "kn"})
    assert titles.completion.values == ["known", "knight"]
    pages = await client.complete(template, {"name": "page", "value": "x"}, context_arguments={"title": "known"})
    assert (len(pages.completion.values), pages.completion.has_more) == (100, True)
    assert pages.completion.values[0] == "known-x0"
    of_prompt = PromptReference(type="ref/prompt", name="summarize")
    assert (await client.complete(of_prompt, {"name": "title", "value": "A"})).completion.values == ["A!"]
    assert (await client.complete(of_prompt, {"name": "sentences", "value": ""})).completion.values == []


async def test_readings_are_counted_and_are_no_tools() -> None:
    own = Runtime(settings=Settings(), metrics=PrometheusRecorder())  # the default one has those of all tests
    async with Client(mcp_server(Shelf(runtime=own))) as made:
        assert [tool.name for tool in (await made.list_tools()).tools] == ["count"]
        await made.read_resource("shelf://rules")
        with pytest.raises(MCPError):
            await made.read_resource("shelf://books/other/1")
    metrics = generate_latest(own.metrics.registry).decode()  # type: ignore[attr-defined]
    counted = [line for line in metrics.splitlines() if line.startswith("mcp_tool_calls_total")]
    assert any('operation="rules"' in line and 'outcome="ok"' in line for line in counted)
    assert any('operation="page"' in line and 'outcome="error"' in line for line in counted)


async def test_a_resource_called_directly_answers_as_an_operation_does() -> None:
    response = await Shelf(runtime=runtime()).page(title="other", page="1")
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"


def test_one_uri_of_two_toolsets_is_a_start_up_error() -> None:
    with pytest.raises(ConfigurationError):
        mcp_server([Shelf(runtime=runtime()), type("Other", (Shelf,), {"count": None, "tally": Shelf.count})()])


@pytest.mark.parametrize("uri", ["no scheme", "a://{b", "a://{b}{b}", "{a}"])
def test_a_malformed_template_is_refused_at_once(uri: str) -> None:
    with pytest.raises(TypeError):
        UriTemplate(uri)


class TestDocs:
    """The documents of the docs toolset as resources."""

    @pytest.fixture
    async def client(self, tmp_path: Path) -> AsyncIterator[Client]:
        documents = {f"guide/page {number}.md": f"# Page {number}\n" for number in range(5)}
        root = write_documents(tmp_path, {**documents, "index.mdx": "---\ntitle: Home\n---\nWelcome\n"})
        async with Client(mcp_server(Docs(root, runtime=Runtime(), cache_dir=tmp_path / "cache"))) as made:
            yield made

    async def test_every_document_is_listed_and_read(self, client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert len(listed) == 6
        for item in listed:
            content = (await client.read_resource(str(item.uri))).contents[0]
            assert (content.uri, content.mime_type) == (item.uri, "text/markdown")

    async def test_a_document_at_another_path_is_served_under_its_own_uri(self, client: Client) -> None:
        template = (await client.list_resource_templates()).resource_templates[0].uri_template
        assert template == "docs://{project}/{+path}"
        result = await client.read_resource("docs://default/index.md")
        assert str(result.contents[0].uri) == "docs://default/index.mdx"
        assert (result.meta or {})["dev.failsoft/recovery"]["rule"] == "extension"

    async def test_a_missing_document_is_a_typed_error(self, client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("docs://default/nowhere/at-all.md")
        assert caught.value.error.data["code"] == "DOC_NOT_FOUND"
        with pytest.raises(MCPError) as caught:
            await client.read_resource("docs://other/index.mdx")
        assert caught.value.error.data["code"] == "PROJECT_NOT_ACTIVATED"

    async def test_paths_are_completed(self, client: Client) -> None:
        template = ResourceTemplateReference(type="ref/resource", uri="docs://{project}/{+path}")
        found = await client.complete(
            template, {"name": "path", "value": "guide/"}, context_arguments={"project": "default"}
        )
        assert found.completion.values == [f"guide/page {number}.md" for number in range(5)]
