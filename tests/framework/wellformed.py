"""What every answer has to be, whatever happened: encodable, of the published shape, and of one sense throughout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from failsoft import ToolResponse
from tests.doors import BoundOperation

REPORTED = {"code", "category", "retry", "effect", "error_id", "tool", "operation", "timestamp", "execution_time_ms"}
"""What `_meta` says of every failure."""
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@cache
def _published_validator(name: str) -> Draft202012Validator:
    return _validator((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


@cache
def _validator(schema: str) -> Draft202012Validator:
    loaded = json.loads(schema)
    Draft202012Validator.check_schema(loaded)
    return Draft202012Validator(loaded)


_output_validators: dict[int, tuple[Any, Draft202012Validator]] = {}


def _output_validator(bound: BoundOperation) -> Draft202012Validator:
    known = _output_validators.get(id(bound))
    if known is None or known[0] is not bound:
        schema = bound.wire.answer_schema(bound.result.schema)
        known = _output_validators[id(bound)] = (bound, _validator(json.dumps(schema, sort_keys=True)))
    return known[1]


def check_wellformed(response: ToolResponse[Any], bound: BoundOperation) -> dict[str, Any]:
    """Return the wire form of an answer, after every check that a client could make."""
    encoded = response.encode()
    text = json.dumps(encoded.structured, allow_nan=False)
    text.encode()
    assert json.loads(text) == encoded.structured
    if response.success or response.wire is None or response.wire.text(response.error) is None:
        assert json.loads(encoded.text) == encoded.structured
    assert encoded.is_error is not response.success
    assert (response.error is None) is response.success
    assert response.metadata.execution_time_ms >= 0
    _output_validator(bound).validate(encoded.structured)
    assert type(encoded.structured.get(bound.wire.flag[0], False)) is bool
    assert response.wire is not None
    _published_validator(response.wire.name).validate(encoded.structured)
    if response.error is not None:
        assert encoded.meta is not None
        reported = encoded.meta["dev.failsoft/error"]
        assert reported["code"] == response.error.code
        assert set(reported) - {"stop_reason", "original_code"} == REPORTED
    return encoded.structured
