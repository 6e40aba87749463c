"""What a failed call and a key take on disk is what the pages say, so that an operator can plan with it."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from failsoft import BaseTool, NotFound, configure_logging, operation
from failsoft.testing import connected

pytestmark = pytest.mark.anyio
KEYS = 300


class Shop(BaseTool):
    """Takes money."""

    payments = 0

    @operation(timeout=10)
    async def pay(self, amount: int) -> int:
        """Take an amount, and return the number of the payment."""
        self.payments += 1
        return self.payments

    @operation(read_only=True)
    async def price(self, item: str) -> int:
        """Return the price of an item."""
        if item == "tea":
            raise KeyError(item)
        raise NotFound(f"There is no item '{item}'.", suggestions=["tea"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the state store and the audit log."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path / 'state.db'}")
    monkeypatch.setenv("FAILSOFT_AUDIT_PATH", str(tmp_path / "audit.jsonl"))
    return tmp_path


async def test_failed_calls_take_what_the_page_of_the_audit_log_says(root: Path, folder: Path) -> None:
    page = " ".join((root / "docs/how-to/keep-an-audit-log.md").read_text().split())
    found = re.search(r"An entry takes (\d+) to (\d+) bytes;.* failure takes (\d+) to (\d+), a stack included", page)
    assert found is not None
    least, most, least_logged, most_logged = map(int, found.groups())
    log = io.StringIO()
    configure_logging(stream=log)
    async with connected(Shop()) as client:
        for arguments in ({"item": "sugar"}, {"itm": "sugar"}, {"item": "tea"}):
            assert (await client.call_tool("price", arguments)).is_error
    entries = (folder / "audit.jsonl").read_text().splitlines()
    lines = [line for line in log.getvalue().splitlines() if json.loads(line).get("event") == "call_failed"]
    assert (len(entries), len(lines)) == (3, 3)
    assert all(0.95 * least <= len(entry) <= 1.1 * most for entry in entries)
    assert all(0.95 * least_logged <= len(line) <= 1.1 * most_logged for line in lines)


async def test_keys_take_what_their_page_says(root: Path, folder: Path) -> None:
    page = (root / "docs/how-to/use-idempotency-keys.md").read_text()
    counted, filed = (
        int(number)
        for number in re.findall(r"^\| (?:counted against|in the SQLite file)[^|]*\| ([\d,]+) \|", page, re.MULTILINE)
    )
    async with connected(Shop()) as client:
        for number in range(KEYS):
            key = {"dev.failsoft/idempotency-key": f"5f1b9f5e-7a0c-4f0e-9a55-{number:012}"}
            assert not (await client.call_tool("pay", {"amount": 5}, meta=key)).is_error
    with closing(sqlite3.connect(folder / "state.db")) as store:
        ((taken,),) = store.execute("SELECT bytes FROM account").fetchall()
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert taken / KEYS == pytest.approx(counted, rel=0.1)
    assert (folder / "state.db").stat().st_size / KEYS == pytest.approx(filed, rel=0.15)
