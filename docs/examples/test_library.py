import asyncio

from library import Library


def test_a_book_on_the_shelf_is_returned() -> None:
    response = asyncio.run(Library().get_book(title="Dune"))
    assert response.success
    assert response.data is not None
    assert response.data.author == "Frank Herbert"


def test_a_misspelt_title_is_answered_with_the_right_one() -> None:
    response = asyncio.run(Library().get_book(title="Duna"))
    assert response.error is not None
    assert response.error.code == "BOOK_NOT_FOUND"
    assert response.error.suggestions[0] == "Dune"
    assert response.error.effect == "none"


def test_both_faults_of_a_call_are_named_at_once() -> None:
    response = asyncio.run(Library().execute_with_error_handling("list_books", {"limit": 0, "sort": "title"}))
    assert response.error is not None
    assert {(fault.path, fault.reason) for fault in response.error.violations} == {
        ("limit", "range"),
        ("sort", "unexpected"),
    }
