"""`ErrorResponseFactory` and `ErrorHandler`: the seeds' own ways to make an answer from an error."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
from typing import Any

import jsonschema
import pydantic
import pytest
from loguru import logger

from failsoft import (
    BaseTool,
    DocumentNotFound,
    ErrorContext,
    ErrorHandler,
    ErrorResponse,
    ErrorResponseFactory,
    InvalidParameter,
    RateLimited,
    Runtime,
    Settings,
    Unavailable,
    ValidationFailed,
    Violation,
    operation,
)
from tests.framework.recording import Recording
from tests.framework.wellformed import SCHEMAS

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
FACTORY = ErrorResponseFactory()


def test_a_response_is_made_of_a_code_a_sentence_and_details():
    response = FACTORY.create("PROJECT_NOT_ACTIVATED", "No project is active.", {"known": ["a", "b"]})
    assert response.to_dict() == {
        "error": True,
        "code": "PROJECT_NOT_ACTIVATED",
        "message": "No project is active.",
        "details": {"known": ["a", "b"]},
    }
    assert FACTORY.create("X", "y").to_dict() == {"error": True, "code": "X", "message": "y"}


def test_a_response_cannot_be_changed():
    with pytest.raises(AttributeError):
        FACTORY.create("X", "y").code = "Z"  # type: ignore[misc]


def test_details_are_made_fit_to_send():
    response = FACTORY.create(
        "X", f"use {SECRET}", {"password": "hunter2", "odd": {float("nan"), b"\xff"}, "who": object()}
    )
    text = json.dumps(response.to_dict(), allow_nan=False)
    assert "hunter2" not in text
    assert SECRET not in text


def test_faults_are_aggregated_by_field():
    response = FACTORY.from_validation_errors(
        {"query": ["Query is required"], "doc_types": ["Invalid doc-type: foo", "Invalid doc-type: bar"]}
    )
    assert response == ErrorResponse(
        "VALIDATION_ERROR",
        "Validation failed: 3 errors",
        {
            "fieldErrors": {
                "query": ["Query is required"],
                "doc_types": ["Invalid doc-type: foo", "Invalid doc-type: bar"],
            },
            "totalErrors": 3,
        },
    )
    assert FACTORY.from_validation_errors({"a": ["b"]}).message == "Validation failed: 1 error"


class Model(pydantic.BaseModel):
    number: int
    name: str


def broken_model() -> pydantic.ValidationError:
    with pytest.raises(pydantic.ValidationError) as caught:
        Model.model_validate({"number": SECRET})
    return caught.value


@pytest.mark.parametrize(
    ("exception", "code"),
    [
        (DocumentNotFound(path="a.md"), "DOCUMENT_NOT_FOUND"),
        (InvalidParameter(param="a", expected="string"), "VALIDATION_ERROR"),
        (FileNotFoundError(2, SECRET), "NOT_FOUND"),
        (TimeoutError(SECRET), "TIMEOUT"),
        (RateLimited(), "RATE_LIMITED"),
        (ExceptionGroup(SECRET, [DocumentNotFound(path="a.md")]), "DOCUMENT_NOT_FOUND"),
        (KeyError(SECRET), "INTERNAL_ERROR"),
        (SystemExit(SECRET), "INTERNAL_ERROR"),
    ],
)
def test_an_exception_has_the_code_that_the_format_knows(exception, code):
    response = FACTORY.from_exception(exception)
    assert response.code == code
    assert SECRET not in json.dumps(response.to_dict())


def test_an_exceptions_public_facts_are_its_details():
    assert FACTORY.from_exception(DocumentNotFound(path="a.md")).details == {"path": "a.md"}


def test_a_validation_exception_is_aggregated():
    response = FACTORY.from_exception(broken_model())
    assert response.details is not None
    assert response.details["totalErrors"] == 2
    assert list(response.details["fieldErrors"]) == ["number", "name"]
    own = ValidationFailed.from_field_errors({"title": ["is missing", "is too short"]})
    assert FACTORY.from_exception(own) == FACTORY.from_validation_errors({"title": ["is missing", "is too short"]})


@pytest.mark.parametrize("exception", [asyncio.CancelledError(SECRET), concurrent.futures.CancelledError()])
def test_a_cancelled_operation_is_said_to_be_cancelled(exception):
    assert FACTORY.from_exception(exception) == ErrorResponse("INTERNAL_ERROR", "Operation was cancelled")


def test_an_unknown_exception_is_reported_without_anything_of_its_own_and_logged():
    records: list[Any] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: records.append(message.record), level="ERROR")
    try:
        response = FACTORY.from_exception(KeyError("hunter2"))
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert response.details is None
    assert len(records) == 1
    assert "hunter2" in records[0]["extra"]["stack_trace"]


def test_every_response_fits_the_published_schema():
    published = json.loads((SCHEMAS / "error_response.schema.json").read_text(encoding="utf-8"))
    schema = {**published["oneOf"][1], "required": ["error", "code", "message"]}
    for exception in (DocumentNotFound(path="a"), broken_model(), KeyError(), ConnectionError()):
        jsonschema.validate(FACTORY.from_exception(exception).to_dict(), schema)


# ErrorHandler


class Shop(BaseTool):
    @operation(read_only=True)
    async def find_order(self, number: int) -> str:
        """Return an order."""
        return str(number)

    @operation()
    async def place_order(self, item: str) -> str:
        """Place an order."""
        return item


def handled(error: BaseException, context: object, handler: ErrorHandler | None = None) -> dict:
    handler = handler or ErrorHandler(runtime=Runtime(settings=Settings()))
    response = asyncio.run(handler.handle_error(error, context))  # type: ignore[arg-type]
    assert not response.success
    return response.to_dict()


def test_an_error_is_answered_as_in_seed_004():
    wire = handled(DocumentNotFound(path="a.md"), {"tool": "docs", "operation": "getDocumentation", "timestamp": 0})
    error = wire["error"]
    assert wire["success"] is False
    assert (error["code"], error["tool"], error["operation"]) == ("DOC_NOT_FOUND", "docs", "getDocumentation")
    assert "Use the search function to find the document" in error["suggestions"]


def test_the_context_may_be_a_record_and_may_be_incomplete():
    context = ErrorContext(tool="docs", operation="read", params={"path": "a"}, request_id="7")
    assert handled(TimeoutError(), context)["error"]["operation"] == "read"
    assert handled(TimeoutError(), {})["error"]["tool"] == "unknown"
    assert handled(TimeoutError(), {"tool": "t", "operation": "o", "params": None})["error"]["code"] == "TIMEOUT"


@pytest.mark.parametrize("error", [KeyError("hunter2"), SystemExit("hunter2"), asyncio.CancelledError("hunter2")])
def test_any_error_is_answered_without_its_text(error):
    wire = handled(error, {"tool": "docs", "operation": "read"})
    assert wire["error"]["code"] == "UNKNOWN_ERROR"
    assert "hunter2" not in json.dumps(wire)


def test_nothing_is_promised_of_an_operation_that_is_not_known():
    error = handled(ConnectionResetError(), {"tool": "shop", "operation": "place_order"})["error"]
    assert (error["effect"], error["retry"]["when"]) == ("unknown", "never")


def test_an_operation_that_is_known_is_explained_by_its_declaration():
    handler = ErrorHandler(tools=[Shop()], runtime=Runtime(settings=Settings()))
    context = {"tool": "shop", "operation": "find_order", "params": {"number": 5}}
    error = handled(Unavailable(retry_after_seconds=3), context, handler)["error"]
    assert error["retry"] == {"when": "after_delay", "after_seconds": 3.0}
    assert error["next_step"] == {"tool": "find_order", "arguments": {"number": 5}}


def test_the_error_is_counted_under_its_tool():
    recording = Recording()
    handler = ErrorHandler(runtime=Runtime(settings=Settings(), metrics=recording))
    handled(TimeoutError(), {"tool": "docs", "operation": "read"}, handler)
    assert recording.bound_to[-1] == ("docs", "read")
    assert recording.of("failed") == [("timeout", "TIMEOUT")]


def test_one_handler_serves_many_errors_at_once():
    handler = ErrorHandler(runtime=Runtime(settings=Settings()))

    async def many() -> list:
        contexts = [{"tool": "t", "operation": f"o{number}"} for number in range(20)]
        return await asyncio.gather(*(handler.handle_error(DocumentNotFound(path=c["operation"]), c) for c in contexts))

    answers = [response.to_dict()["error"] for response in asyncio.run(many())]
    assert [answer["operation"] for answer in answers] == [f"o{number}" for number in range(20)]
    assert all(answer["operation"] in answer["message"] for answer in answers)


def test_faults_of_arguments_keep_their_violations():
    fault = InvalidParameter.from_violations([Violation(path="a", reason="type", message="expected string")])
    assert handled(fault, {"tool": "t", "operation": "o"})["error"]["violations"][0]["path"] == "a"
