"""The ledger of keyed calls as a table: every phase by everything that can happen to it, from the contract's text."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doors import (
    SETTLED,
    Changed,
    Claimant,
    Claimed,
    OwnerReport,
    Phase,
    Verdict,
    claim,
    forgotten,
    is_dead,
    is_readable,
    new_owner,
    report_to_ledger,
)
from tests.recovery.state.test_hashed_arguments import no_descriptors

LEASE_S, TTL_S = 10.0, 60.0
MARKS, OUTCOME = '{"charge": {}}', '{"value": 1}'

# Each cell: the phase after, and the answer. `run*` hands over the marked effects. The second half of the claims is of
# an operation that does no harm when it is repeated.
TABLE = """
| what happens                     | none           | accepted       | running        | effect         | done           | failed         | unknown        |
|----------------------------------|----------------|----------------|----------------|----------------|----------------|----------------|----------------|
| claim by the owner               | accepted run   | accepted run   | running run    | effect run*    | done settled   | failed settled | unknown unknown|
| claim by another                 | accepted run   | accepted wait  | running wait   | effect wait    | done settled   | failed settled | unknown unknown|
| claim after the lease            | accepted run   | accepted run   | running unknown| effect run*    | done settled   | failed settled | unknown unknown|
| claim after the owner's death    | accepted run   | accepted run   | running unknown| effect run*    | done settled   | failed settled | unknown unknown|
| claim with other arguments       | accepted run   | accepted conflict | running conflict | effect conflict | done conflict | failed conflict | unknown conflict |
| claim with hashes of another key | accepted run   | accepted unknown | running unknown | effect unknown | done unknown | failed unknown | unknown unknown |
| repeatable by the owner          | accepted run   | accepted run   | running run    | effect run*    | done settled   | failed settled | accepted run   |
| repeatable by another            | accepted run   | accepted wait  | running wait   | effect wait    | done settled   | failed settled | accepted run   |
| repeatable after the lease       | accepted run   | accepted run   | running run    | effect run*    | done settled   | failed settled | accepted run   |
| repeatable after the owner's death | accepted run | accepted run   | running run    | effect run*    | done settled   | failed settled | accepted run   |
| repeatable with other arguments  | accepted run   | accepted conflict | running conflict | effect conflict | done conflict | failed conflict | unknown conflict |
| repeatable with hashes of another key | accepted run | accepted unknown | running unknown | effect unknown | done unknown | failed unknown | unknown unknown |
| renew                            | accepted yes   | accepted yes   | running yes    | effect yes     | done no        | failed no      | unknown no     |
| mark                             | effect yes     | effect yes     | effect yes     | effect yes     | done no        | failed no      | unknown no     |
| release                          | accepted yes   | accepted yes   | running yes    | effect yes     | done no        | failed no      | unknown no     |
| free                             | none yes       | none yes       | none yes       | none yes       | done no        | failed no      | unknown no     |
| withdraw                         | none yes       | none yes       | none yes       | effect yes     | done no        | failed no      | unknown no     |
| done                             | done yes       | done yes       | done yes       | done yes       | done no        | failed no      | unknown no     |
| failed                           | failed yes     | failed yes     | failed yes     | failed yes     | done no        | failed no      | unknown no     |
| unknown                          | unknown yes    | unknown yes    | unknown yes    | unknown yes    | done no        | failed no      | unknown no     |
| forget                           | none no        | none yes       | none yes       | none yes       | none yes       | none yes       | none yes       |
"""  # fmt: skip  # noqa: E501 - a table
ARGUMENTS = {"with other arguments": "other", "with hashes of another key": "#"}
CLAIMS = ("by the owner", "by another", "after the lease", "after the owner's death", *ARGUMENTS)
PHASES = ("none", *Phase)
HEADER, _, *ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.strip().splitlines()]
CELLS = {(row[0], phase): cell for row in ROWS for phase, cell in zip(HEADER[1:], row[1:], strict=True)}


class Hashes:
    """Hashes of arguments; those that begin with `#` have a key of their own."""

    def __init__(self, text: str) -> None:
        self.text = text

    def is_same(self, stored: str) -> bool | None:
        return None if self.text.startswith("#") else stored == self.text

    def changed(self, stored: str) -> tuple[str, ...]:
        return () if stored == self.text else ("item",)


def claimant(call: str = "one", arguments: str = "h", begins: Phase = Phase.ACCEPTED) -> Claimant:
    return Claimant(call, Hashes(arguments), begins, LEASE_S, TTL_S)


def state_in(phase: str) -> Any:
    """Return the record that the call `one` left in a phase at the time 0."""
    if phase == "none":
        return None
    outcome = OUTCOME if phase in {Phase.DONE, Phase.FAILED} else ""
    effects = MARKS if phase == Phase.EFFECT else ""
    return {**claimant().record(0.0, effects), "phase": phase, "outcome": outcome}


def happened(what: str, phase: str, state: Any) -> Changed:
    """Let one thing happen to a record; claims are of a handler as that which began it."""
    if what == "forget":
        return forgotten(state, 1.0)
    if what in set(OwnerReport):
        marks = MARKS if phase == Phase.EFFECT or what == OwnerReport.MARK else ""
        outcome = OUTCOME if what in set(SETTLED) else ""
        return report_to_ledger(state, 1.0, claimant(), OwnerReport(what), marks, outcome)
    first, _, how = what.partition(" ")
    begins = Phase.RUNNING if phase == Phase.RUNNING else Phase.ACCEPTED
    token = "one" if how == "by the owner" else "two"
    ours = claimant(token, ARGUMENTS.get(how, "h"), begins)
    now, dead = LEASE_S if how == "after the lease" else 1.0, "one" if "death" in how else ""
    return claim(state, now, ours, first == "repeatable", dead)


def test_the_table_has_a_row_for_everything_and_a_column_for_every_phase() -> None:
    claims = [f"{first} {how}" for first in ("claim", "repeatable") for how in CLAIMS]
    assert HEADER[1:] == [*PHASES]
    assert [row[0] for row in ROWS] == [*claims, *OwnerReport, "forget"]
    assert {word for cell in CELLS.values() for word in cell.split()[1:]} == {*Verdict, "run*", "yes", "no"}


@pytest.mark.parametrize(("what", "phase"), [*itertools.product([row[0] for row in ROWS], PHASES)])
def test_a_phase_is_followed_by_that_of_the_table(what: str, phase: str) -> None:
    state = state_in(phase)
    before = None if state is None else dict(state)
    changed = happened(what, phase, state)
    after = changed.state if changed.is_new(state) else state
    answer: Any = changed.answer
    said = (
        ("yes" if answer else "no") if isinstance(answer, bool) else f"{answer.verdict}{'*' * (answer.text == MARKS)}"
    )
    assert f"{'none' if after is None else after['phase']} {said}" == " ".join(CELLS[what, phase].split())
    assert state == before, "a step changes no record in place"
    assert after is None or not changed.is_new(state) or changed.ttl_s == TTL_S


@pytest.mark.parametrize(("said", "phase"), [*itertools.product(OwnerReport, Phase)])
def test_who_does_not_own_a_key_changes_nothing_of_it(said: OwnerReport, phase: Phase) -> None:
    state = state_in(phase)
    late = report_to_ledger(state, 1.0, claimant("two"), said, MARKS, "late")
    assert (late.answer, late.is_new(state)) == (False, False)


def test_each_answer_has_what_the_call_goes_on_with() -> None:
    running, done = state_in("running"), state_in("done")
    assert claim(running, 4.0, claimant("two"), False, "").answer == Claimed(Verdict.WAIT, "", 6.0, "one")
    assert claim(done, 4.0, claimant("two"), False, "").answer == Claimed(Verdict.SETTLED, OUTCOME)
    assert claim(running, 4.0, claimant("two", "x"), False, "").answer == Claimed(Verdict.CONFLICT, "h")
    assert claim(running, 4.0, claimant("two"), False, "three").answer.verdict == Verdict.WAIT


def test_a_claim_takes_the_record_over_with_its_effects_and_a_lease_of_its_own() -> None:
    taken = claim(state_in("effect"), 11.0, claimant("two", begins=Phase.RUNNING), False, "")
    assert taken.state == {**state_in("effect"), "owner": "two", "until": 21.0, "end": 71.0}
    assert claim(None, 1.0, claimant(begins=Phase.RUNNING), False, "").state["phase"] == Phase.RUNNING


def test_a_release_ends_the_lease_and_every_other_report_starts_it_again() -> None:
    for said in (OwnerReport.RENEW, OwnerReport.MARK, OwnerReport.DONE, OwnerReport.RELEASE):
        state = report_to_ledger(state_in("effect"), 5.0, claimant(), said, MARKS, OUTCOME).state
        assert (state["until"], state["end"]) == (5.0 if said == OwnerReport.RELEASE else 15.0, 65.0)


@pytest.mark.parametrize("said", [OwnerReport.RENEW, OwnerReport.RELEASE])
def test_a_record_that_the_store_has_lost_is_made_again_with_its_marks(said: OwnerReport) -> None:
    state = report_to_ledger(None, 5.0, claimant(), said, MARKS).state
    assert (state["phase"], state["effects"]) == (Phase.EFFECT, MARKS)


def test_an_outcome_is_kept_with_the_marks_of_its_record() -> None:
    state = report_to_ledger(state_in("effect"), 5.0, claimant(), OwnerReport.FAILED, "", OUTCOME).state
    assert state == {**state_in("effect"), "phase": Phase.FAILED, "outcome": OUTCOME, "until": 15.0, "end": 65.0}


@pytest.mark.parametrize(("may_repeat", "verdict"), [(False, Verdict.UNKNOWN), (True, Verdict.RUN)])
def test_a_phase_that_another_version_has_written_is_not_taken_for_an_unbegun_one(
    may_repeat: bool, verdict: Verdict
) -> None:
    state = {**state_in("accepted"), "phase": "suspended"}
    assert claim(state, 11.0, claimant("two"), may_repeat, "").answer.verdict == verdict


def test_an_outcome_that_comes_after_its_lease_has_ended_is_kept() -> None:
    seen = claim(state_in("running"), 11.0, claimant("next", begins=Phase.RUNNING), False, "")
    assert seen.answer.verdict == Verdict.UNKNOWN
    kept = report_to_ledger(state_in("running"), 12.0, claimant(), OwnerReport.DONE, "", "late")
    assert kept.answer is True
    assert claim(kept.state, 13.0, claimant("third"), False, "").answer[:2] == (Verdict.SETTLED, "late")


def test_an_owner_is_dead_once_its_process_has_ended_on_this_machine() -> None:
    owner = new_owner()
    token, _, place = owner.partition("@")
    machine, _, process = place.rpartition("/")
    if not machine:
        pytest.skip("not Linux: only the lease counts")
    started = process.partition("-")[2]
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    owners = {
        owner: False,
        f"{token}@{machine}/{os.getpid()}-{started}1": True,  # the number of a process is used again
        f"{token}@{machine}/{ended.pid}-{started}": True,
        f"{token}@another/{ended.pid}-{started}": False,
        f"{token}@{machine}/x-{started}": False,
        token: False,
    }
    assert {one: is_dead(one) for one in owners} == owners
    assert new_owner() != owner


def test_an_owner_whose_process_cannot_be_looked_at_is_not_dead() -> None:
    owner = new_owner()
    with no_descriptors():
        assert not is_dead(owner)
    assert not is_dead(owner.rpartition("-")[0] + "-")  # one that could not tell when it started
    assert not is_dead(owner.rpartition("/")[0] + f"/{10**20}-1")


def test_a_process_that_has_ended_and_was_not_waited_for_is_dead() -> None:
    ended = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{ended.pid}/stat")
    if not stat.exists():
        pytest.skip("not Linux: only the lease counts")
    started = stat.read_text().rpartition(")")[2].split()[19]
    owner = f"{new_owner().rpartition('/')[0]}/{ended.pid}-{started}"
    assert not is_dead(owner)
    assert ended.stdin is not None
    ended.stdin.close()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(owner)
    ended.wait()


@pytest.mark.parametrize(("effects", "expected"), [("", True), ("{}", True), ("[]", False), ("{", False)])
def test_effects_that_cannot_be_read_are_told_from_none(effects: str, expected: bool) -> None:
    assert is_readable(effects) is expected
