"""`failsoft call`: one call through the same steps as a client's, with its answer as JSON."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.completion import complete_operations, complete_toolsets
from failsoft.cli.exits import ExitCode
from failsoft.cli.options import App, Root, Token, Url
from failsoft.cli.screen.own_output import divert_output
from failsoft.cli.screen.terminal import is_terminal, open_screen
from failsoft.cli.targets.typed_arguments import from_json

if TYPE_CHECKING:
    from failsoft.framework.answer.response import ToolResponse

__all__ = ["call"]

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
        typer.Argument(metavar="OPERATION", help="The operation, by its MCP name.", autocompletion=complete_operations),
    ],
    arguments: Arguments = None,
    *,
    as_json: AsJson = None,
    toolset: Named = None,
    app: App = None,
    url: Url = None,
    token: Token = None,
    root: Root = None,
    compact: Compact = False,
) -> None:
    """Call one operation and print its answer as JSON.

    Values are converted by the operation's schema: `limit=5` is a number if the schema expects one, and a repeated key
    makes a list. KEY=VALUE replaces arguments from --json. The exit code is 1 if the answer is a failure. The traceback
    of a crash and the output of the handler go to standard error.

    Examples:
      failsoft call get_book title=Dune --app library
      failsoft call search_documents --json '{"query": "install"}' --root docs
      failsoft call get_book title=Dune --url http://127.0.0.1:8321
    """
    given = {} if as_json is None else from_json(_standard_input() if as_json == "-" else as_json)
    if url is not None:
        from failsoft.cli.targets.remote import call_remote  # noqa: PLC0415 - half a second that local calls save

        answered, has_failed = call_remote(url, token, operation, given, arguments or ())
        open_screen().json(answered, compact=compact)
        if has_failed:
            raise typer.Exit(ExitCode.FAILED)
        return
    from failsoft.cli.targets.calling import answer  # noqa: PLC0415 - `failsoft --help` needs none of this
    from failsoft.cli.targets.toolsets import CommandTarget  # noqa: PLC0415 - the same
    from failsoft.framework.safe.author_reports import Report, watch_reports  # noqa: PLC0415 - the same

    reports: list[Report] = []
    target = CommandTarget(toolset or (), app, root, f"failsoft call {operation} --toolset {{}}")
    with divert_output(), watch_reports(reports.append):
        response = answer(operation, given, arguments or (), target=target)
        answered = response.to_dict()
    open_screen().json(answered, compact=compact)
    for report in reports:
        typer.echo(f"\n{report.kind}: {report}", err=True)
    if not response.success:
        if is_terminal(sys.stderr):
            named = [("--toolset", name) for name in toolset or ()]
            named += [("--app", app)] if app else []
            named += [("--root", str(folder)) for folder in root or ()]
            _advise(response, [word for option in named for word in option])
        raise typer.Exit(ExitCode.FAILED)


def _standard_input() -> str:
    return "" if sys.stdin is None else sys.stdin.buffer.read().decode("utf-8", errors="replace")


def _advise(response: ToolResponse[Any], options: Sequence[str]) -> None:
    """Print the command for the next step below the JSON, on a terminal only."""
    failure = response.error
    if failure is None:
        return
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
