"""What the demo calls, what has to come of it, and what did. The documents are those in `failsoft/tools/docs/demo`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["STORY", "Demo", "Outcome", "Sample", "Scene", "Step"]

Outcome: TypeAlias = Literal["ok", "recovered", "error", "rejected"]
"""What came of a call, under the name that it has in the metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of the demo.

    Args:
        title: Why it is there, in a few words.
        tool: The MCP tool; empty to make the call that the step before was told to make.
        arguments: Its arguments.
        outcome: What has to come of it.
        by: The strategy that has to recover it, or the code of the error.
        violations: How many faults of the arguments have to be named.
    """

    title: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    outcome: Outcome
    by: str = ""
    violations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One call as it went: what was asked, what came of it, what the caller was told, how long the server took."""

    title: str
    tool: str
    arguments: Mapping[str, Any]
    outcome: Outcome
    by: str
    told: str
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
    """Everything that happened, and what was not as it should have been."""

    url: str
    scenes: list[Scene] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    duration_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the demo as a JSON tree."""
        return {"behaved": not self.faults, **asdict(self)}


STORY = (
    Step(
        title="a document that is there",
        tool="get_documentation",
        arguments={"path": "guide/intro.mdx"},
        outcome="ok",
    ),
    Step(
        title="a document that is there under another ending",
        tool="get_documentation",
        arguments={"path": "guide/install.md"},
        outcome="recovered",
        by="alternate_path",
    ),
    Step(
        title="a search that breaks the syntax",
        tool="search_documents",
        arguments={"query": '"typed errors ('},
        outcome="recovered",
        by="plain_words",
    ),
    Step(
        title="a document that is not there",
        tool="get_documentation",
        arguments={"path": "guide/logs.md"},
        outcome="error",
        by="DOC_NOT_FOUND",
    ),
    Step(
        title="the call that the failure asked for",
        outcome="ok",
    ),
    Step(
        title="arguments that are wrong in three ways",
        tool="search_documents",
        arguments={"query": "metrics", "limit": "ten", "mode": "exact", "sort": "date"},
        outcome="rejected",
        by="INVALID_PARAM",
        violations=3,
    ),
)
