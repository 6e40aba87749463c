"""Seed 002, the part that belongs to no toolset: the format `coded_error`, its keys, kinds and numbers."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest

from failsoft import (
    BaseTool,
    CallContext,
    DatabaseError,
    Infeasible,
    InternalError,
    NotFound,
    PreconditionFailed,
    Public,
    Timeout,
    ToolError,
    UpstreamError,
    operation,
)
from failsoft.errors import CatalogueError
from tests.contract.surroundings import runtime
from tests.doors import entries

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "schemas" / "coded_error.schema.json").read_text(encoding="utf-8")
)
ENVIRONMENTS = ("production", "staging", "development")
KEYS = [
    *("success", "error_type", "error_code", "jsonrpc_error_code", "message", "details", "suggestions"),
    *("tool_name", "timestamp"),
]
"""The seed's keys, in its order."""
NUMBERS = {
    "validation_error": -32000,
    "not_found_error": -32001,
    "infeasibility_error": -32002,
    "library_error": -32003,
    "database_error": -32004,
    "timeout_error": -32005,
    "server_error": -32603,
}
"""The seed's kinds of failure and their numbers."""


class Lost(NotFound):
    """A test's error with something to say in public, and something that is not."""

    code: ClassVar[str] = "TEST_LOST"
    requested_id: Public[str]
    known: Public[list[str]]
    shelf: str = ""
    message: str = "'{requested_id}' is not here."
    hints: ClassVar[tuple[str, ...]] = ("Look it up",)


class Archive(BaseTool):
    """Fails in every kind of way."""

    wire_format = "coded_error"
    raised: BaseException | None = None

    @operation()
    async def fetch(self, call: CallContext, name: str = "a", count: int = 1) -> dict[str, Any]:
        """Fetch."""
        if self.raised is not None:
            raise self.raised
        if count > 1:
            call.warn("There is only one.")
        return {"name": name, "count": 1}

    @operation(read_only=True)
    async def find(self, query: str) -> list[str]:
        """Find."""
        return [query]


def rendered(
    raised: BaseException | None = None, arguments: dict[str, Any] | None = None, **settings: Any
) -> dict[str, Any]:
    tool = Archive(runtime=runtime(**settings))
    tool.raised = raised
    response = asyncio.run(tool.execute_with_error_handling("fetch", arguments or {}))
    wire = response.to_dict()
    jsonschema.validate(wire, SCHEMA)
    jsonschema.validate(wire, tool.operations["fetch"].output_schema())
    return wire


def lost(**more: Any) -> Lost:
    return Lost(requested_id="cpd99999", known=["cpd00999"], shelf="B", **more)


def test_the_keys_stand_in_the_order_of_the_seed_and_the_extras_behind_them() -> None:
    wire = rendered(lost(next_step={"tool": "find", "arguments": {"query": "x"}}, effect="none"))
    names = list(wire)
    assert names[: len(KEYS)] == KEYS
    assert set(names[len(KEYS) :]) == {"effect", "next_step", "error_id"}
    assert (wire["success"], wire["tool_name"], wire["error_code"]) == (False, "fetch", "TEST_LOST")


def test_the_time_is_in_whole_seconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", rendered(lost())["timestamp"])


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (lost(), "not_found_error"),
        (PreconditionFailed(), "validation_error"),
        (Infeasible(), "infeasibility_error"),
        (UpstreamError(), "library_error"),
        (DatabaseError(), "database_error"),
        (Timeout(), "timeout_error"),
        (InternalError(), "server_error"),
        (RuntimeError("of a stranger"), "server_error"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_kind_and_number_belong_together(raised: BaseException, kind: str) -> None:
    wire = rendered(raised)
    assert (wire["error_type"], wire["jsonrpc_error_code"]) == (kind, NUMBERS[kind])


def test_every_class_of_the_catalogue_has_a_kind_and_its_number() -> None:
    for entry in entries():
        assert entry.numeric_code == NUMBERS[entry.error_type], entry.code


@pytest.mark.parametrize("facts", [{"error_type": "odd_error"}, {"numeric_code": -1}], ids=str)
def test_a_class_with_another_kind_or_a_number_out_of_range_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(CatalogueError):
        type("Odd", (NotFound,), {"__doc__": "Odd.", "code": "TEST_ODD_KIND", **facts})


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_details_are_the_public_facts_in_every_environment(environment: str) -> None:
    details = rendered(lost(details={"note": "n"}), environment=environment)["details"]
    assert details.items() >= {"requested_id": "cpd99999", "known": ["cpd00999"]}.items()
    assert ("shelf" in details, "note" in details) == (environment != "production",) * 2


def test_what_there_is_nothing_to_say_of_is_left_out() -> None:
    wire = rendered(PreconditionFailed())
    assert not {"details", "next_step", "violations"} & wire.keys()
    assert wire["suggestions"]  # the seed's, never empty
    assert None not in wire.values()


def test_other_bad_arguments_keep_their_name_and_name_every_field() -> None:
    wire = rendered(arguments={"name": 5, "surplus": 1})
    assert (wire["error_type"], wire["error_code"]) == ("validation_error", "INVALID_PARAM")
    assert [item["path"] for item in wire["violations"]] == ["name", "surplus"]
    assert "`name`" in wire["message"]
    assert "`surplus`" in wire["message"]


def test_a_success_has_the_fields_of_the_data_beside_its_flag() -> None:
    assert rendered() == {"success": True, "name": "a", "count": 1}
    assert rendered(arguments={"count": 2})["metadata"]["warnings"] == ["There is only one."]


def test_the_number_is_no_error_of_the_protocol() -> None:
    tool = Archive(runtime=runtime())
    tool.raised = lost()
    encoded = asyncio.run(tool.execute_with_error_handling("fetch", {})).encode()
    assert encoded.is_error
    assert json.loads(encoded.text) == encoded.structured


def test_an_error_crosses_a_process_with_its_facts() -> None:
    import pickle  # noqa: PLC0415 - heavy work runs in other processes, and what it raises has to arrive

    error = lost()
    again: ToolError = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert rendered(again)["details"] == rendered(error)["details"]
