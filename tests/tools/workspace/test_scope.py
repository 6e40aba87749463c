"""Which files a plan covers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from tests.doors import FILES_AT_MOST, covers, faults_of, normal

COVERED = [
    ("a.md", "a.md"),
    ("src/a.py", "src/a.py"),
    ("*.md", "a.md"),
    ("src/*.py", "src/a.py"),
    ("src/**", "src/a.py"),
    ("src/**", "src/x/y/a.py"),
    ("**", "a"),
    ("**", "x/y/a"),
    ("**/a.py", "a.py"),
    ("**/a.py", "x/y/a.py"),
    ("src/**/a.py", "src/a.py"),
    ("src/**/x/**/a.py", "src/x/x/y/a.py"),
    ("?.md", "a.md"),
    ("[ab].md", "a.md"),
    ("[!b].md", "a.md"),
    ("app/[id]/page.tsx", "app/[id]/page.tsx"),
    (".github/*.yml", ".github/a.yml"),
    ("**/.keep", "x/.keep"),
    (".*", ".env"),
]
NOT_COVERED = [
    ("a.md", "A.md"),
    ("a.md", "x/a.md"),
    ("a.md", "a.md/b"),
    ("gr\u00fcn", "gru\u0308n"),
    ("*", "x/a"),
    ("src/*", "src/x/a"),
    ("src/**", "src"),
    ("src/**", "srcs/a"),
    ("src/**", "x/src/a"),
    ("**", ".env"),
    ("**", ".git/config"),
    ("**", "x/.git/config"),
    ("*", ".env"),
    ("?env", ".env"),
    ("[.]env", ".env"),
    ("[!a]env", ".env"),
    ("src/**/a.py", "src/.x/a.py"),
    ("a?b", "a/b"),
    ("a[/]b", "a/b"),
    ("a*b", "a/b"),
    ("**", "."),
    ("*.md", "a.md\n"),
]


@pytest.mark.parametrize(("pattern", "path"), COVERED)
def test_it_covers(pattern: str, path: str) -> None:
    assert covers([pattern], path)
    assert covers(["other", pattern], path)


@pytest.mark.parametrize(("pattern", "path"), NOT_COVERED)
def test_it_does_not_cover(pattern: str, path: str) -> None:
    assert not covers([pattern], path)


names = st.text(alphabet="ab.*", min_size=1, max_size=3).filter(lambda name: ".." not in name and name != ".")


@given(st.lists(names, min_size=1, max_size=4), st.lists(names, min_size=1, max_size=4))
def test_a_pattern_means_what_a_regular_expression_would(pattern: list[str], path: list[str]) -> None:
    if any("**" in name and name != "**" for name in pattern):
        assert faults_of(["/".join(pattern)])
        return
    visible = r"(?!\.)"
    shapes = [
        rf"(?:{visible}[^/]+/)*"
        if name == "**"
        else ("" if name[0] == "." else visible) + re.escape(name).replace(r"\*", "[^/]*") + "/"
        for name in pattern
    ]
    tail = rf"{visible}[^/]+/" if pattern[-1] == "**" else ""
    expected = re.fullmatch("".join(shapes) + tail, "/".join(path) + "/") is not None
    assert covers(["/".join(pattern)], "/".join(path)) == (expected or pattern == path)


def test_a_pattern_of_many_stars_is_judged_at_once() -> None:
    assert not covers(["/".join(["**", "a*"] * 200)], "/".join(["a" * 50] * 399) + "/b")
    assert not covers(["*a" * 450 + "b"], "a" * 1_000)


@pytest.mark.parametrize("pattern", ["./a.md", "a.md", "././a.md", ".//a.md"])
def test_a_pattern_has_one_spelling(pattern: str) -> None:
    assert normal(pattern) == "a.md"


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        ".",
        "/",
        "/etc/passwd",
        "..",
        "../a",
        "a/../b",
        "a/..",
        "src/",
        "src/.",
        "a\0b",
        "a\nb",
        "a\ud800",
        "x" * 1_001,
        "a**",
        "**a",
        "***",
        "a/**b/c",
    ],
)
def test_what_could_not_be_held_to_is_refused(pattern: str) -> None:
    assert [fault.path for fault in faults_of(["a.md", pattern])] == ["files.1"]


def test_a_plan_names_at_least_one_file_and_not_too_many() -> None:
    assert [fault.path for fault in faults_of([])] == ["files"]
    assert [fault.path for fault in faults_of(["a"] * (FILES_AT_MOST + 1))] == ["files"]
    assert [fault.path for fault in faults_of(["a" * 101] * FILES_AT_MOST)] == ["files"]
    assert faults_of(["a" * 100] * FILES_AT_MOST) == []
