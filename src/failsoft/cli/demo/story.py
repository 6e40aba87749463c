"""The calls of the demo, with expected and actual results. The documents are in `failsoft/tools/docs/demo`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "recovered", "error", "rejected"]
"""The outcome of a call, as in the metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """One call of the demo.

    Args:
        title: Its purpose, in a few words.
        tool: The MCP tool; empty for the next step of the last failure.
        arguments: Its arguments.
        outcome: The expected outcome.
        by: The expected strategy of the recovery, or the expected error code.
        violations: The expected number of violations.
    """

    title: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    outcome: Outcome
    by: str = ""
    violations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One call as made: arguments, outcome, text for the caller, duration on the server."""

    title: str
    tool: str
    arguments: Mapping[str, Any]
    outcome: Outcome
    by: str
    message: str
    duration_ms: float
    answer: Mapping[str, Any]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of `/metrics`."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(slots=True)
class Demo:
    """The calls, metrics and deviations from the expected results."""

    url: str
    scenes: list[Scene] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    duration_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the demo as a JSON tree."""
        return {"behaved": not self.faults, **asdict(self)}


STORY = (
    DemoStep(
        title="a document that exists",
        tool="get_documentation",
        arguments={"path": "guide/intro.mdx"},
        outcome="ok",
    ),
    DemoStep(
        title="a document that exists with another extension",
        tool="get_documentation",
        arguments={"path": "guide/install.md"},
        outcome="recovered",
        by="alternate_path",
    ),
    DemoStep(
        title="a search with a syntax error",
        tool="search_documents",
        arguments={"query": '"typed errors ('},
        outcome="recovered",
        by="plain_words",
    ),
    DemoStep(
        title="a document that does not exist",
        tool="get_documentation",
        arguments={"path": "guide/logs.md"},
        outcome="error",
        by="DOC_NOT_FOUND",
    ),
    DemoStep(
        title="the call that the failure suggested",
        outcome="ok",
    ),
    DemoStep(
        title="three invalid arguments",
        tool="search_documents",
        arguments={"query": "metrics", "limit": "ten", "mode": "exact", "sort": "date"},
        outcome="rejected",
        by="INVALID_PARAM",
        violations=3,
    ),
)
