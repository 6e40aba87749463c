"""What a path says by itself."""

from __future__ import annotations

import pytest

from tests.doors import PATH_BYTES_AT_MOST, folded, names_of
from tests.tools.files.faults import raises

REFUSED = {
    "": "empty",
    "\0": "nul",
    "/a\0": "nul",
    "a\0/../b": "nul",
    "/a/\udcff": "encoding",
    "\ud83d": "encoding",
    "/" + "a" * PATH_BYTES_AT_MOST: "long",
    "/" + "é" * (PATH_BYTES_AT_MOST // 2): "long",
    "a": "relative",
    "./a": "relative",
    "../a": "relative",
    "~/a": "relative",
    "C:/a": "relative",
    "file:///a": "relative",
    "\\\\server\\a": "relative",
    " /a": "relative",
    "/..": "parent",
    "/../etc/passwd": "parent",
    "/a/../b": "parent",
    "/a/b/..": "parent",
    "//a/.././b": "parent",
    "/a/../": "parent",
}


@pytest.mark.parametrize(("path", "reason"), REFUSED.items(), ids=[ascii(path)[:40] for path in REFUSED])
def test_a_path_that_no_file_can_have_is_refused_for_its_reason(path: str, reason: str) -> None:
    with raises() as caught:
        names_of(path)

    assert (caught.value.kind, caught.value.path, caught.value.effect) == (reason, path, "none")


def test_a_relative_path_is_taken_where_it_is_asked_for_but_never_one_that_leads_up() -> None:
    assert names_of("a/b", relative=True) == ("a", "b")
    with raises() as caught:
        names_of("a/../b", relative=True)
    assert caught.value.kind == "parent"


@pytest.mark.parametrize(
    ("path", "names"),
    {
        "/": (".",),
        "/a": ("a",),
        "//a///b": ("a", "b"),
        "/./a/./b": ("a", "b"),
        "/a/": ("a", "."),
        "/a/.": ("a", "."),
        "/...": ("...",),
        "/a\\..\\b": ("a\\..\\b",),
        "/%2e%2e/a": ("%2e%2e", "a"),
        "/a\nb": ("a\nb",),
        "/ ": (" ",),
    }.items(),
)
def test_a_path_is_its_names(path: str, names: tuple[str, ...]) -> None:
    assert names_of(path) == names


def test_names_that_some_file_system_holds_for_one_share_a_lock() -> None:
    assert folded("README.md") == folded("readme.MD")
    assert folded("caf\u00e9") == folded("cafe\u0301")
    assert folded("a") != folded("b")
