"""`ForeignTool`: the metadata of a tool of another framework, and one call of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.call import CallScope
from failsoft.framework.call.call import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTool:
    """The declaration of a foreign tool.

    Args:
        name: Its MCP name, as callers know it.
        input_schema: The JSON Schema of its arguments.
        title: A name for people.
        description: What it does.
        annotations: MCP tool annotations (`readOnlyHint`, `idempotentHint`, ...): retries depend on the first two.
        timeout_s: The limit of a call in seconds; None for the one of the settings, infinity for no limit.
        refuse_unknown: Whether arguments that the schema does not list are refused where the schema leaves it open.
        recovery: Its own recovery strategies; None for those of the toolset.
        needs_schema: Whether the tool is refused if its schema cannot be used; otherwise its arguments go unchecked.
    """

    name: str
    input_schema: Mapping[str, Any]
    title: str | None = None
    description: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    refuse_unknown: bool = True
    recovery: Sequence[Any] | None = None
    needs_schema: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class ForeignScope(CallScope):
    """A call's scope that also holds how to run the foreign tool.

    Args:
        run: Takes the validated arguments and the call, and returns the tool's own result, whatever its type.
    """

    run: Callable[[dict[str, Any], Call], Awaitable[Any]]
