"""The typer application: commands found by file name, their help read without importing them, their errors reported."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from failsoft._version import __version__
from failsoft.cli.errors import ExitCode, exit_codes_text, missing, report, typed, usage
from failsoft.framework.errors import ConfigurationError

_COMMANDS = Path(__file__).with_name("commands")
_COMPLETION = "_FAILSOFT_COMPLETE"
"""The variable by which a shell asks for completions; typer derives it from the program's name."""
_EPILOG = "\b\n" + exit_codes_text()
_GROUPS = {
    "First steps": ("demo", "new", "doctor"),
    "Write and check tools": ("tools", "call", "lint", "probe", "codes", "rules", "explain"),
    "Run servers": ("serve", "proxy", "install", "worker"),
    "Operate servers": ("top", "find", "replay", "state", "audit", "plans", "monitoring"),
}
"""The commands as the help lists them."""


class Command(NamedTuple):
    """A command as its file shows it.

    Args:
        module: The file in `commands`, with dots and without its ending.
        help: The docstring of its function, or of the file of a group.
        functions: The functions of a group; empty for a single command.
    """

    module: str
    help: str
    functions: tuple[str, ...] = ()


@functools.cache
def _commands_in(file: Path) -> dict[str, Command]:
    """Return the commands of a file: each public function, or a group if none has the name of the file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    module = ".".join(file.relative_to(_COMMANDS).with_suffix("").parts)
    helps = {node.name: ast.get_docstring(node) or "" for node in public if not node.decorator_list}
    if file.stem in helps:
        return {name: Command(module, text) for name, text in helps.items()}
    about = (ast.get_docstring(tree) or "").partition(": ")[2]
    return {file.stem: Command(module, about, tuple(sorted(helps)))}


def known_commands() -> dict[str, Command]:
    """Return the commands by name."""
    return dict(sorted(item for file in _COMMANDS.rglob("[!_]*.py") for item in _commands_in(file).items()))


def _find(name: str) -> Command | None:
    """Return the command of this name; only files that may have it are parsed."""
    for file in sorted(_COMMANDS.rglob("[!_]*.py"), key=lambda file: file.stem != name):
        is_likely = file.stem == name or f"\ndef {name}(" in file.read_text(encoding="utf-8")
        if is_likely and (found := _commands_in(file).get(name)) is not None:
            return found
    return None


class _Group(TyperGroup):
    """A command group that suggests the closest command for an unknown one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and not self.has(args[0]):
            known = self.list_commands(ctx)
            error = missing(
                kind="command",
                name=args[0],
                known=known,
                command=f"{ctx.command_path} {{}} --help",
                listing=f"{ctx.command_path} --help",
            )
            raise usage(message=error.message, hint=error.operator_hint)
        return super().resolve_command(ctx, args)

    def has(self, name: str) -> bool:
        """Return whether there is a command of this name."""
        return name in self.commands


class _Commands(_Group):
    """All commands, of which only the one that runs is imported."""

    def has(self, name: str) -> bool:
        return _find(name) is not None

    def list_commands(self, _ctx: Any) -> list[str]:
        return list(known_commands())

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        command = _find(cmd_name)
        return None if command is None else _load(cmd_name, command)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        known = known_commands()
        width = max(map(len, known))
        with formatter.section("Commands"):
            for title, names in _GROUPS.items():
                formatter.write(f" {title}:\n")
                formatter.write_dl([(name.ljust(width), known[name].help.partition("\n")[0]) for name in names])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        shown = {name: _outline(name, command) for name, command in known_commands().items()}
        return TyperGroup(name=self.name, commands=shown, params=self.params).shell_complete(ctx, incomplete)


def _outline(name: str, command: Command) -> Any:
    """Return a command that has a help and does nothing."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=command.help)(lambda: None)
    return typer.main.get_command(app)


def _load(name: str, command: Command) -> Any:
    """Import a command, or the functions of a group."""
    module = importlib.import_module(f"failsoft.cli.commands.{command.module}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, cls=_Group, name=name, help=command.help)
    if command.functions:
        app.callback()(lambda: None)
    for function in command.functions or (name,):
        made = getattr(module, function)
        app.command(function.replace("_", "-"), help=_help(made))(made)
    return typer.main.get_command(app)


def _help(function: Any) -> str:
    """Return the docstring, with its examples marked as lines that are not wrapped."""
    return inspect.cleandoc(function.__doc__ or "").replace("\n\nExamples:\n", "\n\n\b\nExamples:\n")


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


def application() -> typer.Typer:
    """Return the application with all commands."""
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
    """Run one command line, which commands see as `ctx.obj`; return its exit code, every exception as a typed error."""
    _open_streams()
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        code = application()(args=words, standalone_mode=False, prog_name="failsoft", obj=words)
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
        return report(typed(error), is_server=words[:1] in (["serve"], ["proxy"]))
    return int(code or 0)
