"""`failsoft call`: one call through the same steps as a client's, with its answer as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.arguments import from_json, from_words
from failsoft.cli.asking import answers_at_terminal, person_at_terminal
from failsoft.cli.errors import ExitCode, missing, usage
from failsoft.cli.options import App, Root, Token, Url, beginning, complete_toolsets
from failsoft.cli.screen import Screen, divert_output, is_terminal, waiting
from failsoft.cli.store import STATE_URL
from failsoft.cli.target import Target
from failsoft.composition import install
from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.asking import ASK_PERSON
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.events import IdempotencyEvent
from failsoft.framework.safe.author_reports import Report, watch_reports
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.recovery.state.store import default_file
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.sources import misspelt_variables, server_name

if TYPE_CHECKING:
    from mcp import Client


def _complete_operations(incomplete: str) -> list[str]:
    """Return the operations with this prefix, of the project's application or of the installed toolsets."""
    try:
        tools = Target().tools(on_fault=lambda *_: None)
    except Exception:  # noqa: BLE001 - a shell shows nothing rather than an error in the middle of a line
        return []
    return beginning(incomplete, {name for tool in tools for name in tool.operations})


Arguments = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Arguments, read by the schema.")]
AsJson = Annotated[str | None, typer.Option("--json", metavar="OBJECT", help="Arguments as JSON; `-`: from stdin.")]
Named = Annotated[
    list[str] | None,
    typer.Option("--toolset", metavar="NAME", help="An installed toolset.", autocompletion=complete_toolsets),
]
Compact = Annotated[bool, typer.Option("--compact", help="Print the answer in one line.")]


def call(  # noqa: PLR0913 - what a call may be given
    operation: Annotated[
        str,
        typer.Argument(metavar="OPERATION", help="The operation, by its name.", autocompletion=_complete_operations),
    ],
    arguments: Arguments = None,
    *,
    as_json: AsJson = None,
    toolset: Named = None,
    app: App = None,
    url: Url = None,
    token: Token = None,
    root: Root = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep keys, sessions and plans in the store of `failsoft serve`.")
    ] = False,
    compact: Compact = False,
) -> None:
    """Call one operation and print its answer as JSON.

    Values are converted by the operation's schema: `limit=5` is a number if the schema expects one, and a repeated key
    makes a list. KEY=VALUE replaces arguments from --json. The exit code is 1 if the answer is a failure. The traceback
    of a crash and the output of the handler go to standard error. Idempotency keys and sessions end with the command,
    unless --keep or FAILSOFT_STATE_URL is given.

    Examples:
      failsoft call get_book title=Dune --app library
      failsoft call search_documents --json '{"query": "install"}' --root docs
      failsoft call get_book title=Dune --url http://127.0.0.1:8321
    """
    command = f"failsoft call {operation} --toolset {{}}"
    target = Target(toolset or (), app, url=url, token=token, root=root, command=command)
    given = {} if as_json is None else from_json(_standard_input() if as_json == "-" else as_json, operation)
    if keep:
        _keep_records(url)
    if url is not None:
        on_question = answers_at_terminal()
        calling = partial(_call_remote, url, operation, given, arguments or (), may_ask=on_question is not None)
        answered, has_failed = target.ask(calling, on_question=on_question)
        Screen().json(answered, compact=compact)
        if has_failed:
            raise typer.Exit(ExitCode.FAILED)
        return
    reports: list[Report] = []
    with divert_output(), watch_reports(reports.append):
        response = _call_local(operation, given, arguments or (), target)
        answered = response.to_dict()
    Screen().json(answered, compact=compact)
    for report in reports:
        typer.echo(f"\n{report.kind}: {report}", err=True)
    if response.error is not None:
        if is_terminal(sys.stderr):
            named = [("--toolset", name) for name in toolset or ()]
            named += [("--app", app)] if app else []
            named += [("--root", str(folder)) for folder in root or ()]
            _advise(response.error, [word for option in named for word in option])
        raise typer.Exit(ExitCode.FAILED)


def _keep_records(url: str | None) -> None:
    """Use the store of `failsoft serve` for durable records, unless FAILSOFT_STATE_URL names one.

    Raises:
        INVALID_PARAM: There is nothing to keep here, or nowhere to keep it.
    """
    if url is not None:
        raise usage(message="--keep goes with a call in this process; a server keeps its own records.")
    named = os.environ.get(STATE_URL)
    if named == "memory:":
        raise usage(message=f"--keep has no store, since {STATE_URL} is memory:.", hint=f"{STATE_URL}=sqlite:PATH")
    if not named:
        install(durable=default_file())


def _standard_input() -> str:
    return "" if sys.stdin is None else sys.stdin.buffer.read().decode("utf-8", errors="replace")


def _advise(failure: Failure, options: Sequence[str]) -> None:
    """Print the command for the next step below the JSON, on a terminal only."""
    lines = [f"{failure.code}: {failure.message}", *(f"  - {text}" for text in failure.suggestions)]
    if failure.next_step is not None:
        lines.append(f"  next: {_typed(failure.next_step.tool, failure.next_step.arguments, options)}")
    lines.append(f"  more: failsoft explain {failure.code}")
    typer.echo("\n".join(["", *lines]), err=True)


def _typed(operation: str, arguments: Mapping[str, Any], options: Sequence[str]) -> str:
    """Return the command that makes a call, ready to be pasted."""
    if all(isinstance(value, (str, int, float)) for value in arguments.values()):
        words = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
    else:
        words = ["--json", json.dumps(arguments, ensure_ascii=False)]
    return shlex.join(["failsoft", "call", operation, *words, *options])


def _call_local(
    operation: str, arguments: Mapping[str, Any], words: Sequence[str], target: Target
) -> ToolResponse[Any]:
    """Make one call with the toolset started, and return its response; an unknown operation gets one too.

    Args:
        operation: Its MCP name.
        arguments: JSON values by name.
        words: `KEY=VALUE`, parsed by the schema; they replace arguments of the same name.
        target: The tools to search; by default the one installed toolset that has the operation.

    Raises:
        CONFIG_ERROR: The tools cannot be loaded.
        INIT_ERROR: The toolset could not start.
        INVALID_PARAM: A word is not of the form KEY=VALUE, or several installed toolsets have the operation.
    """
    tools = target.tools() if target.is_named else _toolset_with(operation, target.tools())
    for sentence in misspelt_variables(tools):
        typer.echo(f"warning: {sentence}", err=True)
    project = target.project
    for tool in tools:  # records are those of the server that serves these tools
        tool.server_name = server_name(tools, None if project is None else project.name)
    bound = Toolbox(tools).find(operation)
    given = {**arguments, **from_words(words, {} if bound is None else bound.input_schema)}
    return asyncio.run(_run(tools, operation, given))


def _toolset_with(operation: str, tools: Sequence[BaseTool]) -> list[BaseTool]:
    """Return the one installed toolset that has an operation, or one that has a similar operation."""
    having = [tool for tool in tools if operation in tool.operations]
    if len(having) > 1:
        names = [tool.name for tool in having]
        raise usage(
            message=f"Several toolsets have an operation '{operation}': {', '.join(names)}.",
            hint=f"failsoft call {operation} --toolset {names[0]}",
        )
    near = [tool for tool in tools if tool.toolbox.unknown(operation, {}).violations[0].suggestion is not None]
    taken = [*having, *near, *tools][0]
    own = "" if having else "; --app MODULE:CLASS names your own"
    typer.echo(f"toolset: {taken.name}, of the installed ones{own}", err=True)
    return [taken]


def _say_which_record(event: IdempotencyEvent) -> None:
    """Print the command that makes a call run again which was answered, or refused, because of an earlier one."""
    was = "answered from" if event.verdict == "replayed" else "refused because of"
    command = shlex.join(["failsoft", "state", "forget", event.record])
    typer.echo(f"{was} the record of an earlier call; forget it with: {command}", err=True)


async def _run(tools: Sequence[BaseTool], operation: str, arguments: Mapping[str, Any]) -> ToolResponse[Any]:
    tool = next((tool for tool in tools if operation in tool.operations), None)
    if tool is None:
        return await tools[0].execute_with_error_handling(operation, arguments)
    tool.runtime.events.subscribe(_say_which_record, IdempotencyEvent)
    async with Lifecycle([tool]).running():
        bound, ask = tool.operations[operation], person_at_terminal()
        if any(getattr(one, "derive", None) for one in bound.strategies) and tool.runtime.state.records(tool).is_local:
            typer.echo("its derived key ends with this command; --keep keeps it, as `failsoft serve` does", err=True)
        may_ask = ask is not None and (bound.needs_consent or ASK_PERSON in bound.describe())
        with waiting(operation, is_shown=not may_ask) as show:  # the lines of a question are not to be drawn over

            async def report(progress: float, total: float | None, message: str | None) -> None:
                show(progress, total, message)

            scope = CallScope(principal=LOCAL_PRINCIPAL, toolbox=Toolbox(tools), report_progress=report, ask=ask)
            return await bound.call(arguments, scope)


async def _call_remote(
    url: str, operation: str, arguments: Mapping[str, Any], words: Sequence[str], client: Client, *, may_ask: bool
) -> tuple[dict[str, Any], bool]:
    """Return a server's answer to a call as JSON, and whether it is a failure.

    Raises:
        NOT_FOUND: It has no such tool; the closest name is in the message.
    """
    known = {tool.name: tool for tool in (await client.list_tools()).tools}
    if operation not in known:
        command, listing = f"failsoft call {{}} --url {url}", f"failsoft tools --url {url}"
        raise missing(kind="tool", name=operation, known=list(known), command=command, listing=listing)
    given = {**arguments, **from_words(words, known[operation].input_schema)}
    with waiting(operation, is_shown=not may_ask) as show:  # as in a call here

        async def report(progress: float, total: float | None, message: str | None) -> None:
            show(progress, total, message)

        result = await client.call_tool(operation, given, progress_callback=report)
    if result.structured_content is not None:
        return dict(result.structured_content), bool(result.is_error)
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    return {"isError": bool(result.is_error), "content": blocks}, bool(result.is_error)
