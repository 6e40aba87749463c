"""Promotion: the level is one line of the front matter, and nothing else in the file changes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from failsoft import Runtime, Settings
from failsoft.tools.docs import Docs, SchemaValidationFailed
from tests.doors import DocumentRoot, Files, Roots, index_module as index, read_front_matter, with_level

LEVELS = ("standard", "important", "critical", "needs review")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\ntitle: A  # why\nb: 1\n---\nText", "---\ntitle: A  # why\nb: 1\npromotion_level: critical\n---\nText"),
        (
            "---\r\ntitle: A\r\n---\r\nText\r\n",
            "---\r\ntitle: A\r\npromotion_level: critical\r\n---\r\nText\r\n",
        ),
        (
            "---\npromotion_level:   standard   # low\ntitle: A\n---\n",
            "---\npromotion_level:   critical   # low\ntitle: A\n---\n",
        ),
        ("---\npromotion_level: 'standard'\n---\n", "---\npromotion_level: critical\n---\n"),
        ("---\npromotion_level:\n---\n", "---\npromotion_level: critical\n---\n"),
        ("---\nlevel: important\n---\n", "---\nlevel: critical\n---\n"),
        ("---\nlevel: beginner\n---\n", "---\nlevel: beginner\npromotion_level: critical\n---\n"),
        ("---\n---\nText", "---\npromotion_level: critical\n---\nText"),
        ("Text", "---\npromotion_level: critical\n---\nText"),
        ("\ufeffText", "\ufeff---\npromotion_level: critical\n---\nText"),
        ("+++\ntitle = 'A' # why\n[x]\ny = 1\n+++\n", None),
        ('+++\npromotion_level = "standard" # low\n+++\n', '+++\npromotion_level = "critical" # low\n+++\n'),
        ("---\n  title: indented\n---\n", "---\n  title: indented\n  promotion_level: critical\n---\n"),
        ("---\ntext: |\n  a\n  promotion_level: standard\n---\n", None),
    ],
)
def test_one_line_is_written(before: str, after: str | None) -> None:
    written = with_level("a.md", before, "critical", LEVELS)

    assert after is None or written == after
    old, new = read_front_matter(before), read_front_matter(written)
    assert "critical" in new.data.values()
    assert {**old.data, **new.data} == new.data
    assert new.body == old.body
    assert len(written.splitlines()) - len(before.splitlines()) <= 3


def test_a_level_that_yaml_would_read_as_something_else_is_quoted() -> None:
    assert read_front_matter(with_level("a.md", "---\na: 1\n---\n", "yes", ("yes",))).data["promotion_level"] == "yes"


@pytest.mark.parametrize(
    "text",
    ["---\ntitle: [\n---\n", "---\n{title: A}\n---\n", "---\ntitle: A\n", "---\n- a\n---\n", "+++\na = \n+++\n"],
)
def test_front_matter_that_a_line_cannot_be_written_into_is_refused_with_a_line(text: str) -> None:
    with pytest.raises(SchemaValidationFailed) as caught:
        with_level("a.md", text, "critical", LEVELS)

    assert caught.value.violations[0].line is not None


def _become_a_pipe(page: Path) -> None:
    page.unlink()
    os.mkfifo(page)


def _become_a_folder(page: Path) -> None:
    page.unlink()
    page.mkdir()


def _become_a_loop(page: Path) -> None:
    page.unlink()
    page.symlink_to(page.name)


def after_reading(monkeypatch: pytest.MonkeyPatch, folder: Path, act: Callable[[], object]) -> None:
    """Have something done once, after a document of a folder was read and before its file is opened to be written.

    Other folders are read meanwhile: by the index of an earlier test, in its own thread.
    """
    read = DocumentRoot.read

    def reading(root: DocumentRoot, names: Sequence[str]) -> bytes:
        data = read(root, names)
        if root.root == folder:
            monkeypatch.setattr(DocumentRoot, "read", read)
            act()
        return data

    monkeypatch.setattr(DocumentRoot, "read", reading)


class TestOnDisk:
    """promote_document."""

    @pytest.fixture
    def docs(self, tmp_path: Path) -> Iterator[Docs]:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs/a.md").write_text("---\ntitle: A\n---\nText\n")
        made = Docs(tmp_path / "docs", cache_dir=tmp_path / "cache", state_folder=tmp_path / "state")
        yield made
        made.projects.close()

    def call(self, docs: Docs, operation: str, /, **params: Any) -> dict[str, Any]:
        return asyncio.run(docs.execute_with_error_handling(operation, params)).to_dict()

    def test_the_level_is_listed_and_filtered(self, docs: Docs, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(index, "_WALK_SHARE", 1e9)  # as if walking the tree took long
        self.call(docs, "list_documents")
        answer = self.call(docs, "promote_document", path="a.md", level="critical")
        assert (answer["data"]["previous_level"], answer["data"]["changed"]) == ("standard", True)
        assert self.call(docs, "list_documents")["data"]["documents"][0]["level"] == "critical"
        assert self.call(docs, "search_documents", query="text", level="critical")["data"]["total"] == 1
        assert self.call(docs, "search_documents", query="text", level="standard")["data"]["total"] == 0

    def test_the_same_level_again_changes_nothing(self, docs: Docs) -> None:
        self.call(docs, "promote_document", path="a.md", level="critical")
        assert self.call(docs, "promote_document", path="a.md", level="critical")["data"]["changed"] is False

    def test_another_hash_is_refused_and_nothing_is_written(self, docs: Docs, tmp_path: Path) -> None:
        before = (tmp_path / "docs/a.md").read_bytes()
        error = self.call(docs, "promote_document", path="a.md", level="critical", expected_hash="0" * 64)["error"]
        assert (error["category"], error["effect"]) == ("conflict", "none")
        assert (tmp_path / "docs/a.md").read_bytes() == before
        right = hashlib.sha256(before).hexdigest()
        answer = self.call(docs, "promote_document", path="a.md", level="critical", expected_hash=right)
        assert answer["data"]["sha256"] == hashlib.sha256((tmp_path / "docs/a.md").read_bytes()).hexdigest()

    @pytest.mark.parametrize("change", [_become_a_pipe, Path.unlink, _become_a_folder, _become_a_loop])
    def test_a_page_that_is_changed_after_it_was_read_is_a_conflict(
        self, docs: Docs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
    ) -> None:
        after_reading(monkeypatch, tmp_path / "docs", lambda: change(tmp_path / "docs/a.md"))

        error = self.call(docs, "promote_document", path="a.md", level="critical")["error"]

        assert (error["code"], error["effect"]) == ("HASH_MISMATCH", "none")

    def test_a_folder_that_becomes_a_link_to_external_pages_after_it_was_read_is_not_followed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is external is judged by the file that would be written, not by a path that may lead elsewhere now."""
        pages = {"own/a.md": "Text\n", "vendor/a.md": "Theirs\n"}
        for path, text in pages.items():
            (tmp_path / "docs" / path).parent.mkdir(parents=True)
            (tmp_path / "docs" / path).write_text(text)
        config = {"name": "p", "docs_root": ".", "external_docs": "vendor"}
        (tmp_path / "docs/config.json").write_text(json.dumps(config))
        docs = Docs(tmp_path / "docs", cache_dir=tmp_path / "cache", state_folder=tmp_path / "state")
        project = self.call(docs, "activate_project", config_path="config.json")["data"]["project"]

        def swap() -> None:
            (tmp_path / "docs/own").rename(tmp_path / "docs/kept")
            (tmp_path / "docs/own").symlink_to("vendor")

        after_reading(monkeypatch, tmp_path / "docs", swap)
        error = self.call(docs, "promote_document", path="own/a.md", level="critical", project=project)["error"]
        again = self.call(docs, "promote_document", path="own/a.md", level="critical", project=project)["error"]

        assert (error["code"], again["code"]) == ("EXTERNAL_DOCS_NOT_PROMOTABLE", "EXTERNAL_DOCS_NOT_PROMOTABLE")
        assert (tmp_path / "docs/vendor/a.md").read_text() == "Theirs\n"
        docs.projects.close()

    def test_a_call_that_ran_out_of_time_while_it_waited_for_the_file_never_writes(self, tmp_path: Path) -> None:
        page, state = tmp_path / "docs/a.md", tmp_path / "state"
        page.parent.mkdir()
        page.write_text("Text\n")
        before = page.read_bytes()
        runtime = Runtime(settings=Settings(default_timeout_s=0.2))
        hasty = Docs(page.parent, cache_dir=tmp_path / "cache", state_folder=state, runtime=runtime)
        files = Files(Roots([page.parent]), state_folder=state)
        with files.transaction([str(page)]):
            error = self.call(hasty, "promote_document", path="a.md", level="critical")["error"]
        assert (error["code"], error["effect"]) == ("DEADLINE_EXCEEDED", "none")
        while runtime.threads.abandoned:
            pass  # the call goes on in its thread until it has the file, or gives up
        assert page.read_bytes() == before
        hasty.projects.close()

    def test_a_misspelt_level_is_asked_about_and_not_corrected(self, docs: Docs) -> None:
        error = self.call(docs, "promote_document", path="a.md", level="critcal")["error"]
        assert error["violations"][0]["suggestion"] == "critical"
        assert "next_step" not in error

    def test_an_unknown_level_is_refused_with_the_levels(self, docs: Docs) -> None:
        error = self.call(docs, "promote_document", path="a.md", level="crit")["error"]
        assert error["violations"][0]["allowed"] == ["standard", "important", "critical"]
