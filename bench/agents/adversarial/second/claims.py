"""An insurer's claims desk: claims, reserves, payments, adjusters."""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Claim = Annotated[str, Known("claim")]
Payment = Annotated[str, Known("payment")]
Adjuster = Annotated[str, Known("adjuster", "handle")]
Euros = Annotated[float, Field(gt=0, le=250_000, description="In euros.")]
Limit = Annotated[int, Field(ge=1, le=200)]


class Payee(Record):
    """Who is paid."""

    name: str
    iban: str
    role: Literal["insured", "third_party", "repairer"]


class Item(Record):
    """One part of a payment; all amounts are euros."""

    cover: Literal["indemnity", "expense"]
    amount_eur: float
    invoice: str = ""


class ClaimsDesk(World):
    """Claims of an insurer in euros: their reserves, payments, adjusters and decisions."""

    ids: ClassVar = {
        "claim": ("CL-204817", "CL-204871", "CL-204917"),
        "policy": ("PL-77310", "PL-77301"),
        "payment": ("PM-9041", "PM-9014", "PM-9141"),
        "adjuster": ("adj_51c0f2", "adj_51c0f7", "adj_88e3a1"),
    }

    @reads
    def search_claims(
        self,
        status: Literal["open", "closed", "disputed"],
        line: Literal["motor", "home", "liability"],
        loss_from: date | None = None,
        min_reserve_eur: float | None = None,
        causes: list[str] | None = None,
        limit: Limit = 50,
        sort: Literal["newest_loss", "oldest_loss", "largest_reserve"] = "newest_loss",
        *,
        include_subrogated: bool = True,
    ) -> None:
        """Return claims whose loss happened on or after a day, for one of some causes."""

    @reads
    def get_reserve(
        self, claim_id: Claim, cover: Literal["indemnity", "expense"], as_of: date, *, net_of_reinsurance: bool = False
    ) -> None:
        """Return the reserve of a claim at the end of a day, in euros."""

    @reads
    def list_payments(self, claim_id: Claim, state: Literal["due", "paid", "stopped"] | None = None) -> None:
        """Return the payments of a claim."""

    @writes(destructive=True, idempotent=True)
    def set_reserve(
        self, claim_id: Claim, cover: Literal["indemnity", "expense"], amount_eur: Euros, note: str = ""
    ) -> None:
        """Replace the reserve of a claim by another amount."""

    @writes()
    def pay_claim(
        self, claim_id: Claim, payee: Payee, items: list[Item], pay_on: date, *, final_payment: bool = False
    ) -> None:
        """Pay items of a claim on a day. A final payment closes the claim."""

    @writes(destructive=True, idempotent=True)
    def stop_payment(
        self, payment_id: Payment, reason: Literal["duplicate", "wrong_payee", "fraud_check"], note: str = ""
    ) -> None:
        """Stop a payment that is due, for good."""

    @writes(idempotent=True)
    def assign_adjuster(
        self,
        claim_id: Claim,
        adjuster_id: Adjuster,
        visit_at: datetime | None = None,
        authority_eur: Euros = 5_000,
        task: Literal["inspect", "negotiate"] = "inspect",
    ) -> None:
        """Put an adjuster in charge of a claim, who may settle it up to an amount."""

    @writes(destructive=True)
    def deny_claim(
        self,
        claim_id: Claim,
        grounds: Literal["late_notice", "excluded_peril", "no_cover", "misrepresentation"],
        appeal_days: Annotated[int, Field(ge=14, le=90, description="Days within which the insured may appeal.")] = 30,
    ) -> None:
        """Deny a claim and send the letter."""


_HALL = {"name": "Hall Bodyworks", "iban": "DE02120300000000202051", "role": "repairer"}
_REPAIR = {"cover": "indemnity", "amount_eur": 4250.0, "invoice": "2026-118"}
_TOWING = {"cover": "expense", "amount_eur": 180.0, "invoice": "2026-119"}

SEARCH = Meant(
    "The 25 open home claims with the largest reserves, for losses by hail or storm on or after 5 April 2026, with "
    "reserves of at least 20,000 euros, without those that are subrogated.",
    *("search_claims",),
    status="open",
    line="home",
    loss_from="2026-04-05",
    min_reserve_eur=20_000.0,
    causes=["hail", "storm"],
    limit=25,
    sort="largest_reserve",
    include_subrogated=False,
)
MOTOR = Meant(
    "The disputed motor claims, for theft.", "search_claims", status="disputed", line="motor", causes=["theft"]
)
RESERVE = Meant(
    "The indemnity reserve of CL-204817 at the end of 30 June 2026, net of reinsurance.",
    *("get_reserve",),
    claim_id="CL-204817",
    cover="indemnity",
    as_of="2026-06-30",
    net_of_reinsurance=True,
)
GROSS = Meant(
    "The expense reserve of CL-204917 at the end of 30 June 2026, before reinsurance.",
    *("get_reserve",),
    claim_id="CL-204917",
    cover="expense",
    as_of="2026-06-30",
    net_of_reinsurance=False,
)
PAYMENTS = Meant("The payments of CL-204817 that are paid.", "list_payments", claim_id="CL-204817", state="paid")
SET = Meant(
    "Set the indemnity reserve of CL-204817 to 12,500 euros, with the note 'new estimate of the roof'.",
    *("set_reserve",),
    claim_id="CL-204817",
    cover="indemnity",
    amount_eur=12_500.0,
    note="new estimate of the roof",
)
PAY = Meant(
    "Pay Hall Bodyworks on 7 December 2026 for CL-204871: 4,250 euros of indemnity by invoice 2026-118 and 180 euros "
    "of expense by invoice 2026-119. It is not the final payment.",
    *("pay_claim",),
    claim_id="CL-204871",
    payee=_HALL,
    items=[_REPAIR, _TOWING],
    pay_on="2026-12-07",
    final_payment=False,
)
LAST = Meant(
    "Pay Hall Bodyworks on 7 December 2026 for CL-204917 4,250 euros of indemnity by invoice 2026-118, as the final "
    "payment.",
    *("pay_claim",),
    claim_id="CL-204917",
    payee=_HALL,
    items=[_REPAIR],
    pay_on="2026-12-07",
    final_payment=True,
)
STOP = Meant(
    "Stop payment PM-9041 for good, a duplicate, with the note 'as PM-9014'.",
    *("stop_payment",),
    payment_id="PM-9041",
    reason="duplicate",
    note="as PM-9014",
)
ASSIGN = Meant(
    "Put adjuster adj_51c0f2 in charge of CL-204817, with an authority of 8,000 euros, to inspect it at 09:30 UTC on "
    "8 December 2026.",
    *("assign_adjuster",),
    claim_id="CL-204817",
    adjuster_id="adj_51c0f2",
    visit_at="2026-12-08T09:30:00Z",
    authority_eur=8_000.0,
    task="inspect",
)
DENY = Meant(
    "Deny CL-204871 because the peril is excluded, with 42 days to appeal.",
    *("deny_claim",),
    claim_id="CL-204871",
    grounds="excluded_peril",
    appeal_days=42,
)

TRADE = Trade(
    ClaimsDesk,
    [SEARCH, MOTOR, RESERVE, GROSS, PAYMENTS, SET, PAY, LAST, STOP, ASSIGN, DENY],
    [
        # Reads
        SEARCH.sent("name form", "min_reserve_eur", minReserveEUR=20_000.0),
        SEARCH.sent("name typo", "include_subrogated", include_subrograted=False),
        SEARCH.sent("value case", status="Open"),
        SEARCH.sent("value typo", line="hom"),
        SEARCH.sent("value form", causes='["hail", "storm"]'),
        SEARCH.sent("list", causes="hail or storm"),
        SEARCH.sent("opposite", "include_subrogated", exclude_subrogated=True),
        SEARCH.sent("other name", "limit", page_size=25),
        SEARCH.sent("date", loss_from="05/04/2026"),
        SEARCH.sent("number", min_reserve_eur="20,000"),
        SEARCH.sent("number", min_reserve_eur="20k"),
        SEARCH.sent("unit", "min_reserve_eur", min_reserve_cents=2_000_000),
        SEARCH.but(
            "With reserves of at least 20,000 US dollars.", "currency", "min_reserve_eur", min_reserve_usd=20_000.0
        ),
        SEARCH.but("With reserves of at most 20,000 euros.", "opposite", "min_reserve_eur", max_reserve_eur=20_000.0),
        SEARCH.but("For losses on or before 5 April 2026.", "opposite", "loss_from", loss_to="2026-04-05"),
        SEARCH.but("Reported on or after 5 April 2026.", "other name", "loss_from", reported_from="2026-04-05"),
        SEARCH.but("Of which at least 20,000 euros are paid.", "other name", "min_reserve_eur", min_paid_eur=20_000.0),
        SEARCH.but("For losses by anything but hail and storm.", "negation", "causes", not_causes=["hail", "storm"]),
        SEARCH.but("For losses by hail and storm both.", "list", causes="hail+storm"),
        SEARCH.but("Those with the smallest reserves first.", "opposite", sort="smallest_reserve"),
        SEARCH.but("Those with the largest payments first.", "other value", sort="largest_payment"),
        SEARCH.but("Those that were opened again after they were closed.", "other value", status="reopened"),
        SEARCH.but(
            "Those that are subrogated, and no others.", "other name", "include_subrogated", subrogated_only=True
        ),
        SEARCH.but("The open policies of such homes.", "other tool", "causes min_reserve_eur", tool="search_policies"),
        SEARCH.but("The claims of policy PL-77310.", "other thing", "causes min_reserve_eur", policy_id="PL-77310"),
        MOTOR.but("Those that nobody disputes.", "negation", status="undisputed"),
        MOTOR.but("Those of marine insurance.", "other value", line="marine"),
        MOTOR.but("Those that wait for a first look.", "other value", status="pending"),
        MOTOR.sent("value form", causes="theft"),
        nothing("Claim CL-204817 with all that is known of it.", "other tool", "get_claim", claim_id="CL-204817"),
        nothing("Search the notes of claims for 'roof'.", "other tool", "search_claim_notes", text="roof"),
        RESERVE.sent("date", as_of="30.06.2026"),
        RESERVE.sent("opposite", "net_of_reinsurance", gross=False),
        RESERVE.but("The reserve of CL-204818.", "sibling id", claim_id="CL-204818"),
        RESERVE.but("The reserve of policy PL-77310.", "other thing", claim_id="PL-77310"),
        RESERVE.but("The reserve for bodily injury alone.", "other value", cover="bodily_injury"),
        RESERVE.but(
            "Net of what is recovered from third parties.", "other name", "net_of_reinsurance", net_of_recovery=True
        ),
        RESERVE.but("The reserve at noon of 30 June 2026.", "date", as_of="2026-06-30T12:00:00Z"),
        RESERVE.but("The reserve in Swiss francs.", "currency", currency="CHF"),
        RESERVE.but("The reserves of all open claims.", "other tool", "claim_id", tool="get_reserves"),
        RESERVE.but("How the reserve changed since 30 June 2026.", "opposite", "as_of", since="2026-06-30"),
        GROSS.sent("opposite", "net_of_reinsurance", gross_of_reinsurance=True),
        PAYMENTS.but("Payment PM-9041.", "other tool", "claim_id state", tool="list_payment", payment_id="PM-9041"),
        PAYMENTS.but("Those that are not paid, whether they are due or stopped.", "negation", state="unpaid"),
        PAYMENTS.but("Those that the insured has paid back.", "other value", state="repaid"),
        PAYMENTS.but("The payments to adjuster adj_51c0f2.", "other thing", "claim_id", adjuster_id="adj_51c0f2"),
        PAYMENTS.but(
            "The paid premiums of PL-77310.", "other tool", "claim_id", tool="list_premiums", policy_id="PL-77310"
        ),
        # Reserves
        SET.sent("unit", "amount_eur", amount_cents=1_250_000),
        SET.sent("unit", amount_eur="12.5 kEUR"),
        SET.sent("number", amount_eur="12,500.00"),
        SET.sent("number", amount_eur="€12 500"),
        SET.sent("name form", "amount_eur", amountEur=12_500.0),
        SET.sent("value case", cover="Indemnity"),
        SET.sent("other name", "note", comment="new estimate of the roof"),
        SET.but("Set it to 12,500 pounds.", "currency", "amount_eur", amount_gbp=12_500.0),
        SET.but("Raise it by 12,500 euros.", "other name", "amount_eur", increase_eur=12_500.0),
        SET.but(
            "Set it to 12,500 euros unless it is larger already.", "other name", "amount_eur", min_amount_eur=12_500.0
        ),
        SET.but("Set it to 300,000 euros.", "bound", amount_eur=300_000.0),
        SET.but("Set it to nothing.", "bound", amount_eur=0.0),
        SET.but("Set the reserve for legal costs alone.", "other value", cover="legal_expense"),
        SET.but("Undo the last change of the reserve.", "negation", "amount_eur", tool="unset_reserve"),
        SET.but("Release 12,500 euros of the reserve.", "opposite", tool="release_reserve"),
        SET.but("Set it for the time after 1 January 2027.", "extra", effective_from="2027-01-01"),
        SET.but(
            "Set the excess of the policy to 12,500 euros.",
            "other tool",
            "claim_id",
            tool="set_excess",
            policy_id="PL-77310",
        ),
        SET.but("Set it for CL-204817 and CL-204871.", "list", claim_id="CL-204817 / CL-204871"),
        # Payments
        PAY.sent("value form", items=[{**_REPAIR, "amount_eur": "4250"}, _TOWING]),
        PAY.sent("unit", items=[{"cover": "indemnity", "amount_cents": 425_000, "invoice": "2026-118"}, _TOWING]),
        PAY.sent("number", items=[{**_REPAIR, "amount_eur": "4.250,00"}, _TOWING]),
        PAY.sent("list", items={"indemnity": _REPAIR, "expense": _TOWING}),
        PAY.sent("date", pay_on="7 Dec 2026"),
        PAY.sent("opposite", "final_payment", partial_payment=True),
        PAY.but("Pay in dollars.", "currency", items=[{"cover": "indemnity", "amount_usd": 4250.0}]),
        PAY.but("Recover the money from Hall Bodyworks.", "opposite", "payee", payer=_HALL),
        PAY.but("Pay the lawyer of the insured.", "other value", payee={**_HALL, "role": "lawyer"}),
        PAY.but(
            "Pay somebody who is not insured and no third party.", "negation", payee={**_HALL, "role": "uninsured"}
        ),
        PAY.but(
            "By the invoices of 7 December, whenever they fall due.", "other name", "pay_on", invoiced_on="2026-12-07"
        ),
        PAY.but("Pay the excess back, not the claim.", "other tool", tool="pay_excess"),
        PAY.but("Pay both Hall Bodyworks and Ann Weber.", "list", payee=[_HALL, {**_HALL, "name": "Ann Weber"}]),
        PAY.but("Pay all that is due but these items.", "negation", "items", except_items=[_REPAIR, _TOWING]),
        PAY.but("Pay only once adj_51c0f2 has approved it.", "extra", approval_by="adj_51c0f2"),
        PAY.but("Pay the items less an excess of 300 euros.", "extra", deduct_excess_eur=300),
        PAY.but("Pay for policy PL-77310.", "other thing", "claim_id", policy_id="PL-77310"),
        LAST.sent("value form", items=_REPAIR),
        LAST.sent("value form", final_payment="true"),
        STOP.but("Release the payment that was stopped.", "opposite", "reason note", tool="resume_payment"),
        STOP.but("Stop it until 10 December.", "extra", until="2026-12-10"),
        STOP.but("Stop all payments of CL-204817.", "other thing", "payment_id", claim_id="CL-204817"),
        STOP.but("Stop all payments of the desk.", "other tool", "payment_id", tool="stop_payments"),
        STOP.but("Stop payment PM-9042.", "sibling id", payment_id="PM-9042"),
        STOP.but("Stop it because its amount is wrong.", "other value", reason="wrong_amount"),
        STOP.but("Stop it though it is no duplicate.", "negation", reason="non_duplicate"),
        STOP.sent("value typo", reason="duplicat"),
        # Adjusters and decisions
        ASSIGN.sent("name typo", "adjuster_id", adjustor_id="adj_51c0f2"),
        ASSIGN.sent("date", visit_at="08/12/2026 09:30 UTC"),
        ASSIGN.but(
            "Take the adjuster off the claim.", "negation", "visit_at authority_eur task", tool="unassign_adjuster"
        ),
        ASSIGN.but("With a fee of 8,000 euros for the adjuster.", "other name", "authority_eur", fee_eur=8_000.0),
        ASSIGN.but("The visit ends at 09:30.", "opposite", "visit_at", visit_until="2026-12-08T09:30:00Z"),
        ASSIGN.but("With an authority of 8,000 Swiss francs.", "currency", authority_eur="8000 CHF"),
        ASSIGN.but("Adjuster adj_51c0f1.", "sibling id", adjuster_id="adj_51c0f1"),
        ASSIGN.but(
            "Assign the lawyer law_33.", "other tool", "adjuster_id task", tool="assign_attorney", attorney_id="law_33"
        ),
        ASSIGN.but("Let the adjuster investigate for fraud.", "other value", task="investigate"),
        ASSIGN.but("With an authority of 400,000 euros.", "bound", authority_eur=400_000.0),
        DENY.but("Approve CL-204871.", "opposite", "grounds appeal_days", tool="approve_claim"),
        DENY.but("Deny a part of it, 2,000 euros.", "extra", denied_amount_eur=2_000.0),
        DENY.but("Deny it because the notice was too early.", "opposite", grounds="early_notice"),
        DENY.but("Deny it with 42 weeks to appeal.", "unit", "appeal_days", appeal_weeks=42),
        DENY.but("Deny it with 7 days to appeal.", "bound", appeal_days=7),
        DENY.sent("unit", "appeal_days", appeal_weeks=6),
        DENY.but("Deny the appeal against the decision.", "other tool", tool="deny_appeal"),
        DENY.but("Close CL-204871 without a decision.", "other tool", "grounds appeal_days", tool="close_claim"),
    ],
)
