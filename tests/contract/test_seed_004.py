"""Seed 004, statement by statement: the error types, the handler, the responses, recovery, and its own three tests."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from prometheus_client import generate_latest

from failsoft import (
    AlternatePaths,
    BaseTool,
    ConfigurationError,
    DocumentLoadError,
    DocumentNotFound,
    ErrorHandler,
    InitializationError,
    InvalidParameter,
    NotFound,
    RecoveryManager,
    RecoveryResult,
    Runtime,
    SearchError,
    ToolError,
    ToolResponse,
    ToolSystemError,
    UnknownError,
    configure_logging,
    operation,
)
from failsoft.tools.docs import Docs
from tests.contract.surroundings import runtime, write_documents

pytestmark = pytest.mark.anyio

CONTEXT = {"tool": "docs", "operation": "get_documentation", "params": {"path": "a.md"}}


@pytest.fixture
def docs(tmp_path: Path) -> Docs:
    """Return the docs toolset over a small tree."""
    return Docs(write_documents(tmp_path, {"guide/intro.md": "# Introduction\n\nHow it begins.\n"}))


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return what is logged, as JSON lines."""
    stream = io.StringIO()
    sink = configure_logging("DEBUG", json_lines=True, stream=stream)
    yield stream
    logger.remove(sink)
    logger.disable("failsoft")


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


class Shop(BaseTool):
    """Raises a configured error."""

    @operation(read_only=True)
    async def buy(self, error: str) -> int:
        """Fail."""
        raise {
            "unknown": RuntimeError("the text of a stranger"),
            "enoent": OSError("ENOENT: no such file or directory, open '/etc/shadow'"),
            "config": ConfigurationError(issue="no till", resolution="buy one"),
            "load": DocumentLoadError(path="a.md", reason="the disk is gone"),
        }[error]


# The error types: code, status, recoverable, details.


@pytest.mark.parametrize(
    ("error", "code", "status", "recoverable", "message"),
    [
        (DocumentNotFound(path="a.md"), "DOC_NOT_FOUND", 404, True, 'Document not found: "a.md".'),
        (
            InvalidParameter(param="path", expected="string"),
            "INVALID_PARAM",
            400,
            True,
            "Invalid parameter `path`: expected string",
        ),
        (DocumentLoadError(path="a.md", reason="no"), "DOC_LOAD_ERROR", 500, False, "Failed to load document"),
        (SearchError(query="(", reason="no"), "SEARCH_ERROR", 500, True, "Search failed: no"),
        (ConfigurationError(issue="no"), "CONFIG_ERROR", 500, False, "Configuration error: no"),
        (UnknownError(), "UNKNOWN_ERROR", 500, False, ""),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isupper() else "",
)
def test_an_error_type_has_the_seeds_code_status_and_recoverability(
    error: ToolError, code: str, status: int, recoverable: bool, message: str
) -> None:
    assert (error.code, error.http_status, error.recoverable) == (code, status, recoverable)
    assert str(error).startswith(message)


def test_an_error_carries_the_facts_of_the_seed() -> None:
    missing = DocumentNotFound(path="a.md", suggestions=["a.mdx"])
    assert (missing.path, missing.suggestions) == ("a.md", ("a.mdx",))
    assert (SearchError(query="(", reason="no").query, SearchError(query="(", reason="no").reason) == ("(", "no")
    faulty = ConfigurationError(issue="no till", resolution="buy one")
    assert (faulty.issue, faulty.resolution) == ("no till", "buy one")
    assert DocumentLoadError(path="a.md", reason="no").path == "a.md"


def test_an_error_can_be_written_as_json() -> None:
    reported = DocumentNotFound(path="a.md", details={"tried": {1}}).to_dict()
    assert json.loads(json.dumps(reported)) == reported
    assert reported.pop("timestamp")
    assert reported == {
        "name": "DocumentNotFound",
        "message": 'Document not found: "a.md".',
        "code": "DOC_NOT_FOUND",
        "category": "not_found",
        "status_code": 404,
        "details": {"path": "a.md", "tried": [1]},
        "recoverable": True,
    }


# The handler: normalizes, logs, counts, answers.


async def test_the_handler_answers_a_typed_error_in_the_seeds_shape() -> None:
    response = await ErrorHandler().handle_error(DocumentNotFound(path="a.md", suggestions=["a.mdx"]), CONTEXT)
    wire = response.to_dict()
    assert wire["success"] is False
    assert wire["error"]["code"] == "DOC_NOT_FOUND"
    assert (wire["error"]["tool"], wire["error"]["operation"]) == ("docs", "get_documentation")
    assert wire["error"]["message"].startswith('Document not found: "a.md".')


async def test_an_unknown_exception_is_unknown_error_without_its_text() -> None:
    response = await ErrorHandler().handle_error(RuntimeError("the text of a stranger"), CONTEXT)
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"
    assert "stranger" not in json.dumps(response.to_dict())


async def test_a_text_that_looks_like_a_missing_file_is_not_read() -> None:
    response = await Shop().buy(error="enoent")
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"
    assert "/etc/shadow" not in json.dumps(response.to_dict())


async def test_a_missing_file_is_recognized_by_its_errno(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        (tmp_path / "none").read_text()
    response = await ErrorHandler().handle_error(caught.value, CONTEXT)
    assert response.error is not None
    assert response.error.category == "not_found"


@pytest.mark.parametrize(
    ("error", "suggestions"),
    [
        (
            DocumentNotFound(path="a.md", suggestions=["a.mdx", "b.md"]),
            ["Did you mean: a.mdx?", "Did you mean: b.md?"],
        ),
        (
            InvalidParameter(param="path", expected="string"),
            ["Provide a valid string"],
        ),
        (
            SearchError(query="(", reason="no"),
            ["Try a simpler search query", "Check if the search syntax is correct"],
        ),
    ],
    ids=["DOC_NOT_FOUND", "INVALID_PARAM", "SEARCH_ERROR"],
)
async def test_the_suggestions_are_those_of_the_seed(error: ToolError, suggestions: list[str]) -> None:
    response = await ErrorHandler().handle_error(error, CONTEXT)
    assert response.error is not None
    assert list(response.error.suggestions)[: len(suggestions)] == suggestions


async def test_production_sends_no_details_and_development_does() -> None:
    error = DocumentNotFound(path="a.md", details={"tried": 3})
    production = await ErrorHandler(runtime=runtime()).handle_error(error, CONTEXT)
    development = await ErrorHandler(runtime=runtime(environment="development")).handle_error(error, CONTEXT)
    assert "details" not in production.to_dict()["error"]
    assert development.to_dict()["error"]["details"] == {"path": "a.md", "tried": 3}


async def test_every_error_is_counted_by_its_code_and_tool() -> None:
    from failsoft.metrics import PrometheusRecorder  # noqa: PLC0415 - only here

    recorder = PrometheusRecorder()
    await ErrorHandler(runtime=Runtime(metrics=recorder)).handle_error(DocumentNotFound(path="a.md"), CONTEXT)
    exposed = generate_latest(recorder.registry).decode()
    counted = next(line for line in exposed.splitlines() if line.startswith("mcp_tool_errors_total{"))
    assert 'tool="docs"' in counted
    assert 'code="DOC_NOT_FOUND"' in counted
    assert counted.endswith(" 1.0")


# Tools: validated first, answered always.


async def test_a_toolset_answers_through_execute_with_error_handling(docs: Docs) -> None:
    response = await docs.execute_with_error_handling("get_documentation", {"path": "guide/intro.md"})
    assert isinstance(response, ToolResponse)
    assert response.success
    assert response.data is not None
    assert len(response.data["documents"]) == 1
    assert response.metadata.execution_time_ms > 0
    assert response.metadata.documents_processed == 1


async def test_a_handler_may_be_passed_and_runs_in_place_of_the_operation(docs: Docs) -> None:
    async def load() -> dict[str, Any]:
        return {"documents": []}

    response = await docs.execute_with_error_handling("get_documentation", {"path": "guide/intro.md"}, load)
    assert response.to_dict()["data"] == {"documents": []}
    refused = await docs.execute_with_error_handling("get_documentation", {"path": 5}, load)
    assert refused.error is not None
    assert refused.error.code == "INVALID_PARAM"


# The seed's own tests.


async def test_it_should_handle_document_not_found_errors_gracefully(docs: Docs) -> None:
    result = await docs.get_documentation(path="non/existent.md")
    assert result.success is False
    assert result.error is not None
    assert result.error.code == "DOC_NOT_FOUND"
    assert "Use the search function to find the document" in result.error.hints


async def test_it_should_validate_parameters_before_execution(docs: Docs) -> None:
    result = await docs.get_documentation(path=123)
    assert result.success is False
    assert result.error is not None
    assert result.error.code == "INVALID_PARAM"
    assert "expected string" in result.error.message


async def test_it_should_attempt_recovery_for_recoverable_errors(tmp_path: Path) -> None:
    docs = Docs(write_documents(tmp_path, {"test-docs/file.mdx": "content"}))
    result = await docs.get_documentation(path="test-docs/file.md")
    assert result.success is True
    assert result.data is not None
    assert len(result.data["documents"]) == 1
    assert result.metadata.recovery is not None
    assert result.metadata.recovery.message == "Found document at alternative path: test-docs/file.mdx"


# Recovery.


async def test_an_mdx_page_is_found_as_md(tmp_path: Path) -> None:
    result = await Docs(write_documents(tmp_path, {"a.md": "text"})).get_documentation(path="a.mdx")
    assert result.metadata.recovery is not None
    assert result.metadata.recovery.changed == {"path": "a.md"}


async def test_the_folder_index_is_a_suggestion_and_served_only_if_it_is_asked_for(tmp_path: Path) -> None:
    folder = write_documents(tmp_path, {"guide/index.md": "the index", "guide/intro.md": "something else"})
    response = await Docs(folder).get_documentation(path="guide/gone.md")
    assert response.error is not None
    assert any("guide/index.md" in suggestion for suggestion in response.error.suggestions)
    manager = RecoveryManager()
    manager.register(DocumentNotFound, AlternatePaths(folder_index=True))
    served = await Docs(folder, runtime=Runtime(recovery=manager)).get_documentation(path="guide/gone.md")
    assert served.success
    assert served.metadata.recovery is not None
    assert served.metadata.recovery.changed == {"path": "guide/index.md"}


async def test_an_error_that_is_not_recoverable_is_not_recovered() -> None:
    response = await Shop().buy(error="load")
    assert response.error is not None
    assert response.error.code == "DOC_LOAD_ERROR"
    assert response.metadata.recovery is None


async def test_a_strategy_of_ones_own_is_registered_for_an_error_class() -> None:
    class Elsewhere:
        async def attempt(self, error: ToolError, call: Any) -> RecoveryResult | None:
            return RecoveryResult(7, f"took seven instead of {error.code}")

    class Numbers(BaseTool):
        """Numbers."""

        recovery = RecoveryManager()

        @operation(read_only=True)
        async def number(self) -> int:
            """Return a number."""
            raise NotFound(message="There is no number.")

    Numbers.recovery.register(NotFound, Elsewhere())
    response = await Numbers().number()
    assert response.data == 7
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.message == "took seven instead of NOT_FOUND"


# Logging and alerts.


async def test_a_failure_is_one_line_with_the_seeds_fields(log: io.StringIO, docs: Docs) -> None:
    await docs.get_documentation(path="non/existent.md")
    (line,) = [line for line in lines(log) if line.get("code") == "DOC_NOT_FOUND" and line["level"] != "INFO"]
    assert {"timestamp", "level", "service", "environment", "tool", "operation", "message", "recoverable"} <= set(line)
    assert {"recovered", "request_id", "error_id", "duration_ms"} <= set(line)
    assert (line["recoverable"], line["recovered"]) == (True, False)


async def test_a_crash_is_logged_with_its_stack_and_an_expected_error_without(log: io.StringIO, docs: Docs) -> None:
    await Shop().buy(error="unknown")
    await docs.get_documentation(path="non/existent.md")
    by_code = {line["code"]: line for line in lines(log) if line.get("event") == "call_failed"}
    assert "the text of a stranger" in by_code["UNKNOWN_ERROR"]["stack_trace"]
    assert by_code["UNKNOWN_ERROR"]["level"] == "ERROR"
    assert "stack_trace" not in by_code["DOC_NOT_FOUND"]


@pytest.mark.parametrize("entry", [ConfigurationError, ToolSystemError, InitializationError])
def test_the_seeds_critical_codes_are_critical(entry: type[ToolError]) -> None:
    assert entry.critical
    assert entry.code in {"CONFIG_ERROR", "SYSTEM_ERROR", "INIT_ERROR"}


async def test_a_critical_failure_is_alerted_in_the_log(log: io.StringIO) -> None:
    from tests.doors import AlertDispatcher, LogSink  # noqa: PLC0415 - only here

    alerts = AlertDispatcher([LogSink()])
    shop = Shop(runtime=Runtime(alerts=alerts))
    await shop.buy(error="config")
    await shop.buy(error="load")
    assert alerts.close()
    assert [line["code"] for line in lines(log) if line["level"] == "CRITICAL"] == ["CONFIG_ERROR"]
