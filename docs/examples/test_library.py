import asyncio

from library import BookNotFound, Library

from failsoft import InvalidParameter
from failsoft.testing import fails_with


def test_a_book_on_the_shelf_is_returned() -> None:
    book = asyncio.run(Library().get_book(title="Dune")).unwrap()
    assert book.author == "Frank Herbert"


def test_a_misspelt_title_is_answered_with_the_right_one() -> None:
    response = asyncio.run(Library().get_book(title="Duna"))
    failure = fails_with(response, BookNotFound, next_step="list_books", effect="none")
    assert failure.suggestions[0] == "Dune"


def test_both_faults_of_a_call_are_named_at_once() -> None:
    response = asyncio.run(
        Library().execute_with_error_handling(
            "list_books", {"limit": 0, "sort": "title"}
        )
    )
    failure = fails_with(response, InvalidParameter)
    assert {(fault.path, fault.reason) for fault in failure.violations} == {
        ("limit", "range"),
        ("sort", "unexpected"),
    }
