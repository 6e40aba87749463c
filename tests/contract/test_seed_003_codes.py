"""The codes of seeds 003 and 004, each raised by the docs toolset under the seed's trigger, in both formats."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failsoft import Middleware, ToolError
from failsoft.tools.docs import Docs
from tests.contract.surroundings import runtime, write_documents
from tests.doors import DocsSettings, FileFault, Transaction, registry
from tests.each import each

pytestmark = pytest.mark.anyio

GUIDE_SCHEMA = {
    "type": "object",
    "required": ["title", "owner"],
    "properties": {"title": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
}
CONFIG = {
    "name": "Handbook",
    "docs_root": "docs",
    "doc_types": [{"name": "guide", "paths": ["guide/**"], "schema": GUIDE_SCHEMA}, {"name": "reference"}],
    "external_docs": "vendor",
}
DOCUMENTS = {
    "book/docs/index.md": "# Home\n",
    "book/docs/guide/intro.md": "---\ntitle: 5\n# a comment\ntags: [a, 2]\n---\n# Introduction\n\nHow it begins.\n",
    "book/docs/guide/good.md": "---\ntitle: Good\nowner: me\n---\n# Good\n",
    "book/docs/odd.md": "---\ntype: essay\n---\n# Odd\n",
    "book/docs/broken.md": "---\ntitle: a\nowner: [\n---\n# Broken\n",
    "book/vendor/api.md": "# Vendor\n\nneural words\n",
}


class Desk:
    """A served folder with one project, called in a wire format."""

    def __init__(
        self, tmp_path: Path, wire_format: str, *, rooted: bool, middleware: Any = (), **settings: Any
    ) -> None:
        self.base = write_documents(tmp_path / "served", DOCUMENTS)
        (self.base / "book/config.json").write_text(json.dumps(CONFIG))
        self.wire_format = wire_format
        os.chdir(self.base)
        self.docs = Docs(
            self.base if rooted else None,
            runtime=runtime(wire_format=wire_format, middleware=middleware),
            settings=DocsSettings(**settings),
            cache_dir=tmp_path / "cache",
            state_folder=tmp_path / "state",
        )

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return (await self.docs.execute_with_error_handling(operation, arguments)).to_dict()

    async def activated(self) -> str:
        wire = await self.call("activate_project", config_path="book/config.json")
        return str(wire["data"]["project"])

    async def failure(self, operation: str, **arguments: Any) -> dict[str, Any]:
        wire = await self.call(operation, **arguments)
        return dict(wire["error"] if self.wire_format == "tool_response" else wire)


@pytest.fixture(params=["tool_response", "error_response"])
def wire_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def desk(tmp_path: Path, wire_format: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Desk]:
    monkeypatch.chdir(tmp_path)
    return lambda *, rooted=False, **options: Desk(tmp_path, wire_format, rooted=rooted, **options)


async def test_without_a_root_no_project_is_active_and_the_step_activates_the_only_one(
    desk: Callable[..., Desk],
) -> None:
    server = desk()
    error = await server.failure("search_documents", query="begins")
    assert error["code"] == "PROJECT_NOT_ACTIVATED"
    step = error["next_step"]
    assert step == {"tool": "activate_project", "arguments": {"config_path": "book/config.json"}}
    assert "project" in (await server.call(step["tool"], **step["arguments"]))["data"]
    assert (await server.call("search_documents", query="begins"))["data"]["results"]


async def test_an_unknown_project_is_not_activated(desk: Callable[..., Desk]) -> None:
    assert (await desk(rooted=True).failure("list_documents", project="nowhere"))["code"] == "PROJECT_NOT_ACTIVATED"


async def test_external_docs_that_are_not_configured(desk: Callable[..., Desk]) -> None:
    error = await desk(rooted=True).failure("search_external_docs", query="words")
    assert error["code"] == "EXTERNAL_DOCS_NOT_CONFIGURED"
    assert error["next_step"] == {"tool": "search_documents", "arguments": {"query": "words"}}


async def test_external_docs_that_are_promoted(desk: Callable[..., Desk]) -> None:
    server = desk()
    await server.activated()
    found = (await server.call("search_external_docs", query="neural"))["data"]["results"]
    error = await server.failure("promote_document", path=found[0]["path"], level="critical")
    assert (error["code"], error["effect"]) == ("EXTERNAL_DOCS_NOT_PROMOTABLE", "none")


async def test_a_document_that_does_not_exist(desk: Callable[..., Desk]) -> None:
    server = desk()
    await server.activated()
    error = await server.failure("get_documentation", path="guide/nothing.md")
    assert error["code"] == ("DOC_NOT_FOUND" if server.wire_format == "tool_response" else "DOCUMENT_NOT_FOUND")
    assert "relative to" in error["message"]


async def test_a_document_type_that_does_not_exist(desk: Callable[..., Desk]) -> None:
    server = desk()
    await server.activated()
    for arguments in ({"query": "x", "doc_types": ["giude", "guide", "poem"]},):
        error = await server.failure("search_documents", **arguments)
        assert error["code"] == "INVALID_DOC_TYPE"
        assert {"guide", "reference"} <= set(error["violations"][0]["allowed"])
        assert [item["path"] for item in error["violations"]] == ["doc_types.0", "doc_types.2"]
    odd = await server.call("validate_document", path="odd.md")  # its type is not declared
    assert any("essay" in warning for warning in odd["metadata"]["warnings"]), odd


async def test_faults_of_values_are_keyed_by_parameter_and_both_stages_come_together(
    desk: Callable[..., Desk], wire_format: str
) -> None:
    server = desk()
    await server.activated()
    error = await server.failure("search_documents", doc_types=["foo", "bar"])
    if wire_format == "tool_response":
        assert error["code"] == "INVALID_PARAM"
        return
    assert (error["code"], error["message"]) == ("VALIDATION_ERROR", "Validation failed: 3 errors")
    faults = error["details"]["fieldErrors"]
    assert faults["doc_types"] == ["Invalid doc-type: foo", "Invalid doc-type: bar"]
    assert len(faults["query"]) == 1
    assert error["details"]["totalErrors"] == 3


async def test_an_invalid_type_has_the_seeds_details(desk: Callable[..., Desk], wire_format: str) -> None:
    server = desk()
    await server.activated()
    error = await server.failure("list_documents", doc_type="poem")
    if wire_format == "error_response":
        assert error["details"]["doc_type"] == "poem"
        assert {"guide", "reference"} <= set(error["details"]["valid_doc_types"])


async def test_a_disk_that_cannot_be_written_is_a_fault_of_the_file_system(
    desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = desk()
    await server.activated()

    def full(*_: object, **__: object) -> None:
        raise FileFault.from_os(errno.ENOSPC, "guide/good.md", step="stage")

    monkeypatch.setattr(Transaction, "commit", full)
    error = await server.failure("promote_document", path="guide/good.md", level="critical")
    assert error["code"] == ("STORAGE_ERROR" if server.wire_format == "tool_response" else "FILE_SYSTEM_ERROR")
    assert error["effect"] == "none"


async def test_front_matter_that_does_not_fit_its_schema_has_all_faults_with_lines(
    desk: Callable[..., Desk],
) -> None:
    server = desk()
    await server.activated()
    error = await server.failure("validate_document", path="guide/intro.md")
    assert error["code"] == "SCHEMA_VALIDATION_FAILED"
    assert {(item["path"], item["line"]) for item in error["violations"]} == {("owner", 1), ("title", 2), ("tags.1", 4)}
    if server.wire_format == "error_response":
        assert {"owner", "title"} <= set(error["details"]["fieldErrors"])
        assert error["details"]["totalErrors"] == 3


async def test_broken_front_matter_is_read_and_reported_with_its_line(desk: Callable[..., Desk]) -> None:
    server = desk()
    await server.activated()
    wire = await server.call("get_documentation", path="broken.md")
    assert wire["metadata"]["warnings"]
    error = await server.failure("validate_document", path="broken.md")
    assert error["code"] == "SCHEMA_VALIDATION_FAILED"
    assert error["violations"][0]["line"] in {3, 4}
    assert error["message"].count("line") == 1
    assert ".." not in error["message"]
    promoted = await server.failure("promote_document", path="broken.md", level="critical")
    assert (promoted["code"], promoted["effect"]) == (error["code"], "none")
    assert promoted["violations"] == error["violations"]
    assert promoted["message"].partition(". ")[0] == error["message"].partition(". ")[0]


async def test_a_file_that_cannot_be_read_is_a_fault_of_the_file_system(desk: Callable[..., Desk]) -> None:
    server = desk(rooted=True)
    (server.base / "latin.md").write_bytes(b"caf\xe9")
    error = await server.failure("get_documentation", path="latin.md")
    assert error["code"] == ("DOC_LOAD_ERROR" if server.wire_format == "tool_response" else "FILE_SYSTEM_ERROR")


async def test_a_database_that_cannot_be_reached(desk: Callable[..., Desk], tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    server = desk(rooted=True, database_url=f"postgresql:///docs?host={tmp_path}/secret")
    error = await server.failure("list_documents")
    assert error["code"] == "DATABASE_ERROR"
    assert "secret" not in json.dumps(error)


async def test_an_embedding_service_that_is_down(desk: Callable[..., Desk]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    server = desk(rooted=True, embedding_url=url)
    wire = await server.call("search_documents", query="begins", mode="semantic")
    assert wire["metadata"]["recovery"]["degraded"]
    embedder = server.docs.meaning._embedder  # what no lexical search replaces
    response = await server.docs.execute_with_error_handling(
        "search_documents", {"query": "begins"}, lambda: embedder.embed(["begins"])
    )
    wire = response.to_dict()
    error = wire["error"] if server.wire_format == "tool_response" else wire
    assert error["code"] == "EMBEDDING_SERVICE_ERROR"


async def test_a_query_that_cannot_be_run(desk: Callable[..., Desk]) -> None:
    error = await desk(rooted=True).failure("search_documents", query="( ) *")
    assert error["code"] == "SEARCH_ERROR"


async def test_a_configuration_that_cannot_be_used(desk: Callable[..., Desk]) -> None:
    server = desk()
    (server.base / "book/config.json").write_text(json.dumps({**CONFIG, "docs_rot": "docs"}))
    error = await server.failure("activate_project", config_path="book/config.json")
    assert error["code"] == "CONFIG_ERROR"
    assert "\\" not in error["message"]
    assert "`docs_rot`" in error["message"]


async def test_an_argument_of_another_type(desk: Callable[..., Desk]) -> None:
    server = desk(rooted=True)
    error = await server.failure("get_documentation", path=123)
    assert error["code"] == ("INVALID_PARAM" if server.wire_format == "tool_response" else "VALIDATION_ERROR")


async def test_an_unknown_exception(desk: Callable[..., Desk]) -> None:
    server = desk(rooted=True)

    def crash() -> None:
        msg = "/home/me/secret.py broke"
        raise RuntimeError(msg)

    response = await server.docs.execute_with_error_handling("list_documents", {}, crash)
    wire = response.to_dict()
    error = wire["error"] if server.wire_format == "tool_response" else wire
    assert error["code"] == ("UNKNOWN_ERROR" if server.wire_format == "tool_response" else "INTERNAL_ERROR")
    assert "secret" not in json.dumps(wire)


async def test_a_middleware_that_fails(desk: Callable[..., Desk]) -> None:
    async def broken(_call: Any, _proceed: Any) -> Any:
        raise KeyError

    server = desk(rooted=True, middleware=[Middleware(name="broken", run=broken)])
    assert (await server.failure("list_documents"))["code"] == "SYSTEM_ERROR"


async def test_a_toolset_that_cannot_be_started(desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    server = desk(rooted=True)

    async def startup(_: Docs) -> None:
        raise OSError

    monkeypatch.setattr(Docs, "startup", startup)
    assert (await server.failure("list_documents"))["code"] == "INIT_ERROR"


@each(
    "code",
    [
        "PROJECT_NOT_ACTIVATED",
        "EXTERNAL_DOCS_NOT_CONFIGURED",
        "EXTERNAL_DOCS_NOT_PROMOTABLE",
        "INVALID_DOC_TYPE",
        "SCHEMA_VALIDATION_FAILED",
        "EMBEDDING_SERVICE_ERROR",
        "DATABASE_ERROR",
        "VALIDATION_ERROR",
        "DOC_NOT_FOUND",
        "INVALID_PARAM",
        "DOC_LOAD_ERROR",
        "SEARCH_ERROR",
        "CONFIG_ERROR",
        "UNKNOWN_ERROR",
        "SYSTEM_ERROR",
        "INIT_ERROR",
    ],
)
def test_a_code_is_in_the_catalogue_with_a_section_on_the_page_of_its_category(code: str) -> None:
    assert issubclass(registry[code], ToolError)
    page = Path(__file__).parents[2] / f"docs/reference/errors/{registry[code].category}.md"
    assert f"\n## {code}\n" in page.read_text()
