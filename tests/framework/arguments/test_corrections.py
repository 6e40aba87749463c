"""Arguments are corrected where every fault has a suggestion, however deep; otherwise they are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import Violation
from tests.doors import Reason, corrected


def fault(path: str, reason: Reason, suggestion: Any = None) -> Violation:
    return Violation(path=path, reason=reason, message="is wrong", suggestion=suggestion)


@pytest.mark.parametrize(
    ("arguments", "violations", "expected"),
    [
        ({"limit": "5"}, [fault("limit", "type", 5)], {"limit": 5}),
        ({"limt": 5, "a": 1}, [fault("limt", "unexpected", "limit")], {"limit": 5, "a": 1}),
        ({"pth": "a"}, [fault("path", "missing"), fault("pth", "unexpected", "path")], {"path": "a"}),
        ({"edits": [{}, {"limit": "5"}]}, [fault("edits.1.limit", "type", 5)], {"edits": [{}, {"limit": 5}]}),
        ({"edits": [{"limt": 5}]}, [fault("edits.0.limt", "unexpected", "limit")], {"edits": [{"limit": 5}]}),
        (
            {"edits": [{"old": "a"}]},
            [fault("edits.0.old_string", "missing"), fault("edits.0.old", "unexpected", "old_string")],
            {"edits": [{"old_string": "a"}]},
        ),
        ({"tags": ["a", 1]}, [fault("tags.1", "type", "1")], {"tags": ["a", "1"]}),
        ({"a.b": "1"}, [fault("a.b", "type", 1)], {"a.b": 1}),
        ({"in": {"a.b": "1"}}, [fault("in.a.b", "type", 1)], {"in": {"a.b": 1}}),
    ],
)
def test_every_fault_with_a_suggestion_is_corrected(arguments: Any, violations: list[Violation], expected: Any) -> None:
    mended = corrected(arguments, violations)
    assert mended == expected
    assert list(mended or ()) == list(expected), "in the order of the caller"


@pytest.mark.parametrize(
    ("arguments", "violations"),
    [
        ({"limit": "five"}, [fault("limit", "type")]),
        ({"a": "5", "b": "x"}, [fault("a", "type", 5), fault("b", "type")]),
        ({"a": 1}, [fault("path", "missing")]),
        ({"edits": [{}]}, [fault("edits.0.limit", "missing")]),
        ({"limt": 5, "limit": 6}, [fault("limt", "unexpected", "limit")]),
        ({"a": 1}, [fault("b", "type", 5)]),
        ({"a": [1]}, [fault("a.1", "type", 5)]),
        ({"a": [1]}, [fault("a.x", "type", 5)]),
        ({"a": "text"}, [fault("a.0", "type", 5)]),
        ({"a": 1}, [fault("", "value", "arguments")]),
        ([1], [fault("0", "type", 5)]),
    ],
)
def test_what_cannot_be_corrected_whole_is_left_alone(arguments: Any, violations: list[Violation]) -> None:
    assert corrected(arguments, violations) is None


def test_the_callers_own_arguments_are_not_changed() -> None:
    arguments = {"edits": [{"limit": "5"}]}
    assert corrected(arguments, [fault("edits.0.limit", "type", 5)]) == {"edits": [{"limit": 5}]}
    assert arguments == {"edits": [{"limit": "5"}]}
