"""The search syntax: what is accepted means what it says, and nothing reaches SQLite that could break it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, strategies as st

from failsoft import SearchError
from tests.doors import ACCEPTED, parse_query, plain_words

PAGES = {
    1: "retry budgets limit the retries of a server",
    2: "circuit breaker and retry budget",
    3: "the path guard refuses a symlink, see std::vector",
    4: "front-matter holds the title; get_documentation reads it",
    5: "Café Zürich 日本語 naïve",
    6: "batteries of boxes, matches and classes, one box",
}


@pytest.fixture(scope="module")
def pages() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        'CREATE VIRTUAL TABLE pages USING fts5 (text, tokenize = "porter unicode61 remove_diacritics 2")'
    )
    connection.executemany("INSERT INTO pages (rowid, text) VALUES (?, ?)", PAGES.items())
    yield connection
    connection.close()


def matches(pages: sqlite3.Connection, expression: str) -> set[int]:
    return {row for (row,) in pages.execute("SELECT rowid FROM pages WHERE pages MATCH ?", (expression,))}


MEANINGS: dict[str, set[int]] = {
    "retry": {1, 2},
    "RETRY": {1, 2},
    "retry budget": {1, 2},
    "retry circuit": {2},
    "retry AND circuit": {2},
    "retry OR symlink": {1, 2, 3},
    "retry NOT circuit": {1},
    "NOT circuit retry": {1},
    "circuit server OR guard": {3},
    '"retry budget"': {1, 2},
    "\u201cretry budget\u201d": {1, 2},
    '"retry bud"*': {1, 2},
    "circ*": {2},
    "circ": set(),
    "and": {2, 6},
    "what is the guard": {3},
    "what's a circuit breaker?": {2},
    "not or and": set(),
    "std::vector": {3},
    "front-matter": {4},
    "get_documentation": {4},
    "documentation get": {4},
    "get_documentation() title": {4},
    "get_documentation(title)": {4},
    "title:front": set(),
    "cafe zurich": {5},
    "日本語": {5},
    "日*": {5},
    "retry --- budget": {1, 2},
    "retry & budget": {1, 2},
    "battery": {6},
    "battery box match class": {6},
    "servers guards": set(),
    "guards": {3},
    '"guards"': {3},
    "NEAR": set(),
    "^retry": {1, 2},
    "retry\0budget": {1, 2},
    "re\0try": set(),
    "retry\ud800 budget": {1, 2},
    "(((retry)))": {1, 2},
}


def test_a_query_finds_what_it_says(pages: sqlite3.Connection) -> None:
    assert {query: matches(pages, parse_query(query).expression) for query in MEANINGS} == MEANINGS


@pytest.mark.parametrize(
    ("query", "found"), [("retry guard", {1, 2, 3}), ('"path guard" circuit', {2, 3}), ("ret* guard", {1, 2, 3})]
)
def test_plain_words_have_a_relaxed_form(pages: sqlite3.Connection, query: str, found: set[int]) -> None:
    relaxed = parse_query(query).relaxed

    assert relaxed is not None
    assert matches(pages, relaxed) == found


@pytest.mark.parametrize("query", ["retry", "retry OR guard", "retry NOT guard"])
def test_a_query_that_says_how_to_combine_has_none(query: str) -> None:
    assert parse_query(query).relaxed is None


BROKEN = [
    "",
    "   ",
    '"',
    '"open',
    'retry "open',
    '""',
    '" "',
    "(",
    ")",
    "()",
    "OR",
    "NOT",
    "OR retry",
    "retry OR",
    "retry NOT",
    "NOT retry",
    "retry NOT NOT guard",
    "retry OR NOT guard",
    "(NOT retry)",
    "retry NOT (circuit OR server)",
    "(retry OR guard) server",
    "*",
    "**",
    "retry *",
    "---",
    "!!! ???",
    "\0",
    "\ud800",
    "a " * 65,
    "(" * 900,
]


def test_broken_syntax_is_a_search_error_that_names_what_is_accepted() -> None:
    for query in BROKEN:
        with pytest.raises(SearchError) as caught:
            parse_query(query)

        assert ACCEPTED in caught.value.reason, query
        assert caught.value.query == query


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        ('"retry bud', "retry bud"),
        ("retry OR OR guard", "retry guard"),
        ("retry NOT guard OR", "retry NOT guard"),
        ("retry NOT (guard server", "retry NOT guard NOT server"),
        ("get_documentation(path)", "get_documentation path"),
        ("std::vector<int> *", "std vector int"),
        ("front-matter: 'x'", "front-matter x"),
        ("OR", ""),
        ("***", ""),
        ("日本 ünï", "日本 ünï"),
    ],
)
def test_plain_words_are_what_is_left(query: str, plain: str) -> None:
    assert plain_words(query) == plain


QUERIES = st.lists(
    st.sampled_from(['"', "(", ")", "*", "AND", "OR", "NOT", "NEAR", "a", "retry", "é", "-", ":", "^", "{", "+", "\0"])
    | st.text(max_size=5),
    max_size=30,
).map(" ".join) | st.text(max_size=300)


@given(QUERIES)
def test_any_query_is_run_or_refused_with_a_search_error(query: str) -> None:
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            'CREATE VIRTUAL TABLE pages USING fts5 (text, tokenize = "porter unicode61 remove_diacritics 2")'
        )
        connection.execute("INSERT INTO pages VALUES ('retry a é near')")
        try:
            parsed = parse_query(query)
        except SearchError:
            pass
        else:
            for expression in filter(None, (parsed.expression, parsed.relaxed)):
                matches(connection, expression)
    connection.close()


@given(QUERIES)
def test_the_plain_words_of_any_query_are_a_query_or_nothing(query: str) -> None:
    plain = plain_words(query)

    if plain:
        assert parse_query(plain).expression
        assert plain_words(plain) == plain


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20))
def test_a_word_of_any_script_finds_itself(word: str) -> None:
    assume(word not in {"AND", "OR", "NOT"})
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            'CREATE VIRTUAL TABLE pages USING fts5 (text, tokenize = "porter unicode61 remove_diacritics 2")'
        )
        connection.execute("INSERT INTO pages (rowid, text) VALUES (1, ?)", (word,))
        known = connection.execute("SELECT count(*) FROM pages WHERE pages MATCH ?", (f'"{word}"',)).fetchone()[0]
        assert len(matches(connection, parse_query(word).expression)) == known
    connection.close()
