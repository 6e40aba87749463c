"""The memory of what callers did last: exact against a model, bounded, and without a trace of arguments."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.doors import Recent

CALLERS = ("local", "token:ann")
ARGUMENTS: tuple[dict[str, Any], ...] = ({"n": 1}, {"n": 1, "tags": ["a", {"b": 2, "c": None}]}, {})
CODES = ("OUTAGE", "NOT_FOUND")
MINUTE_S = 60.0


@dataclass
class Memory:
    """A memory with a clock that a test moves, and what it has said of steps."""

    at_most: int = 1_000
    is_off: bool = False
    now: float = 0.0
    said: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        def on_step(code: str, result: str) -> None:
            self.said[code, result] += 1

        self.recent = Recent(on_step, at_most=self.at_most, is_off=self.is_off, clock=lambda: self.now)
        self.tool = self.recent.of("shop", "buy")

    def fail(self, caller: str, arguments: Any, code: str, wait_s: float | None = None, **given: Any) -> Any:
        """Return what a failure is told, and its wait; it began now if nothing else is given."""
        return self.tool.failed(self.begun(caller, arguments), code, given.get("began_at", self.now), wait_s)

    def succeed(self, caller: str, arguments: Any) -> None:
        """Let a call succeed."""
        self.tool.succeeded(self.begun(caller, arguments))

    def begun(self, caller: str, arguments: dict[str, Any]) -> Any:
        """Begin a call."""
        return self.tool.begun(self.tool.digest(caller, "buy", arguments), arguments)

    def advise(self, arguments: Any, code: str = "OUTAGE", wait_s: float | None = None, **given: Any) -> None:
        """Name a call of the same tool as the next step of the first caller."""
        self.tool.named(CALLERS[0], "buy", arguments, code, given.get("began_at", self.now), wait_s)

    @property
    def size(self) -> int:
        return len(self.tool.failures) + len(self.tool.steps)


KINDS = st.sampled_from(["fail", "succeed", "wait"])
ACTS = st.tuples(KINDS, st.sampled_from(CALLERS), st.integers(0, 2), st.sampled_from(CODES), st.integers(0, 400))


@settings(max_examples=60)
@given(st.lists(ACTS, max_size=40))
def test_identical_failures_are_counted_as_the_model_counts_them(acts: list[Any]) -> None:
    memory, model = Memory(), dict[Any, list[float]]()
    for kind, caller, number, code, pause_s in acts:
        arguments = ARGUMENTS[number]
        if kind == "wait":
            memory.now += pause_s
        elif kind == "succeed":
            memory.succeed(caller, dict(reversed(list(arguments.items()))))
            for other in CODES:
                model.pop((caller, number, other), None)
        else:
            earlier = model.setdefault((caller, number, code), [])
            if earlier and memory.now - earlier[-1] > 10 * MINUTE_S:
                earlier.clear()
            earlier.append(memory.now)
            is_told = len(earlier) >= 3 and memory.now - earlier[-3] <= 10 * MINUTE_S
            assert memory.fail(caller, arguments, code) == (len(earlier) if is_told else 0, None)
    memory.now += 10 * MINUTE_S + 1
    memory.recent.sweep()
    assert memory.size == 0


@pytest.mark.parametrize(
    ("asked_s", "advised_s"),
    [
        ([2, 2, 2, 2], [2, 4, 8, 16]),
        ([2, 30, 2, 2], [2, 30, 60, 120]),
        ([1_000, 1_000, 1_000, 1_000], [1_000, 2_000, 3_600, 3_600]),
        ([7_200, 7_200], [7_200, 7_200]),
        ([0, 0, 5], [0, 0, 5]),
        ([2, None, 2], [2, None, 2]),
    ],
)
def test_waits_double_from_one_failure_to_the_next_and_are_never_shorter_than_asked(
    asked_s: list[float | None], advised_s: list[float | None]
) -> None:
    memory, told = Memory(), list[float | None]()
    for wait_s in asked_s:
        told.append(memory.fail("local", {"n": 1}, "OUTAGE", wait_s)[1])
        memory.now += told[-1] or 0.0  # an obedient caller
    assert told == advised_s


@pytest.mark.parametrize(("one", "other"), [(-1, -2), (-1.0, -2.0), ([-1], [-2])])
def test_calls_with_numbers_of_one_hash_are_no_repeats_of_each_other(one: Any, other: Any) -> None:
    memory = Memory()
    told = [memory.fail("local", {"n": value}, "OUTAGE") for value in (one, other, one, other)]
    assert {times for times, _ in told} == {0}


def test_what_was_forgotten_takes_no_room() -> None:
    memory = Memory(at_most=10)
    for number in range(100):
        memory.fail("local", {"n": number}, "OUTAGE")
        memory.advise({"n": number})
        memory.succeed("local", {"n": number})
    assert (memory.recent.count, memory.size) == (0, 0)


def test_calls_that_were_under_way_together_do_not_lengthen_each_others_wait() -> None:
    memory = Memory(now=10.0)
    assert [memory.fail("local", {}, "OUTAGE", 2.0, began_at=5.0)[1] for _ in range(4)] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("after_s", "advised", "called", "ends", "said"),
    [
        (59, {"n": 1, "m": 2}, {"m": 2, "n": 1}, "ok", "followed_ok"),
        (59, {"n": [1, {"a": 1, "b": 2}]}, {"n": [1, {"b": 2, "a": 1}]}, "failed", "followed_failed"),
        (61, {"n": 1}, {"n": 1}, "ok", "ignored"),
        (61, {"n": 1}, {"n": 2}, "ok", "ignored"),
        (61, {"n": 1}, {"n": True}, "ok", "ignored"),
        (61, {"n": 1}, {"n": 1.0}, "failed", "ignored"),
    ],
)
def test_a_step_is_followed_by_the_call_that_it_names_within_a_minute(
    after_s: float, advised: dict[str, Any], called: dict[str, Any], ends: str, said: str
) -> None:
    memory = Memory()
    memory.advise(advised, wait_s=None)
    memory.now += after_s
    if ends == "ok":
        memory.succeed("local", called)
    else:
        memory.fail("local", called, "OTHER")
    memory.recent.sweep()
    assert memory.said == {("OUTAGE", said): 1}


def test_the_minute_begins_after_the_wait_that_was_advised() -> None:
    memory = Memory()
    memory.advise({"n": 1}, wait_s=120.0)
    memory.now += 170
    memory.recent.sweep()
    assert not memory.said
    memory.succeed("local", {"n": 1})
    assert memory.said == {("OUTAGE", "followed_ok"): 1}


def test_no_other_call_and_no_other_caller_ends_a_step() -> None:
    memory = Memory()
    memory.advise({"n": 1})
    memory.succeed("local", {"n": 2})
    memory.succeed("token:ann", {"n": 1})
    assert not memory.said
    memory.now += 61
    memory.recent.sweep()
    memory.recent.sweep()
    assert memory.said == {("OUTAGE", "ignored"): 1}


@pytest.mark.parametrize(("began_at", "ignored"), [(5.0, 0), (10.0, 1)])
def test_a_step_that_is_named_again_was_ignored_if_the_caller_knew_of_it(began_at: float, ignored: int) -> None:
    memory = Memory(now=10.0)
    memory.advise({"n": 1})
    memory.advise({"n": 1}, began_at=began_at)
    assert memory.said["OUTAGE", "ignored"] == ignored


def test_memory_is_bounded_and_the_newest_calls_are_kept() -> None:
    memory = Memory(at_most=100)
    for number in range(1_000):
        memory.now += 0.001
        memory.fail("local", {"n": number}, "OUTAGE")
        memory.advise({"m": number})
        assert memory.size <= 100
    assert memory.fail("local", {"n": 999}, "OUTAGE") == (0, None)
    assert memory.fail("local", {"n": 999}, "OUTAGE") == (3, None)


def test_codes_without_end_do_not_fill_the_memory() -> None:
    memory = Memory()
    for number in range(500):
        memory.fail("local", {}, f"CODE_{number}")
    assert memory.size <= 50


def test_switched_off_nothing_is_remembered() -> None:
    memory = Memory(is_off=True)
    memory.advise({})
    assert [memory.fail("local", {}, "OUTAGE", 2.0) for _ in range(4)] == [(0, 2.0)] * 4
    assert memory.size == 0


def test_no_argument_is_in_memory() -> None:
    memory = Memory()
    secrets = ["hunter" + "2" * 3, "correct" + " horse"]
    for arguments in ({secrets[0]: 1}, {"password": secrets[0]}, {"deep": [{"password": secrets[1]}]}):
        memory.fail("local", arguments, "OUTAGE")
        memory.advise(arguments)
    assert memory.size == 6
    assert not any(secret in text for secret in secrets for text in texts_in(memory.recent))


def texts_in(root: object) -> Iterator[str]:
    """Yield every text that can be reached from an object, but for those of modules and classes."""
    seen, waiting = set[int](), [root]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, type) or type(found).__name__ in {"module", "function", "frame"}:
            continue
        seen.add(id(found))
        if isinstance(found, str):
            yield found
        waiting += gc.get_referents(found)
