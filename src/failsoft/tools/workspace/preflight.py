"""Run the preflight commands of the settings, one after the other."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import TypedDict

from failsoft.framework.call import CallContext
from failsoft.framework.errors import ToolError, Unavailable, Unsupported
from failsoft.framework.safe.redaction import redact_paths
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import QUOTED_AT_MOST, bounded, quoted
from failsoft.tools.workspace.command import CommandLimits, CommandResult, Ending, RunningCommand
from failsoft.tools.workspace.errors import PreflightFailed
from failsoft.tools.workspace.signatures import WorkspaceSettings

_COMMAND_AT_MOST = 200
_TAIL_AT_MOST = 4_000
"""Characters of an output in an answer."""
_LINES_QUOTED = 3
_PASSED_ON = frozenset(
    {
        *("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"),
        *("HOME", "LANG", "LANGUAGE", "LOGNAME", "SHELL", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"),
        *("CARGO_HOME", "GOCACHE", "GOPATH", "GOROOT", "JAVA_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "VIRTUAL_ENV"),
    }
)
"""The environment variables that commands get; others may be secrets."""


class PreflightCommand(TypedDict):
    """A command that passed."""

    command: str
    exit_code: int
    duration_s: float
    output_bytes: int
    output_end: str


class PreflightResult(TypedDict):
    """Every command, in its order."""

    commands: list[PreflightCommand]


class Preflight:
    """The commands of a server; tools cannot change them.

    Args:
        settings: The commands, and what each may take.
        hides_paths: Whether paths outside of the workspace are hidden from callers.
    """

    def __init__(self, settings: WorkspaceSettings, *, hides_paths: bool) -> None:
        self._commands = tuple(tuple(command) for command in settings.preflight)
        self._limit_s = settings.preflight_s
        memory_mb = settings.preflight_memory_mb
        self._limits = CommandLimits(
            processes=settings.preflight_processes, memory_bytes=None if memory_mb is None else memory_mb << 20
        )
        self._hides_paths = hides_paths
        self._running: set[RunningCommand] = set()
        self._is_closed = False

    def faults(self) -> list[str]:
        """Return the programs that are missing; programs in the workspace itself are not checked."""
        path = reduced(os.environ)["PATH"]
        programs = dict.fromkeys(command[0] for command in self._commands)
        return [
            f"the program '{program}' of FAILSOFT_WORKSPACE_PREFLIGHT was not found"
            for program in programs
            if (program.startswith("/") or "/" not in program) and shutil.which(program, path=path) is None
        ]

    async def run(self, call: CallContext, folder: str) -> PreflightResult:
        """Run every command, up to the first that fails.

        Args:
            call: Receives progress reports.
            folder: Where they run.

        Raises:
            PREFLIGHT_FAILED: One failed, took too long or could not be started.
            UNSUPPORTED: There are none, or the system cannot end one with all that it started.
        """
        if not self._commands:
            raise Unsupported(
                message="This server has no preflight commands, so nothing was checked",
                operator_hint="set FAILSOFT_WORKSPACE_PREFLIGHT",
                effect="none",
            )
        if not hasattr(signal, "sigtimedwait"):  # macOS: the supervisor of a command waits with it
            raise Unsupported(
                message="Preflight commands need a system such as Linux, so nothing was checked",
                operator_hint=f"serve this toolset on Linux; this is {sys.platform}",
                effect="none",
            )
        passed: list[PreflightCommand] = []
        for index, arguments in enumerate(self._commands):
            name = self._shown(_as_typed(arguments), folder)
            await call.report_progress(index, len(self._commands), name)
            ran = await self._run(arguments, folder)
            if (ran.ending, ran.code) != ("exit", 0):
                call.idempotent = ran.ending != "cancelled"  # its caller may repeat a check; nothing does unasked
                raise self._failure(name, arguments, ran, folder, is_first=index == 0)
            passed.append(
                {
                    "command": name,
                    "exit_code": ran.code,
                    "duration_s": round(ran.duration_s, 3),
                    "output_bytes": ran.output_bytes,
                    "output_end": self._shown(ran.output, folder)[-_TAIL_AT_MOST:],
                }
            )
        await call.report_progress(len(self._commands), len(self._commands), None)
        return {"commands": passed}

    async def _run(self, arguments: Sequence[str], folder: str) -> CommandResult:
        command = RunningCommand(arguments, folder=folder, environment=reduced(os.environ), limits=self._limits)
        self._running.add(command)
        if self._is_closed:  # the call is repeated, or began late
            command.kill()
        try:
            return await command.run(self._limit_s)
        finally:
            self._running.discard(command)

    def open(self) -> None:
        """Start commands again after `close`."""
        self._is_closed = False

    def close(self) -> None:
        """End all commands that still run, and start no others."""
        self._is_closed = True
        for command in tuple(self._running):
            command.kill()

    def _shown(self, text: str, folder: str) -> str:
        """Return a redacted text; redacted before it is cut, since half a secret would not be recognized."""
        text = redact_text(text)
        return redact_paths(text, [folder]) if self._hides_paths else text

    def _failure(
        self, name: str, arguments: Sequence[str], ran: CommandResult, folder: str, *, is_first: bool
    ) -> ToolError:
        if ran.ending == "cancelled":
            return Unavailable(message="The preflight was ended because the server is stopping.", effect="unknown")
        output = self._shown(ran.output, folder)
        last = " ".join([line.strip() for line in output.splitlines() if line.strip()][-_LINES_QUOTED:])
        outcome = self._outcome(ran)
        error = PreflightFailed(
            message=f"{quoted(_brief(arguments))} {outcome}.",
            suggestions=[f"Its output ended with: {quoted(last[-QUOTED_AT_MOST:])}"] if last else [],
            command=name,
            outcome=outcome,
            exit_code=ran.code if ran.ending == "exit" else None,
            duration_s=round(ran.duration_s, 3),
            output_snippet=output[-_TAIL_AT_MOST:],
            effect="none" if is_first and ran.ending == "not_started" else "unknown",
        )
        if last:  # not in its message, which is logged: an output may contain anything
            error.remedy = f"Fix what it printed last, {quoted(last[-QUOTED_AT_MOST:])}, and"  # type: ignore[misc]  # of this one failure
        return error

    def _outcome(self, ran: CommandResult) -> str:
        outcomes: dict[Ending, str] = {
            "exit": f"exited with status {ran.code}",
            "signal": f"was ended by {_signal_name(ran.code)}",
            "timeout": f"was ended after its {self._limit_s:g} seconds",
            "lost": "ended, and its supervisor with it: how is not known",
            "processes": f"was ended: it had more than {self._limits.processes} processes at a time",
            "memory": f"was ended: its processes took more than {(self._limits.memory_bytes or 0) >> 20} MiB",
        }
        return outcomes.get(ran.ending) or f"could not be started: {os.strerror(ran.code).lower()}"


def reduced(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: a few variables, and no color.

    Only absolute folders of `PATH`: an agent can write into those that are relative to the workspace.
    """
    passed_on = {name: value for name, value in environment.items() if name in _PASSED_ON}
    folders = [folder for folder in environment.get("PATH", os.defpath).split(":") if folder.startswith("/")]
    return {**passed_on, "PATH": ":".join(folders), "NO_COLOR": "1", "TERM": "dumb"}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _as_typed(arguments: Sequence[str]) -> str:
    """Return a command as a person would type it, without secrets."""
    return bounded(redact_text(shlex.join(arguments)), _COMMAND_AT_MOST)


def _brief(arguments: Sequence[str]) -> str:
    """Return a command without the folders of its programs, and without the interpreter of a script."""
    names = [Path(word).name if word.startswith("/") else word for word in arguments]
    is_script = len(names) > 1 and names[0].startswith("python") and not names[1].startswith("-")
    return _as_typed(names[1:] if is_script else names)
