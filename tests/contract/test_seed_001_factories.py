"""Seed 001, section 4: errors that are built directly, and from values that are no exceptions."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import SystemErrorFactory, ToolError

FACTS = {
    "error_code": "INTERNAL_ERROR",
    "human_message": "Something went wrong.",
    "tool_name": "my_tool",
    "role": "WINDSURF",
    "session_id": "550e8400-e29b-41d4-a716-446655440000",
    "workspace_root": "/path",
}


def test_an_error_is_built_from_a_mapping_of_facts() -> None:
    build: Any = SystemErrorFactory
    try:
        error = build(dict(FACTS))
    except TypeError as refused:
        error = refused
    assert isinstance(error, ToolError)
    envelope = SystemErrorFactory.to_envelope(error)

    assert {name: envelope[name] for name in FACTS} == FACTS


@pytest.mark.parametrize("thrown", ["boom", {"reason": "boom"}, 5], ids=repr)
def test_the_message_for_a_thrown_value_names_no_class(thrown: object) -> None:
    error = SystemErrorFactory.from_unknown(thrown, tool_name="my_tool")

    assert type(error.__cause__).__name__ not in error.message
