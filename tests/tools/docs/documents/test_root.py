"""The root of the documents: nothing outside it is read, nothing blocks, and no answer reveals where the root is."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from failsoft import (
    ConfigurationError,
    DocumentLoadError,
    DocumentNotFound,
    InvalidParameter,
    PermissionDenied,
    ToolError,
)
from tests.doors import DocumentRoot, SitePages, document_names_of as names_of, is_visible
from tests.open_files import open_files
from tests.tools.docs.hostile_paths import MISSING, REFUSED
from tests.tools.docs.parts import Write


@pytest.fixture(autouse=True)
def _documents(write: Write) -> None:
    write(
        {
            "guide/intro.md": "# Intro",
            "guide/notes.txt": "no document",
            "guide/.hidden.md": "hidden",
            ".env.md": "hidden",
            ".hidden/page.md": "hidden",
            "node_modules/package/README.md": "not ours",
        }
    )


def read(root: DocumentRoot, path: str) -> bytes:
    return root.read(names_of(path))


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root's rights for a while, which make every file readable."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def refusal_of(root: DocumentRoot, path: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        read(root, path)
    assert str(root.root) not in caught.value.message
    assert str(root.root) not in str(caught.value.public())
    return caught.value


def test_there_are_enough_hostile_paths() -> None:
    assert len(set(REFUSED)) + len(set(MISSING)) >= 150


def test_a_hostile_spelling_is_an_invalid_parameter_with_one_violation(root: DocumentRoot) -> None:
    for path in REFUSED:
        error = refusal_of(root, path)

        assert isinstance(error, InvalidParameter), path
        violations = [(item.path, item.reason in {"format", "length"}) for item in error.violations]
        assert violations == [("path", True)], path
        assert error.violations[0].expected, path


def test_a_path_that_only_looks_clever_is_a_missing_document(root: DocumentRoot) -> None:
    kinds = {path: type(refusal_of(root, path)) for path in MISSING}
    assert kinds == dict.fromkeys(MISSING, DocumentNotFound)


@pytest.mark.parametrize("path", ["guide/intro.md", "./guide/intro.md", "guide//intro.md", "guide/./intro.md"])
def test_a_spelling_that_adds_nothing_leads_to_the_document(root: DocumentRoot, path: str) -> None:
    assert read(root, path) == b"# Intro"


@pytest.mark.parametrize(
    "path", ["/guide/intro.md", "guide\\intro.md", "guide/../guide/intro.md", "///guide/./intro.md"]
)
def test_a_violation_suggests_the_document_that_was_meant(root: DocumentRoot, path: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        names_of(path, find=SitePages(root).find)

    assert caught.value.violations[0].suggestion == "guide/intro.md"


@pytest.mark.parametrize("path", ["/etc/passwd", "/guide/gone.md", "../secret.md", "/.env.md"])
def test_a_violation_suggests_nothing_that_is_not_there(root: DocumentRoot, path: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        names_of(path, find=SitePages(root).find)

    assert caught.value.violations[0].suggestion is None


@pytest.mark.parametrize("name", ["a.md", "Ünïcode.md", "with space.md", "日本.md", "a:b.md"])
def test_common_names_are_visible(name: str) -> None:
    assert is_visible(name)


@pytest.mark.parametrize("name", [".a.md", "node_modules", "a\\b.md", "a\nb.md", "a\udcff.md", "C:"])
def test_names_that_no_path_can_spell_are_not_visible(name: str) -> None:
    assert not is_visible(name)


class TestLinks:
    """Links within the root are followed; what leads out is refused, however it is dressed."""

    @pytest.mark.parametrize("target", ["intro.md", "../guide/intro.md", "./intro.md", "..//guide/./intro.md"])
    def test_a_link_within_the_root_is_followed(self, root: DocumentRoot, tree: Path, target: str) -> None:
        (tree / "guide/link.md").symlink_to(target)

        assert read(root, "guide/link.md") == b"# Intro"

    def test_a_linked_folder_is_followed(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "latest").symlink_to("guide")
        (tree / "newest").symlink_to("latest/")

        assert read(root, "newest/intro.md") == b"# Intro"

    def test_an_absolute_link_into_the_root_is_followed(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "link.md").symlink_to(tree / "guide/intro.md")

        assert read(root, "link.md") == b"# Intro"

    def test_a_root_that_is_a_link_itself_is_followed(self, tmp_path: Path, tree: Path) -> None:
        (tmp_path / "current").symlink_to(tree)
        (tree / "link.md").symlink_to(tmp_path / "current/guide/intro.md")

        assert read(DocumentRoot(tmp_path / "current"), "link.md") == b"# Intro"

    def test_a_step_up_in_a_link_is_taken_from_the_real_folder(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "deep/er").mkdir(parents=True)
        (tree / "deep/other.md").write_text("other")
        (tree / "short").symlink_to("deep/er")
        (tree / "link.md").symlink_to("short/../other.md")

        assert read(root, "link.md") == b"other"

    @pytest.mark.parametrize(
        "target",
        ["../../secret.md", "../../docs/../secret.md", "/etc/hostname", "/", "..", "../..", "../../docs-twin/x.md"],
    )
    def test_a_link_out_of_the_root_is_refused(
        self, root: DocumentRoot, tree: Path, tmp_path: Path, target: str
    ) -> None:
        twin = tmp_path / "docs-twin"
        twin.mkdir()
        (twin / "x.md").write_text("a folder whose name begins like the root's")
        (tree / "guide/link.md").symlink_to(target)
        (tree / "guide/folder").symlink_to(target)

        error = refusal_of(root, "guide/link.md")
        through = refusal_of(root, "guide/folder/secret.md")

        expected = {DocumentNotFound} if target == ".." else {PermissionDenied}
        assert {type(error), type(through)} == expected

    def test_an_absolute_link_to_a_neighbour_with_the_roots_prefix_is_refused(
        self, root: DocumentRoot, tree: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "docs-twin").mkdir()
        (tmp_path / "docs-twin/x.md").write_text("twin")
        (tree / "link.md").symlink_to(tmp_path / "docs-twin/x.md")

        assert type(refusal_of(root, "link.md")) is PermissionDenied

    def test_a_link_to_itself_and_a_circle_end(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "self.md").symlink_to("self.md")
        (tree / "a.md").symlink_to("b.md")
        (tree / "b.md").symlink_to("a.md")
        (tree / "loop").symlink_to(".")
        (tree / "grow").symlink_to("grow/grow")

        assert {type(refusal_of(root, path)) for path in ("self.md", "a.md", "grow/x.md")} == {DocumentLoadError}
        assert read(root, "loop/loop/guide/intro.md") == b"# Intro"

    def test_a_link_to_nothing_is_a_missing_document(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "dangling.md").symlink_to("nowhere.md")
        (tree / "long.md").symlink_to("n" * 255 + "/" + "m" * 255)

        assert type(refusal_of(root, "dangling.md")) is DocumentNotFound
        assert type(refusal_of(root, "long.md")) is DocumentNotFound

    def test_a_link_may_lead_through_a_hidden_folder_as_mounted_volumes_do(
        self, root: DocumentRoot, tree: Path
    ) -> None:
        (tree / "..2026").mkdir()
        (tree / "..2026/page.md").write_text("mounted")
        (tree / "..data").symlink_to("..2026")
        (tree / "page.md").symlink_to("..data/page.md")

        assert read(root, "page.md") == b"mounted"


class TestOtherFiles:
    """What is no regular file is never opened in a way that could block or have an effect."""

    def test_a_pipe_is_refused_without_waiting(self, root: DocumentRoot, tree: Path) -> None:
        os.mkfifo(tree / "pipe.md")

        assert isinstance(refusal_of(root, "pipe.md"), DocumentLoadError)

    def test_a_socket_is_refused(self, root: DocumentRoot, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tree)  # the address of a socket is short
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket.md")

            assert isinstance(refusal_of(root, "socket.md"), DocumentLoadError)

    def test_a_device_is_refused(self, root: DocumentRoot, tree: Path) -> None:
        try:
            os.mknod(tree / "zero.md", 0o20644, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("making a device file needs root")

        assert isinstance(refusal_of(root, "zero.md"), DocumentLoadError)

    def test_a_link_to_a_device_is_refused(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "zero.md").symlink_to("/dev/zero")

        assert isinstance(refusal_of(root, "zero.md"), PermissionDenied)

    def test_a_folder_with_the_name_of_a_document_is_none(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "folder.md").mkdir()

        assert type(refusal_of(root, "folder.md")) is DocumentNotFound
        assert not root.holds("folder.md")


class TestLimits:
    """Size, access and a root that went away."""

    def test_a_document_of_the_limit_is_read_and_one_byte_more_is_not(self, tree: Path) -> None:
        root = DocumentRoot(tree, document_bytes_at_most=100)
        (tree / "full.md").write_bytes(b"x" * 100)
        (tree / "over.md").write_bytes(b"x" * 101)

        assert len(read(root, "full.md")) == 100
        assert isinstance(refusal_of(root, "over.md"), DocumentLoadError)

    def test_an_empty_document_is_a_document(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "empty.md").touch()

        assert read(root, "empty.md") == b""

    def test_a_disk_error_is_a_load_error(self, root: DocumentRoot, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> bytes:
            raise OSError(errno.EIO, "injected")

        monkeypatch.setattr(os, "read", fail)

        assert isinstance(refusal_of(root, "guide/intro.md"), DocumentLoadError)

    def test_what_the_operating_system_refuses_is_permission_denied(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            tree.chmod(0o755)  # pytest's own folders are closed to everybody else
            (tree / "closed.md").write_text("closed")
            (tree / "closed.md").chmod(0)
            (tree / "closed").mkdir(mode=0)
            root = DocumentRoot(tree)
            with as_nobody():
                errors = [refusal_of(root, path) for path in ("closed.md", "closed/page.md")]

        assert {type(error) for error in errors} == {PermissionDenied}

    def test_a_root_that_went_away_is_a_configuration_error_until_it_returns(
        self, root: DocumentRoot, tree: Path
    ) -> None:
        tree.rename(tree.with_name("away"))
        assert isinstance(refusal_of(root, "guide/intro.md"), ConfigurationError)

        tree.with_name("away").rename(tree)
        assert read(root, "guide/intro.md") == b"# Intro"

    def test_no_descriptor_is_left_open(self, root: DocumentRoot, tree: Path) -> None:
        (tree / "out").symlink_to("..")
        (tree / "deep/er").mkdir(parents=True)
        (tree / "up.md").symlink_to("deep/er/../../guide/intro.md")
        before = open_files(tree.parent)

        for _ in range(20):
            assert read(root, "up.md")
            for path in ("out/secret.md", "guide/intro.md/x.md", "deep/er/gone.md"):
                refusal_of(root, path)

        assert open_files(tree.parent) <= before
