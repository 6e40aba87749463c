"""The cases of calls that mean something else are right in themselves, and the judge sees what obeying them does."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.running import RUN, run, run_benchmark

NAMES = ("blind", "cases", "judge", "sets", "worlds", "open.bank")
GOALS = {
    **dict.fromkeys(
        ("wrong writes", "misled reads", "next calls that fail", "accepted writes", "accepted reads"), "<= 0"
    ),
    "harmless reads cured": ">= 98",
    "harmless writes cured or named": ">= 98",
    "obeyed": "",
    "played": "",
}
READ = ("list_transactions", {"account_id": "AC-10024", "from_date": "2026-12-03"})
READ_WRONG = ("list_transactions", {"account_id": "AC-10024", "to_date": "2026-12-03"})
WRITE = ("set_card_limit", {"card_id": "crd_8f31c2", "daily_limit_cents": 30_000})
WRITE_WRONG = ("set_card_limit", {"card_id": "crd_8f31c2", "daily_limit": 300})


@pytest.fixture(scope="module")
def bench() -> Iterator[SimpleNamespace]:
    """The modules of the benchmark, by their last names."""
    before = {*sys.modules}
    sys.path.insert(0, str(RUN.parent))
    try:
        names = {name.rpartition(".")[2]: f"agents.adversarial.{name}" for name in NAMES}
        yield SimpleNamespace(**{short: importlib.import_module(name) for short, name in names.items()})
    finally:
        sys.path.remove(str(RUN.parent))
        for name in {*sys.modules} - before:
            if name.split(".")[0] in {"agents", "measure"}:
                del sys.modules[name]


def judged(bench: SimpleNamespace, meant: Any, sent: Any, *answers: Any, reader: str = "text") -> list[tuple[str, str]]:
    """Return what the judge sees where the first calls are answered so, and the next ones are carried out."""

    async def connection(world: Any, _: Any) -> Any:
        planted = iter(answers)

        async def ask(tool: str, arguments: dict[str, Any]) -> Any:
            answer = next(planted, None)
            if answer is None:
                world.act(tool, arguments)
                return False, "", None
            return True, answer if reader == "text" else "", answer if reader == "object" else None

        return ask

    async def play() -> Any:
        known = None if meant is None else await bench.judge.outcome(bench.bank.Bank, meant, connection_of_meant)
        case = bench.cases.Case("bank", "planted", "unit", "", meant, sent)
        read = bench.blind.read_text if reader == "text" else bench.blind.read_object
        return await bench.judge.judge(case, bench.bank.Bank, connection, read, known)

    async def connection_of_meant(world: Any, _: Any) -> Any:
        async def ask(tool: str, arguments: dict[str, Any]) -> Any:
            world.act(tool, arguments)
            return False, "", None

        return ask

    return asyncio.run(play()).seen


def step(tool: str, arguments: dict[str, Any]) -> str:
    return f"{tool} was refused.\nNext: {tool} {json.dumps(arguments)}"


@pytest.mark.parametrize(("chosen", "at_least"), [("open", 12), ("second", 8)])
def test_every_case_of_a_set_is_right_in_itself(bench: SimpleNamespace, chosen: str, at_least: int) -> None:
    trades = bench.sets.load(chosen)
    wrong, kinds = [], set()
    for trade in trades:
        cases = bench.sets.cases_of(trade)
        wrong += bench.sets.faults(trade, cases)
        kinds |= {case.kind for case in cases}
    assert wrong == []
    assert kinds == {*bench.cases.KINDS}
    assert len(trades) >= at_least


def test_the_held_out_set_is_read_from_its_archive(
    bench: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.sets, "HELD_OUT", tmp_path / "held_out.zip")
    assert bench.sets.load("held-out") == []
    with zipfile.ZipFile(tmp_path / "held_out.zip", "w") as archive:
        archive.write(bench.bank.__file__, "another.py")
    (trade,) = bench.sets.load("held-out")
    assert trade.world is not bench.bank.Bank
    assert bench.sets.faults(trade, bench.sets.cases_of(trade)) == []


def test_the_held_out_set_that_ships_is_the_one_that_was_written_unseen(bench: SimpleNamespace) -> None:
    archive = RUN.parent / "agents" / "adversarial" / "held_out.zip"
    digest, name = archive.with_suffix(".sha256").read_text().split()
    assert (hashlib.sha256(archive.read_bytes()).hexdigest(), archive.name) == (digest, name)
    trades = bench.sets.load("held-out")  # counted, and not played
    assert {trade.name for trade in trades}.isdisjoint(trade.name for trade in bench.sets.load("open"))
    assert len(trades) >= 9
    assert sum(len(bench.sets.cases_of(trade)) for trade in trades) >= 2_000


@pytest.mark.parametrize("chosen", ["open", "second"])
def test_every_call_that_is_meant_succeeds_on_three_servers(bench: SimpleNamespace, chosen: str) -> None:
    assert asyncio.run(bench.sets.check(bench.sets.load(chosen)[0])) == []


def test_a_case_that_is_no_fault_or_that_nobody_understands_is_found(bench: SimpleNamespace) -> None:
    trade = bench.bank.TRADE
    for changes in (
        {"sent": READ},
        {"sent": WRITE, "meant": WRITE},
        {"kind": "whim"},
        {"words": ""},
        {"meant": ("fly", {})},
        {"meant": None, "harmless": True},
    ):
        given = {"kind": "unit", "words": "It.", "meant": WRITE, "sent": WRITE_WRONG, "harmless": False, **changes}
        wrong = bench.sets.faults(trade, [bench.cases.Case("bank", "planted", **given)])
        assert len(wrong) >= 1, changes
    assert bench.sets.faults(trade, [bench.cases.Case("bank", "planted", "unit", "It.", WRITE, WRITE_WRONG)]) == []


def test_a_next_step_is_judged_by_what_it_does(bench: SimpleNamespace) -> None:
    wrong = (WRITE[0], {**WRITE[1], "daily_limit_cents": 300})
    broader = (READ[0], {"account_id": "AC-10024"})
    look = ("get_balance", {"account_id": "AC-10024"})
    for meant, sent, answers, seen in (
        (WRITE, WRITE_WRONG, (step(*wrong),), [("wrong write", "step")]),
        (WRITE, WRITE_WRONG, (step(*WRITE),), [("cured", "step")]),
        (WRITE, WRITE_WRONG, (step(*wrong), step(*WRITE)), [("next call fails", "step"), ("cured", "step")]),
        (WRITE, WRITE_WRONG, (step(*look),), [("look", "step")]),
        (None, WRITE_WRONG, (step(*WRITE),), [("wrong write", "step")]),
        (READ, READ_WRONG, (step(*READ),), [("cured", "step")]),
        (READ, READ_WRONG, (step(*broader),), [("misled read", "step")]),
        (None, READ_WRONG, (step(*READ),), [("misled read", "step")]),
        (READ, READ_WRONG, (step(*WRITE),), [("wrong write", "step")]),
        (None, ("get_balances", {}), (step(*look),), [("misled read", "step")]),
        (WRITE, WRITE_WRONG, ("It was refused.",), []),
        (WRITE, WRITE_WRONG, (step(*wrong),) * 5, [("next call fails", "step")] * 3),
    ):
        assert judged(bench, meant, sent, *answers) == seen, (meant, answers)


def test_a_sent_call_that_does_something_else_in_silence_is_counted(bench: SimpleNamespace) -> None:
    other = (WRITE[0], {**WRITE[1], "daily_limit_cents": 300})
    assert judged(bench, WRITE, other) == [("accepted write", "sent")]
    assert judged(bench, None, READ) == [("accepted read", "sent")]
    assert judged(bench, WRITE, WRITE) == [("cured", "sent")]


def test_corrections_are_put_in_literally_and_counted_apart(bench: SimpleNamespace) -> None:
    name = "set_card_limit was refused.\n- daily_limit: no such parameter; did you mean daily_limit_cents?"
    assert judged(bench, WRITE, WRITE_WRONG, name) == [("wrong write", "suggestion")]
    two = "- daily_limit: no such parameter; did you mean daily_limit_cents or contactless?"
    assert judged(bench, WRITE, WRITE_WRONG, two) == []
    value = '- order: expected one of "newest", "oldest"; did you mean "newest"?'
    sent = (READ[0], {**READ[1], "order": "newset"})
    assert judged(bench, READ, sent, value) == [("cured", "suggestion")]
    tool = "Unknown tool: \"list_transaction\"; did you mean 'list_transactions'?"
    assert judged(bench, READ, ("list_transaction", READ[1]), tool) == [("cured", "suggestion")]
    lone = 'set_card_limit was refused: There is no such card.\nCandidates: "crd_8f31d9"'
    sent = (WRITE[0], {**WRITE[1], "card_id": "crd_8f31d8"})
    assert judged(bench, None, sent, lone) == [("wrong write", "candidate")]


def test_the_reader_of_the_object_obeys_steps_suggestions_and_advice_to_leave_out(bench: SimpleNamespace) -> None:
    rehearsal = (WRITE[0], {**WRITE[1], "dry_run": True})
    fault = {"path": "daily_limit", "reason": "unexpected", "suggestion": "daily_limit_cents"}
    extra = {
        "message": "No parameter `dry_run`. Leave it out.",
        "violations": [{"path": "dry_run", "reason": "unexpected"}],
    }
    for meant, sent, answer, seen in (
        (WRITE, WRITE_WRONG, {"next_step": {"tool": WRITE[0], "arguments": WRITE[1]}}, [("cured", "step")]),
        (WRITE, WRITE_WRONG, {"violations": [fault]}, [("wrong write", "suggestion")]),
        (None, rehearsal, {"error": extra}, [("wrong write", "step")]),
        (WRITE, WRITE_WRONG, {"message": "No."}, []),
    ):
        assert judged(bench, meant, sent, answer, reader="object") == seen, answer


def test_no_case_is_lost_and_every_goal_is_stated(bench: SimpleNamespace) -> None:
    trades = [trade for trade in bench.sets.load("open") if trade.name in {"bank", "tax"}]
    named = [word for trade in trades for word in ("--server", trade.name)]
    figures = run_benchmark("adversarial", *named, "--ours", "--every", "24", "--jobs", "2")
    assert {name: one["goal"] for name, one in figures.items()} == {
        f"open, failsoft, {reader}: {what} {unit}": goal
        for reader in ("text", "object")
        for what, goal in GOALS.items()
        for unit in ["%" if "harmless" in what else "calls" if what == "obeyed" else "cases"]
    }
    chosen = [case for trade in trades for case in bench.sets.cases_of(trade)[::24]]
    played = [one["value"] for name, one in figures.items() if name.endswith("played cases")]
    assert played == [len(chosen)] * 2
    assert len(chosen) > 30


def test_the_cases_can_be_exported_for_a_model(tmp_path: Path) -> None:
    done = run("adversarial", "--server", "bank", "--every", "12", "--export", str(tmp_path / "cases.jsonl"))
    assert done.returncode == 0, done.stderr
    server, *cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert "list_transactions" in {tool["name"] for tool in server["tools"]}
    assert len(cases) > 30
    assert all({"words", "sent", "meant", "answer"} <= {*case} for case in cases)
    assert all(case["answer"]["is_error"] in {True, False} and case["answer"]["text"] for case in cases)
