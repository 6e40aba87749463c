"""The walk: every document once, nothing else, and no way out of the root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from failsoft import ConfigurationError
from tests.doors import DocumentRoot, load_document, walk
from tests.tools.docs.parts import Write


def paths(root: DocumentRoot) -> list[str]:
    return [entry.path for entry in walk(root)]


def test_documents_are_found_by_their_ending_in_any_case(root: DocumentRoot, write: Write) -> None:
    write({"b.md": "", "a/c.mdx": "", "A.MD": "", "a/x.txt": "", "a/md": "", "a/b.md.bak": ""})

    assert paths(root) == ["A.MD", "a/c.mdx", "b.md"]


def test_hidden_folders_and_packages_are_left_out(root: DocumentRoot, write: Write) -> None:
    write({"a.md": "", ".b.md": "", ".git/c.md": "", "node_modules/d/README.md": "", "x/node_modules/e.md": ""})

    assert paths(root) == ["a.md"]


def test_names_that_no_path_can_spell_are_left_out(root: DocumentRoot, tree: Path, write: Write) -> None:
    write({"a.md": "", "b\\c.md": "", "d\ne.md": "", "f:/g.md": ""})
    (tree / os.fsdecode(b"\xff.md")).write_text("")

    assert paths(root) == ["a.md"]


def test_everything_that_is_listed_can_be_read(root: DocumentRoot, tree: Path, write: Write) -> None:
    deep = "/".join(["d"] * 63)
    write({f"{deep}/x.md": "", "ünï/日本.md": "", "sp ace/a b.md": "", "%2e.md": "", "'\"`$;.md": "", "~/x.md": ""})
    (tree / "shallow").symlink_to("ünï")
    (tree / "link.md").symlink_to("sp ace/a b.md")

    assert [load_document(root, path.split("/")).path for path in paths(root)] == paths(root)
    assert len(paths(root)) == 6


def test_what_lies_deeper_than_a_path_may_be_is_left_out(root: DocumentRoot, write: Write) -> None:
    write({"/".join(["d"] * 64) + "/x.md": "", "a.md": ""})

    assert paths(root) == ["a.md"]


def test_only_regular_files_are_listed(root: DocumentRoot, tree: Path, write: Write) -> None:
    write({"a.md": "", "folder.md/b.md": ""})
    os.mkfifo(tree / "pipe.md")
    (tree / "zero.md").symlink_to("/dev/zero")

    assert paths(root) == ["a.md", "folder.md/b.md"]


def test_links_out_of_the_root_are_left_out(root: DocumentRoot, tree: Path, write: Write) -> None:
    write({"a.md": ""})
    (tree / "secret.md").symlink_to("../secret.md")
    (tree / "up").symlink_to("..")
    (tree / "absolute").symlink_to("/")
    (tree / "dangling.md").symlink_to("nowhere.md")

    assert paths(root) == ["a.md"]


def test_circles_end(root: DocumentRoot, tree: Path, write: Write) -> None:
    write({"a/b/c.md": ""})
    (tree / "a/b/again").symlink_to("../..")
    (tree / "self").symlink_to("self")
    (tree / "here").symlink_to(".")

    assert paths(root) == ["a/b/c.md"]


def test_a_document_with_two_names_is_listed_under_the_real_one(root: DocumentRoot, tree: Path, write: Write) -> None:
    write({"v2/a.md": "", "v2/b.md": ""})
    (tree / "latest").symlink_to("v2")
    (tree / "a.md").symlink_to("v2/a.md")

    assert paths(root) == ["v2/a.md", "v2/b.md"]


def test_a_document_in_a_hidden_folder_is_listed_under_its_link(root: DocumentRoot, tree: Path, write: Write) -> None:
    write({"..2026/a.md": "", "..2026/sub/b.md": ""})
    (tree / "..data").symlink_to("..2026")
    (tree / "a.md").symlink_to("..data/a.md")
    (tree / "sub").symlink_to("..data/sub")

    assert paths(root) == ["a.md", "sub/b.md"]


def test_a_root_that_is_missing_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        walk(DocumentRoot(tmp_path / "nowhere"))
