"""`failsoft call`: one call, through the same chain as a client's, with its answer as JSON."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.options import App, Root
from failsoft.cli.terminal import is_terminal, open_screen
from failsoft.cli.typed_arguments import from_json

if TYPE_CHECKING:
    from failsoft.framework.response import ToolResponse

__all__ = ["call"]

Arguments = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Arguments, read by the schema.")]
AsJson = Annotated[str | None, typer.Option("--json", metavar="OBJECT", help="Arguments as JSON; `-`: from stdin.")]
Toolset = Annotated[str | None, typer.Option(metavar="NAME", help="The installed toolset; by default all of them.")]
Compact = Annotated[bool, typer.Option("--compact", help="Print the answer in one line.")]


def call(
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="The operation, by its MCP name.")],
    arguments: Arguments = None,
    *,
    as_json: AsJson = None,
    toolset: Toolset = None,
    app: App = None,
    root: Root = None,
    compact: Compact = False,
) -> None:
    """Call one operation and print its answer as JSON.

    The exit code is 1 if the answer is a failure. Values are read as the operation's schema says: `limit=5` is a number
    where one is expected, and a key that is given again makes a list. The arguments of --json come first, and KEY=VALUE
    replaces what they say.
    """
    from failsoft.cli.calling import answer  # noqa: PLC0415 - `failsoft --help` needs none of this

    given = {} if as_json is None else from_json(_standard_input() if as_json == "-" else as_json)
    response = answer(operation, given, arguments or (), toolset=toolset, app=app, root=root)
    open_screen().json(response.to_dict(), compact=compact)
    if not response.success:
        if is_terminal(sys.stderr):
            named = [("--toolset", toolset), ("--app", app), *(("--root", folder) for folder in root or ())]
            options = [word for name, value in named if value is not None for word in (name, str(value))]
            _advise(response, options)
        raise typer.Exit(ExitCode.FAILED)


def _standard_input() -> str:
    return "" if sys.stdin is None else sys.stdin.buffer.read().decode("utf-8", errors="replace")


def _advise(response: ToolResponse[Any], options: Sequence[str]) -> None:
    """Say on the terminal, under the JSON, what to type next."""
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
