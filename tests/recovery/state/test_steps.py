"""Every transition is rendered twice, in Python and in Lua: both must make the same of the same history."""

from __future__ import annotations

import copy
import importlib
import json
import math
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from hypothesis import given, settings, strategies as st

import failsoft.recovery
import failsoft.tools.flux
import failsoft.tools.workspace
from tests.doors import (
    ADMIT,
    FORCE,
    LOCK,
    LOOK,
    NAME_LIST,
    PEEK,
    REPORT,
    SEED,
    TAKE,
    UNLOCK,
    WITHDRAW,
    Transition,
    argument,
    as_answer,
    script,
    services_module,
)
from tests.programs.redis import RunningRedis
from tests.thorough import examples

small = st.integers(0, 6)
many = st.one_of(small, st.integers(10, 40))
tokens = st.sampled_from(["", "a", "a", "b"])
spans = st.sampled_from([0.1, 1.0, 10.0, 33.3])
ratios = st.sampled_from([0.1, 0.5, 1.0])
options = st.tuples(ratios, ratios, st.sampled_from([0.0, 1.6448536269514715]), st.integers(1, 5), spans, spans, spans)
pauses = st.one_of(st.floats(0, 100, allow_subnormal=False), st.sampled_from([0.0, 1.0, 10.0, 1e-6, 7e-4, 7e-3, 7e-2]))

HISTORIES: dict[str, Any] = {
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
    "rate": st.tuples(st.integers(1, 8), spans).flatmap(
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
    "budget": [None],
    "rate": [None],
    "name_list": [None],
    "workspace": [None],
}
"""States that histories begin with, beside none: those that they would seldom come to."""


def declared() -> dict[str, Transition]:
    """Return every transition of recovery and of the toolsets, by name."""
    found: dict[str, Transition] = {}
    for module in (
        *pkgutil.walk_packages(failsoft.recovery.__path__, "failsoft.recovery."),
        *pkgutil.walk_packages(services_module.__path__, "failsoft.framework.services."),
        *pkgutil.walk_packages(failsoft.tools.workspace.__path__, "failsoft.tools.workspace."),
        *pkgutil.iter_modules(failsoft.tools.flux.__path__, "failsoft.tools.flux."),  # not what workers alone load
    ):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Transition):
                assert found.setdefault(value.name, value) is value, f"two transitions are called {value.name}"
    return found


@pytest.fixture(scope="module")
def client(redis_session: RunningRedis) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(redis_session.url, decode_responses=True)
    yield client
    client.close()


def run_in_lua(client: redis.Redis, transition: Transition, now: float, *arguments: Any) -> Any:
    """Run a step on the server at a time of our choosing."""
    source = script(transition, now=f"{now!r}")
    return as_answer(client.eval(source, 1, "key", *map(argument, arguments)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", sorted(HISTORIES))
def test_python_and_lua_answer_alike_and_keep_the_same_state(kind: str, client: redis.Redis) -> None:
    @settings(max_examples=examples(150))
    @given(HISTORIES[kind], st.sampled_from(BEGINNINGS[kind]))
    def check(history: list[tuple[float, tuple[Any, ...]]], state: dict[str, Any] | None) -> None:
        client.flushall()
        now = NOW
        if state is not None:
            client.eval(SEED, 1, "key", json.dumps(state), "1000000")
        for pause_s, (transition, *arguments) in history:
            now += pause_s
            if transition is REPORT:  # mostly about the era that is, sometimes about the one before
                arguments[1] += 0 if state is None else state["era"]
            before = copy.deepcopy(state)
            changed = transition.step(state, now, *arguments)
            assert state == before, "a step changed what it was given"
            state = changed.state
            assert run_in_lua(client, transition, now, *arguments) == changed.answer
            assert as_table(json.loads(str(client.eval(_SHOW, 1, "key")))) == as_table(state)
            shown_ms = int(str(client.pttl("key")))
            assert shown_ms <= math.ceil(changed.ttl_s * 1_000) < shown_ms + 20_000

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


def test_every_transition_of_the_package_is_held_to_its_other_rendering() -> None:
    covered = {kind: [name for name in declared() if name.split(".")[0] == kind] for kind in HISTORIES}
    assert set(covered["workspace"]) >= {"workspace.lock", "workspace.look", "workspace.unlock"}
    assert set(covered["circuit"]) == {"circuit.admit", "circuit.force", "circuit.peek", "circuit.report"}
    assert {name.split(".")[0] for name in declared()} <= {*HISTORIES, *HELD_ELSEWHERE}


HELD_ELSEWHERE = {"key"}
"""Kinds whose own tests hold them to their Lua."""


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53), st.text(max_size=20))
@settings(max_examples=examples(50))
def test_numbers_and_texts_reach_lua_and_come_back_whole(number: float, whole: int, text: str) -> None:
    sent = [argument(number), argument(whole), argument(text)]
    assert float(sent[0][1:]) == number
    assert int(sent[1][1:]) == whole
    assert sent[2][1:] == text


def test_a_seed_does_not_write_over_what_is_there(client: redis.Redis) -> None:
    client.flushall()
    state = {"tokens": 2.5, "at": 1_732_233_600.1234567, "window": [1, 2.5, "x"], "none": []}
    assert client.eval(SEED, 1, "key", json.dumps(state), "60000") == 1
    assert client.eval(SEED, 1, "key", json.dumps({"tokens": 9}), "60000") == 0
    assert as_table(json.loads(str(client.eval(_SHOW, 1, "key")))) == as_table(state)
    assert math.isclose(int(str(client.pttl("key"))), 60_000, rel_tol=0.5)
