"""Other paths: served if they name the same document for certain, suggested if they may."""

from __future__ import annotations

import pytest

from failsoft.recovery import Alternate, PathSource
from failsoft.tools.docs import Docs
from tests.doors import DocumentIndex, DocumentRoot, advise, alternate_paths, parse_query, search_step
from tests.tools.docs.parts import Write


@pytest.fixture(autouse=True)
def _documents(write: Write) -> None:
    write(
        {
            "index.md": "# Home",
            "guide/index.md": "# Guide",
            "guide/README.md": "about the folder",
            "guide/intro.mdx": "---\naliases: [/start, /old/intro.html]\n---\n# Intro",
            "guide/Setup.md": "---\nredirect_from: /install/\n---\n# Set-up",
            "api/README.md": "# API",
            "api/errors.md": "---\naliases: twice\n---\n# Errors of the API",
            "cli/errors.md": "---\naliases: /Twice/\n---\n# Errors of the command line",
            "both.md": "# Both",
            "both/index.mdx": "# Both, in a folder",
            "deep/down/page.md": "# A page without an index above",
            "straße/Größe.md": "# Umlauts",
        }
    )


RULES: list[tuple[str, list[tuple[str, str]]]] = [
    ("guide/intro.md", [("guide/intro.mdx", "extension")]),
    ("guide/intro", [("guide/intro.mdx", "extension")]),
    ("guide/Setup.mdx", [("guide/Setup.md", "extension")]),
    ("guide", [("guide/index.md", "folder")]),
    ("guide/", [("guide/index.md", "folder")]),
    ("api", [("api/README.md", "folder")]),
    (".", [("index.md", "folder")]),
    ("both", [("both.md", "extension"), ("both/index.mdx", "folder")]),
    ("guide/setup.md", [("guide/Setup.md", "case")]),
    ("GUIDE/SETUP.MDX", [("guide/Setup.md", "case")]),
    ("Guide/Intro", [("guide/intro.mdx", "case")]),
    ("Guide", [("guide/index.md", "case")]),
    ("STRASSE/GRÖSSE.md", [("straße/Größe.md", "case")]),
    ("straße/Gro\u0308ße.md", [("straße/Größe.md", "case")]),
    ("start", [("guide/intro.mdx", "alias")]),
    ("Start.md", [("guide/intro.mdx", "alias")]),
    ("start/index.md", [("guide/intro.mdx", "alias")]),
    ("old/intro.md", [("guide/intro.mdx", "alias")]),
    ("install", [("guide/Setup.md", "alias")]),
    ("twice.md", [("api/errors.md", "alias"), ("cli/errors.md", "alias")]),
    ("guide/gone.md", [("guide/index.md", "parent_index")]),
    ("gone.md", [("index.md", "parent_index")]),
    ("api/gone.mdx", [("api/README.md", "parent_index")]),
    ("deep/down/gone.md", []),
    ("../start", []),
    ("/start", []),
    ("guide\\intro.md", []),
    ("\0", []),
    ("a" * 2000, []),
]


def test_the_rules_lead_to_existing_documents(root: DocumentRoot, index: DocumentIndex) -> None:
    for path, found in RULES:
        alternates = alternate_paths(path, root, index)

        assert sorted((item.path, item.rule) for item in alternates) == sorted(found), path
        assert all(root.holds(item.path) for item in alternates), path


def test_what_the_index_remembers_and_the_disk_has_lost_is_not_offered(
    root: DocumentRoot, index: DocumentIndex
) -> None:
    assert alternate_paths("start", root, index) == [Alternate("guide/intro.mdx", "alias")]
    index._fresh_until = float("inf")
    (root.root / "guide/intro.mdx").unlink()

    assert alternate_paths("start", root, index) == [Alternate("index.md", "parent_index")]


def test_a_document_with_the_other_ending_is_found_without_an_index(root: DocumentRoot, index: DocumentIndex) -> None:
    alternate_paths("guide/intro.md", root, index)

    assert index._store is None


def test_the_toolset_is_a_source_of_paths(root: DocumentRoot) -> None:
    assert isinstance(Docs(root.root), PathSource)


MEANT = [
    ("both/index.md", "both.md"),
    ("guide/errors.md", "api/errors.md"),
    ("cli/error.md", "cli/errors.md"),
    ("giude/intro.mdx", "guide/intro.mdx"),
    ("guide/intro.md", "guide/intro.mdx"),
    ("elsewhere/umlauts.md", "straße/Größe.md"),
    ("elsewhere/commandLine.md", "cli/errors.md"),
]


def test_the_first_suggestion_is_what_was_probably_meant(index: DocumentIndex) -> None:
    for path, first in MEANT:
        suggestions = suggested(index, path)

        assert suggestions[0] == first, path
        assert len(suggestions) == len(set(suggestions)) <= 5, path


def test_a_path_that_is_like_nothing_has_few_suggestions_and_no_error(index: DocumentIndex) -> None:
    paths = ("zzz/qqq.md", "!!!", "a" * 1000, "\U0001f600.md", "AND.md", "NOT", '"', "*")
    assert [path for path in paths if len(suggested(index, path)) > 5] == []


def suggested(index: DocumentIndex, path: str) -> list[str]:
    return index.ask(lambda connection: advise(connection, path).suggestions)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("guide/circuit-breaker.md", "circuit breaker"),
        ("guide/CircuitBreaker.mdx", "circuit breaker"),
        ("guide/retry_budget/index.md", "retry budget"),
        ("AND.md", "and"),
        ("guide/Größe.md", "größe"),
        ("a.b.c.md", "a b c"),
    ],
)
def test_the_next_step_searches_for_the_words_of_the_name(path: str, query: str) -> None:
    step = search_step(path)

    assert (step.tool, step.arguments) == ("search_documents", {"query": query})
    assert parse_query(query)


@pytest.mark.parametrize("path", ["!!!.md", "index.md", "---", "\U0001f600.md"])
def test_a_name_without_words_leads_to_the_list(path: str) -> None:
    assert search_step(path).tool == "list_documents"
