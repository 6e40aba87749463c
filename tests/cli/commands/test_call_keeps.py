"""`failsoft call --keep`: keys last as those of `failsoft serve`, and an answer from a record says how to forget it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.doors import ExitCode

SHOP = '''
from failsoft import BaseTool, Idempotency, operation


class Shop(BaseTool):
    """Takes money."""

    @operation(recovery=[Idempotency(derive=lambda call: call.arguments["invoice"])])
    async def settle(self, invoice: str, amount: int = 1) -> str:
        """Pay an invoice."""
        with open("paid.txt", "a") as file:
            file.write(invoice + "\\n")
        return invoice
'''
SETTLE = ("call", "settle", "invoice=7", "--app", "shop:Shop")


@pytest.fixture
def paid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of what was paid."""
    (folder / "shop.py").write_text(SHOP)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.delenv("FAILSOFT_STATE_URL", raising=False)
    return folder / "paid.txt"


def test_a_derived_key_ends_with_the_command_and_the_command_says_so(run: Run, paid: Path) -> None:
    for _ in range(2):
        ran = run(*SETTLE)
        assert (ran.code, ran.err.count("--keep")) == (ExitCode.OK, 1)
    assert paid.read_text() == "7\n7\n"


def test_a_kept_key_is_answered_from_its_record_until_that_is_forgotten(run: Run, folder: Path, paid: Path) -> None:
    assert run(*SETTLE, "--keep").err == ""
    again = run(*SETTLE, "--keep")
    other = run(*SETTLE, "amount=2", "--keep")
    assert (again.json["data"], again.json["metadata"]["cache_hit"], paid.read_text()) == ("7", True, "7\n")
    assert re.search(r"\d{4}-\d\d-\d\dT", again.json["metadata"]["recovery"]["message"])
    assert other.json["error"]["code"] == "IDEMPOTENCY_CONFLICT"
    (command,) = {line.partition("forget it with: failsoft ")[2] for line in (again.err + other.err).splitlines()}
    assert "forget" not in again.out + other.out
    (folder / "pyproject.toml").write_text('[project]\nname = "till"\n[tool.failsoft]\napp = "shop:Shop"\n')
    assert run("call", "settle", "invoice=7", "--keep").code == ExitCode.OK
    assert run(*command.split()).code == ExitCode.OK
    assert [one["server"] for one in run("state", "list", "--json").json] == ["till"]
    paid.write_text("7\n")
    assert "cache_hit" not in run(*SETTLE, "--keep").out
    assert paid.read_text() == "7\n7\n"


def test_the_records_of_other_applications_are_listed_apart(run: Run, folder: Path, paid: Path) -> None:
    run(*SETTLE, "--keep")
    (folder / "pyproject.toml").write_text('[project]\nname = "till"\n[tool.failsoft]\napp = "shop:Shop"\n')
    run("call", "settle", "invoice=8", "--keep")
    assert [(one["server"], one["own"]) for one in run("state", "list", "--json").json] == [
        ("shop", False),
        ("till", True),
    ]
    lines = run("state", "list").out.splitlines()
    assert lines[0].startswith("Of till")
    assert any(line.startswith("Of other applications") for line in lines)
    assert [one["own"] for one in run("state", "list", "--json", "--server", "till").json] == [True]


@pytest.mark.parametrize(
    ("words", "env"), [(["--url", "http://127.0.0.1:1"], {}), ([], {"FAILSOFT_STATE_URL": "memory:"})]
)
def test_where_nothing_can_be_kept_that_is_said(inside: Run, words: list[str], env: dict[str, str]) -> None:
    ran = inside("call", "settle", "--keep", *words, env=env)
    assert (ran.code, "--keep" in ran.err) == (ExitCode.USAGE, True)
