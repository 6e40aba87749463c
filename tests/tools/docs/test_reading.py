"""Sections, lists of paths, links and pages of get_documentation."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.docs import Docs
from tests.contract.surroundings import write_documents
from tests.doors import DocumentRoot, SitePages, anchors, section

PAGE = """# Top

Intro

## Install `it` (now!)

one

### Linux

two

```
## not a heading
```

## Install `it` (now!)

three

Under
-----

four
"""


def test_anchors_are_those_of_github() -> None:
    assert anchors(PAGE) == ["top", "install-it-now", "linux", "install-it-now-1", "under"]
    assert anchors("# [Linked](x.md) & <b>bold</b> Größe_1") == ["linked--bold-größe_1"]


def test_a_section_includes_its_subsections() -> None:
    text = section(PAGE, "install-it-now")
    assert text is not None
    assert text.startswith("## Install")
    assert "two" in text
    assert "three" not in text
    assert section(PAGE, "under") == "Under\n-----\n\nfour\n"
    assert section(PAGE, "nowhere") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](b.md#x) [again](b.md)", ["guide/b.md"]),
        ("[up](../index.md) [root](/guide/b.md)", ["index.md", "guide/b.md"]),
        ("[bare](b) [folder](../other/)", ["guide/b.md", "other/index.md"]),
        ("[ref][1]\n\n[1]: b.md\n", ["guide/b.md"]),
        ('<a href="b.md">b</a>', ["guide/b.md"]),
        ("[gone](gone.md) [web](https://x.org/b.md) [self](a.md) ![image](b.md)", []),
        ("```\n[code](b.md)\n```", []),
        ("[out](../../../b.md)", []),
    ],
)
def test_links_to_other_documents_are_listed(tmp_path: Path, text: str, found: list[str]) -> None:
    write_documents(tmp_path, dict.fromkeys(["guide/a.md", "guide/b.md", "index.md", "other/index.md"], "# Title"))
    assert SitePages(DocumentRoot(tmp_path)).links("guide/a.md", text) == found


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docs]:
    """Return a toolset over pages that no test changes; each may add its own."""
    folder = tmp_path_factory.mktemp("read")
    pages = {"guide/a.md": PAGE + "\n[b](b.mdx)\n", "guide/b.mdx": "+++\ntitle = 3\n+++\nB\n"}
    made = Docs(write_documents(folder / "docs", pages), cache_dir=folder / "cache")
    yield made
    made.projects.close()


class TestCalls:
    """Through the toolset."""

    def call(self, docs: Docs, /, **params: Any) -> dict[str, Any]:
        return asyncio.run(docs.execute_with_error_handling("get_documentation", params)).to_dict()

    def test_a_section_of_a_page(self, docs: Docs) -> None:
        document = self.call(docs, path="guide/a.md#linux")["data"]["documents"][0]
        assert (document["path"], document["content"][:9]) == ("guide/a.md#linux", "### Linux")

    def test_a_document_whose_name_holds_a_hash(self, docs: Docs) -> None:
        (docs.roots[0] / "c#1.md").write_text("C sharp\n")
        assert self.call(docs, path="c#1.md")["data"]["documents"][0]["content"] == "C sharp\n"

    def test_a_missing_section_names_the_closest(self, docs: Docs) -> None:
        error = self.call(docs, path="guide/a.md#linx")["error"]
        assert error["code"] == "DOC_NOT_FOUND"
        assert error["next_step"] == {"tool": "get_documentation", "arguments": {"path": "guide/a.md#linux"}}

    def test_several_documents_come_in_their_order(self, docs: Docs) -> None:
        found = self.call(docs, path=["guide/b.mdx", "guide/a.md"])["data"]["documents"]
        assert [(item["path"], item["title"], item["links"]) for item in found] == [
            ("guide/b.mdx", "3", []),
            ("guide/a.md", "Top", ["guide/b.mdx"]),
        ]

    def test_one_missing_fails_all_and_all_missing_are_named(self, docs: Docs) -> None:
        error = self.call(docs, path=["guide/a.md", "x1.md", "x2.md"])["error"]
        assert error["code"] == "DOC_NOT_FOUND"
        assert "x1.md" in error["message"]
        assert "x2.md" in error["message"]
        assert "guide/a.md" not in error["message"]

    def test_a_list_is_recovered_if_every_missing_one_is_certain(self, docs: Docs) -> None:
        wire = self.call(docs, path=["guide/a", "guide/b.md"])
        assert wire["metadata"]["recovery"]["changed"] == {"path": ["guide/a.md", "guide/b.mdx"]}

    def test_the_rule_of_a_recovery_is_named(self, docs: Docs) -> None:
        assert self.call(docs, path="guide/b.md#x")["success"] is False
        assert self.call(docs, path="guide/b.md")["metadata"]["recovery"]["rule"] == "extension"
        assert self.call(docs, path="Guide/A.md#linux")["metadata"]["recovery"]["rule"] == "case"

    def test_a_cursor_of_other_paths_or_of_an_old_page_is_refused(self, docs: Docs) -> None:
        (docs.roots[0] / "long.md").write_text("line\n" * 60_000)
        cursor = self.call(docs, path="long.md")["data"]["next_cursor"]
        assert self.call(docs, path="guide/a.md", cursor=cursor)["error"]["violations"][0]["path"] == "cursor"
        (docs.roots[0] / "long.md").write_text("other\n" * 60_000)
        assert self.call(docs, path="long.md", cursor=cursor)["error"]["violations"][0]["path"] == "cursor"

    def test_a_long_page_is_read_whole_by_its_cursors(self, docs: Docs) -> None:
        text = "".join(f"é line {number}\n" for number in range(60_000))
        (docs.roots[0] / "long.md").write_text(text)
        parts: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            data = self.call(docs, path=["guide/a.md", "long.md", "guide/b.mdx"], **cursor)["data"]
            parts += [item["content"] for item in data["documents"] if item["path"] == "long.md"]
            if "next_cursor" not in data:
                break
            cursor = {"cursor": data["next_cursor"]}
        assert "".join(parts) == text
        assert data["documents"][-1]["path"] == "guide/b.mdx"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_renamed_document_is_served_from_the_git_history(tmp_path: Path) -> None:
    root = tmp_path / "work/docs"
    root.mkdir(parents=True)
    body = "".join(f"Sentence number {number} of this page.\n" for number in range(40))
    (root / "old name.md").write_text(f"# Page\n\n{body}")
    (root / "gone.md").write_text("# Gone\n\nother words altogether\n")
    git(tmp_path / "work", "init", "-q")
    git(tmp_path / "work", "add", ".")
    git(tmp_path / "work", "commit", "-qm", "one")
    (root / "moved").mkdir()
    git(root, "mv", "old name.md", "moved/first.md")
    git(root, "rm", "-q", "gone.md")
    git(root, "commit", "-qm", "two")
    git(root, "mv", "moved/first.md", "moved/second.md")
    (root / "moved/second.md").write_text(f"# Page\n\nNew line.\n\n{body}")
    git(root, "commit", "-qam", "three")
    docs = Docs(root, cache_dir=tmp_path / "cache")

    served = asyncio.run(docs.get_documentation(path="old name.md")).to_dict()
    gone = asyncio.run(docs.get_documentation(path="gone.md")).to_dict()

    assert served["data"]["documents"][0]["path"] == "moved/second.md"
    assert (served["metadata"]["recovery"]["strategy"], served["metadata"]["recovery"]["rule"]) == (
        "alternate_path",
        "git_rename",
    )
    assert gone["error"]["code"] == "DOC_NOT_FOUND"
