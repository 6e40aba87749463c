"""The docs toolset as a caller meets it: every answer is a `ToolResponse`, and says what to do next."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

from failsoft import ConfigurationError, ToolResponse
from failsoft.tools.docs import Docs
from tests.contract.surroundings import write_documents
from tests.doors import CallScope
from tests.thorough import examples
from tests.tools.docs.hostile_paths import MISSING, REFUSED
from tests.tools.docs.parts import Write

PAGES = {
    "index.md": "# Home",
    "guide/intro.mdx": "---\ntitle: Introduction\ntype: guide\n---\n# Intro\n\nFirst steps.",
    "guide/retries.md": "---\ntype: guide\n---\n# Retries\n\nThe retry budget.",
    "reference/errors.md": "---\ntype: reference\naliases: /codes\n---\n# Errors\n\nCodes of errors; retry.",
    "broken.md": "---\ntitle: a: b\n---\n# Broken\n",
}


@contextmanager
def served(folder: Path) -> Iterator[Docs]:
    made = Docs(write_documents(folder / "docs", PAGES), cache_dir=folder / "cache")
    yield made
    made.projects.close()


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docs]:
    """Return a toolset whose documents no test changes; a secret lies beside them."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "secret.md").write_text("top secret")
    with served(folder) as made:
        yield made


@pytest.fixture
def own_docs(tree: Path) -> Iterator[Docs]:
    """Return a toolset over `tree`, which the test may change, or end."""
    with served(tree.parent) as made:
        yield made


def call(docs: Docs, operation: str, /, **params: Any) -> ToolResponse[Any]:
    return asyncio.run(docs.execute_with_error_handling(operation, params))


def failure(docs: Docs, operation: str, /, **params: Any) -> dict[str, Any]:
    response = call(docs, operation, **params)
    assert not response.success
    return response.to_dict()["error"]


class TestGet:
    """get_documentation."""

    def test_a_document_is_returned_with_its_facts(self, docs: Docs) -> None:
        response = call(docs, "get_documentation", path="guide/intro.mdx")

        assert response.to_dict()["data"] == {
            "documents": [
                {
                    "path": "guide/intro.mdx",
                    "title": "Introduction",
                    "content": "# Intro\n\nFirst steps.",
                    "front_matter": {"title": "Introduction", "type": "guide"},
                    "sha256": hashlib.sha256((docs.roots[0] / "guide/intro.mdx").read_bytes()).hexdigest(),
                    "links": [],
                }
            ]
        }
        assert response.metadata.documents_processed == 1

    def test_broken_front_matter_is_a_warning(self, docs: Docs) -> None:
        response = call(docs, "get_documentation", path="broken.md")

        assert response.success
        assert len(response.metadata.warnings) == 1

    @pytest.mark.parametrize(
        ("path", "served"),
        [
            ("guide/intro.md", "guide/intro.mdx"),
            ("guide/retries", "guide/retries.md"),
            ("Guide/Retries.md", "guide/retries.md"),
            ("codes.md", "reference/errors.md"),
            ("./", "index.md"),
        ],
    )
    def test_the_same_document_under_another_path_is_served_with_a_receipt(
        self, docs: Docs, path: str, served: str
    ) -> None:
        response = call(docs, "get_documentation", path=path)

        assert response.data["documents"][0]["path"] == served
        receipt = response.to_dict()["metadata"]["recovery"]
        assert (receipt["strategy"], receipt["changed"]) == ("alternate_path", {"path": served})

    def test_a_missing_document_is_answered_with_candidates_and_a_search_that_works(self, docs: Docs) -> None:
        error = failure(docs, "get_documentation", path="guides/retry-budget.md")

        assert (error["code"], error["effect"], error["retry"]) == ("DOC_NOT_FOUND", "none", {"when": "after_fix"})
        assert any("guide/retries.md" in suggestion for suggestion in error["suggestions"])
        step = error["next_step"]
        found = call(docs, step["tool"], **step["arguments"])
        assert found.data["results"][0]["path"] == "guide/retries.md"

    def test_a_path_that_is_only_spelled_wrong_leads_to_the_right_call(self, docs: Docs) -> None:
        error = failure(docs, "get_documentation", path="guide\\retries.md")

        assert error["code"] == "INVALID_PARAM"
        assert error["next_step"] == {"tool": "get_documentation", "arguments": {"path": "guide/retries.md"}}

    def test_the_disk_is_read_anew_each_time(self, own_docs: Docs, write: Write) -> None:
        assert failure(own_docs, "get_documentation", path="late.md")["code"] == "DOC_NOT_FOUND"
        write({"late.md": "now"})

        assert call(own_docs, "get_documentation", path="late.md").data["documents"][0]["content"] == "now"

    def test_hostile_paths_are_answered_with_typed_errors_that_tell_nothing(self, docs: Docs) -> None:
        for path in (*REFUSED, *MISSING):
            response = call(docs, "get_documentation", path=path)
            text = json.dumps(response.to_dict())
            served = response.data["documents"][0]["path"] if response.success else None
            assert served is None or served.casefold().startswith(("guide/", "index")), path
            assert "top secret" not in text
            assert str(docs.roots[0].parent) not in text

    def test_what_cannot_be_read_has_a_code(self, own_docs: Docs, tree: Path) -> None:
        (tree / "latin.md").write_bytes(b"caf\xe9")
        os.mkfifo(tree / "pipe.md")
        (tree / "out.md").symlink_to("../secret.md")

        expected = {"latin.md": "DOC_LOAD_ERROR", "pipe.md": "DOC_LOAD_ERROR", "out.md": "PERMISSION_DENIED"}
        for name, code in expected.items():
            error = failure(own_docs, "get_documentation", path=name)

            assert (error["code"], error["retry"], error["effect"]) == (code, {"when": "never"}, "none"), name

    def test_a_folder_without_an_index_is_answered_with_what_is_in_it(self, docs: Docs) -> None:
        error = failure(docs, "get_documentation", path="reference/")

        assert error["code"] == "DOC_NOT_FOUND"
        assert any("reference/errors.md" in suggestion for suggestion in error["suggestions"])
        assert error["next_step"] == {"tool": "list_documents", "arguments": {"prefix": "reference/"}}

    def test_a_document_that_no_answer_can_hold_comes_in_pages(self, own_docs: Docs, write: Write) -> None:
        text = "".join(f"line {number}\n" for number in range(1000)) + "x" * 6000
        write({"guide/change-log.md": text})
        scope = CallScope(max_response_bytes=10_000)
        read: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            response = asyncio.run(
                own_docs.operations["get_documentation"].call({"path": "guide/change-log.md", **cursor}, scope)  # type: ignore[arg-type]
            )
            assert response.success
            read.append(response.data["documents"][0]["content"])
            if "next_cursor" not in response.data:
                break
            cursor = {"cursor": response.data["next_cursor"]}

        assert len(read) >= 6
        assert "".join(read) == text
        assert all(page.endswith("\n") for page in read[:3])

    def test_a_document_above_the_limit_is_a_load_error(self, tree: Path, write: Write) -> None:
        write({"long.md": "x" * 101})

        assert failure(Docs(tree, document_bytes_at_most=100), "get_documentation", path="long.md")["code"] == (
            "DOC_LOAD_ERROR"
        )


class TestList:
    """list_documents."""

    def test_documents_are_listed_with_titles_and_types(self, docs: Docs) -> None:
        response = call(docs, "list_documents", prefix="guide/")

        assert [(item["path"], item["title"], item["doc_type"]) for item in response.data["documents"]] == [
            ("guide/intro.mdx", "Introduction", "guide"),
            ("guide/retries.md", "Retries", "guide"),
        ]
        assert (response.data["total"], response.metadata.documents_processed) == (2, 2)

    def test_a_type_narrows_the_list(self, docs: Docs) -> None:
        response = call(docs, "list_documents", doc_type="reference")

        assert [item["path"] for item in response.data["documents"]] == ["reference/errors.md"]

    def test_an_unknown_type_is_refused_with_the_known_ones(self, docs: Docs) -> None:
        error = failure(docs, "list_documents", doc_type="guides")

        assert error["code"] == "INVALID_DOC_TYPE"
        assert error["next_step"]["arguments"] == {"doc_type": "guide"}
        assert call(docs, error["next_step"]["tool"], **error["next_step"]["arguments"]).success

    @pytest.mark.parametrize("prefix", ["../", "/../guide", "guide\\", "\0", "x" * 1025])
    def test_a_hostile_prefix_is_refused(self, docs: Docs, prefix: str) -> None:
        error = failure(docs, "list_documents", prefix=prefix)

        assert (error["code"], error["violations"][0]["path"]) == ("INVALID_PARAM", "prefix")

    @pytest.mark.parametrize(("prefix", "total"), [("", 5), ("./guide/", 2), ("guide", 2), ("g", 2), ("nothing/", 0)])
    def test_a_prefix_is_the_beginning_of_a_path(self, docs: Docs, prefix: str, total: int) -> None:
        assert call(docs, "list_documents", prefix=prefix).data["total"] == total


class TestSearch:
    """search_documents."""

    def test_matches_come_best_first(self, docs: Docs) -> None:
        response = call(docs, "search_documents", query="retry", limit=1)

        assert [hit["path"] for hit in response.data["results"]] == ["guide/retries.md"]
        assert (response.data["total"], response.metadata.documents_processed) == (2, 1)

    def test_types_narrow_the_search(self, docs: Docs) -> None:
        response = call(docs, "search_documents", query="retry", doc_types=["reference"])

        assert [hit["path"] for hit in response.data["results"]] == ["reference/errors.md"]

    def test_unknown_types_are_all_refused_at_once(self, docs: Docs) -> None:
        error = failure(docs, "search_documents", query="retry", doc_types=["guide", "giude", "other"])

        assert [(item["path"], item.get("suggestion")) for item in error["violations"]] == [
            ("doc_types.1", "guide"),
            ("doc_types.2", None),
        ]

    def test_a_mode_that_does_not_exist_is_refused_with_the_ones_that_do(self, docs: Docs) -> None:
        violation = failure(docs, "search_documents", query="retry", mode="fuzzy")["violations"][0]

        assert (violation["path"], violation["reason"]) == ("mode", "enum")
        assert violation["allowed"] == ["lexical", "semantic", "hybrid"]

    def test_broken_syntax_is_searched_as_plain_words_and_says_so(self, docs: Docs) -> None:
        response = call(docs, "search_documents", query='"retry budget (')

        assert response.data["results"][0]["path"] == "guide/retries.md"
        receipt = response.to_dict()["metadata"]["recovery"]
        assert (receipt["strategy"], receipt["changed"]) == ("plain_words", {"query": "retry budget"})

    @pytest.mark.parametrize("query", ["***", '"', "AND OR", "()", "\ud83d?"])
    def test_a_query_without_a_word_is_a_search_error(self, docs: Docs, query: str) -> None:
        assert failure(docs, "search_documents", query=query)["code"] in {"SEARCH_ERROR", "INVALID_PARAM"}

    def test_words_that_no_document_joins_leave_a_warning(self, docs: Docs) -> None:
        response = call(docs, "search_documents", query="budget steps")

        assert (response.data["matched"], response.data["total"]) == ("any_word", 2)
        assert len(response.metadata.warnings) == 1

    @pytest.mark.parametrize("limit", [0, 101, -1, 1.5, "5", True, None])
    def test_the_limit_has_bounds(self, docs: Docs, limit: Any) -> None:
        error = failure(docs, "search_documents", query="retry", limit=limit)

        assert (error["code"], "`limit`" in error["message"]) == ("INVALID_PARAM", True)


class TestToolset:
    """The toolset as a whole."""

    def test_only_a_promotion_and_an_activation_change_anything(self, docs: Docs) -> None:
        changing = {name for name, bound in docs.operations.items() if not bound.annotations["readOnlyHint"]}

        assert changing == {"activate_project", "promote_document"}
        assert all(docs.operations[name].annotations["destructiveHint"] is False for name in changing)

    def test_a_root_that_is_no_folder_is_a_configuration_error(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError) as caught:
            Docs(tmp_path / "nowhere")

        assert str(tmp_path) not in str(caught.value.public())

    def test_a_root_that_goes_away_while_served_is_a_configuration_error(self, own_docs: Docs, tree: Path) -> None:
        tree.rename(tree.with_name("gone"))

        for operation, params in (("get_documentation", {"path": "index.md"}), ("list_documents", {})):
            error = failure(own_docs, operation, **params)
            assert error["code"] == "CONFIG_ERROR"
            assert str(tree.parent) not in json.dumps(error)

    def test_a_missing_document_does_not_need_a_working_index(
        self, docs: Docs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(_: object) -> None:
            raise ConfigurationError(issue="injected")

        monkeypatch.setattr(docs.projects.implicit.index, "ask", broken)

        assert call(docs, "get_documentation", path="guide/intro.md").success
        assert failure(docs, "get_documentation", path="gone.md")["code"] == "DOC_NOT_FOUND"

    def test_an_index_that_cannot_be_kept_is_reported_once(self, tree: Path, tmp_path: Path, write: Write) -> None:
        write({"a.md": "words"})
        (tmp_path / "cache").write_text("a file where the folder should be")
        docs = Docs(tree, cache_dir=tmp_path / "cache")

        first = call(docs, "search_documents", query="words")
        second = call(docs, "search_documents", query="words")

        assert (len(first.metadata.warnings), len(second.metadata.warnings)) == (1, 0)
        assert first.data == second.data
        docs.projects.close()

    def test_startup_warms_the_index_and_shutdown_closes_it(self, own_docs: Docs) -> None:
        async def live() -> ToolResponse[Any]:
            await own_docs.startup()
            response = await own_docs.search_documents(query="retry")
            await own_docs.shutdown()
            return response

        assert asyncio.run(live()).success
        assert call(own_docs, "search_documents", query="retry").success

    def test_shutdown_ends_a_warming_that_has_not_begun(self, own_docs: Docs) -> None:
        async def live() -> None:
            await own_docs.startup()
            await own_docs.shutdown()

        asyncio.run(live())
        for thread in threading.enumerate():
            if thread.name == "failsoft-docs-index":
                thread.join(timeout=10)
        assert "failsoft-docs-index" not in {thread.name for thread in threading.enumerate()}

    def test_many_calls_at_once_do_not_disturb_each_other(self, docs: Docs) -> None:
        async def crowd() -> list[ToolResponse[Any]]:
            return await asyncio.gather(
                *(
                    asyncio.create_task(coroutine)
                    for _ in range(8)
                    for coroutine in (
                        docs.get_documentation(path="guide/intro.md"),
                        docs.search_documents(query="retry"),
                        docs.list_documents(),
                    )
                )
            )

        assert {response.success for response in asyncio.run(crowd())} == {True}

    @settings(max_examples=examples(60))
    @given(
        st.sampled_from(["get_documentation", "list_documents", "search_documents"]),
        st.dictionaries(
            st.sampled_from(["path", "query", "limit", "prefix", "doc_type", "doc_types", "mode", "other"]),
            st.text(max_size=30) | st.integers() | st.none() | st.lists(st.text(max_size=5), max_size=3),
            max_size=4,
        ),
    )
    def test_any_call_has_an_answer_that_fits_the_output_schema(
        self, docs: Docs, operation: str, params: dict[str, Any]
    ) -> None:
        response = asyncio.run(docs.execute_with_error_handling(operation, params))
        answer = json.loads(json.dumps(response.to_dict()))

        jsonschema.validate(answer, docs.operations[operation].output_schema())
        if not response.success:
            assert answer["error"]["code"] in {
                "INVALID_PARAM",
                "INVALID_DOC_TYPE",
                "DOC_NOT_FOUND",
                "SEARCH_ERROR",
                "PROJECT_NOT_ACTIVATED",
            }


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docs]:
    folder = Path(str(files("failsoft.tools.docs") / "demo"))
    made = Docs(folder, cache_dir=tmp_path_factory.mktemp("cache"))
    yield made
    made.projects.close()


class TestDemo:
    """The documents that ship with the package."""

    def test_every_demo_document_is_read_without_a_warning(self, demo: Docs) -> None:
        listed = call(demo, "list_documents", limit=100).data["documents"]

        assert len(listed) >= 12
        for item in listed:
            response = call(demo, "get_documentation", path=item["path"])
            assert response.metadata.warnings == []
            assert response.data["documents"][0]["title"] == item["title"]

    @pytest.mark.parametrize(
        ("path", "served"),
        [
            ("guide/install.md", "guide/install.mdx"),
            ("guide", "guide/index.md"),
            ("guide/exceptions.md", "guide/errors.md"),
            ("getting-started", "guide/first-tool.md"),
        ],
    )
    def test_the_demo_has_something_to_recover(self, demo: Docs, path: str, served: str) -> None:
        assert call(demo, "get_documentation", path=path).data["documents"][0]["path"] == served

    def test_the_links_between_the_demo_documents_lead_somewhere(self, demo: Docs) -> None:
        for item in call(demo, "list_documents", limit=100).data["documents"]:
            text = call(demo, "get_documentation", path=item["path"]).data["documents"][0]["content"]
            for target in re.findall(r"\]\(([^)#]+\.mdx?)\)", text):
                path = os.path.normpath(os.path.join(os.path.dirname(item["path"]), target))  # noqa: PTH118, PTH120 - paths of documents
                assert call(demo, "get_documentation", path=path).metadata.recovery is None, (item["path"], target)
