"""The books of a shop: accounts in SQLite, payments through a bank behind HTTP, and exports as files."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, Field

from failsoft import (
    AlreadyExists,
    ApprovalRequired,
    BaseTool,
    CallContext,
    Conflict,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Public,
    RateLimited,
    Reference,
    operation,
)

SCHEMA = """
CREATE TABLE account (
    number TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    balance_cents INTEGER NOT NULL,
    limit_cents INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT within_limit CHECK (balance_cents >= -limit_cents)
);
CREATE TABLE entry (
    reference TEXT PRIMARY KEY,
    debit TEXT NOT NULL REFERENCES account (number),
    credit TEXT NOT NULL REFERENCES account (number),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    day TEXT NOT NULL,
    text TEXT NOT NULL
);
INSERT INTO account (number, name, balance_cents, limit_cents) VALUES
    ('1000', 'Cash', 50000, 0), ('1200', 'Bank', 900000, 200000), ('4400', 'Sales', 0, 100000000),
    ('6300', 'Rent', 0, 100000000), ('9999', 'Closed books', 0, 0);
INSERT INTO entry VALUES ('R-1', '6300', '1200', 120000, '2031-05-01', 'Rent for May');
"""
INVOICES = {"INV-2031-17": 48000, "INV-2031-18": 999999, "INV-2031-19": 1250}
SEARCH = {
    "type": "object",
    "properties": {
        "account": {"type": "string", "description": "Number of an account, four digits."},
        "from_day": {"type": "string", "format": "date"},
        "to_day": {"type": "string", "format": "date"},
        "order": {"enum": ["day", "amount"], "default": "day"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50000, "default": 100},
    },
    "required": ["account"],
    "additionalProperties": False,
}


class BelowLimit(Conflict):
    """The account has not so much money.

    Raised when: an entry would take an account below its limit.
    Caller: tell the person what is there; never split the amount.
    """

    account: Public[str]
    left_cents: Public[int]
    code = "BELOW_LIMIT"
    message = "Account {account} has {left_cents} cents left to spend."
    hints = ("Ask the person which account to take",)


class Row(BaseModel):
    """A row of a bank statement."""

    reference: str = Field(min_length=1)
    debit: str
    credit: str
    amount_cents: int
    day: date
    text: str


async def known_account(tool: "Ledger", number: str) -> None:
    """Raise unless there is such an account."""
    if not tool.rows("SELECT 1 FROM account WHERE number = ?", number):
        raise NotFound(message=f"There is no account {number}.")


def known_invoice(number: str) -> bool:
    """Return whether there is such an invoice."""
    return number in INVOICES


Account = Annotated[str, Reference(known_account), Field(description="Number of an account, four digits.")]
Invoice = Annotated[str, Reference(known_invoice), Field(description="Number of an invoice, as printed on it.")]
Cents = Annotated[int, Field(ge=1, description="Amount in cents.")]


class Ledger(BaseTool):
    """The books of a shop."""

    def __init__(self, folder: Path, bank_url: str, **parts: Any) -> None:
        super().__init__(**parts)
        self.folder = folder
        self.bank_url = bank_url
        with closing(sqlite3.connect(folder / "ledger.db")) as db:
            db.executescript(SCHEMA)

    async def startup(self) -> None:
        """Open the connections to the bank."""
        self.http = httpx.AsyncClient(base_url=self.bank_url, timeout=0.6)

    async def shutdown(self) -> None:
        """Close them."""
        await self.http.aclose()

    def connect(self) -> sqlite3.Connection:
        """Open the database for one call."""
        db = sqlite3.connect(self.folder / "ledger.db", timeout=0.3)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        return db

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Return the rows of a query."""
        with closing(self.connect()) as db:
            return [dict(row) for row in db.execute(sql, values)]

    @operation(read_only=True)
    def get_account(self, account: Account) -> dict[str, Any]:
        """Return an account: its balance, its limit, and the version that `set_limit` asks for."""
        return self.rows("SELECT * FROM account WHERE number = ?", account)[0]

    @operation(read_only=True, input_schema=SEARCH)
    def search_entries(self, **arguments: Any) -> list[dict[str, Any]]:
        """List the entries of an account."""
        found = self.rows(
            "SELECT * FROM entry WHERE ? IN (debit, credit) AND day BETWEEN ? AND ?",
            arguments["account"],
            arguments.get("from_day", ""),
            arguments.get("to_day", "9"),
        )
        key = {"day": "day", "amount": "amount_cents"}[arguments.get("order", "day")]
        return sorted(found, key=lambda row: row[key])[: arguments.get("limit", 100)]

    def write(self, db: sqlite3.Connection, row: Mapping[str, Any]) -> None:
        """Write one entry, and the balances of its two accounts."""
        values = (row["reference"], row["debit"], row["credit"], row["amount_cents"], str(row["day"]), row["text"])
        db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?)", values)
        db.execute("UPDATE account SET balance_cents = balance_cents + ? WHERE number = ?", (values[3], values[1]))
        db.execute("UPDATE account SET balance_cents = balance_cents - ? WHERE number = ?", (values[3], values[2]))

    @operation(atomic=True, verify_with="search_entries")
    def post_entry(
        self, reference: str, debit: Account, credit: Account, amount_cents: Cents, day: date, text: str
    ) -> str:
        """Post an entry: what `debit` gains, `credit` loses. Each reference is used once."""
        if "9999" in {debit, credit}:
            raise PermissionDenied(message="The books of account 9999 are closed.")
        account = self.rows("SELECT * FROM account WHERE number = ?", credit)[0]
        left = account["balance_cents"] + account["limit_cents"]
        if left < amount_cents and credit == "1000":
            raise BelowLimit(account=credit, left_cents=left)
        row = Row(reference=reference, debit=debit, credit=credit, amount_cents=amount_cents, day=day, text=text)
        with closing(self.connect()) as db, db:
            self.write(db, row.model_dump())
        return reference

    @operation(timeout=3.0)
    def import_statement(self, rows: Annotated[list[Row], Field(min_length=1, max_length=500)]) -> int:
        """Post the rows of a bank statement one after the other; each reference is used once."""
        for row in rows:
            with closing(self.connect()) as db, db:
                self.write(db, row.model_dump())
        return len(rows)

    @operation(read_only=True, timeout=2.0)
    async def find_payments(self, invoice: Invoice) -> list[dict[str, Any]]:
        """List the payments of an invoice that the bank knows."""
        response = await self.http.get("/transfers", params={"invoice": invoice})
        found: list[dict[str, Any]] = response.raise_for_status().json()
        return found

    @operation(effects=True, timeout=2.0, verify_with="find_payments")
    async def pay_invoice(self, invoice: Invoice, amount_cents: Cents, call: CallContext) -> dict[str, Any]:
        """Pay an invoice from the bank account."""
        due = INVOICES[invoice]
        if amount_cents > due:
            raise InvalidArgument(message=f"Invoice {invoice} is about {due} cents; {amount_cents} are too much.")
        if (await self.find_payments(invoice=invoice)).unwrap():
            raise AlreadyExists(message=f"Invoice {invoice} has been paid.")

        async def transfer() -> dict[str, Any]:
            wanted = {"invoice": invoice, "amount_cents": amount_cents}
            response = await self.http.post("/transfers", json=wanted, headers=call.http_headers())
            if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
                wait = float(response.headers.get("Retry-After", 30))
                raise RateLimited(
                    message="The bank takes one transfer a minute.", retry_after_seconds=wait, effect="none"
                )
            done: dict[str, Any] = response.raise_for_status().json()
            return done

        paid: dict[str, Any] = await call.effect("transfer", run=transfer)
        return paid

    @operation(idempotent=True, atomic=True)
    def set_limit(self, account: Account, limit_cents: Annotated[int, Field(ge=0)], version: int) -> int:
        """Set how far an account may go below zero; returns the new version."""
        if limit_cents > 1_000_000:
            raise ApprovalRequired(message="A limit above 1,000,000 cents needs the treasurer's consent.")
        with closing(self.connect()) as db, db:
            done = db.execute(
                "UPDATE account SET limit_cents = ?, version = version + 1 WHERE number = ? AND version = ?",
                (limit_cents, account, version),
            )
            if not done.rowcount:
                raise Conflict(message=f"Account {account} was changed since you read it.")
        return version + 1

    @operation
    def export_entries(self, account: Account, file_name: Annotated[str, Field(pattern=r"^[\w-]+\.csv$")]) -> str:
        """Write the entries of an account into a new file of the exports folder."""
        rows = self.rows("SELECT * FROM entry WHERE ? IN (debit, credit)", account)
        with (self.folder / "exports" / file_name).open("x") as file:
            file.writelines(",".join(map(str, row.values())) + "\n" for row in rows)
        return file_name
