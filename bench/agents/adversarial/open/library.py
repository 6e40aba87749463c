"""A library: titles, loans, reservations, fines."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Member = Annotated[str, Known("member")]
Copy = Annotated[str, Known("copy", "handle")]
Title = Annotated[str, Known("title", "spelled")]


class Pickup(Record):
    """Where and when something is fetched."""

    branch: Literal["central", "north", "south"]
    after_day: date
    hold_days: int = Field(ge=1, le=30)


class Library(World):
    """Titles, copies and members of a library."""

    ids: ClassVar = {
        "member": ("M-30017", "M-30071", "M-40110"),
        "copy": ("cp-8812a", "cp-8812b", "cp-9001c"),
        "title": ("Dune", "Emma", "Wuthering Heights", "War and Peace", "Henry IV Part 1"),
    }

    @reads
    def search_catalogue(
        self,
        query: str,
        published_from: Annotated[int, Field(ge=1400, le=2030)] | None = None,
        media: Literal["book", "audiobook", "film", "map"] = "book",
        sort: Literal["relevance", "newest", "title"] = "relevance",
        max_hits: Annotated[int, Field(ge=1, le=100)] = 10,
        *,
        available_only: bool = False,
    ) -> None:
        """Return titles."""

    @reads
    def get_title(self, title: Title, detail: Literal["short", "full", "marc"] = "short") -> None:
        """Return what is known about a title."""

    @reads
    def list_loans(
        self,
        member_id: Member,
        status: Literal["current", "overdue", "returned"] = "current",
        due_before: date | None = None,
    ) -> None:
        """Return the loans of a member."""

    @writes()
    def lend_copy(self, copy_id: Copy, member_id: Member, loan_days: Annotated[int, Field(ge=1, le=60)] = 28) -> None:
        """Lend a copy to a member."""

    @writes(idempotent=True)
    def renew_loan(self, copy_id: Copy, extra_weeks: Annotated[int, Field(ge=1, le=8)]) -> None:
        """Extend a loan."""

    @writes()
    def reserve_title(self, title: Title, member_id: Member, pickup: Pickup) -> None:
        """Reserve a title for a member."""

    @writes(destructive=True, idempotent=True)
    def waive_fine(
        self,
        member_id: Member,
        amount_cents: Annotated[int, Field(gt=0, le=50_000)],
        reason: Literal["illness", "error", "goodwill"],
    ) -> None:
        """Waive a part of what a member owes."""

    @writes(destructive=True, idempotent=True)
    def withdraw_copies(
        self, copy_ids: list[str], condition: Literal["worn", "lost", "outdated"], *, notify_publisher: bool = False
    ) -> None:
        """Take copies out of the stock."""


_PICKUP = {"branch": "north", "after_day": "2026-04-07", "hold_days": 10}
SEARCH = Meant(
    "20 audiobooks about `whales` published from 1950 on, newest first, available ones only.",
    *("search_catalogue",),
    query="whales",
    published_from=1950,
    media="audiobook",
    sort="newest",
    max_hits=20,
    available_only=True,
)
TITLE = Meant("All that is known about Wuthering Heights.", "get_title", title="Wuthering Heights", detail="full")
PART = Meant("The short record of Henry IV Part 1.", "get_title", title="Henry IV Part 1", detail="short")
LOANS = Meant(
    "Overdue loans of M-30017 that were due before 9 March 2026.",
    "list_loans",
    member_id="M-30017",
    status="overdue",
    due_before="2026-03-09",
)
LEND = Meant(
    "Lend cp-8812a to M-40110 for 21 days.", "lend_copy", copy_id="cp-8812a", member_id="M-40110", loan_days=21
)
RENEW = Meant("Extend the loan of cp-9001c by 2 weeks.", "renew_loan", copy_id="cp-9001c", extra_weeks=2)
RESERVE = Meant(
    "Reserve Emma for M-30071, to be fetched in the north after 7 April 2026, held for 10 days.",
    *("reserve_title",),
    title="Emma",
    member_id="M-30071",
    pickup=_PICKUP,
)
WAIVE = Meant(
    "Waive 12.50 euros for M-30017, since she was ill.",
    "waive_fine",
    member_id="M-30017",
    amount_cents=1250,
    reason="illness",
)
OUT = Meant(
    "Take the lost copies cp-8812a and cp-8812b out of the stock, and tell the publisher.",
    *("withdraw_copies",),
    copy_ids=["cp-8812a", "cp-8812b"],
    condition="lost",
    notify_publisher=True,
)
OUT_ONE = Meant(
    "Take the worn copy cp-9001c out of the stock.", "withdraw_copies", copy_ids=["cp-9001c"], condition="worn"
)

TRADE = Trade(
    Library,
    [SEARCH, TITLE, PART, LOANS, LEND, RENEW, RESERVE, WAIVE, OUT, OUT_ONE],
    [
        SEARCH.but("Published to 1950.", "opposite", "published_from", published_to=1950),
        SEARCH.but("Unpublished since 1950.", "negation", "published_from", unpublished_from=1950),
        SEARCH.but("At least 20.", "opposite", "max_hits", min_hits=20),
        SEARCH.but("The oldest first.", "opposite", sort="oldest"),
        SEARCH.but("By the subtitle.", "other value", sort="subtitle"),
        SEARCH.but("By irrelevance.", "negation", sort="irrelevance"),
        SEARCH.but("Bookends.", "other value", media="bookend"),
        SEARCH.but("Microfilms.", "other value", media="microfilm"),
        SEARCH.but("Apps.", "other value", media="app"),
        SEARCH.but("Unavailable ones only.", "negation", "available_only", unavailable_only=True),
        SEARCH.but("Without the word `whales`.", "negation", "query", exclude_query="whales"),
        SEARCH.but("Volume 20.", "other name", "max_hits", volume=20),
        SEARCH.but("The catalogue of another library.", "other tool", tool="search_catalogues_elsewhere"),
        TITLE.but("Withering Lights, another title.", "other value", title="Withering Lights"),
        TITLE.but("War and Peas, another title.", "other value", title="War and Peas", detail="short"),
        TITLE.but("Gemma, another title.", "other value", title="Gemma"),
        TITLE.but("Dune Messiah, another title.", "other value", title="Dune Messiah"),
        TITLE.but("Sand Dunes, another title.", "other value", title="Sand Dunes"),
        PART.but("Henry IV Part 2.", "sibling id", title="Henry IV Part 2"),
        PART.but("Henry VI Part 1.", "sibling id", title="Henry VI Part 1"),
        TITLE.but("The subtitle of it.", "other tool", tool="get_subtitle"),
        TITLE.but("Titles like it.", "other tool", tool="get_titles_like"),
        TITLE.but("Without the full text.", "negation", "detail", without_detail="full"),
        LOANS.but("Due after 9 March.", "opposite", "due_before", due_after="2026-03-09"),
        LOANS.but("Returned before 9 March.", "other name", "due_before", returned_before="2026-03-09"),
        LOANS.but("Unreturned ones.", "negation", status="unreturned"),
        LOANS.but("Noncurrent ones.", "negation", status="noncurrent"),
        LOANS.but("Recurrent ones.", "other value", status="recurrent"),
        LOANS.but("Loans of the copy.", "other thing", "member_id", copy_id="cp-8812a"),
        LOANS.but("Clones of the member's card.", "other tool", tool="list_clones"),
        LEND.but("Send the copy.", "other tool", tool="send_copy"),
        LEND.but("Return the copy.", "opposite", tool="return_copy"),
        LEND.but("Borrow it from M-40110.", "opposite", "member_id", lender_id="M-40110"),
        LEND.but("21 hours.", "unit", "loan_days", loan_hours=21),
        LEND.but("21 hours.", "unit", loan_days="21 hours"),
        LEND.sent("unit", "loan_days", loan_weeks=3),
        LEND.sent("unit", loan_days="3 weeks"),
        LEND.but("Not before 21 days.", "other name", "loan_days", delay_days=21),
        RENEW.but("2 days.", "unit", "extra_weeks", extra_days=2),
        RENEW.but("2 days.", "unit", extra_weeks="2 days"),
        RENEW.but("2 weeks in all.", "other name", "extra_weeks", total_weeks=2),
        RENEW.but("2 weeks fewer.", "opposite", "extra_weeks", fewer_weeks=2),
        RENEW.but("Review the loan.", "other tool", tool="review_loan"),
        RESERVE.but("Serve the title in the reading room.", "other tool", tool="serve_title"),
        RESERVE.but(
            "Before 7 April.", "opposite", pickup={"branch": "north", "before_day": "2026-04-07", "hold_days": 10}
        ),
        RESERVE.but("The branch Northgate.", "other value", pickup={**_PICKUP, "branch": "northgate"}),
        RESERVE.but("By any branch but the north.", "negation", pickup={**_PICKUP, "branch": "not north"}),
        RESERVE.but("10 weeks.", "unit", pickup={**_PICKUP, "hold_days": "10 weeks"}),
        RESERVE.but("Unreserve it.", "negation", tool="unreserve_title"),
        WAIVE.sent("unit", "amount_cents", amount=12.5),
        WAIVE.sent("unit", amount_cents="12.50 EUR"),
        WAIVE.but("12.50 dollars.", "currency", amount_cents="12.50 USD"),
        WAIVE.but("All but 12.50 euros.", "negation", "amount_cents", remaining_amount_cents=1250),
        WAIVE.but("Because of wellness.", "opposite", reason="wellness"),
        WAIVE.but("Raise the fine.", "opposite", tool="raise_fine"),
        OUT.sent("list", copy_ids="cp-8812a and cp-8812b"),
        OUT.but("Unworn.", "negation", condition="unworn"),
        OUT.but("Updated.", "opposite", condition="updated"),
        OUT.but("All but these.", "negation", "copy_ids", except_copy_ids=["cp-8812a", "cp-8812b"]),
        OUT.but("Deposit them.", "opposite", tool="deposit_copies"),
        nothing("All copies of Dune.", "other thing", "withdraw_copies", title="Dune", condition="lost"),
        OUT_ONE.but("Sworn, a stamp of the court.", "other value", condition="sworn"),
    ],
)
