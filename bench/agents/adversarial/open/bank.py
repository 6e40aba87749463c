"""A bank: accounts, cards, transfers."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.adversarial.cases import Meant, Trade, nothing
from agents.adversarial.worlds import Known, Record, World, reads, writes

Account = Annotated[str, Known("account")]
Card = Annotated[str, Known("card", "handle")]
Cents = Annotated[int, Field(gt=0, le=5_000_000, description="Amount in euro cents.")]
Limit = Annotated[int, Field(ge=1, le=200)]


class Payee(Record):
    """Who gets the money."""

    name: str
    iban: str
    is_company: bool = False


class Bank(World):
    """Accounts, cards and transfers of a bank; all amounts are euro cents."""

    ids: ClassVar = {
        "account": ("AC-10024", "AC-10042", "AC-20311"),
        "card": ("crd_8f31c2", "crd_8f31d9"),
        "order": ("SO-551", "SO-562"),
    }

    @reads
    def get_balance(self, account_id: Account, kind: Literal["booked", "available", "pending"] = "booked") -> None:
        """Return the balance of an account in cents."""

    @reads
    def list_transactions(
        self,
        account_id: Account,
        from_date: date | None = None,
        min_amount_cents: int | None = None,
        limit: Limit = 50,
        order: Literal["newest", "oldest", "amount"] = "newest",
        *,
        include_pending: bool = False,
    ) -> None:
        """Return the transactions of an account since a day."""

    @reads
    def quote_exchange(self, currency: Literal["USD", "GBP", "CHF"], amount_cents: Cents) -> None:
        """Return how much of a currency euros buy."""

    @writes()
    def transfer(
        self,
        account_id: Account,
        payee: Payee,
        amount_cents: Cents,
        execution_date: date,
        reference: str = "",
        *,
        instant: bool = False,
    ) -> None:
        """Transfer euros from an account to a payee."""

    @writes(destructive=True, idempotent=True)
    def block_card(self, card_id: Card, reason: Literal["lost", "stolen", "damaged"]) -> None:
        """Block a card for good."""

    @writes(destructive=True, idempotent=True)
    def set_card_limit(self, card_id: Card, daily_limit_cents: Cents, *, contactless: bool = True) -> None:
        """Set how much a card may spend in a day."""

    @writes(destructive=True, idempotent=True)
    def cancel_standing_order(self, order_id: Annotated[str, Known("order")]) -> None:
        """Cancel a standing order."""

    @writes()
    def order_statement(
        self, account_id: Account, months: list[str], delivery: Literal["post", "inbox"] = "inbox"
    ) -> None:
        """Order statements of months, each as `2026-05`."""


_ANN = {"name": "Ann Weber", "iban": "DE02120300000000202051", "is_company": False}
BALANCE = Meant("The booked balance of AC-10024.", "get_balance", account_id="AC-10024", kind="booked")
LISTED = Meant(
    "20 transactions of AC-10024 since 3 December 2026, of at least 15 euros, newest first, with pending ones.",
    *("list_transactions",),
    account_id="AC-10024",
    from_date="2026-12-03",
    min_amount_cents=1500,
    limit=20,
    order="newest",
    include_pending=True,
)
QUOTE = Meant("How many US dollars 1,200 euros buy.", "quote_exchange", currency="USD", amount_cents=120_000)
PAY = Meant(
    "Transfer 650 euros from AC-10024 to Ann Weber on 3 December 2026 for the rent, not instantly.",
    *("transfer",),
    account_id="AC-10024",
    payee=_ANN,
    amount_cents=65_000,
    execution_date="2026-12-03",
    reference="rent",
    instant=False,
)
BLOCK = Meant("Block card crd_8f31c2, which was lost.", "block_card", card_id="crd_8f31c2", reason="lost")
SET = Meant(
    "Let card crd_8f31c2 spend 300 euros a day, and pay contactless.",
    *("set_card_limit",),
    card_id="crd_8f31c2",
    daily_limit_cents=30_000,
    contactless=True,
)
STOP = Meant("Cancel standing order SO-551.", "cancel_standing_order", order_id="SO-551")
STATEMENT = Meant(
    "Statements of AC-10024 for May and June 2026, by post.",
    *("order_statement",),
    account_id="AC-10024",
    months=["2026-05", "2026-06"],
    delivery="post",
)
ONE = Meant(
    "A statement of AC-20311 for May 2026, into the inbox.",
    *("order_statement",),
    account_id="AC-20311",
    months=["2026-05"],
)

TRADE = Trade(
    Bank,
    [BALANCE, LISTED, QUOTE, PAY, BLOCK, SET, STOP, STATEMENT, ONE],
    [
        BALANCE.but("The balance of AC-10024 that is overdrawn.", "other value", kind="overdrawn"),
        BALANCE.but("What is not available on AC-10024.", "negation", kind="unavailable"),
        BALANCE.but("What was booked beforehand on AC-10024.", "negation", kind="prebooked"),
        BALANCE.but("The balance of the card crd_8f31c2.", "other thing", "account_id", card_id="crd_8f31c2"),
        BALANCE.but("The balance of all accounts of AC-10024's owner.", "other tool", tool="get_balances_of_owner"),
        BALANCE.but("The limit of AC-10024.", "other tool", "kind", tool="get_balance_limit"),
        BALANCE.sent("list", account_id=["AC-10024"]),
        LISTED.but("Transactions of AC-10024 until 3 December 2026.", "opposite", "from_date", to_date="2026-12-03"),
        LISTED.but("Transactions of at most 15 euros.", "opposite", "min_amount_cents", max_amount_cents=1500),
        LISTED.sent("unit", "min_amount_cents", min_amount=15.0),
        LISTED.sent("unit", min_amount_cents="15 EUR"),
        LISTED.sent("unit", min_amount_cents="15.00"),
        LISTED.but("Transactions of at least 1500 US cents.", "currency", min_amount_cents="1500 US cents"),
        LISTED.but("Transactions of payees, in alphabetical order.", "other value", order="account"),
        LISTED.but("The 20 transactions after the first 40.", "extra", offset=40),
        LISTED.but("Only pending transactions.", "other name", "include_pending", only_pending=True),
        LISTED.but(
            "Transactions valued, not booked, from 3 December 2026.", "extra", "from_date", value_date="2026-12-03"
        ),
        QUOTE.but("How many Hong Kong dollars 1,200 euros buy.", "currency", currency="HKD"),
        QUOTE.sent("value case", currency="usd"),
        QUOTE.but("How many euros 1,200 US dollars buy.", "opposite", "currency", from_currency="USD"),
        QUOTE.but("How many euros 120,000 US cents buy.", "currency", "amount_cents", amount_us_cents=120_000),
        QUOTE.sent("unit", amount_cents="1200 euros"),
        QUOTE.sent("unit", amount_cents="1200.00"),
        PAY.sent("unit", amount_cents="650 EUR"),
        PAY.sent("unit", amount_cents="650.00"),
        PAY.sent("unit", "amount_cents", amount_eur=650),
        PAY.but("Transfer 650 dollars.", "currency", "amount_cents", amount="650 USD"),
        PAY.but("Collect 650 euros from Ann Weber.", "opposite", "payee", payer=_ANN),
        PAY.but("Transfer to AC-10024, from Ann Weber's account.", "opposite", "account_id", to_account_id="AC-10024"),
        PAY.but(
            "Transfer at the latest on 3 December.", "other name", "execution_date", latest_execution_date="2026-12-03"
        ),
        PAY.but("Transfer 650 euros on the 3rd of every month.", "extra", repeat="monthly"),
        PAY.sent("list", payee=[_ANN]),
        PAY.but("Pay Ann Weber and Bob Hall 650 euros each.", "list", payee=[_ANN, {**_ANN, "name": "Bob Hall"}]),
        PAY.but("Transfer all but 650 euros.", "negation", "amount_cents", remaining_amount_cents=65_000),
        BLOCK.but("Unblock card crd_8f31c2.", "negation", tool="unblock_card"),
        BLOCK.but("Block the card until tomorrow only.", "extra", until="2026-12-04"),
        BLOCK.but(
            "Block the account of the card.", "other tool", "card_id", tool="block_account", account_id="AC-10024"
        ),
        BLOCK.but("Block the card that was not lost but mislaid.", "other value", reason="mislaid"),
        BLOCK.but("Block card crd_8f31c9.", "sibling id", card_id="crd_8f31c9"),
        SET.but("Let the card spend 300 euros a month.", "other name", "daily_limit_cents", monthly_limit_cents=30_000),
        SET.but("Raise the limit by 300 euros.", "other name", "daily_limit_cents", daily_limit_increase_cents=30_000),
        SET.sent("unit", "daily_limit_cents", daily_limit=300),
        SET.sent("unit", daily_limit_cents="300 €"),
        SET.but("Let the card pay abroad.", "other name", "contactless", contactless_abroad=True),
        STOP.but("Suspend SO-551 for one month.", "extra", months=1),
        STOP.but("Cancel the direct debit SO-551.", "other tool", tool="cancel_direct_order"),
        nothing(
            "Cancel all standing orders of AC-10024.", "other thing", "cancel_standing_order", account_id="AC-10024"
        ),
        STATEMENT.sent("list", months="2026-05 and 2026-06"),
        STATEMENT.sent("list", months="2026-05,2026-06"),
        STATEMENT.but("Statements by e-mail.", "other value", delivery="outbox"),
        ONE.but("A statement of the year 2026.", "other name", "months", years=["2026"]),
    ],
)
