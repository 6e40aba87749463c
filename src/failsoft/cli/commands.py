"""The commands put together, and what happens when one of them fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from failsoft._version import __version__
from failsoft.cli import audit
from failsoft.cli.call import call
from failsoft.cli.codes import codes
from failsoft.cli.demo import demo
from failsoft.cli.doctor import doctor
from failsoft.cli.exits import ExitCode, exit_codes_text
from failsoft.cli.explain import explain
from failsoft.cli.faults import missing, report, typed, usage
from failsoft.cli.lint import lint
from failsoft.cli.serve import serve
from failsoft.framework.errors import ConfigurationError

__all__ = ["app", "run"]

COMMANDS = (demo, serve, call, explain, codes, lint, doctor)
_EPILOG = "\b\n" + exit_codes_text()


class _Commands(TyperGroup):
    """The group, answering a command that does not exist with the closest one that does."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            known = list(self.commands)
            error = missing(
                kind="command",
                name=args[0],
                known=known,
                command=f"{ctx.command_path} {{}} --help",
                listing=f"{ctx.command_path} --help",
            )
            raise usage(message=error.message, hint=error.operator_hint)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    name="failsoft",
    help="MCP tools that fail soft: serve them, call them, and look up what an error means.",
    epilog=_EPILOG,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in COMMANDS:
    app.command(epilog=_EPILOG)(command)
_audit = typer.Typer(
    cls=_Commands,
    name="audit",
    help="Look through an audit log, and show what is in it.",
    epilog=_EPILOG,
    rich_markup_mode=None,
)
for look in (audit.verify, audit.tail, audit.find):
    _audit.command(epilog=_EPILOG)(look)
app.add_typer(_audit)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it like this
    if wanted:
        typer.echo(f"failsoft {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]


@app.callback()
def _options(
    ctx: typer.Context,
    *,
    _version: Version = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), err=True)
        raise typer.Exit(ExitCode.USAGE)


def _open_streams() -> None:
    """See to it that writing works: where there is no stream (`>&-`), and on a terminal without Unicode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open for as long as the process lasts
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _ended(left: SystemExit) -> ExitCode:
    """Return the exit code where something below us ended the program: typer at a broken pipe, or a loaded module."""
    if isinstance(left.__context__, BrokenPipeError):
        return ExitCode.READER_LEFT
    return report(
        ConfigurationError(message=f"Something that was loaded has ended the program (exit code {left.code}).")
    )


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; whatever goes wrong is told as a typed error."""
    _open_streams()
    try:
        code = app(args=arguments, standalone_mode=False, prog_name="failsoft")
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left (`failsoft codes | head -1`); the interpreter must not flush once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.READER_LEFT
    except SystemExit as left:
        return _ended(left)
    except Exception as error:  # noqa: BLE001 - the last place before a traceback
        return report(typed(error))
    return int(code or 0)
