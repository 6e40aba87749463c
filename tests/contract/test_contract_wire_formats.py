"""Contract, section 4: the wire formats, their renamed codes, their schemas, and what every one of them carries."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import BaseModel, Field

from failsoft import (
    BaseTool,
    DocumentNotFound,
    InternalError,
    NotFound,
    PreconditionFailed,
    RateLimited,
    Runtime,
    ToolError,
    operation,
)
from tests.contract.surroundings import runtime
from tests.each import each

pytestmark = pytest.mark.anyio

FORMATS = ("tool_response", "error_response", "problem", "system_error")
SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
SETTINGS: list[dict[str, Any]] = [
    {},
    {"environment": "staging"},
    {"environment": "development", "detail": "full", "debug_stack": True},
]
ARGUMENTS: list[dict[str, Any]] = [
    {"kind": "missing"},
    {"kind": "limited"},
    {"kind": "crash"},
    {"kind": "step"},
    {"kind": "internal"},
    {},
    {"kind": 5, "edits": [{"a/b": 1, "c~d": "x"}], "surplus": True},
]


class Edit(BaseModel):
    """An edit with awkward names."""

    slash: Annotated[int, Field(alias="a/b")]
    tilde: Annotated[int, Field(alias="c~d")]


class Reply(BaseModel):
    """What is returned."""

    text: str


class Post(BaseTool):
    """Fails in every way."""

    def __init__(self, wire_format: str, **settings: Any) -> None:
        super().__init__(runtime=runtime(wire_format=wire_format, **settings))

    @operation(recovery=[])
    async def send(self, kind: str, edits: list[Edit] | None = None) -> Reply:
        """Send."""
        errors: dict[str, BaseException] = {
            "missing": DocumentNotFound(path="a.md", suggestions=["b.md"], effect="none"),
            "limited": RateLimited(retry_after_seconds=2, effect="none"),
            "crash": RuntimeError("of a stranger"),
            "internal": InternalError(),
            "step": PreconditionFailed(message="Look.", next_step={"tool": "look", "arguments": {}}, effect="none"),
        }
        if kind in errors:
            raise errors[kind]
        return Reply(text=kind)

    @operation(read_only=True)
    async def look(self) -> int:
        """Look."""
        return 1


@cache
def post(wire_format: str, **settings: Any) -> Post:
    return Post(wire_format, **settings)


def validator(schema: dict[str, Any]) -> Any:
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


async def wire_of(wire_format: str, arguments: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return (await post(wire_format, **settings).execute_with_error_handling("send", arguments)).to_dict()


@pytest.mark.parametrize("wire_format", FORMATS)
@each("settings", SETTINGS)
async def test_every_failure_fits_the_published_schema_and_the_output_schema(
    wire_format: str, settings: dict[str, Any]
) -> None:
    published = validator(json.loads((SCHEMAS / f"{wire_format}.schema.json").read_text()))
    own = validator(post(wire_format, output_schema="full", **settings).operations["send"].output_schema())
    for arguments in ARGUMENTS:
        wire = await wire_of(wire_format, arguments, **settings)
        published.validate(wire)
        own.validate(wire)


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_a_success_fits_the_output_schema(wire_format: str) -> None:
    wire = await wire_of(wire_format, {"kind": "hello"})
    schema = post(wire_format, output_schema="full").operations["send"].output_schema()
    assert schema["type"] == "object"
    jsonschema.validate(wire, schema)
    assert wire["data"] == {"text": "hello"}
    assert (wire.get("success"), wire.get("error")) == (
        (None, False) if wire_format == "error_response" else (True, None)
    )


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_what_is_neither_shape_does_not_fit_the_output_schema(wire_format: str) -> None:
    schema = post(wire_format, output_schema="full").operations["send"].output_schema()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"success": True}, schema)


@pytest.mark.parametrize("wire_format", FORMATS)
@each("arguments", ARGUMENTS)
async def test_every_format_says_what_changed_what_to_call_and_which_line_of_the_log(
    wire_format: str, arguments: dict[str, Any]
) -> None:
    wire = await wire_of(wire_format, arguments)
    reported = wire["error"] if wire_format == "tool_response" else wire
    assert reported["effect"] in {"none", "unknown", "applied"}
    assert reported["error_id"]
    if arguments == {"kind": "step"}:
        assert reported["next_step"] == {"tool": "look", "arguments": {}}
    if arguments == {"kind": "missing"}:
        assert "Did you mean: b.md?" in reported["suggestions"]


# error_response.


async def test_error_response_is_flat() -> None:
    wire = await wire_of("error_response", {"kind": "limited"})
    assert wire["error"] is True
    assert wire["code"] == "RATE_LIMITED"
    assert isinstance(wire["message"], str)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"kind": "missing"}, "DOCUMENT_NOT_FOUND"), ({"kind": "crash"}, "INTERNAL_ERROR"), ({}, "VALIDATION_ERROR")],
    ids=str,
)
async def test_error_response_renames_the_codes_of_the_seed(arguments: dict[str, Any], code: str) -> None:
    assert (await wire_of("error_response", arguments))["code"] == code


@pytest.mark.parametrize("environment", ["production", "staging", "development"])
async def test_error_response_aggregates_in_every_environment(environment: str) -> None:
    wire = await wire_of("error_response", {"kind": 5, "surplus": 1}, environment=environment)
    assert wire["message"] == "Validation failed: 2 errors"
    assert set(wire["details"]["fieldErrors"]) == {"kind", "surplus"}
    assert wire["details"]["totalErrors"] == 2


@pytest.mark.parametrize("wire_format", ["tool_response", "problem", "system_error"])
async def test_the_other_formats_name_every_field_in_the_message(wire_format: str) -> None:
    wire = await wire_of(wire_format, {"kind": 5, "surplus": 1})
    reported = wire["error"] if wire_format == "tool_response" else wire
    message = reported.get("message") or reported.get("detail") or reported["human_message"]
    assert "`kind`" in message
    assert "`surplus`" in message
    assert "expected string" in message


# problem (RFC 9457).


async def test_problem_has_the_members_of_the_rfc_and_the_extensions() -> None:
    wire = await wire_of("problem", {"kind": "missing"}, error_docs_url="https://example.org/errors")
    assert wire["type"] == "https://example.org/errors/DOC_NOT_FOUND"
    assert wire["title"] == "There is no document at the path."
    assert wire["status"] == 404
    assert wire["detail"].startswith('Document not found: "a.md".')
    assert wire["error_id"] in wire["instance"]
    assert wire["code"] == "DOC_NOT_FOUND"
    assert wire["retry"] == {"when": "after_fix"}


async def test_problem_renames_no_code() -> None:
    assert (await wire_of("problem", {}))["code"] == "INVALID_PARAM"
    assert (await wire_of("problem", {"kind": "crash"}))["code"] == "UNKNOWN_ERROR"


async def test_problem_points_into_the_arguments() -> None:
    wire = await wire_of("problem", {"kind": "x", "edits": [{"a/b": "1", "c~d": 2}, {"a/b": 1}]})
    assert {item["pointer"] for item in wire["errors"]} == {"#/edits/0/a~1b", "#/edits/1/c~0d"}
    assert all(item["detail"] for item in wire["errors"])


async def test_problem_names_the_status_of_the_error() -> None:
    assert (await wire_of("problem", {"kind": "limited"}))["status"] == 429
    assert (await wire_of("problem", {}))["status"] == 400


# The choice.


async def test_auto_is_the_toolsets_own_format() -> None:
    class Own(BaseTool):
        """Prefers a format."""

        wire_format = "error_response"

        @operation(read_only=True)
        async def fail(self) -> int:
            """Fail."""
            raise NotFound(message="There is nothing.")

    assert (await Own(runtime=runtime()).fail()).to_dict()["error"] is True
    assert "detail" in (await Own(runtime=runtime(wire_format="problem")).fail()).to_dict()


@pytest.mark.parametrize("name", ["xml", "edit_envelopes"])
def test_a_format_that_does_not_exist_is_an_error_that_names_the_variable(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own(BaseTool):
        """Fails."""

        @operation(read_only=True)
        async def fail(self) -> int:
            """Fail."""
            raise NotFound

    monkeypatch.setenv("FAILSOFT_WIRE_FORMAT", name)
    with pytest.raises(ToolError) as caught:
        Own(runtime=Runtime())
    assert caught.value.code == "CONFIG_ERROR"
    assert "FAILSOFT_WIRE_FORMAT" in str(caught.value)
