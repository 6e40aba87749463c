"""One local call through the same steps as on a server, with the toolset started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from failsoft.cli.screen.progress_line import Waiting
from failsoft.cli.targets.toolsets import CommandTarget, tools_for
from failsoft.cli.targets.typed_arguments import from_words
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.sources import misspelt_variables

_SHUTDOWN_LIMIT_S = 10.0


def answer(
    operation: str, arguments: Mapping[str, Any], words: Sequence[str], *, target: CommandTarget
) -> ToolResponse[Any]:
    """Make one call and return its response; an unknown operation gets one too.

    Args:
        operation: Its MCP name.
        arguments: JSON values by name.
        words: `KEY=VALUE`, parsed by the schema; they replace arguments of the same name.
        target: The tools to search; by default the one installed toolset that has the operation.

    Raises:
        CONFIG_ERROR: The tools cannot be loaded.
        INIT_ERROR: The toolset could not start.
        INVALID_PARAM: A word is not of the form KEY=VALUE.
    """
    tools = tools_for(operation, target)
    for sentence in misspelt_variables(tools):
        typer.echo(f"warning: {sentence}", err=True)
    bound = Toolbox(tools).find(operation)
    given = {**arguments, **from_words(words, {} if bound is None else bound.input_schema)}
    with Waiting(operation) as waiting:
        return asyncio.run(_answer(tools, operation, given, waiting))


async def _answer(
    tools: Sequence[BaseTool], operation: str, arguments: Mapping[str, Any], waiting: Waiting
) -> ToolResponse[Any]:
    tool = next((tool for tool in tools if operation in tool.operations), None)
    if tool is None:
        return await tools[0].execute_with_error_handling(operation, arguments)
    async with Lifecycle([tool], shutdown_limit_s=_SHUTDOWN_LIMIT_S).running():
        scope = CallScope(principal=LOCAL_PRINCIPAL, toolbox=Toolbox(tools), report_progress=waiting.report)
        return await tool.operations[operation].call(arguments, scope)
