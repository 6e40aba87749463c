"""A tax office: returns, deductions, payments."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Payer = Annotated[str, Known("taxpayer")]
Return = Annotated[str, Known("return", "handle")]
Rate = Annotated[float, Field(gt=0, lt=1, description="As a share of one, 0.19 for 19 percent.")]


class Deduction(Record):
    """Something that lowers the tax."""

    category: Literal["travel", "donation", "insurance", "home_office"]
    amount_eur: float = Field(gt=0, le=100_000)
    has_receipt: bool = True


class Tax(World):
    """Returns and payments of taxpayers; amounts are euros."""

    ids: ClassVar = {
        "taxpayer": ("TX-5500121", "TX-5500112", "TX-8190044"),
        "return": ("ret-2024-a1", "ret-2025-a1", "ret-2025-b7"),
    }

    @reads
    def compute_tax(
        self,
        gross_income_eur: Annotated[float, Field(ge=0)],
        tax_year: Annotated[int, Field(ge=2020, le=2026)],
        filing_status: Literal["single", "married", "widowed"] = "single",
        church_rate: Rate | None = None,
        *,
        self_employed: bool = False,
    ) -> None:
        """Return the tax on an income."""

    @reads
    def list_returns(
        self,
        taxpayer_id: Payer,
        state: Literal["draft", "submitted", "assessed"] = "submitted",
        due_before: date | None = None,
        min_refund_eur: float | None = None,
    ) -> None:
        """Return the returns of a taxpayer."""

    @reads
    def convert_amount(
        self, amount: Annotated[float, Field(gt=0)], from_currency: Literal["EUR", "USD", "CHF"], on_day: date
    ) -> None:
        """Return an amount in euros, by the official rate of a day."""

    @writes()
    def file_return(
        self,
        taxpayer_id: Payer,
        tax_year: Annotated[int, Field(ge=2020, le=2026)],
        deductions: list[Deduction],
        *,
        electronic: bool = True,
    ) -> None:
        """File a return."""

    @writes(destructive=True)
    def amend_return(
        self,
        return_id: Return,
        income_eur: Annotated[float, Field(ge=0, le=10_000_000)],
        reason: Literal["error", "new_document", "ruling"],
    ) -> None:
        """Replace the income in a return."""

    @writes()
    def pay_tax(
        self,
        taxpayer_id: Payer,
        amount_eur: Annotated[float, Field(gt=0, le=1_000_000)],
        due_date: date,
        kind: Literal["income", "sales", "property"] = "income",
    ) -> None:
        """Pay a tax."""

    @writes(idempotent=True)
    def defer_payment(
        self, return_id: Return, months: Annotated[int, Field(ge=1, le=24)], interest_rate: Rate = 0.06
    ) -> None:
        """Defer the payment of a return."""

    @writes(destructive=True, idempotent=True)
    def withdraw_objection(self, return_id: Return, *, refund_fee: bool = False) -> None:
        """Withdraw an objection to a return."""


_TRAVEL = {"category": "travel", "amount_eur": 840.0, "has_receipt": True}
COMPUTE = Meant(
    "The tax on a gross income of 56,000 euros in 2025, married, church 9 percent, self-employed.",
    *("compute_tax",),
    gross_income_eur=56_000.0,
    tax_year=2025,
    filing_status="married",
    church_rate=0.09,
    self_employed=True,
)
LIST = Meant(
    "Assessed returns of TX-5500121 due before 1 June 2026 with a refund of 100 euros or more.",
    *("list_returns",),
    taxpayer_id="TX-5500121",
    state="assessed",
    due_before="2026-06-01",
    min_refund_eur=100.0,
)
CONVERT = Meant(
    "1,250 US dollars in euros on 2 May 2025.",
    "convert_amount",
    amount=1250.0,
    from_currency="USD",
    on_day="2025-05-02",
)
FILE = Meant(
    "File the 2025 return of TX-8190044 on paper, with 840 euros of travel and a receipt.",
    *("file_return",),
    taxpayer_id="TX-8190044",
    tax_year=2025,
    deductions=[_TRAVEL],
    electronic=False,
)
AMEND = Meant(
    "The income of ret-2024-a1 is 41,300 euros; it was an error.",
    "amend_return",
    return_id="ret-2024-a1",
    income_eur=41_300.0,
    reason="error",
)
PAY = Meant(
    "Pay 2,500 euros of sales tax for TX-5500121, due on 10 July 2026.",
    *("pay_tax",),
    taxpayer_id="TX-5500121",
    amount_eur=2500.0,
    due_date="2026-07-10",
    kind="sales",
)
DEFER = Meant(
    "Defer ret-2025-b7 by 12 months at 4.5 percent.",
    "defer_payment",
    return_id="ret-2025-b7",
    months=12,
    interest_rate=0.045,
)
WITHDRAW = Meant(
    "Withdraw the objection to ret-2025-a1 and refund the fee.",
    "withdraw_objection",
    return_id="ret-2025-a1",
    refund_fee=True,
)

TRADE = Trade(
    Tax,
    [COMPUTE, LIST, CONVERT, FILE, AMEND, PAY, DEFER, WITHDRAW],
    [
        COMPUTE.but("On a net income.", "opposite", "gross_income_eur", net_income_eur=56_000.0),
        COMPUTE.but("On an income of 56,000 dollars.", "currency", gross_income_eur="56000 USD"),
        COMPUTE.but("On a monthly income.", "other name", "gross_income_eur", monthly_income_eur=56_000.0),
        COMPUTE.but("Unmarried, which is no status of its own here.", "negation", filing_status="unmarried"),
        COMPUTE.but("Remarried.", "negation", filing_status="remarried"),
        COMPUTE.sent("unit", church_rate="9%"),
        COMPUTE.sent("unit", "church_rate", church_percent=9.0),
        COMPUTE.sent("unit", church_rate=9),
        COMPUTE.but("The year before 2025.", "opposite", "tax_year", before_year=2025),
        COMPUTE.but("For the two years 2024 and 2025 together.", "list", tax_year="2024-2025"),
        COMPUTE.but("The fax of the office.", "other tool", tool="compute_fax"),
        LIST.but("Due after 1 June.", "opposite", "due_before", due_after="2026-06-01"),
        LIST.but("Filed before 1 June.", "other name", "due_before", filed_before="2026-06-01"),
        LIST.but("A refund of 100 euros at most.", "opposite", "min_refund_eur", max_refund_eur=100.0),
        LIST.but("A payment of 100 euros or more.", "opposite", "min_refund_eur", min_payment_eur=100.0),
        LIST.but("Reassessed ones.", "negation", state="reassessed"),
        LIST.but("Unassessed ones.", "negation", state="unassessed"),
        LIST.but("Resubmitted ones.", "negation", state="resubmitted"),
        LIST.but("Those of the adviser TX-5500121.", "other thing", "taxpayer_id", adviser_id="TX-5500121"),
        LIST.but("The turns of the taxpayer.", "other tool", tool="list_turns"),
        CONVERT.but("1,250 euros in dollars.", "opposite", "from_currency", to_currency="USD"),
        CONVERT.but("Hong Kong dollars.", "currency", from_currency="HKD"),
        CONVERT.but("Australian dollars.", "currency", from_currency="AUD"),
        CONVERT.but("Liechtenstein's francs of 1920.", "currency", from_currency="CHE"),
        CONVERT.sent("number", amount="1.250,00"),
        CONVERT.but("At a rate of 1,250.", "other name", "amount", rate=1250.0),
        CONVERT.but("By the mean of May.", "other name", "on_day", in_month="2025-05"),
        FILE.but("Withdraw the return.", "opposite", tool="withdraw_return"),
        FILE.but("Refile the return.", "negation", tool="refile_return"),
        FILE.but("Additions, not deductions.", "opposite", "deductions", additions=[_TRAVEL]),
        FILE.but("840 km of travel.", "unit", deductions=[{**_TRAVEL, "amount_eur": "840 km"}]),
        FILE.but("840 dollars.", "currency", deductions=[{**_TRAVEL, "amount_eur": "840 USD"}]),
        FILE.but(
            "840 dollars.", "currency", deductions=[{"category": "travel", "amount_usd": 840.0, "has_receipt": True}]
        ),
        FILE.but("840 percent.", "unit", deductions=[{"category": "travel", "amount_percent": 840.0}]),
        FILE.but("Reinsurance.", "negation", deductions=[{**_TRAVEL, "category": "reinsurance"}]),
        FILE.but("An office in Rome.", "other value", deductions=[{**_TRAVEL, "category": "rome_office"}]),
        FILE.but("Only a draft.", "extra", draft=True),
        AMEND.but("The outcome is 41,300 euros.", "other name", "income_eur", outcome_eur=41_300.0),
        AMEND.but("41,300 more.", "number", income_eur="+41300"),
        AMEND.but("41,300 more.", "other name", "income_eur", income_delta_eur=41_300.0),
        AMEND.sent("number", income_eur="41.300"),
        AMEND.but("Spend the return.", "other tool", tool="spend_return"),
        AMEND.but("Not an error.", "negation", reason="nonerror"),
        AMEND.but("The return of 2023.", "sibling id", return_id="ret-2023-a1"),
        PAY.but("Repay the tax.", "negation", tool="repay_tax"),
        PAY.but("Prepaid on 10 July.", "other name", "due_date", paid_date="2026-07-10"),
        PAY.but("Wholesales.", "other value", kind="wholesales"),
        PAY.but("The outcome.", "other value", kind="outcome"),
        PAY.but("2,500 less.", "negation", "amount_eur", amount_reduction_eur=2500.0),
        PAY.sent("unit", "amount_eur", amount_cents=250_000),
        DEFER.sent("unit", "interest_rate", interest_percent=4.5),
        DEFER.sent("unit", interest_rate="4.5 %"),
        DEFER.sent("unit", interest_rate=4.5),
        DEFER.but("12 instalments.", "other name", "months", instalments=12),
        DEFER.but("Infer the payment.", "other tool", tool="infer_payment"),
        WITHDRAW.but("Raise an objection.", "opposite", tool="raise_objection"),
        WITHDRAW.but("Refuse the fee's refund.", "other name", "refund_fee", refuse_fee=True),
        nothing("Withdraw all of TX-5500121.", "other thing", "withdraw_objection", taxpayer_id="TX-5500121"),
    ],
)
