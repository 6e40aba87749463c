"""The catalogue: from code to class, and pages that say what the classes say."""

from __future__ import annotations

import re
from typing import ClassVar

import pytest

from failsoft import (
    DocumentNotFound,
    InternalError,
    InvalidParameter,
    NotFound,
    Public,
    ToolError,
    UnknownError,
    ValidationFailed,
)
from tests.doors import closest, entries, index_of, lookup_code as lookup, pages, render_page, sections, summary


def test_the_entries_are_sorted_by_code():
    codes = [entry.code for entry in entries()]
    assert codes == sorted(codes)
    assert "DOC_NOT_FOUND" in codes


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("DOC_NOT_FOUND", DocumentNotFound),
        ("doc_not_found", DocumentNotFound),
        (" DOC_NOT_FOUND ", DocumentNotFound),
        ("DOCUMENT_NOT_FOUND", DocumentNotFound),
        ("VALIDATION_ERROR", ValidationFailed),
        ("INVALID_PARAM", InvalidParameter),
        ("INTERNAL_ERROR", InternalError),
        ("NO_SUCH_CODE", None),
    ],
)
def test_a_class_is_found_by_its_code_and_by_the_names_that_formats_give_it(code, found):
    assert lookup(code) is found


def test_the_closest_code_is_found():
    assert closest("DOC_NOT_FUOND") == "DOC_NOT_FOUND"
    assert closest("XYZZY") is None


def test_a_page_is_found_by_code_and_by_class():
    assert render_page("DOC_NOT_FOUND") == render_page(DocumentNotFound)
    with pytest.raises(KeyError):
        render_page("NO_SUCH_CODE")


def test_a_page_says_all_that_the_class_says():
    class CustomerGone(NotFound):
        """The customer has left.

        Raised when: the account was
            closed.
        Caller: ask for another customer.
        """

        number: Public[int]
        shard: str | None = None
        code = "CUSTOMER_GONE"
        message = "Customer {number} has left."
        hints: ClassVar[tuple[str, ...]] = ("Ask for a customer that is not {number}",)
        since: ClassVar[str] = "9.9"
        http_status: ClassVar[int] = 410
        critical: ClassVar[bool] = True
        aliases: ClassVar[dict[str, str]] = {"error_response": "GONE_CUSTOMER"}

    page = render_page("GONE_CUSTOMER")
    assert page.startswith("# CUSTOMER_GONE\n\nThe customer has left.\n")
    for text in (
        "`CustomerGone`",
        "[`not_found`](not_found.md)",
        "- HTTP status: 410",
        "`not_found_error`, -32001",
        "`GONE_CUSTOMER` in `error_response`",
        "- Since: 9.9",
        "Alerts",
        "**Raised when:** The account was closed.",
        "**Caller:** Ask for another customer.",
        "**Operator:** Nothing to do, unless the object should exist.",
        "**Message:** Customer {number} has left.",
        "- Ask for a customer that is not {number}",
        "| `number` | integer | every caller |",
        "| `shard` | string or null | developers only |",
    ):
        assert text in page
    assert "CUSTOMER_GONE" in index_of(entries())
    assert [name for name, text in pages().items() if "CUSTOMER_GONE" in text] == []


def test_fields_are_named_alike_whether_or_not_their_annotations_are_text():
    annotations = {"number": Public[int], "place": str, "shard": Public[str | None], "tags": list[str]}
    members = {"__doc__": "Gone.", "__annotations__": annotations, "code": "PARCEL_GONE", "message": "Gone."}
    fields = [line for line in render_page(type("ParcelGone", (NotFound,), members)).splitlines() if "| `" in line]
    assert fields[-4:] == [
        "| `number` | integer | every caller |",
        "| `place` | string | developers only |",
        "| `shard` | string or null | every caller |",
        "| `tags` | array | developers only |",
    ]


def test_a_section_may_have_several_lines():
    assert sections(UnknownError).keys() == {"Raised when", "Caller", "Operator"}
    assert summary(UnknownError) == "The tool failed with an unexpected exception."


def _sections(page: str) -> dict[str, str]:
    """Return the sections of a page of a category by their headings."""
    _, *parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_code_has_a_section_on_the_page_of_its_category_the_categorys_own_first():
    own = [entry for entry in entries() if entry.__module__.startswith("failsoft.")]
    headings = {name: list(_sections(text)) for name, text in pages().items() if name != "index.md"}
    expected = {f"{entry.category}.md": [] for entry in own}
    for entry in sorted(own, key=lambda entry: (ToolError not in entry.__bases__, entry.code)):
        expected[f"{entry.category}.md"].append(entry.code)
    assert headings == expected
    assert all(
        text.startswith(f"# Category `{name.removesuffix('.md')}`")
        for name, text in pages().items()
        if name in headings
    )


def test_a_section_and_the_page_of_one_error_say_the_same():
    """The page of one error has the facts of its category beside its own; nothing else differs."""
    wrong = []
    for name, page in pages().items():
        for code, section in _sections(page).items() if name != "index.md" else ():
            head = page.partition("\n## ")[0].splitlines()
            alone = render_page(code).splitlines()
            here = [f"# {code}", *section.splitlines()]
            more = [line for line in alone if line not in here and line not in head]
            more = [line for line in more if not line.startswith("- Category: ")]
            if more or [line for line in here if line not in alone]:
                wrong.append(code)
    assert wrong == []


def test_the_index_links_every_section_once():
    everything = pages()
    index = everything.pop("index.md")
    places = [f"({name}#{code.lower()})" for name, page in everything.items() for code in _sections(page)]
    assert {place: index.count(place) for place in places} == dict.fromkeys(places, 1)
    assert index.count("](") == len(places)


def test_every_link_in_the_pages_leads_to_a_section_or_a_page():
    everything = pages()
    places = {f"{name}#{code.lower()}" for name, page in everything.items() for code in _sections(page)}
    for text in everything.values():
        assert set(re.findall(r"\]\(([^)]+)\)", text)) <= places | everything.keys()
