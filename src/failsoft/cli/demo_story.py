"""What the demo calls, and what has to come of it. The documents are those in `failsoft/tools/docs/demo`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["STORY", "Expected", "Step"]

Expected: TypeAlias = Literal["ok", "recovered", "error", "rejected"]
"""The outcome, under the name that it has in the metrics."""


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
    outcome: Expected
    by: str = ""
    violations: int = 0


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
