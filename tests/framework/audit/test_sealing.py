"""One line of the log: what it is made of, and that no other line passes for it."""

from __future__ import annotations

import hmac
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.doors import BEGINNING, BadLine, Head, Seal, canonical, follow
from tests.each import each
from tests.laws.hostile import json_trees

KEY = b"a key of sixteen"
RESERVED = {"seq", "prev", "alg", "hash"}
facts = st.dictionaries(st.text(max_size=12).filter(lambda name: name not in RESERVED), json_trees, max_size=5)
seals = st.sampled_from([Seal(KEY), Seal(lambda: b"another key of 16")])


@given(facts=facts, seal=seals)
def test_a_line_says_its_facts_its_number_and_the_hash_before_it(facts: dict[str, Any], seal: Seal) -> None:
    after = Head(6, "f" * 64)
    line, head = seal.line(facts, after)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert line.isascii()
    entry = seal.open(line[:-1])
    assert {name: entry[name] for name in facts} == facts
    assert (entry["seq"], entry["prev"], entry["hash"]) == (7, "f" * 64, head.hash)
    assert follow(entry, after) == head


def test_the_hash_can_be_made_by_anybody_with_the_key_and_a_json_library() -> None:
    line, head = Seal(KEY).line({"code": "A", "error_id": "ü"}, BEGINNING)
    entry = json.loads(line)
    reported = entry.pop("hash")
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert hmac.digest(KEY, text.encode(), "sha256").hex() == reported == head.hash


@given(facts=facts, seal=seals, data=st.data())
def test_a_line_with_any_byte_changed_is_refused(facts: dict[str, Any], seal: Seal, data: st.DataObject) -> None:
    line = bytearray(seal.line(facts, BEGINNING)[0][:-1])
    place = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    line[place] = other
    with pytest.raises(BadLine):
        seal.open(bytes(line))


@given(facts=facts, seal=seals, data=st.data())
def test_a_line_that_was_cut_is_refused(facts: dict[str, Any], seal: Seal, data: st.DataObject) -> None:
    line = seal.line(facts, BEGINNING)[0][:-1]
    with pytest.raises(BadLine):
        seal.open(line[: data.draw(st.integers(0, len(line) - 1))])


def _resealed(entry: dict[str, Any]) -> dict[str, Any]:
    entry = {name: value for name, value in entry.items() if name != "hash"}
    return {**entry, "hash": Seal(KEY).digest(canonical(entry))}


GOOD = json.loads(Seal(KEY).line({"code": "A"}, BEGINNING)[0])


@each(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"not json",
        b"\xff\xfe",
        b"[" * 100_000,
        json.dumps(GOOD).encode(),
        json.dumps(GOOD, separators=(",", ":")).encode().replace(b'{"', b'{"code":"B","', 1),
        canonical(_resealed({**GOOD, "seq": "1"})),
        canonical(_resealed({**GOOD, "seq": True})),
        canonical(_resealed({**GOOD, "prev": None})),
        canonical(_resealed({**GOOD, "alg": "md5"})),
        canonical(_resealed({name: value for name, value in GOOD.items() if name != "prev"})),
        canonical({**GOOD, "hash": None}),
        canonical({**GOOD, "hash": "ü" * 64}),
        canonical({**GOOD, "hash": GOOD["hash"].upper()}),
    ],
)
def test_what_is_no_line_of_ours_is_refused(line: bytes) -> None:
    with pytest.raises(BadLine):
        Seal(KEY).open(line)


def test_without_the_key_no_forged_line_passes() -> None:
    other, _ = Seal(b"another key of 16").line({"code": "A"}, BEGINNING)
    with pytest.raises(BadLine):
        Seal(KEY).open(other[:-1])


@pytest.mark.parametrize("after", [BEGINNING, Head(1, "1" * 64), Head(3, "3" * 64), Head(2, "0" * 64)], ids=str)
def test_an_entry_follows_one_end_only(after: Head) -> None:
    entry = Seal(KEY).open(Seal(KEY).line({}, Head(2, "2" * 64))[0][:-1])
    with pytest.raises(BadLine):
        follow(entry, after)
    assert follow(entry, None).seq == 3


def test_the_first_entry_follows_the_beginning_even_where_nothing_is_known() -> None:
    line, _ = Seal(KEY).line({}, Head(0, "1" * 64))
    with pytest.raises(BadLine):
        follow(Seal(KEY).open(line[:-1]), None)
