"""A call made the way a server makes it: the toolset started, its neighbors known, the whole chain passed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from failsoft.cli.toolsets import tools_for
from failsoft.cli.typed_arguments import from_words
from failsoft.framework.context import CallScope
from failsoft.framework.response import ToolResponse
from failsoft.framework.tool import BaseTool
from failsoft.framework.toolbox import Toolbox
from failsoft.server.lifecycle import Lifecycle

__all__ = ["answer"]

_SHUTDOWN_LIMIT_S = 10.0


def answer(
    operation: str,
    arguments: Mapping[str, Any],
    words: Sequence[str],
    *,
    toolset: str | None,
    app: str | None,
    root: Sequence[Path] | None,
) -> ToolResponse[Any]:
    """Return the answer to one call; an operation that does not exist is answered as well.

    Args:
        operation: Its MCP name.
        arguments: JSON values by name.
        words: `KEY=VALUE`, read by the schema; they replace arguments of the same name.
        toolset: The installed toolset; all of them if neither this nor `app` is given.
        app: `module:attribute`.
        root: The folders that installed toolsets work in.

    Raises:
        CONFIG_ERROR: The tools cannot be loaded.
        INIT_ERROR: The toolset could not start.
        INVALID_PARAM: A word is not of the form KEY=VALUE.
    """
    tools = tools_for(operation, toolset, app, root)
    bound = Toolbox(tools).find(operation)
    given = {**arguments, **from_words(words, {} if bound is None else bound.input_schema)}
    return asyncio.run(_answer(tools, operation, given))


async def _answer(tools: Sequence[BaseTool], operation: str, arguments: Mapping[str, Any]) -> ToolResponse[Any]:
    tool = next((tool for tool in tools if operation in tool.operations), None)
    if tool is None:
        return await tools[0].execute_with_error_handling(operation, arguments)
    async with Lifecycle([tool], shutdown_limit_s=_SHUTDOWN_LIMIT_S).running():
        scope = CallScope(principal="local", toolbox=Toolbox(tools))
        return await tool.operations[operation].call(arguments, scope)
