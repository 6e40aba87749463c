"""Errors of the command line: code, message, closest match, next command and exit code, without a traceback."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Iterator, Sequence
from enum import IntEnum

import typer

from failsoft.framework.errors import (
    BootstrapFailure,
    ConfigurationError,
    InitializationError,
    InternalError,
    InvalidArgument,
    InvalidParameter,
    NotFound,
    SelfAuditFailure,
    ToolError,
    UnknownError,
)
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.safe.tracebacks import author_line
from failsoft.framework.text import bounded

# The base class of typer's errors for bad command lines; only this subclass is public.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

_LISTED_AT_MOST = 12
_SHOW_STACK = ("FAILSOFT_DEBUG_STACK", "DEBUG_STACK")


class ExitCode(IntEnum):
    """Exit codes of the command. The numbers never change their meaning."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIGURATION = 3
    NOT_STARTED = 4
    DEFECT = 70
    INTERRUPTED = 130
    READER_LEFT = 141

    @property
    def meaning(self) -> str:
        """One line for `--help` and the docs."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "it worked, and nothing was found to be wrong",
    ExitCode.FAILED: "the call failed, a check found something, or there is no such code",
    ExitCode.USAGE: "the command line was not understood",
    ExitCode.CONFIGURATION: "a setting, a toolset or an application cannot be used",
    ExitCode.NOT_STARTED: "not started: the address is taken, a toolset or its self-audit failed",
    ExitCode.DEFECT: "failsoft itself is broken",
    ExitCode.INTERRUPTED: "you ended it with Ctrl-C; `serve` and `proxy` end with 0",
    ExitCode.READER_LEFT: "the reader of the output closed the pipe early",
}


def exit_code_of(error: ToolError) -> ExitCode:
    """Return the exit code for an error that ended a command."""
    if isinstance(error, (BootstrapFailure, InitializationError, SelfAuditFailure)):
        return ExitCode.NOT_STARTED
    if isinstance(error, ConfigurationError):
        return ExitCode.CONFIGURATION
    if isinstance(error, InvalidArgument):
        return ExitCode.USAGE
    return ExitCode.DEFECT if isinstance(error, InternalError) else ExitCode.FAILED


def faults_in(error: ToolError) -> Sequence[str]:
    """Return the faults of settings that cannot be used, a sentence each; empty for another error."""
    faults: Sequence[str] = (error.details or {}).get("faults", ())
    return faults


def exit_codes_text() -> str:
    """Return the codes as lines for the end of `--help`."""
    return "\n".join(["Exit codes:", *(f"  {code.value:<4} {code.meaning}" for code in ExitCode)])


def usage(*, message: str, hint: str = "") -> InvalidParameter:
    """Return the error for an invalid command line; `hint` is a valid command."""
    return InvalidParameter(message=message, operator_hint=hint)


def missing(*, kind: str, name: str, known: Sequence[str], command: str, listing: str = "") -> NotFound:
    """Return the error for an unknown name, with the closest known one.

    Args:
        kind: What the name is (`error code`).
        name: The name, as typed.
        known: The known names.
        command: The command to suggest, with `{}` for the closest name.
        listing: The command that lists the names, if none is close.
    """
    closest = closest_name(name, known)
    message = f"There is no {kind} '{bounded(name)}'"
    if closest:
        return NotFound(
            message=f"{message}; did you mean '{closest}'?",
            suggestions=[closest],
            operator_hint=command.format(closest),
        )
    shown = f"; there are {', '.join(known)}." if 0 < len(known) <= _LISTED_AT_MOST else "."
    return NotFound(message=message + shown, operator_hint=listing)


def unreadable(error: OSError) -> ConfigurationError:
    """Return the error for a file of an audit log that cannot be read."""
    return ConfigurationError(
        issue=f"the audit log {bounded(str(error.filename))} cannot be read ({error.strerror or error})",
        resolution="put the file that the server wrote in its place, or move it away",
    )


def typed(error: BaseException) -> ToolError:
    """Return the typed error for an exception that ended a command.

    The exception's text is shown, unlike in responses to callers of tools, since the reader typed the command.
    """
    if isinstance(error, ToolError):
        return error
    if isinstance(error, _UsageError):
        return _misused(error)
    from failsoft.framework.normalize import normalize  # noqa: PLC0415 - pydantic, which `--help` does not need

    found = normalize(error)
    cause = f"{type(error).__name__}: {bounded(str(error))}"
    if isinstance(found, UnknownError):
        found.message = f"The command failed unexpectedly ({cause})."
        found.operator_hint = f"set {_SHOW_STACK[0]}=true to see where, and report it"
    else:
        found.message = f"{found.message.rstrip('.')} ({cause})."
        found.operator_hint = ""
    return found


def report(error: ToolError, *, code: ExitCode | None = None, is_server: bool = False) -> ExitCode:
    """Print the error on standard error, and return its exit code.

    Args:
        error: The error that ended the command.
        code: The exit code, where it is not that of the error's class.
        is_server: Whether the command was to serve, so that its standard error is a log: with `FAILSOFT_LOG_JSON`
            the error is a record.
    """
    stack = traceback.format_exception(error.__cause__) if error.__cause__ is not None and _may_show_stack() else []
    causes, hints, more = list(_cause(error)), list(_next(error)), f"failsoft explain {error.code}"
    record = ""
    if is_server:
        from failsoft.framework.logs.log_output import record_of, wants_json  # noqa: PLC0415 - pydantic-settings, 150 ms

        if wants_json():
            facts = {"code": error.code, "cause": causes, "next": hints, "more": more, "stack_trace": "".join(stack)}
            said = {name: value for name, value in facts.items() if value}
            record = record_of("ERROR", error.message, event="not_started", **said)
    if record:
        lines = [record]
    else:
        lines = [f"{error.code}: {error.message}"]
        if len(faults := faults_in(error)) > 1:
            lines = [f"{error.code}: {len(faults)} settings cannot be used", *(f"  fault: {fault}" for fault in faults)]
        lines += [f"  cause: {cause}" for cause in causes]
        lines += [f"  next: {hint}" for hint in hints]
        lines.append(f"  more: {more}")
        lines += ["", *"".join(stack).splitlines()] if stack else []
    if isinstance(error, (BootstrapFailure, SelfAuditFailure)):
        from failsoft.framework.standalone import SystemErrorFactory  # noqa: PLC0415 - as above

        lines.append(json.dumps(SystemErrorFactory.to_envelope(error)))
    typer.echo("\n".join(lines), err=True)
    return exit_code_of(error) if code is None else code


def _misused(error: Exception) -> ToolError:
    """Return the typed error for an error of the command line parser, with the command that shows the help."""
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "failsoft")
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    option = getattr(error, "option_name", None)
    if option is not None and command.endswith(" call"):
        return usage(message=f"There is no option {option}.", hint=f"{option.lstrip('-')}=VALUE, if it is an argument")
    for ours, theirs in (("", "Value error, "), ("it should", "Input should")):
        text = text.replace(theirs, ours)
    return usage(message=text, hint=f"{command} --help")


def _cause(error: ToolError) -> Iterator[str]:
    """Yield the causes of the error that its message does not contain."""
    cause = error.__cause__
    while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
        cause = cause.exceptions[0]
    if cause is not None and not any(
        text and text in error.message for text in (str(cause), getattr(cause, "strerror", ""))
    ):
        place = author_line(cause)
        yield f"{type(cause).__name__}: {bounded(str(cause))}" + (f" ({place})" if place else "")


def _next(error: ToolError) -> Iterator[str]:
    hints = [error.operator_hint]
    if isinstance(error, ConfigurationError):
        hints.append(error.resolution)
    yield from dict.fromkeys(bounded(hint) for hint in hints if hint)


def _may_show_stack() -> bool:
    return any(os.environ.get(name, "").lower() in {"1", "true", "yes", "on"} for name in _SHOW_STACK)
