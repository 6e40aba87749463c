"""Lexical search for questions as people ask them: order, filters, corrections, snippets, and its cost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.docs import Docs
from tests.contract.surroundings import write_documents
from tests.doors import DocsSettings, places_of, snippet
from tests.programs.postgres import IN_POSTGRES
from tests.tools.docs.parts import Write

PAGES = {
    "search/modes.md": "---\ntype: guide\n---\n# Modes of search\n\nNeural is by sense, keyword by words.\n",
    "search/index.md": "# The index\n\nAnswers come from the index, which follows every difference on disk.\n",
    "guide/difference.md": "# Differences of opinion\n\nPeople differ.\n",
    "guide/install.md": "---\npromotion_level: critical\n---\n# Install\n\nIt takes a minute to install.\n",
}
DATABASES = ["sqlite", pytest.param("postgres", marks=IN_POSTGRES)]


@contextmanager
def served(folder: Path, request: pytest.FixtureRequest) -> Iterator[Docs]:
    """Serve the pages, with the index in the database that the fixture is asked for."""
    write_documents(folder / "docs", PAGES)
    url = request.getfixturevalue("postgres").url if request.param == "postgres" else None
    made = Docs(
        folder / "docs",
        settings=DocsSettings(database_url=url),
        cache_dir=folder / "cache",
        state_folder=folder / "state",
    )
    yield made
    made.projects.close()


@pytest.fixture(scope="module", params=DATABASES)
def docs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docs]:
    """Return documents that all tests search and none changes."""
    with served(tmp_path_factory.mktemp("searched"), request) as made:
        yield made


@pytest.fixture(params=DATABASES)
def own_docs(request: pytest.FixtureRequest, tree: Path) -> Iterator[Docs]:
    """Return documents that the test may change."""
    with served(tree.parent, request) as made:
        yield made


def search(docs: Docs, query: str, **params: Any) -> Any:
    return asyncio.run(docs.search_documents(query=query, **params)).to_dict()


def paths(answer: Any) -> list[str]:
    return [hit["path"] for hit in answer["data"]["results"]]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What is the difference between neural and keyword search", "search/modes.md"),
        ("How do I install it?", "guide/install.md"),
        ("how long does the installation take", "guide/install.md"),
        ("anwsers from the indx", "search/index.md"),
        ("SEARCHING BY SENSES", "search/modes.md"),
    ],
)
def test_a_question_finds_its_page(docs: Docs, query: str, first: str) -> None:
    answer = search(docs, query)
    assert paths(answer)[0] == first
    scores = [hit["score"] for hit in answer["data"]["results"]]
    assert scores == sorted(scores, reverse=True)


def test_a_correction_is_reported(docs: Docs) -> None:
    assert search(docs, "indx")["metadata"]["warnings"] == ['No document has "indx"; searched for "index".']


@pytest.mark.parametrize(
    ("query", "lacking"),
    [
        ("install xylophone", '"xylophone"'),
        ("install xylophone vibraphone", '"xylophone" or "vibraphone"'),
        ("minute differences", "all the words"),
    ],
)
def test_words_that_no_document_has_are_named(docs: Docs, query: str, lacking: str) -> None:
    warnings = search(docs, query)["metadata"]["warnings"]
    assert warnings == [f"No document has {lacking}; these have some of the query's words."]


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("xylophone vibraphone", 'No document has "xylophone" or "vibraphone".'),
        ("instrument", 'No document has "instrument"; similar words: instal.'),
        ("install NOT install", "Documents have these words, though not as the query combines them: install."),
    ],
)
def test_a_search_without_results_says_which_words_no_document_has(docs: Docs, query: str, advice: str) -> None:
    assert search(docs, query)["metadata"]["warnings"] == [advice]


def test_a_word_that_is_known_or_differs_twice_is_no_misspelling(own_docs: Docs, write: Write) -> None:
    write({"far.md": "# Far\n\nThe deeps are remote and inert.\n"})
    queries = ("deletes", "remove", "insert")
    assert {query: paths(search(own_docs, query)) for query in queries} == {query: [] for query in queries}


def test_a_least_score_that_all_reach_leaves_the_total(own_docs: Docs, write: Write) -> None:
    write({f"many/{number}.md": f"# Page {number}\n\nzebra\n" for number in range(60)})
    assert search(own_docs, "zebra", min_score=0.001)["data"]["total"] == 60


def test_a_least_score_narrows_the_total_as_well(docs: Docs) -> None:
    every = search(docs, "minute differences")["data"]
    best = every["results"][0]
    assert every["total"] > 1
    narrowed = search(docs, "minute differences", min_score=best["score"])["data"]
    assert narrowed == {**every, "results": [best], "total": 1}


def test_the_page_that_begins_with_the_words_precedes_one_that_ends_with_them(own_docs: Docs, write: Write) -> None:
    gauge, steam = (
        "A gauge shows the pressure of the boiler.\n\n",
        "Steam goes up the pipe and warms the room.\n\n" * 30,
    )
    write({"a.md": f"# Parts\n\n{steam}{gauge}", "b.md": f"# Parts\n\n{gauge}{steam}"})
    assert paths(search(own_docs, "which instrument tells how high the pressure in a boiler is"))[:2] == [
        "b.md",
        "a.md",
    ]


def test_the_order_is_the_same_however_few_are_returned(own_docs: Docs, write: Write) -> None:
    long = "A road has lanes and signs.\n\n" * 40
    write({"a.md": f"# Roads\n\n{long}A zebra is a crossing.\n", "zebra.md": "# Zebra\n\nAn animal with stripes.\n"})
    assert paths(search(own_docs, "zebra crossing", limit=1)) == paths(search(own_docs, "zebra crossing"))[:1]


def test_a_page_with_a_synonym_of_a_word_precedes_one_without_it(own_docs: Docs, write: Write) -> None:
    write({"a.md": "# Pipes\n\nThe gauge of a boiler.\n", "b.md": "# Pipes\n\nThe directory of a boiler.\n"})
    assert paths(search(own_docs, "in which folder are the files of my boiler"))[:2] == ["b.md", "a.md"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"prefix": "guide/"}, ["guide/install.md"]),
        ({"level": "critical"}, ["guide/install.md"]),
        ({"doc_types": ["document"]}, ["guide/install.md"]),
        ({"prefix": "search/"}, []),
        ({"min_score": 1000.0}, []),
    ],
)
def test_filters_narrow_a_search_and_an_empty_one_says_what_would_hit(
    docs: Docs, filters: dict[str, Any], found: list[str]
) -> None:
    answer = search(docs, "minute", **filters)
    assert paths(answer) == found
    assert bool(answer["metadata"].get("warnings")) is not bool(found)


def test_words_that_are_not_together_are_named(docs: Docs) -> None:
    answer = search(docs, "install NOT install")
    assert paths(answer) == []
    assert "install" in answer["metadata"]["warnings"][0]


def test_a_deleted_document_is_never_found(own_docs: Docs, tree: Path) -> None:
    assert paths(search(own_docs, "minute")) == ["guide/install.md"]
    (tree / "guide/install.md").unlink()
    assert paths(search(own_docs, "minute")) == []


def test_a_changed_document_is_not_found_by_its_old_words(own_docs: Docs, tree: Path) -> None:
    file = tree / "guide/install.md"
    before = file.stat()
    assert paths(search(own_docs, "minute")) == ["guide/install.md"]
    file.write_text(file.read_text().replace("minute", "moment"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # as old and as long as before
    assert paths(search(own_docs, "minute")) == []
    assert paths(search(own_docs, "moment")) == ["guide/install.md"]


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("the retry budget limits retries", ["retry", "limit"], "the **retry** budget **limits** **retries**"),
        ("nothing of it", ["retry"], "nothing of it"),
        ("", ["retry"], ""),
        ("booking a book booked", ["books"], "**booking** a **book** **booked**"),
    ],
)
def test_a_snippet_marks_the_words(text: str, words: list[str], shown: str) -> None:
    assert snippet(text, words) == shown


def test_a_letter_is_not_looked_for_in_all_of_a_long_text() -> None:
    text = "bad " * 1_000 + "a"
    assert list(places_of(text, "a", {"a"}, 2_000)) == [(4_000, 4_001, "a")]
    assert list(places_of(text, "a", {"a"}, 100)) == []


def test_a_snippet_is_the_passage_with_the_most_words() -> None:
    text = "retry " + "x " * 500 + "here retry and budget meet " + "y " * 500 + "budget"
    shown = snippet(text, ["retry", "budget"])
    assert "**retry** and **budget** meet" in shown
    assert len(shown) < 400
    assert shown.startswith("…")
    assert shown.endswith("…")
