"""Seed 003, statement by statement: the flat response, its codes, the factory, and aggregated faults of fields."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from loguru import logger
from pydantic import BaseModel, Field, ValidationError

from failsoft import (
    BaseTool,
    DatabaseError,
    DocumentLoadError,
    DocumentNotFound,
    ErrorResponseFactory,
    Infeasible,
    InvalidParameter,
    Public,
    ToolError,
    UnknownError,
    ValidationFailed,
    configure_logging,
    operation,
)
from failsoft.tools.docs import Docs
from tests.contract.surroundings import runtime, write_documents

factory = ErrorResponseFactory()


class BlendInfeasible(Infeasible):
    """The blend cannot be made.

    Raised when: the tests say so.
    Caller: ask for less.
    Operator: nothing to do.
    """

    wanted: Public[int]
    secret_recipe: str = "sugar"
    code = "TEST_SEED_003_BLEND"
    message = "The blend cannot be made with {wanted} beans."


class Roastery(BaseTool):
    """Coffee."""

    @operation(read_only=True)
    async def blend(self, beans: Annotated[int, Field(ge=1)], roast: str, sort: str = "arabica") -> str:
        """Blend."""
        if beans > 5:
            raise BlendInfeasible(wanted=beans)
        if sort == "crash":
            msg = "/home/barista/secret"
            raise RuntimeError(msg)
        if sort == "listed":
            raise ValidationFailed.from_field_errors({"sort": ["is sold out", "is too dear"], "roast": ["is too dark"]})
        return f"{roast} {sort}"


def roastery(**settings: Any) -> Roastery:
    return Roastery(runtime=runtime(wire_format="error_response", **settings))


def wire_of(**arguments: Any) -> dict[str, Any]:
    return asyncio.run(roastery().execute_with_error_handling("blend", arguments)).to_dict()


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return what is logged, as JSON lines."""
    stream = io.StringIO()
    sink = configure_logging("DEBUG", json_lines=True, stream=stream)
    yield stream
    logger.remove(sink)
    logger.disable("failsoft")


# The model.


def test_a_response_has_the_four_properties_of_the_seed() -> None:
    response = factory.create("PROJECT_NOT_ACTIVATED", "No project is active.", {"path": "a"})
    assert (response.error, response.code, response.message) == (True, "PROJECT_NOT_ACTIVATED", "No project is active.")
    assert response.details == {"path": "a"}
    assert response.to_dict() == {
        "error": True,
        "code": "PROJECT_NOT_ACTIVATED",
        "message": "No project is active.",
        "details": {"path": "a"},
    }


def test_details_are_optional() -> None:
    assert factory.create("A_CODE", "A sentence.").to_dict() == {
        "error": True,
        "code": "A_CODE",
        "message": "A sentence.",
    }


# The mapping of exceptions.


@pytest.mark.parametrize(
    ("exception", "code"),
    [
        (DocumentNotFound(path="a.md"), "DOCUMENT_NOT_FOUND"),
        (DatabaseError(), "DATABASE_ERROR"),
        (DocumentLoadError(path="a.md", reason="it is damaged"), "FILE_SYSTEM_ERROR"),
        (InvalidParameter(param="a", expected="string"), "VALIDATION_ERROR"),
        (ValidationFailed(), "VALIDATION_ERROR"),
        (UnknownError(), "INTERNAL_ERROR"),
        (RuntimeError("x"), "INTERNAL_ERROR"),
        (KeyError("x"), "INTERNAL_ERROR"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_an_exception_is_mapped_to_the_code_of_the_seed(exception: BaseException, code: str) -> None:
    assert factory.from_exception(exception).code == code


def test_a_domain_exception_keeps_its_message_and_its_facts() -> None:
    response = factory.from_exception(DocumentNotFound(path="a.md"))
    assert response.message.startswith('Document not found: "a.md".')
    assert response.details == {"path": "a.md"}


def test_a_cancelled_operation_is_said_to_be_cancelled() -> None:
    response = factory.from_exception(asyncio.CancelledError())
    assert (response.code, response.message) == ("INTERNAL_ERROR", "Operation was cancelled")


def test_an_unknown_exception_is_sanitized_and_logged(log: io.StringIO) -> None:
    response = factory.from_exception(RuntimeError("/home/me/secret.py broke"))
    assert response.message == "An unexpected error occurred. Check server logs for details."
    assert "secret" not in json.dumps(response.to_dict())
    assert "secret.py broke" in log.getvalue()


def test_a_validation_exception_becomes_one_response() -> None:
    class Order(BaseModel):
        beans: int
        roast: str

    with pytest.raises(ValidationError) as caught:
        Order.model_validate({"beans": "many"})
    response = factory.from_exception(caught.value).to_dict()
    assert response["code"] == "VALIDATION_ERROR"
    assert response["message"] == "Validation failed: 2 errors"
    assert set(response["details"]["fieldErrors"]) == {"beans", "roast"}
    assert response["details"]["totalErrors"] == 2


# The aggregation.


def test_faults_of_several_fields_are_aggregated_as_in_the_seed() -> None:
    faults = {"query": ["Query is required"], "doc_types": ["Invalid doc-type: foo", "Invalid doc-type: bar"]}
    assert factory.from_validation_errors(faults).to_dict() == {
        "error": True,
        "code": "VALIDATION_ERROR",
        "message": "Validation failed: 3 errors",
        "details": {"fieldErrors": faults, "totalErrors": 3},
    }


def test_one_fault_is_counted_in_the_singular() -> None:
    assert factory.from_validation_errors({"query": ["Query is required"]}).message == "Validation failed: 1 error"


# The same shape as a wire format.


def test_a_refused_call_has_the_seeds_shape_in_production() -> None:
    wire = wire_of(beans=0, flavour="none")
    assert wire["error"] is True
    assert wire["code"] == "VALIDATION_ERROR"
    assert wire["message"] == "Validation failed: 3 errors"
    assert set(wire["details"]["fieldErrors"]) == {"beans", "roast", "flavour"}
    assert all(isinstance(texts, list) and texts for texts in wire["details"]["fieldErrors"].values())
    assert wire["details"]["totalErrors"] == 3


def test_faults_that_the_author_lists_have_the_same_shape() -> None:
    wire = wire_of(beans=1, roast="dark", sort="listed")
    assert wire["message"] == "Validation failed: 3 errors"
    assert wire["details"] == {
        "fieldErrors": {"sort": ["is sold out", "is too dear"], "roast": ["is too dark"]},
        "totalErrors": 3,
    }


def test_what_a_domain_error_declares_public_is_in_its_details_in_production() -> None:
    wire = wire_of(beans=9, roast="dark")
    assert wire["code"] == "TEST_SEED_003_BLEND"
    assert wire["details"] == {"wanted": 9}


def test_a_missing_document_has_the_seeds_code_and_details(tmp_path: Path) -> None:
    docs = Docs(write_documents(tmp_path, {"a.md": "text"}), runtime=runtime(wire_format="error_response"))
    wire = asyncio.run(docs.get_documentation(path="none/b.md")).to_dict()
    assert wire["code"] == "DOCUMENT_NOT_FOUND"
    assert wire["details"] == {"path": "none/b.md"}
    assert {"effect", "error_id"} <= set(wire)


def test_a_crash_reveals_nothing_of_itself() -> None:
    wire = wire_of(beans=1, roast="dark", sort="crash")
    assert wire["code"] == "INTERNAL_ERROR"
    assert "barista" not in json.dumps(wire)


def test_a_success_says_that_there_is_no_error() -> None:
    wire = wire_of(beans=1, roast="dark")
    assert wire == {"error": False, "data": "dark arabica"}


@pytest.mark.parametrize(
    "error", [DocumentNotFound(path="a.md"), UnknownError(), DatabaseError()], ids=lambda e: e.code
)
def test_codes_are_screaming_snake_case(error: ToolError) -> None:
    code = factory.from_exception(error).code
    assert code == code.upper()
    assert code.replace("_", "").isalnum()
