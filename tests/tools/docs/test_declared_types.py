"""The types of a project's documents: one answer from every tool, and none that the project does not declare."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.surroundings import write_documents
from tests.tools.docs.reader import Reader, reading

PAGES = {
    "guide/a.md": "---\ntype: blog-post\ntitle: A\n---\n# A\n\nquagga\n",
    "guide/b.md": "---\ntype: guide\ntitle: B\n---\n# B\n",
    "c.md": "---\ntype: Guide\ntitle: C\n---\n# C\n",
}
TYPES = [{"name": "guide", "paths": ["guide/**"], "schema": {"type": "object", "required": ["title"]}}, {"name": "ref"}]


def project(folder: Path, pages: dict[str, str], **config: Any) -> None:
    """Write a project below the served folder."""
    write_documents(folder / "docs/handbook/pages", pages)
    (folder / "docs/handbook/config.json").write_text(json.dumps({"name": "handbook", "docs_root": "pages", **config}))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Return a client of a server with a project in which two pages have types of their own."""
    with reading(tmp_path, {}) as made:
        project(tmp_path, PAGES, doc_types=TYPES)
        yield made


def types(reader: Reader) -> dict[str, str]:
    listed = reader.data("list_documents", project="handbook")["documents"]
    return {document["path"]: document["doc_type"] for document in listed}


def test_a_type_that_is_not_declared_falls_back_to_the_path(reader: Reader) -> None:
    reader.data("activate_project", config_path="handbook/config.json")

    assert types(reader) == {"guide/a.md": "guide", "guide/b.md": "guide", "c.md": "document"}


def test_activation_warns_of_types_that_are_not_declared(reader: Reader) -> None:
    answer = reader.ask("activate_project", config_path="handbook/config.json")

    if not answer["success"]:
        raise RuntimeError(answer)
    assert any("blog-post" in warning for warning in answer.get("metadata", {}).get("warnings", []))


def test_every_listed_type_is_valid_for_its_pages(reader: Reader) -> None:
    reader.data("activate_project", config_path="handbook/config.json")
    counts = reader.data("list_doc_types", project="handbook")["doc_types"]
    listed = [one["name"] for one in counts if one["documents"]]
    pages = [page["path"] for name in listed for page in reader.data("list_documents", doc_type=name)["documents"]]
    refused = [path for path in pages if not reader.ask("validate_document", path=path)["success"]]

    assert (sorted(pages), refused) == (sorted(PAGES), [])


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#/$defs/none"},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"title": {"$ref": "#/properties/title"}}},
        {"$ref": "file:///etc/hostname"},
    ],
    ids=["another document", "nothing", "itself", "itself in a property", "a file"],
)
def test_a_schema_whose_references_lead_nowhere_is_refused_at_activation(tmp_path: Path, schema: Any) -> None:
    with reading(tmp_path, {}) as reader:
        project(tmp_path, PAGES, doc_types=[{"name": "guide", "paths": ["**"], "schema": schema}])
        answer = reader.ask("activate_project", config_path="handbook/config.json")

    assert (answer.get("error") or {}).get("code") == "CONFIG_ERROR"


def test_references_that_multiply_are_bounded_in_time(tmp_path: Path) -> None:
    def cost_s(levels: int) -> float:
        """Return the processor's seconds for a validation, none where the schema was refused."""
        definitions: dict[str, Any] = {"d0": {"type": "object"}}
        for level in range(1, levels + 1):
            definitions[f"d{level}"] = {"allOf": [{"$ref": f"#/$defs/d{level - 1}"}] * 2}
        folder = tmp_path / str(levels)
        with reading(folder, {}) as reader:
            schema = {"$defs": definitions, "$ref": f"#/$defs/d{levels}"}
            project(
                folder, {"a.md": "---\nx: 1\n---\n"}, doc_types=[{"name": "guide", "paths": ["**"], "schema": schema}]
            )
            answer = reader.ask("activate_project", config_path="handbook/config.json")
            if not answer["success"]:
                assert answer["error"]["code"] == "CONFIG_ERROR"
                return 0.0
            began = time.process_time()
            reader.ask("validate_document", path="a.md")
            return time.process_time() - began

    assert cost_s(12) < 20 * cost_s(3)


def test_a_missing_schema_file_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    with reading(tmp_path, {}) as reader:
        project(tmp_path, PAGES, doc_types=[{"name": "guide", "schema": "none.json"}])
        error = reader.error("activate_project", config_path="handbook/config.json")

    assert error["code"] == "CONFIG_ERROR"


def test_the_folder_of_a_project_leads_to_its_configuration(tmp_path: Path) -> None:
    with reading(tmp_path, {}) as reader:
        project(tmp_path, PAGES)
        error = reader.error("activate_project", config_path="handbook")

    assert (error["code"], error["retry"]["when"]) == ("INVALID_PARAM", "after_fix")
    assert error["next_step"] == {"tool": "activate_project", "arguments": {"config_path": "handbook/config.json"}}
