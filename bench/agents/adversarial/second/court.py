"""A court registry: cases, hearings, parties, documents."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

CaseNumber = Annotated[str, Known("case")]
Document = Annotated[str, Known("document", "handle")]
Limit = Annotated[int, Field(ge=1, le=100)]


class Counsel(Record):
    """Who speaks for a party."""

    name: str
    bar_number: str


class Court(World):
    """Cases, hearings and documents of a civil court; fees are euros."""

    ids: ClassVar = {
        "case": ("3 C 118/26", "3 C 181/26", "7 C 118/26"),
        "document": ("doc_e19f04", "doc_e19f40"),
        "hearing": ("H-20631", "H-20613"),
        "room": ("Hall A", "Hall B", "Chamber 12"),
    }

    @reads
    def get_case(self, case_number: CaseNumber, *, include_sealed: bool = False) -> None:
        """Return state, parties and list of documents of one case."""

    @reads
    def search_hearings(
        self,
        room: Annotated[str, Known("room", "spelled")],
        from_date: date,
        hearing_type: Literal["preliminary", "main", "judgment"] | None = None,
        min_duration_minutes: int | None = None,
        limit: Limit = 20,
        order: Literal["earliest", "latest", "longest"] = "earliest",
        *,
        include_cancelled: bool = False,
    ) -> None:
        """Return the hearings in a room from a day on."""

    @reads
    def compute_deadline(
        self,
        served_on: date,
        period_days: Annotated[int, Field(ge=1, le=365)],
        counting: Literal["calendar", "working"] = "calendar",
    ) -> None:
        """Return when a period ends that starts when something was served."""

    @writes()
    def schedule_hearing(
        self,
        case_number: CaseNumber,
        room: Annotated[str, Known("room", "spelled")],
        starts_at: datetime,
        duration_minutes: Annotated[int, Field(ge=10, le=480)],
        hearing_type: Literal["preliminary", "main", "judgment"] = "main",
        *,
        public: bool = True,
    ) -> None:
        """Put a hearing of a case on the calendar and summon all parties."""

    @writes()
    def add_party(
        self,
        case_number: CaseNumber,
        name: str,
        role: Literal["claimant", "defendant", "intervener"],
        counsel: list[Counsel],
        joined_on: date,
    ) -> None:
        """Add a party to a case and serve all documents on it."""

    @writes(destructive=True, idempotent=True)
    def seal_document(self, document_id: Document, ground: Literal["minor", "trade_secret", "privacy"]) -> None:
        """Seal a document, so that nobody but the judge reads it; a judge alone opens it again."""

    @writes(idempotent=True)
    def charge_fee(
        self,
        case_number: CaseNumber,
        amount_eur: Annotated[int, Field(gt=0, le=20_000)],
        payer: Literal["claimant", "defendant"],
        due_on: date,
    ) -> None:
        """Charge a party a court fee in whole euros."""

    @writes(destructive=True, idempotent=True)
    def close_case(
        self, case_number: CaseNumber, outcome: Literal["granted", "dismissed", "settled", "withdrawn"]
    ) -> None:
        """Close a case for good; hearings to come are cancelled and all deposits are paid back."""

    @writes(destructive=True, idempotent=True)
    def cancel_hearing(self, hearing_id: Annotated[str, Known("hearing")], notify: list[str]) -> None:
        """Cancel a hearing and tell the e-mail addresses of `notify`."""


_LOWE = {"name": "Ines Lowe", "bar_number": "B-40912"}
_DIAZ = {"name": "Otto Diaz", "bar_number": "B-40921"}
CASE = Meant("Case 3 C 118/26 with its sealed documents.", "get_case", case_number="3 C 118/26", include_sealed=True)
FOUND = Meant(
    "The 15 longest main hearings in Hall A from 6 November 2026 on, of at least 90 minutes, with cancelled ones.",
    *("search_hearings",),
    room="Hall A",
    from_date="2026-11-06",
    hearing_type="main",
    min_duration_minutes=90,
    limit=15,
    order="longest",
    include_cancelled=True,
)
DEADLINE = Meant(
    "When a period of 14 working days ends after service on 6 November 2026.",
    *("compute_deadline",),
    served_on="2026-11-06",
    period_days=14,
    counting="working",
)
MONTH = Meant(
    "When a period of 28 calendar days ends after service on 2 March 2026.",
    *("compute_deadline",),
    served_on="2026-03-02",
    period_days=28,
    counting="calendar",
)
HEAR = Meant(
    "A preliminary hearing of 3 C 181/26 in Chamber 12 on 7 January 2027 at 09:30 UTC, for 90 minutes, not public.",
    *("schedule_hearing",),
    case_number="3 C 181/26",
    room="Chamber 12",
    starts_at="2027-01-07T09:30:00Z",
    duration_minutes=90,
    hearing_type="preliminary",
    public=False,
)
PARTY = Meant(
    "Add Baltic Foods Ltd as defendant to 7 C 118/26 since 5 October 2026, for which Ines Lowe (B-40912) and "
    "Otto Diaz (B-40921) speak.",
    *("add_party",),
    case_number="7 C 118/26",
    name="Baltic Foods Ltd",
    role="defendant",
    counsel=[_LOWE, _DIAZ],
    joined_on="2026-10-05",
)
LONE = Meant(
    "Add Mara Quist as intervener to 3 C 118/26 since 8 October 2026, for whom Ines Lowe (B-40912) speaks.",
    *("add_party",),
    case_number="3 C 118/26",
    name="Mara Quist",
    role="intervener",
    counsel=[_LOWE],
    joined_on="2026-10-08",
)
SEAL = Meant(
    "Seal doc_e19f04, which holds a trade secret.",
    *("seal_document",),
    document_id="doc_e19f04",
    ground="trade_secret",
)
FEE = Meant(
    "Charge the claimant of 3 C 118/26 a fee of 1,250 euros, due on 9 December 2026.",
    *("charge_fee",),
    case_number="3 C 118/26",
    amount_eur=1250,
    payer="claimant",
    due_on="2026-12-09",
)
CLOSE = Meant("Close 3 C 181/26, which was settled.", "close_case", case_number="3 C 181/26", outcome="settled")
CANCEL = Meant(
    "Cancel H-20631, and tell lowe@bar.example and diaz@bar.example.",
    *("cancel_hearing",),
    hearing_id="H-20631",
    notify=["lowe@bar.example", "diaz@bar.example"],
)

TRADE = Trade(
    Court,
    [CASE, FOUND, DEADLINE, MONTH, HEAR, PARTY, LONE, SEAL, FEE, CLOSE, CANCEL],
    [
        CASE.sent("name form", "case_number", caseNumber="3 C 118/26"),
        CASE.sent("name form", tool="GetCase"),
        CASE.sent("list", case_number=["3 C 118/26"]),
        CASE.sent("negation", "include_sealed", exclude_sealed=False),
        CASE.sent("negation", "include_sealed", hide_sealed=False),
        CASE.but("The case with what was unsealed lately marked.", "negation", "include_sealed", include_unsealed=True),
        CASE.but("The sealed documents alone.", "other name", "include_sealed", only_sealed=True),
        CASE.but("Case 3 C 118/25 of the year before.", "sibling id", case_number="3 C 118/25"),
        CASE.but("Case 3 O 118/26 of the regional court.", "sibling id", case_number="3 O 118/26"),
        CASE.but("The case in which doc_e19f04 was filed.", "other thing", case_number="doc_e19f04"),
        CASE.but("The case that is heard in H-20613.", "other thing", "case_number", hearing_id="H-20613"),
        CASE.but("The cases 3 C 118/26 and 7 C 118/26, joined into one.", "list", case_number="3 C 118/26; 7 C 118/26"),
        CASE.but(
            "All cases of Baltic Foods Ltd.", "other tool", "case_number", tool="get_cases", party="Baltic Foods Ltd"
        ),
        CASE.but("The law on which the case rests.", "other tool", tool="get_case_law"),
        CASE.but("The case as it stood on 1 May 2026.", "extra", as_of="2026-05-01"),
        nothing("The text of doc_e19f04.", "other tool", "get_document", document_id="doc_e19f04"),
        nothing("When H-20613 starts.", "other tool", "get_hearing", hearing_id="H-20613"),
        FOUND.sent("name typo", "min_duration_minutes", min_duration_mintues=90),
        FOUND.sent("name form", "from_date", **{"from-date": "2026-11-06"}),
        FOUND.sent("value form", limit="15"),
        FOUND.sent("value case", room="hall a"),
        FOUND.sent("value case", hearing_type="Main"),
        FOUND.sent("value typo", hearing_type="mian"),
        FOUND.sent("value typo", order="longst"),
        FOUND.sent("other tool", tool="list_hearings"),
        FOUND.sent("unit", "min_duration_minutes", min_duration_hours=1.5),
        FOUND.sent("unit", min_duration_minutes="1h30"),
        FOUND.sent("unit", "min_duration_minutes", min_duration_seconds=5400),
        FOUND.sent("date", from_date="06.11.2026"),
        FOUND.sent("date", from_date="Nov 6, 2026"),
        FOUND.sent("negation", "include_cancelled", skip_cancelled=False),
        FOUND.but("Hearings after 13:00 on 6 November.", "date", from_date="2026-11-06T13:00:00Z"),
        FOUND.but("Hearings until 6 November.", "opposite", "from_date", to_date="2026-11-06"),
        FOUND.but("Hearings of at most 90 minutes.", "opposite", "min_duration_minutes", max_duration_minutes=90),
        FOUND.but(
            "Hearings with a break of at least 90 minutes.", "other name", "min_duration_minutes", min_break_minutes=90
        ),
        FOUND.but("Cancelled hearings and no others.", "other name", "include_cancelled", only_cancelled=True),
        FOUND.but("The shortest hearings first.", "opposite", order="shortest"),
        FOUND.but("Hearings about the remand of somebody.", "other value", hearing_type="remand"),
        FOUND.but("Hearings that are not preliminary, in one list.", "negation", hearing_type="non-preliminary"),
        FOUND.but("Prejudgment hearings, about attachments.", "negation", hearing_type="prejudgment"),
        FOUND.but("Hearings in Hall C.", "sibling id", room="Hall C"),
        FOUND.but("Hearings in Chamber 21.", "sibling id", room="Chamber 21"),
        FOUND.but("Hearings before Judge Nowak, in any room.", "other thing", "room", judge="Nowak"),
        FOUND.but("Hearings of 3 C 118/26, in any room.", "other thing", "room", case_number="3 C 118/26"),
        FOUND.but("Hearings in Hall A and Hall B, merged into one list.", "list", room="Hall A, Hall B"),
        FOUND.but("What was filed from 6 November 2026 on.", "other tool", "room hearing_type", tool="search_filings"),
        DEADLINE.sent("value form", period_days="14"),
        DEADLINE.sent("value case", counting="Working"),
        DEADLINE.sent("value typo", counting="workng"),
        DEADLINE.sent("unit", period_days="14 days"),
        DEADLINE.sent("date", served_on="6 November 2026"),
        DEADLINE.sent("date", served_on="06/11/2026"),
        DEADLINE.but(
            "When something must be served if the period ends on 6 November.",
            "opposite",
            "served_on",
            ends_on="2026-11-06",
        ),
        DEADLINE.but("A period of 14 months.", "unit", "period_days", period_months=14),
        DEADLINE.but("Days on which nobody works are the only ones counted.", "negation", counting="non-working"),
        DEADLINE.but("Days on which the court sits are counted.", "other value", counting="sitting"),
        DEADLINE.but("Make it 14 working days longer.", "other tool", tool="extend_deadline"),
        DEADLINE.but("The deadline in case 3 C 118/26.", "other thing", "served_on", case_number="3 C 118/26"),
        MONTH.sent("unit", "period_days", period_weeks=4),
        MONTH.sent("unit", period_days="4 weeks"),
        MONTH.but("A period of one month, however many days it has.", "unit", period_days="1 month"),
        HEAR.sent("value form", public="false"),
        HEAR.sent("negation", "public", not_public=True),
        HEAR.sent("negation", "public", nonpublic=True),
        HEAR.sent("opposite", "public", private=True),
        HEAR.sent("unit", "duration_minutes", duration_hours=1.5),
        HEAR.sent("unit", duration_minutes="1:30"),
        HEAR.sent("unit", duration_minutes="PT90M"),
        HEAR.sent("date", starts_at="07/01/2027 09:30 UTC"),
        HEAR.sent("date", starts_at="7 January 2027, 9.30 am UTC"),
        HEAR.but(
            "The hearing is over at 09:30, whenever it starts.",
            "opposite",
            "starts_at duration_minutes",
            ends_at="2027-01-07T09:30:00Z",
        ),
        HEAR.but("Take the hearing off the calendar.", "negation", tool="unschedule_hearing"),
        HEAR.but("Move the hearing that there is to that day.", "other tool", tool="reschedule_hearing"),
        HEAR.but("Hear the case for 900 minutes.", "bound", duration_minutes=900),
        HEAR.but("Hear the case for 5 minutes.", "bound", duration_minutes=5),
        HEAR.but("Hear the case in Chamber 11.", "sibling id", room="Chamber 11"),
        HEAR.but("Hear 3 C 118/26 and 3 C 181/26 together.", "list", case_number=["3 C 118/26", "3 C 181/26"]),
        HEAR.but("Hear it weekly.", "extra", repeat="weekly"),
        HEAR.but("Summon nobody.", "extra", summon=False),
        HEAR.but("Hear it by video, in no room.", "other name", "room", video_link="https://video.example/3c181"),
        HEAR.but("It is an appeal hearing.", "other value", hearing_type="appeal"),
        HEAR.but("Schedule a reading of documents by the clerk.", "other tool", tool="schedule_reading"),
        PARTY.sent("list", counsel={"lead": _LOWE, "second": _DIAZ}),
        PARTY.sent("list", counsel="Ines Lowe (B-40912), Otto Diaz (B-40921)"),
        PARTY.sent(
            "value form",
            counsel='[{"name": "Ines Lowe", "bar_number": "B-40912"}, {"name": "Otto Diaz", "bar_number": "B-40921"}]',
        ),
        PARTY.sent(
            "name form",
            counsel=[{"name": "Ines Lowe", "barNumber": "B-40912"}, {"name": "Otto Diaz", "barNumber": "B-40921"}],
        ),
        PARTY.sent("date", joined_on="05.10.2026"),
        PARTY.but("The party left on 5 October.", "opposite", "joined_on", left_on="2026-10-05"),
        PARTY.but("Take Baltic Foods Ltd out of the case.", "opposite", tool="remove_party"),
        PARTY.but("Baltic Foods Ltd is a co-defendant's insurer.", "other value", role="insurer"),
        PARTY.but("Baltic Foods Ltd is a witness.", "other value", role="witness"),
        PARTY.but("Baltic Foods Ltd is no defendant any more.", "negation", role="non-defendant"),
        PARTY.but(
            "Ines Lowe and Otto Diaz speak for the other side.", "opposite", "counsel", opposing_counsel=[_LOWE, _DIAZ]
        ),
        PARTY.but(
            "The counsels are known by their chambers, and not by numbers.",
            "other name",
            counsel=[{"name": "Ines Lowe", "chambers": "Quay 4"}],
        ),
        PARTY.but("It is added to all cases of that year.", "other thing", "case_number", year=2026),
        PARTY.but("Nothing is served on it.", "extra", serve=False),
        LONE.sent("value form", counsel=_LOWE),
        LONE.but("She intervenes as expert.", "other value", role="expert"),
        LONE.but(
            "Ines Lowe speaks for her from 1 to 5 November only.", "extra", counsel=[{**_LOWE, "until": "2026-11-05"}]
        ),
        SEAL.sent("value case", ground="TRADE_SECRET"),
        SEAL.sent("value case", ground="trade secret"),
        SEAL.but("Open the sealed doc_e19f04 to everybody.", "negation", tool="unseal_document"),
        SEAL.but("Read what is sealed.", "other tool", "ground", tool="get_sealed_document"),
        SEAL.but("Seal all of 3 C 118/26.", "other tool", "document_id", tool="seal_case", case_number="3 C 118/26"),
        SEAL.but("Seal the room Hall B.", "other thing", document_id="Hall B"),
        SEAL.but("Seal doc_e19f44.", "sibling id", document_id="doc_e19f44"),
        SEAL.but("Seal doc_e19f04 and doc_e19f40 as one bundle.", "list", document_id="doc_e19f04+doc_e19f40"),
        SEAL.but("Seal it until 2030.", "extra", until="2030-12-31"),
        SEAL.but("Seal it for reasons of state.", "other value", ground="state_secret"),
        SEAL.but("Seal page 3 alone.", "extra", pages=[3]),
        SEAL.but("Black the names out in doc_e19f04.", "other tool", tool="redact_document"),
        SEAL.but("Sell doc_e19f04 as a certified copy.", "other tool", "ground", tool="sell_document"),
        FEE.sent("unit", "amount_eur", amount_cents=125_000),
        FEE.sent("unit", amount_eur="125000 cents"),
        FEE.sent("number", amount_eur="1,250"),
        FEE.sent("number", amount_eur="1.250"),
        FEE.sent("number", amount_eur="1.250,00"),
        FEE.sent("date", due_on="09.12.2026"),
        FEE.sent("date", due_on="12/9/2026"),
        FEE.but("Charge 1,250 pounds.", "currency", "amount_eur", amount_gbp=1250),
        FEE.but("Charge 1,250 Danish kroner.", "currency", amount_eur="DKK 1250"),
        FEE.but("Pay the claimant 1,250 euros back.", "opposite", tool="refund_fee"),
        FEE.but("The claimant gets 1,250 euros of the fees.", "opposite", "payer", payee="claimant"),
        FEE.but("Charge 30,000 euros at once.", "bound", amount_eur=30_000),
        FEE.but(
            "Charge as much as is due for a dispute over 1,250 euros.",
            "other name",
            "amount_eur",
            value_in_dispute_eur=1250,
        ),
        FEE.but(
            "The fee was issued on 9 December, and is due whenever the law says.",
            "other name",
            "due_on",
            issued_on="2026-12-09",
        ),
        FEE.but("The co-claimant pays, and not the claimant.", "other value", payer="co-claimant"),
        FEE.but("Waive the fee.", "opposite", tool="waive_fee"),
        FEE.but("Charge it in five parts.", "extra", installments=5),
        CLOSE.but("Put 3 C 181/26 into the archive and leave it open.", "other tool", "outcome", tool="archive_case"),
        CLOSE.but("Open the closed 3 C 181/26 again.", "opposite", tool="reopen_case"),
        CLOSE.but("Which cases are similar to 3 C 181/26.", "other tool", "outcome", tool="find_close_cases"),
        CLOSE.but("It is unsettled, and is closed for want of a party.", "negation", outcome="unsettled"),
        CLOSE.but("It goes to another court: transferred.", "other value", outcome="transferred"),
        CLOSE.but("Close 3 C 811/26.", "sibling id", case_number="3 C 811/26"),
        CLOSE.but(
            "Close the hearing H-20631 to the public.",
            "other thing",
            "case_number outcome",
            tool="close_hearing",
            hearing_id="H-20631",
        ),
        CLOSE.but("Close it, and keep the deposits.", "extra", refund_deposits=False),
        CLOSE.but("Suspend it for three months.", "other tool", "outcome", tool="suspend_case", months=3),
        CANCEL.sent("list", notify="lowe@bar.example, diaz@bar.example"),
        CANCEL.sent("list", notify=[{"email": "lowe@bar.example"}, {"email": "diaz@bar.example"}]),
        CANCEL.sent("value form", notify='["lowe@bar.example", "diaz@bar.example"]'),
        CANCEL.but(
            "Tell everybody but these two.",
            "negation",
            "notify",
            do_not_notify=["lowe@bar.example", "diaz@bar.example"],
        ),
        CANCEL.but("Let the cancelled H-20631 take place.", "negation", tool="uncancel_hearing"),
        CANCEL.but(
            "Cancel all hearings of 3 C 118/26 by one call.", "other thing", "hearing_id", case_number="3 C 118/26"
        ),
        CANCEL.but("Put H-20631 off by a week.", "other tool", tool="postpone_hearing", days=7),
        CANCEL.but("Cancel H-20661.", "sibling id", hearing_id="H-20661"),
        CASE.sent("other name", "case_number", docket_number="3 C 118/26"),
        FOUND.sent("other name", "limit", max_results=15),
        FOUND.sent("other name", "order", sort_by="longest"),
        FOUND.sent("other name", "from_date", start_date="2026-11-06"),
        HEAR.sent("other thing", case_number="Chamber 12", room="3 C 181/26"),
        HEAR.sent("other name", "starts_at", start_time="2027-01-07T09:30:00Z"),
        PARTY.but("Baltic Foods Ltd is the plaintiff's guarantor.", "other value", role="guarantor"),
        FEE.but("Somebody pays who is neither claimant nor defendant.", "negation", payer="non-party"),
    ],
)
