"""What is taken from a document: its title, its type, the addresses it claims."""

from __future__ import annotations

import hashlib

import pytest

from failsoft import DocumentLoadError
from tests.doors import address, parse_document


def title_of(text: str, path: str = "guide/first-steps.md") -> str:
    return parse_document(path, text.encode()).title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From the front\n---\n# Heading", "From the front"),
        ("---\ntitle: 2026\n---\n# Heading", "2026"),
        ("---\ntitle: 1.5\n---\n", "1.5"),
        ("---\ntitle: 2026-01-19\n---\n", "2026-01-19"),
        ("---\ntitle: '  two \n   lines '\n---\n", "two lines"),
        ("---\ntitle: null\n---\n# Heading", "Heading"),
        ("---\ntitle: ''\n---\n# Heading", "Heading"),
        ("---\ntitle: true\n---\n# Heading", "Heading"),
        ("---\ntitle: [a, b]\n---\n# Heading", "Heading"),
        ("---\ntitle: broken: yaml\n---\n# Heading", "Heading"),
        ("---\n# a comment in a broken block\ntitle: a: b\n---\n# Heading", "Heading"),
        ("text\n\n## Second level ##\n\n# First level", "Second level"),
        ("# Heading {#anchor}", "Heading"),
        ("# ![logo](a.svg)Heading", "Heading"),
        ("# The `run()` **method** of [Job](job.md)", "The run() method of Job"),
        ("# ![logo](a.svg)\n## Heading", "Heading"),
        ("```md\n# In a fence\n```\n# Heading", "Heading"),
        ("~~~~\n# a\n~~~\n# b\n~~~~\n# Heading", "Heading"),
        ("Heading\n=======\n", "Heading"),
        ("Heading\n---\n", "Heading"),
        ("#hashtag\n# Heading", "Heading"),
        ("#   \n# Heading", "Heading"),
        ("import X from 'x'\n\n# Heading\n", "Heading"),
        ("no heading", "first-steps"),
        ("", "first-steps"),
        ("```\nnever closed\n# Heading", "first-steps"),
    ],
)
def test_the_title_is_the_front_matters_else_the_first_headings_else_the_files(text: str, title: str) -> None:
    assert title_of(text) == title


def test_a_title_is_bounded() -> None:
    assert len(title_of("# " + "x" * 5000)) == 300


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ("doc_type: guide", "guide"),
        ("type: reference", "reference"),
        ("doc_type: guide\ntype: reference", "guide"),
        ("doc_type: 5\ntype: reference", "reference"),
        ("type: ' guide '", "guide"),
        ("type: ''", ""),
        ("type: [a]", ""),
        ("type: " + "x" * 65, ""),
        ("title: x", ""),
    ],
)
def test_the_type_is_a_short_text_of_the_front_matter_else_nothing(block: str, kind: str) -> None:
    assert parse_document("a.md", f"---\n{block}\n---\n".encode()).own_type == kind


@pytest.mark.parametrize(
    ("block", "claimed"),
    [
        ("aliases: /old/intro", ("old/intro",)),
        ("aliases: [old/intro.md, /Old/Intro/, other.mdx]", ("old/intro", "other")),
        ("redirect_from:\n- /a/index.html\n- /b/#part", ("a", "b")),
        ("aliases: a\nredirect_from: b", ("a", "b")),
        ("aliases: true", ()),
        ("aliases: {a: b}", ()),
        ("aliases: [1, null, [x], a]", ("a",)),
        ("aliases: ['', '/', '  ']", ()),
    ],
)
def test_former_paths_are_claimed_in_one_form(block: str, claimed: tuple[str, ...]) -> None:
    assert parse_document("new.md", f"---\n{block}\n---\n".encode()).aliases == claimed


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("guide/intro.md", "guide/intro"),
        ("/Guide/Intro/", "guide/intro"),
        ("guide/intro/index.mdx", "guide/intro"),
        ("guide/intro/README.md", "guide/intro"),
        ("index.md", ""),
        ("guide/v1.2", "guide/v1.2"),
        ("guide/v1.2.md", "guide/v1.2"),
        ("reindex.md", "reindex"),
    ],
)
def test_an_address_is_what_a_site_would_call_the_page(path: str, place: str) -> None:
    assert address(path) == place


def test_the_hash_is_of_the_bytes_as_they_are() -> None:
    data = "\ufeff---\r\ntitle: x\r\n---\r\nBody\r\n".encode()

    found = parse_document("a.md", data)

    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert found.content == "Body\r\n"


@pytest.mark.parametrize("data", [b"\xff\xfe# \x00", b"# caf\xe9", b"\xed\xa0\x80", b"\xc0\x80"])
def test_what_is_not_utf_8_is_a_load_error(data: bytes) -> None:
    with pytest.raises(DocumentLoadError):
        parse_document("a.md", data)
