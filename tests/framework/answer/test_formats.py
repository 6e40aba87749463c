"""The wire formats: every real answer fits its published schema and its operation's, and says the same facts."""

from __future__ import annotations

from typing import Any, ClassVar

import jsonschema
import pytest

from failsoft import (
    BaseTool,
    ConfigurationError,
    DocumentNotFound,
    NextStep,
    NotFound,
    RecoveryManager,
    RecoveryResult,
    ToolError,
    ValidationFailed,
    Violation,
    operation,
)
from tests.catalogue import ERRORS
from tests.doors import FORMATS as KNOWN, CallScope, Reason, find_format
from tests.each import each
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio

FORMATS = ("tool_response", "error_response", "problem")
LEVELS: list[dict[str, Any]] = [
    {},
    {"environment": "development"},
    {"detail": "full", "debug_stack": True},
    {"error_docs_url": "https://docs.example.org/errors/"},
]


class Elsewhere:
    name = "elsewhere"

    async def attempt(self, error: ToolError, call: Any) -> RecoveryResult | None:
        if not call.arguments.get("recover"):
            return None
        return RecoveryResult([1], "Found elsewhere", {"path": "b.md", "odd": object()}, degraded=True)


class Answering(BaseTool):
    """Returns a configured value."""

    raised: BaseException | None = None

    @operation()
    async def take(self, path: str = "a.md", *, recover: bool = False, limit: int = 1) -> list[int]:
        """Return numbers."""
        if self.raised is not None:
            raise self.raised
        return [len(path)] * limit if not recover else []

    @operation(read_only=True)
    async def look(self, path: str = "a.md") -> dict[str, Any]:
        """Return the state."""
        return {"path": path, "nothing": None}


def answering(wire_format: str, **settings: Any) -> Answering:
    manager = RecoveryManager()
    manager.register(ToolError, Elsewhere())
    return Answering(runtime=quiet_runtime(recovery=manager, wire_format=wire_format, **settings))


def test_the_formats_are_known() -> None:
    assert set(FORMATS) <= set(KNOWN)
    with pytest.raises(ConfigurationError):
        find_format("xml")
    kind = type("Unknown", (Answering,), {"wire_format": "xml"})
    with pytest.raises(ConfigurationError):
        kind(runtime=quiet_runtime())


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("level", LEVELS, ids=range(len(LEVELS)))
async def test_every_code_is_reported_in_the_published_shape(wire_format: str, level: Any) -> None:
    tool = answering(wire_format, **level)

    @each("kind", ERRORS)
    async def law(kind: type[ToolError]) -> None:
        tool.raised = kind(message="The thing that was asked for went wrong.", details={"a": [1, None]})
        response = await tool.take()
        wire = check_wellformed(response, tool.operations["take"])
        assert response.error is not None
        known_as = kind.aliases.get(wire_format, kind.code) if wire_format != "problem" else kind.code
        body = wire["error"] if wire_format == "tool_response" else wire
        assert body["code"] == known_as
        assert body["effect"] == response.error.effect
        assert body["error_id"] == response.error.error_id
        assert ("details" in body and "a" in body["details"]) is bool(level.get("environment") or level.get("detail"))
        assert ("stack_trace" in body) is bool(level.get("debug_stack"))

    await law()


REASONS: tuple[Reason, ...] = Reason.__args__  # type: ignore[attr-defined]


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("level", LEVELS, ids=range(len(LEVELS)))
async def test_a_failure_with_everything_is_of_the_published_shape(wire_format: str, level: Any) -> None:
    tool = answering(wire_format, **level)
    facts: dict[str, Any] = {"expected": "another", "allowed": (1, "a", None, True), "suggestion": {"a": 1}}
    faults = [
        Violation(path=f"a/b.{number}.c~d", reason=reason, message="is wrong", received=1.5, **facts)
        for number, reason in enumerate(REASONS)
    ]
    error = ValidationFailed(
        message="It is all wrong.",
        suggestions=["Try this", "\ud800"],
        next_step=NextStep("look", {"path": "b.md"}),
        details={"\udfff": float("nan"), "nested": {"list": [object()]}},
        violations=[*faults, Violation(path="", reason="value", message="is wrong")],
    )
    error.__cause__ = ValueError("cause")
    tool.raised = error
    wire = check_wellformed(await tool.take(), tool.operations["take"])
    if wire_format == "problem":
        assert wire["errors"][0]["pointer"] == "#/a~1b/0/c~0d"
        assert wire["errors"][-1]["pointer"] == "#"
        assert "violations" not in wire
    elif wire_format == "error_response":
        assert wire["details"]["totalErrors"] == len(faults) + 1
        assert wire["message"] == f"Validation failed: {len(faults) + 1} errors"
        assert wire["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_successes_recoveries_and_refusals_are_of_the_published_shape(wire_format: str) -> None:
    tool = answering(wire_format)
    bound = tool.operations["take"]
    plain = check_wellformed(await tool.take(limit=2), bound)
    assert plain["data"] == [4, 4]
    check_wellformed(await tool.look(), tool.operations["look"])
    tool.raised = DocumentNotFound(path="a.md")
    recovered = check_wellformed(await tool.take(recover=True), bound)
    assert recovered["metadata"]["recovery"]["changed"]["path"] == "b.md"
    assert recovered["metadata"]["recovery"]["degraded"] is True
    refused = check_wellformed(await bound.call({"path": 1, "limt": "x"}), bound)
    unknown = check_wellformed(await tool.execute_with_error_handling("tke", {}), bound)
    flag = ("error", True) if wire_format == "error_response" else ("success", False)
    if wire_format != "problem":
        assert (refused[flag[0]], unknown[flag[0]]) == (flag[1], flag[1])


async def test_seed_003_aggregates_the_faults_by_field() -> None:
    tool = answering("error_response")
    wire = (await tool.execute_with_error_handling("take", {"path": 1, "limit": "x", "limt": 1})).to_dict()
    assert wire["error"] is True
    assert (wire["code"], wire["message"]) == ("VALIDATION_ERROR", "Validation failed: 3 errors")
    assert set(wire["details"]["fieldErrors"]) == {"path", "limit", "limt"}
    assert wire["details"]["totalErrors"] == 3
    assert all(isinstance(text, str) for texts in wire["details"]["fieldErrors"].values() for text in texts)


async def test_a_problem_points_to_the_catalogue_and_to_the_call() -> None:
    for url, kind in (("https://docs.example.org/errors/", "https://docs.example.org/errors/DOC_NOT_FOUND"), ("", "")):
        tool = answering("problem", **({"error_docs_url": url} if url else {}))
        tool.raised = DocumentNotFound(path="a.md")
        response = await tool.take()
        wire = response.to_dict()
        assert response.error is not None
        assert wire["type"] == (kind or "urn:failsoft:error:DOC_NOT_FOUND")
        assert (wire["status"], wire["instance"]) == (404, f"urn:failsoft:call:{response.error.error_id}")


async def test_no_key_is_ever_null() -> None:
    def nulls(tree: Any) -> bool:
        if isinstance(tree, dict):
            return any(value is None or nulls(value) for value in tree.values())
        return False

    for wire_format in FORMATS:
        tool = answering(wire_format)
        tool.raised = DocumentNotFound(path="a.md")
        assert not nulls((await tool.take()).to_dict())
        tool.raised = None
        assert not nulls((await tool.take()).to_dict())


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_a_failure_is_cut_until_a_client_accepts_it(wire_format: str) -> None:
    tool = answering(wire_format, environment="development")
    faults = [Violation(path=f"a.{n}", reason="value", message="x" * 250) for n in range(1_000)]
    bound = tool.operations["take"]
    for error in (
        ValidationFailed(message="It is all wrong.", violations=faults),
        DocumentNotFound(path="a.md", details={"text": "x" * 1_000_000}),
        DocumentNotFound(path="p" * 1_000_000, suggestions=["s" * 5_000] * 8),
    ):
        tool.raised = error
        response = await bound.call({}, CallScope(max_response_bytes=20_000))
        check_wellformed(response, bound)
        assert response.encode().size_bytes <= 20_000
        assert response.error is not None
        assert response.error.code == error.code


def test_the_output_schema_distinguishes_both_shapes_at_its_root() -> None:
    for wire_format in FORMATS:
        schema = answering(wire_format, output_schema="full").operations["take"].output_schema()
        assert schema is not None
        assert schema["type"] == "object"
        success, failure = schema["anyOf"]
        assert success["required"] != failure["required"]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({}, schema)


class Renamed(NotFound):
    """A test's error that one format knows under another code."""

    code: ClassVar[str] = "TEST_RENAMED"
    aliases: ClassVar[dict[str, str]] = {"error_response": "TEST_OTHER_NAME"}


async def test_a_format_may_know_a_code_under_another_name() -> None:
    codes = {}
    for wire_format in FORMATS:
        tool = answering(wire_format)
        tool.raised = Renamed(message="The thing is not here.")
        wire = (await tool.take()).to_dict()
        codes[wire_format] = wire.get("code") or wire["error"]["code"]
    assert codes == {"tool_response": "TEST_RENAMED", "error_response": "TEST_OTHER_NAME", "problem": "TEST_RENAMED"}
