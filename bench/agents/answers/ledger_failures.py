"""Twenty failures of the books of a shop."""

from agents.answers.worlds import Failure, earlier, fault, file, sql, steps

POST = (
    'post_entry {"reference": "%s", "debit": "6300", "credit": "%s", "amount_cents": %s, '
    '"day": "2031-05-12", "text": "Cleaning"}'
)
MANY = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO entry SELECT 'S-' || i, '1000', '4400', 100, '2031-04-02', 'Sale at the counter' FROM n;
"""
ROW = '{"reference": "%s", "debit": "1000", "credit": "4400", "amount_cents": %s, "day": "%s", "text": "Sale"}'
IMPORT = 'import_statement {"rows": [%s]}'
PAY = 'pay_invoice {"invoice": "%s", "amount_cents": %s}'
LIMIT = 'set_limit {"account": "1200", "limit_cents": %s, "version": 1}'
EXPORT = 'export_entries {"account": "1200", "file_name": "may.csv"}'

FAILURES = [
    Failure(
        "search-bounds",
        "List all entries of account 1200 by amount.",
        'search_entries {"account": 1200, "sort": "amount", "limit": 100000}',
        'call search_entries with account "1200", order amount and limit 50000',
    ),
    Failure(
        "search-too-large",
        "Count what was sold on 1 to 7 April 2031; sales are in account 4400.",
        'search_entries {"account": "4400", "limit": 50000}',
        "call search_entries with from_day and to_day, or a lower limit",
        sql("ledger.db", MANY),
    ),
    Failure(
        "reference-used",
        "Post 120.50 for cleaning from the bank, 1200, with reference R-1, as the receipt says.",
        POST % ("R-1", "1200", 12050),
        "look first with search_entries, or ask the person",
    ),
    Failure(
        "check-of-the-database",
        "Post 20,000.00 for cleaning from the bank, 1200.",
        POST % ("R-2", "1200", 2000000),
        "ask the person, or look first with get_account",
    ),
    Failure(
        "amount-with-comma",
        "Post 120.50 for cleaning from the bank, 1200, with reference R-2.",
        POST % ("R-2", "1200", '"120,50"'),
        "call post_entry with amount_cents 12050",
    ),
    Failure(
        "closed-books",
        "Post 120.50 for cleaning from account 9999, as the person said.",
        POST % ("R-2", "9999", 12050),
        "ask the person",
    ),
    Failure(
        "import-half-way",
        "Import the three rows of the statement: S-1, S-2 and R-1.",
        IMPORT % ", ".join(ROW % (name, 900, "2031-05-12") for name in ("S-1", "R-1", "S-2")),
        "look first with search_entries, then import only what is missing",
    ),
    Failure(
        "import-bad-rows",
        "Import the three rows of the statement; they are of 12 May 2031 and 9.00 each.",
        IMPORT % ", ".join(ROW % (f"S-{n}", '"9.00"', "12.05.2031") for n in (1, 2, 3)),
        "call import_statement with amount_cents 900 and day 2031-05-12",
    ),
    Failure(
        "invoice-unknown",
        "Pay invoice INV-2031-71, 480.00, as the person said.",
        PAY % ("INV-2031-71", 48000),
        "ask the person",
    ),
    Failure(
        "invoice-too-much",
        "Pay invoice INV-2031-19 with 480.00, as the person said.",
        PAY % ("INV-2031-19", 48000),
        "ask the person",
    ),
    Failure(
        "invoice-paid",
        "Pay invoice INV-2031-17, 480.00.",
        PAY % ("INV-2031-17", 48000),
        "stop: it has been paid",
        earlier(PAY % ("INV-2031-17", 48000)),
    ),
    Failure(
        "bank-busy",
        "Pay invoice INV-2031-17, 480.00.",
        PAY % ("INV-2031-17", 48000),
        "wait 45 s, then the same call: nothing was paid",
        fault("POST /transfers", 429, "one a minute", headers={"Retry-After": "45"}),
    ),
    Failure(
        "bank-cut-with-key",
        "Pay invoice INV-2031-17, 480.00.",
        PAY % ("INV-2031-17", 48000),
        "look first with find_payments",
        fault("POST /transfers", is_late=True),
        key="pay-17",
    ),
    Failure(
        "bank-late",
        "Pay invoice INV-2031-17, 480.00.",
        PAY % ("INV-2031-17", 48000),
        "look first with find_payments",
        fault("POST /transfers", is_late=True, hang_s=1.5),
    ),
    Failure(
        "bank-broken",
        "Pay invoice INV-2031-17, 480.00.",
        PAY % ("INV-2031-17", 48000),
        "look first with find_payments",
        fault("POST /transfers", 500, "ORA-00600"),
    ),
    Failure(
        "bank-login-thrice",
        "Pay invoice INV-2031-17, 480.00.",
        PAY % ("INV-2031-17", 48000),
        "stop: the operator has to mend the credentials",
        fault("GET /transfers", 401, "certificate expired"),
        repeats=2,
    ),
    Failure(
        "key-used-otherwise",
        "Pay invoice INV-2031-19, 12.50.",
        PAY % ("INV-2031-19", 1250),
        "call pay_invoice with a new key",
        earlier(PAY % ("INV-2031-17", 48000), key="pay"),
        key="pay",
    ),
    Failure(
        "limit-stale",
        "Let account 1200 go to 3,000.00 below zero; it had version 1 when it was read.",
        LIMIT % 300000,
        "look first with get_account",
        earlier(LIMIT % 250000),
    ),
    Failure(
        "limit-needs-consent",
        "Let account 1200 go to 20,000.00 below zero; it has version 1.",
        LIMIT % 2000000,
        "ask the person",
    ),
    Failure(
        "export-exists",
        "Export the entries of account 1200 for the person, under a name that says May.",
        EXPORT,
        "call export_entries with another file name",
        steps(file("exports/april.csv", ""), earlier(EXPORT)),
    ),
]
