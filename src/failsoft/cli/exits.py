"""The exit codes of `failsoft`, and which error leads to which."""

from __future__ import annotations

from enum import IntEnum

from failsoft.framework.errors import (
    BootstrapFailure,
    ConfigurationError,
    InitializationError,
    InternalError,
    InvalidArgument,
    SelfAuditFailure,
    ToolError,
)


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
    ExitCode.FAILED: "the answer is a failure: of the call, of a check, or there is no such code",
    ExitCode.USAGE: "the command line was not understood",
    ExitCode.CONFIGURATION: "a setting, a toolset or an application cannot be used",
    ExitCode.NOT_STARTED: "the server could not start: the address is taken, a toolset failed, or its self-audit did",
    ExitCode.DEFECT: "failsoft itself is broken",
    ExitCode.INTERRUPTED: "you ended it with Ctrl-C",
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


def exit_codes_text() -> str:
    """Return the codes as lines for the end of `--help`."""
    return "\n".join(["Exit codes:", *(f"  {code.value:<4} {code.meaning}" for code in ExitCode)])
