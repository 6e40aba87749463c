"""The typer application: assembles the commands of `cli/commands` and handles their errors."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from failsoft._version import __version__
from failsoft.cli import commands
from failsoft.cli.exits import ExitCode, exit_codes_text
from failsoft.cli.faults import missing, report, typed, usage
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.plugins import sorted_points

ENTRY_POINT_GROUP = "failsoft.commands"
"""Commands of other packages: a function each, with typer's annotations, as in `cli/commands`."""

_COMPLETION = "_FAILSOFT_COMPLETE"
"""The variable by which a shell asks for completions; typer derives it from the program's name."""
_EPILOG = "\b\n" + exit_codes_text()


class _Commands(TyperGroup):
    """A command group that suggests the closest command for an unknown one."""

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


def _help(function: Callable[..., None]) -> str:
    """Return the docstring, with its examples marked as lines that are not wrapped."""
    return inspect.cleandoc(function.__doc__ or "").replace("\n\nExamples:\n", "\n\n\b\nExamples:\n")


def _add(app: typer.Typer, module: ModuleType) -> None:
    """Add the command of a module: the function of its name, or a group of the functions that it exports."""
    name = module.__name__.rpartition(".")[2]
    if name in module.__all__:
        app.command(name, help=_help(getattr(module, name)))(getattr(module, name))
        return
    group = typer.Typer(cls=_Commands, name=name, help=(module.__doc__ or "").partition(": ")[2], rich_markup_mode=None)
    for function in module.__all__:
        made = getattr(module, function)
        group.command(function.replace("_", "-"), help=_help(made))(made)
    app.add_typer(group)


def _add_foreign(app: typer.Typer, point: EntryPoint, known: set[str]) -> None:
    """Add the command of another package; an unusable one is reported on standard error and left out."""
    try:
        if point.name in known:
            msg = "there is a command of this name"
            raise ValueError(msg)  # noqa: TRY301 - reported below, like whatever its module raises
        function = point.load()
        alone = typer.Typer()
        alone.command(point.name)(function)
        typer.main.get_command(alone)  # otherwise a signature that typer cannot read would break every command
    except Exception as error:  # noqa: BLE001 - a broken package must not take the other commands away
        owner = point.dist.name if point.dist is not None else point.value
        typer.echo(f"failsoft: command {point.name} of {owner} left out ({type(error).__name__}: {error})", err=True)
        return
    known.add(point.name)
    app.command(point.name, help=_help(function))(function)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it like this
    if wanted:
        typer.echo(f"failsoft {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]


def _options(
    ctx: typer.Context,
    *,
    _version: Version = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), err=True)
        raise typer.Exit(ExitCode.USAGE)


def application(command: str | None = None) -> typer.Typer:
    """Return the application with all commands, or with this one alone, which starts 30 ms sooner.

    Args:
        command: The first word of the command line; all commands are there if it is none of failsoft's own.
    """
    app = typer.Typer(
        cls=_Commands,
        name="failsoft",
        help="MCP tools that fail soft: serve them, call them, and look up what an error means.",
        epilog=_EPILOG,
        invoke_without_command=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_options)
    names = {found.name for found in pkgutil.iter_modules(commands.__path__)}
    for name in [command] if command in names else sorted(names):
        _add(app, importlib.import_module(f"{commands.__name__}.{name}"))
    if command not in names:
        for point in sorted_points(ENTRY_POINT_GROUP):
            _add_foreign(app, point, names)
    return app


def _open_streams() -> None:
    """Make writing work without a stream (`>&-`), and on a terminal without Unicode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open for as long as the process lasts
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _ended(left: SystemExit) -> ExitCode:
    """Return the exit code of a `SystemExit`, from typer at a broken pipe or from a loaded module."""
    if isinstance(left.__context__, BrokenPipeError):
        return ExitCode.READER_LEFT
    if _COMPLETION in os.environ:
        return ExitCode(int(left.code or 0))  # shell completion has been answered
    return report(
        ConfigurationError(message=f"Something that was loaded has ended the program (exit code {left.code}).")
    )


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every exception is reported as a typed error."""
    _open_streams()
    words = sys.argv[1:] if arguments is None else arguments
    try:
        app = application(words[0] if words and _COMPLETION not in os.environ else None)
        code = app(args=arguments, standalone_mode=False, prog_name="failsoft")
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe (`failsoft codes | head -1`); the interpreter must not flush once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.READER_LEFT
    except SystemExit as left:
        return _ended(left)
    except Exception as error:  # noqa: BLE001 - the last place before a traceback
        return report(typed(error))
    return int(code or 0)
