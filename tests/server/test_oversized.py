"""Whose request it was, that was too long to be read: seen at one of its ends, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.doors import EDGE_BYTES, refusal

ids = st.one_of(st.integers(-(10**17), 10**17), st.from_regex(r"[A-Za-z0-9 ._:-]{1,60}", fullmatch=True))


def refused(line: bytes) -> Any:
    answer = refusal(line[:EDGE_BYTES], line[-EDGE_BYTES:], 1_000)
    return None if answer is None else json.loads(answer)["id"]


@given(number=ids, is_last=st.booleans(), spaced=st.booleans(), inner=st.text(max_size=30))
def test_the_id_is_found_before_or_after_the_parameters(number: Any, is_last: bool, spaced: bool, inner: str) -> None:
    params = {"name": "find", "arguments": {"id": 5, "text": inner + "x" * 2_000, "last": {"id": 6}}}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    if is_last:
        request = {"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": number}
    separators = None if spaced else (",", ":")
    assert refused(json.dumps(request, separators=separators).encode() + b"\n") == number


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" " * 5_000,
        b"\xff" * 5_000,
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":5,"text":"' + b"x" * 5_000 + b'"}}',
        b'{"jsonrpc":"2.0","method":"a","params":{"text":"' + b"x" * 5_000 + b'","id":5}}',
        b'{"jsonrpc":"2.0","id":007,"params":"' + b"x" * 5_000,
        b'{"jsonrpc":"2.0","id":"\xff","params":"' + b"x" * 5_000,
        b'{"jsonrpc":"2.0","id":null,"params":"' + b"x" * 5_000,
        b'{"jsonrpc":"2.0","id":{"id":1},"params":"' + b"x" * 5_000,
    ],
)
def test_what_has_no_id_of_its_own_is_not_answered(line: bytes) -> None:
    assert refused(line) is None


@given(head=st.binary(max_size=EDGE_BYTES), tail=st.binary(max_size=EDGE_BYTES))
def test_no_bytes_break_it(head: bytes, tail: bytes) -> None:
    refusal(b'{"id":"' + head, tail + b',"id":1}', 1_000)
