"""One history of steps has one sequence of answers, whichever store runs it: memory, SQLite or Redis."""

from __future__ import annotations

import asyncio
import copy
import importlib
import itertools
import json
import pkgutil
from collections.abc import Coroutine, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
import redis
from hypothesis import given, settings, strategies as st

import failsoft.recovery
import failsoft.tools.flux
import failsoft.tools.workspace
from tests.doors import (
    ADMIT,
    CLAIM,
    FORCE,
    LOCK,
    LOOK,
    NAME_LIST,
    PEEK,
    REPORT,
    SETTLE,
    TAKE,
    UNLOCK,
    WITHDRAW,
    Changed,
    MemoryRecords,
    RedisState,
    SqliteState,
    State,
    Transition,
    framework_area,
    redis_module,
    script,
)
from tests.programs.redis import RunningRedis
from tests.thorough import examples

T = TypeVar("T")

small = st.integers(0, 6)
many = st.one_of(small, st.integers(10, 40))
tokens = st.sampled_from(["", "a", "a", "b"])
spans = st.sampled_from([0.1, 1.0, 10.0, 33.3])
periods = st.sampled_from([10.0, 33.3, 100.0, 1_000.0])  # kept as long in Redis, whose own clock goes on
ratios = st.sampled_from([0.1, 0.5, 1.0])
options = st.tuples(ratios, ratios, st.sampled_from([0.0, 1.6448536269514715]), st.integers(1, 5), spans, spans, spans)
pauses = st.one_of(st.floats(0, 100, allow_subnormal=False), st.sampled_from([0.0, 1.0, 10.0, 1e-6, 7e-4, 7e-3, 7e-2]))

owners, hashes = st.sampled_from(["o1", "o2"]), st.sampled_from(["h1", "h2"])
leases, lives = st.sampled_from([0.5, 10.0]), st.sampled_from([1_000.0, 86_400.0])
claims = st.tuples(
    *(st.just(CLAIM), owners, hashes, st.sampled_from(["accepted", "running"]), st.integers(0, 1)),
    *(st.sampled_from(["", "o1"]), leases, lives),
)
phases = st.sampled_from(["accepted", "running", "released", "effect", "done", "failed", "unknown", "free"])
outcomes = st.sampled_from(["", '{"value":"ä/\\n"}'])
settlements = st.tuples(st.just(SETTLE), owners, hashes, phases, outcomes, leases, lives)

HISTORIES: dict[str, Any] = {
    "key": st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.5, 7.25, 10.0]), st.one_of(claims, settlements)), max_size=12
    ),
    "circuit": options.flatmap(
        lambda chosen: st.lists(
            st.tuples(
                pauses,
                st.one_of(
                    st.tuples(st.just(ADMIT), tokens, spans, small, st.just(chosen[4]), st.just(chosen[5])),
                    st.tuples(
                        st.just(REPORT), tokens, st.sampled_from([0, 0, 0, -1]), st.just(0.0), many, small, small
                    ).map(lambda step: (*step, *chosen)),
                    st.tuples(st.just(FORCE), st.sampled_from(["open", "closed"]), st.integers(0, 1)).map(
                        lambda step: (*step, *chosen[4:6])
                    ),
                    st.just((PEEK, *chosen[4:6])),
                ),
            ),
            max_size=12,
        )
    ),
    "budget": st.tuples(st.floats(0, 1, allow_subnormal=False), st.floats(0, 20, allow_subnormal=False)).flatmap(
        lambda chosen: st.lists(
            st.tuples(
                pauses, st.tuples(st.just(WITHDRAW), st.integers(0, 30), *map(st.just, (*chosen, 2 * chosen[1], 300.0)))
            ),
            max_size=12,
        )
    ),
    "rate": st.tuples(st.integers(1, 8), periods).flatmap(
        lambda chosen: st.lists(
            st.tuples(pauses, st.tuples(st.just(TAKE), *map(st.just, chosen), st.integers(1, 3))), max_size=20
        )
    ),
    "workspace": st.lists(
        st.tuples(
            pauses,
            st.one_of(
                st.tuples(st.just(LOCK), tokens, tokens, spans),
                st.just((LOOK,)),
                st.tuples(st.just(UNLOCK), st.integers(0, 3)),
            ),
        ),
        max_size=12,
    ),
    "name_list": st.integers(1, 3).flatmap(
        lambda at_most: st.lists(
            st.tuples(
                pauses,
                st.tuples(
                    st.just(NAME_LIST),
                    st.sampled_from(["", *"abcd"]),
                    st.sampled_from(["", *"abcd"]),
                    st.just(at_most),
                    st.just(15),
                ),
            ),
            max_size=12,
        )
    ),
}


NOW = 1_732_233_600.123456
CIRCUIT = {"name": "half_open", "era": 2, "until": NOW + 5.5, "break_s": 3.0, "probe": "a", "held": 0, "window": []}
BEGINNINGS: dict[str, list[Any]] = {
    "circuit": [None, CIRCUIT, {**CIRCUIT, "probe": ""}, {**CIRCUIT, "name": "open", "probe": ""}],
}
"""States that histories begin with, beside none: those that they would seldom come to."""

RELEASED = (SETTLE, "o2", "h1", "released", "", 0.5, 1000.0)
RENEWED = (SETTLE, "o2", "h1", "accepted", "", 0.5, 1000.0)
CLAIMED = (CLAIM, "o2", "h1", "accepted", 0, "", 0.5, 1000.0)
CLAIMED_BY_ANOTHER = (CLAIM, "o1", *CLAIMED[2:])
TOLD: dict[str, list[Any]] = {
    "key": [[RELEASED, RENEWED, CLAIMED], [RELEASED, CLAIMED, CLAIMED_BY_ANOTHER]],
}
"""Histories that were told apart once."""

SET = Transition(
    "test.set",
    lambda _state, _now, text: Changed(json.loads(text), 1, 1e6),
    "return cjson.decode(arguments[1]), 1, 1000000",
)
ECHO = Transition(
    "test.echo", lambda _state, _now, *arguments: Changed(None, [*arguments], 1.0), "return nil, arguments, 1"
)


@cache
def careful(transition: Transition) -> Transition:
    """Return a transition that checks that its step leaves alone what it is given."""

    def step(state: State | None, now: float, *arguments: Any) -> Changed:
        before = copy.deepcopy(state)
        changed = transition.step(state, now, *arguments)
        assert state == before, "a step changed what it was given"
        return changed

    return Transition(transition.name, step, transition.lua)


class Stores:
    """A store of each kind, at a time of the test's choosing."""

    def __init__(self, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._redis = redis.Redis.from_url(url, decode_responses=True)
        self.now = NOW
        self._tell_redis()
        monkeypatch.setattr("time.time", lambda: self.now)
        monkeypatch.setattr(redis_module, "script", partial(script, now="tonumber(redis.call('GET', 'now'))"))
        self.sqlite = SqliteState(folder / "state.sqlite")
        self.redis = RedisState(url, limit_s=60.0)
        self._stores = {"memory": MemoryRecords(lambda: self.now), "sqlite": self.sqlite, "redis": self.redis}
        self._runner = asyncio.Runner()

    def close(self) -> None:
        for store in self._stores.values():
            self.run(store.close())
        self._runner.close()
        self._redis.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    async def let_pass(self, seconds: float, key: str) -> None:
        """Move the time. Redis forgets by a clock that does not move: it forgets what memory forgets."""
        self.now += seconds
        self._tell_redis()
        if not await self._stores["memory"].find(key):
            self._redis.delete(f"failsoft:{key}")

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """Make a step in each store, and return the answer, which is the same."""
        step = careful(transition)
        answers = {kind: await store.change(step, key, *arguments) for kind, store in self._stores.items()}
        assert answers == dict.fromkeys(answers, answers["memory"])
        return answers["memory"]

    async def delete(self, key: str) -> None:
        for store in self._stores.values():
            await store.delete(key)

    async def state(self, key: str) -> State | None:
        """Return the state that the step has left, which is the same in each store, and is kept as long."""
        found = {kind: await store.find(key) for kind, store in self._stores.items()}
        assert {kind: len(kept) for kind, kept in found.items()} == dict.fromkeys(found, len(found["memory"]))
        if not found["memory"]:
            return None
        [[kept], [in_file], [in_redis]] = found.values()
        assert in_file.value == kept.value
        assert self.in_redis(key) == as_table(kept.value)
        assert in_file.expires_in_s == pytest.approx(kept.expires_in_s, abs=1e-5)
        assert in_redis.expires_in_s <= kept.expires_in_s + 0.002 < in_redis.expires_in_s + 20
        self._redis.persist(f"failsoft:{key}")
        return copy.deepcopy(kept.value)

    def in_redis(self, key: str) -> Any:
        """Return a value in Redis with all digits of its numbers, which JSON does not get from Lua."""
        return as_table(json.loads(str(self._redis.eval(_SHOW, 1, f"failsoft:{key}"))))

    def _tell_redis(self) -> None:
        self._redis.set("now", repr(self.now))


@pytest.fixture
def stores(tmp_path: Path, redis_server: RunningRedis, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    made = Stores(tmp_path, redis_server.url, monkeypatch)
    yield made
    made.close()


@pytest.mark.parametrize("kind", sorted(HISTORIES))
def test_every_store_answers_alike_and_keeps_the_same_state(kind: str, stores: Stores) -> None:
    keys = (f"key:{number}" for number in itertools.count())

    async def play(history: list[tuple[float, tuple[Any, ...]]], beginning: State | None) -> None:
        key = next(keys)
        if beginning is not None:
            await stores.change(SET, key, json.dumps(beginning))
        state = await stores.state(key)
        for pause_s, (transition, *arguments) in history:
            await stores.let_pass(pause_s, key)
            if transition is REPORT:  # mostly about the era that is, sometimes about the one before
                arguments[1] += 0 if state is None else state["era"]
            await stores.change(transition, key, *arguments)
            state = await stores.state(key)
        await stores.delete(key)

    @settings(max_examples=examples(100))
    @given(HISTORIES[kind], st.sampled_from(BEGINNINGS.get(kind, [None])))
    def check(history: list[tuple[float, tuple[Any, ...]]], beginning: State | None) -> None:
        stores.now = NOW
        stores.run(play(history, beginning))

    for steps in TOLD.get(kind, []):
        stores.run(play([(0.0, step) for step in steps], None))
    check()


_SHOW = """
local function shown(value)
    if type(value) == 'number' then return string.format('%.17g', value) end
    if type(value) ~= 'table' then return cjson.encode(value) end
    local parts = {}
    for name, one in pairs(value) do parts[#parts + 1] = cjson.encode(tostring(name)) .. ':' .. SHOWN(one) end
    return '{' .. table.concat(parts, ',') .. '}'
end
local packed = redis.call('GET', KEYS[1])
return packed and shown(cmsgpack.unpack(packed)) or 'null'
""".replace("local function shown(value)", "local shown\nshown = function(value)").replace("SHOWN", "shown")


def as_table(value: Any) -> Any:
    """Return a value as Lua has it: a list is a table with the numbers from 1 as its names."""
    if isinstance(value, list):
        value = {str(place): one for place, one in enumerate(value, start=1)}
    return {name: as_table(one) for name, one in value.items()} if isinstance(value, dict) else value


def declared() -> dict[str, Transition]:
    """Return every transition of recovery and of the toolsets, by name."""
    found: dict[str, Transition] = {}
    for module in (
        *pkgutil.walk_packages(failsoft.recovery.__path__, "failsoft.recovery."),
        *pkgutil.iter_modules(framework_area.__path__, "failsoft.framework."),
        *pkgutil.walk_packages(failsoft.tools.workspace.__path__, "failsoft.tools.workspace."),
        *pkgutil.iter_modules(failsoft.tools.flux.__path__, "failsoft.tools.flux."),  # not what workers alone load
    ):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Transition):
                assert found.setdefault(value.name, value) is value, f"two transitions are called {value.name}"
    return found


def test_every_transition_of_the_package_is_held_to_its_other_rendering() -> None:
    covered = {kind: [name for name in declared() if name.split(".")[0] == kind] for kind in HISTORIES}
    assert set(covered["workspace"]) >= {"workspace.lock", "workspace.look", "workspace.unlock"}
    assert set(covered["circuit"]) == {"circuit.admit", "circuit.force", "circuit.peek", "circuit.report"}
    assert {name.split(".")[0] for name in declared()} <= {*HISTORIES}


def test_numbers_and_texts_reach_every_store_and_come_back_whole(stores: Stores) -> None:
    @given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53), st.text(max_size=20))
    @settings(max_examples=examples(50))
    def check(number: float, whole: int, text: str) -> None:
        assert stores.run(stores.change(ECHO, "key", number, whole, text)) == [number, whole, text]

    check()


def test_a_seed_does_not_write_over_what_is_there(stores: Stores) -> None:
    state = {"tokens": 2.5, "at": 1_732_233_600.1234567, "window": [1, 2.5, "x"], "none": []}
    for store in (stores.sqlite, stores.redis):
        assert stores.run(store.seed("key", state, 60.0))
        assert not stores.run(store.seed("key", {"tokens": 9}, 60.0))
        [kept] = stores.run(store.find("key"))
        assert kept.expires_in_s == pytest.approx(60, rel=0.5)
    assert stores.run(stores.sqlite.get("key")) == state
    assert stores.in_redis("key") == as_table(state)
