"""Only what lies beneath a root is reached, whatever the path or the links on the way say."""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.doors import FileFault, Files, Roots
from tests.open_files import all_open_files, open_files
from tests.tools.docs.hostile_paths import MISSING, REFUSED

LIMIT = 1_000


@pytest.fixture(autouse=True)
def _inside(root: Path) -> None:
    (root / "folder/deep").mkdir(parents=True)
    (root / "folder/file").write_bytes(b"inside")


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(all_open_files()) + 20, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def read(files: Files, path: Path | str) -> bytes:
    return files.read(str(path), bytes_at_most=LIMIT).data


def fault_of(files: Files, path: Path | str) -> FileFault:
    with pytest.raises(FileFault) as caught:
        read(files, path)
    assert caught.value.effect == "none"
    assert caught.value.path == str(path)
    return caught.value


def errno_of(files: Files, path: Path | str) -> str:
    fault = fault_of(files, path)
    assert (fault.step, fault.errno is None) == ("find", False)
    return errno.errorcode[fault.errno or 0]


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize("spelling", ["folder/file", "folder//file", "./folder/./file"])
def test_a_file_beneath_the_root_is_read(files: Files, root: Path, spelling: str) -> None:
    assert read(files, f"{root}/{spelling}") == b"inside"


def test_no_hostile_path_reaches_anything_that_is_not_there(files: Files, root: Path) -> None:
    """Spelled from the root, from anywhere, and as it is; nothing is opened, so nothing is left open."""
    (root / "secret.md").symlink_to(root.parent / "outside/secret")
    before = open_files(root.parent)
    relative = Files(Roots([root], relative=True), state_folder=root.parent / "state")

    for hostile in (*REFUSED, *MISSING):
        for path in (f"{root}/{hostile}", f"{root}/folder/{hostile}", hostile):
            fault_of(files, path)
            fault_of(relative, path)

        assert open_files(root.parent) <= before, ascii(hostile)


class TestOutside:
    def test_a_path_elsewhere_is_outside_whether_or_not_it_exists(self, files: Files, root: Path) -> None:
        (root.parent / "root-twin").mkdir()
        (root.parent / "root-twin/file").write_bytes(b"twin")

        for path in (
            "/etc/passwd",
            root.parent / "outside/secret",
            root.parent / "gone",
            root.parent / "root-twin/file",
        ):
            assert fault_of(files, path).kind == "outside"

    @pytest.mark.parametrize(
        "target",
        ["../outside/secret", "../../../../etc/passwd", "folder/../../outside/secret", "/etc/passwd", "/", "..", "//"],
    )
    def test_a_link_that_leads_out_is_not_followed(self, files: Files, root: Path, target: str) -> None:
        (root / "link").symlink_to(target)
        (root / "chain").symlink_to("link")

        for path in (root / "link", root / "chain", root / "link/secret", root / "chain/etc/passwd"):
            assert fault_of(files, path).kind == "outside"

    def test_a_link_that_leads_out_and_in_again_is_not_followed(self, files: Files, root: Path) -> None:
        (root / "link").symlink_to(f"../{root.name}/folder/file")

        assert fault_of(files, root / "link").kind == "outside"

    def test_what_is_off_limits_is_outside_by_every_way_to_it(self, root: Path, tmp_path: Path) -> None:
        (root / "Audit.jsonl").write_bytes(b"log")
        (root / "conf").mkdir()
        (root / "conf/settings").write_bytes(b"settings")
        (root / "link").symlink_to("Audit.jsonl")
        (root / "linked").symlink_to("conf")
        roots = Roots([root], off_limits=[root / "Audit.jsonl", root / "conf", root / "later"])
        files = Files(roots, state_folder=root / "state")
        (root / "state").mkdir()
        (root / "state/x").touch()

        for name in ("Audit.jsonl", "link", "conf/settings", "linked/settings", "linked/new", "later", "state/x"):
            assert fault_of(files, root / name).kind == "outside"
        (root / "audit").write_bytes(b"another")
        assert read(files, root / "audit") == b"another"


class TestLinks:
    @pytest.mark.parametrize("target", ["file", "../folder/file", "./deep/../file", "{root}/folder/file"])
    def test_a_link_that_stays_inside_is_followed(self, files: Files, root: Path, target: str) -> None:
        (root / "folder/link").symlink_to(target.format(root=root))

        assert read(files, root / "folder/link") == b"inside"

    def test_a_linked_folder_is_followed_and_its_parent_is_the_real_one(self, files: Files, root: Path) -> None:
        (root / "short").symlink_to("folder/deep")
        (root / "link").symlink_to("short/../file")

        assert read(files, root / "link") == b"inside"

    def test_a_link_into_another_root_is_followed_if_it_says_so_in_full(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "second").mkdir()
        (root / "link").symlink_to(tmp_path / "outside/secret")
        files = Files(Roots([root, tmp_path / "outside", tmp_path / "second"]), state_folder=tmp_path / "state")

        assert read(files, root / "link") == b"secret"
        assert read(files, tmp_path / "outside/secret") == b"secret"

    def test_a_root_may_be_a_link_itself_and_is_reached_by_both_names(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "current").symlink_to(root)
        files = Files(Roots([tmp_path / "current"]), state_folder=tmp_path / "state")

        assert read(files, tmp_path / "current/folder/file") == read(files, root / "folder/file") == b"inside"

    def test_circles_end(self, files: Files, root: Path) -> None:
        (root / "self").symlink_to("self")
        (root / "a").symlink_to("b")
        (root / "b").symlink_to("a")
        (root / "grow").symlink_to("grow/grow")
        (root / "dot").symlink_to(".")

        assert {errno_of(files, root / name) for name in ("self", "a", "b/x", "grow/x")} == {"ELOOP"}
        assert read(files, f"{root}{'/dot' * 40}/folder/file") == b"inside"
        assert errno_of(files, f"{root}{'/dot' * 41}/folder/file") == "ELOOP"

    def test_links_that_only_keep_us_walking_end(self, files: Files, root: Path) -> None:
        (root / "long").symlink_to("folder/deep/../../" * 200 + "folder/file")
        deep = root / "folder/deep"
        for _ in range(100):
            deep /= "d"
            deep.mkdir()
        (deep / "d").mkdir()
        (deep / "climb").symlink_to("d/../" * 700)

        assert read(files, root / "long") == b"inside"
        assert errno_of(files, deep / "climb/x") == "ELOOP"

    def test_a_link_to_nothing_is_where_a_new_file_would_be(self, files: Files, root: Path) -> None:
        (root / "link").symlink_to("folder/new")

        assert errno_of(files, root / "link") == "ENOENT"
        with files.transaction([str(root / "link")]) as work:
            work.create(str(root / "link"), b"made")
            work.commit()
        assert (root / "link").is_symlink()
        assert (root / "folder/new").read_bytes() == b"made"


class TestOtherThanFiles:
    @pytest.mark.parametrize(("kind", "make"), [("folder", Path.mkdir), ("pipe", os.mkfifo), ("socket", _bind)])
    def test_only_regular_files_are_read(
        self, files: Files, root: Path, kind: str, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(root)  # the address of a socket has to be short
        make(Path("thing"))

        fault = fault_of(files, root / "thing")

        assert fault.kind == "not_regular"
        assert fault.facts["what"] == kind

    def test_a_device_is_no_file(self, tmp_path: Path) -> None:
        fault = fault_of(Files(Roots(["/"]), state_folder=tmp_path / "state"), "/dev/null")

        assert fault.kind == "not_regular"
        assert fault.facts["what"] == "device"

    def test_the_root_itself_is_a_folder(self, files: Files, root: Path) -> None:
        for path in (root, f"{root}/", f"{root}/."):
            fault = fault_of(files, path)
            assert fault.kind == "not_regular"
            assert fault.facts["what"] == "folder"

    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("gone", "ENOENT"),
            ("gone/file", "ENOENT"),
            ("folder/file/x", "ENOTDIR"),
            ("folder/file/", "ENOTDIR"),
            ("n" * 256, "ENAMETOOLONG"),
            ("n" * 256 + "/x", "ENAMETOOLONG"),
        ],
    )
    def test_what_the_system_says_about_a_path_is_kept(self, files: Files, root: Path, path: str, name: str) -> None:
        assert errno_of(files, f"{root}/{path}") == name

    def test_a_long_way_needs_no_more_descriptors_than_a_short_one(
        self, files: Files, root: Path, few_descriptors: None
    ) -> None:
        deep = root.joinpath(*["d"] * 200)
        deep.mkdir(parents=True)
        (deep / "file").write_bytes(b"deep")
        (root / "link").symlink_to("d/" * 200 + "../d/file")

        assert read(files, deep / "file") == read(files, root / "link") == b"deep"


class TestSeveralRoots:
    def test_without_roots_every_absolute_path_is_allowed(self, root: Path, tmp_path: Path) -> None:
        files = Files(Roots(["/"]), state_folder=tmp_path / "state")
        (root / "link").symlink_to("../outside/secret")
        (root / "up").symlink_to("../" * 40)

        assert read(files, tmp_path / "outside/secret") == read(files, root / "link") == b"secret"
        assert read(files, f"{root}/up{tmp_path}/outside/secret") == b"secret"

    def test_a_root_within_a_root_is_a_part_of_it(self, root: Path, tmp_path: Path) -> None:
        """Otherwise a user who may write the outer one could swap the inner one for a link to anywhere."""
        (tmp_path / "alias").symlink_to(root / "folder")
        roots = Roots([tmp_path / "alias", root])
        files = Files(roots, state_folder=tmp_path / "state")

        assert roots.folders == (str(root),)
        assert read(files, tmp_path / "alias/file") == b"inside"
        (root / "folder").rename(root / "kept")
        (root / "folder").symlink_to(tmp_path / "outside")
        assert fault_of(files, tmp_path / "alias/secret").kind == "outside"

    def test_relative_paths_start_at_the_first_root(self, root: Path, tmp_path: Path) -> None:
        roots = Roots([root, tmp_path / "outside"], relative=True)

        assert read(Files(roots, state_folder=tmp_path / "state"), "folder/file") == b"inside"

    @pytest.mark.parametrize("name", ["gone", "root/folder/file"])
    def test_a_root_that_is_no_folder_is_refused_at_the_start(self, root: Path, tmp_path: Path, name: str) -> None:
        with pytest.raises(OSError, match=r"Errno"):
            Roots([root, tmp_path / name])


def test_the_nearest_part_of_a_path_follows_links_to_what_is_missing(files: Files, root: Path) -> None:
    (root / "real").mkdir()
    (root / "way").symlink_to("real/new")

    near = files.roots.nearest(str(root / "way/a/b"))

    assert (near.real_path, near.is_there, near.rest) == (str(root / "real/new"), False, ("a", "b"))
    assert near.destination == str(root / "real/new/a/b")
    assert files.roots.nearest(str(root / "real/file/x")).rest == ("x",)
