"""`failsoft audit`: look through an audit log, and show what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.faults import usage
from failsoft.cli.terminal import open_screen
from failsoft.framework.errors import ConfigurationError, NotFound
from failsoft.framework.text import bounded, printable

if TYPE_CHECKING:
    from failsoft.framework.audit.sealing import Head
    from failsoft.framework.settings import Settings

__all__ = ["find", "tail", "verify"]

_SHOWN = ("seq", "timestamp", "event", "tool", "operation", "code", "effect", "error_id")

Log = Annotated[Path | None, typer.Argument(metavar="PATH", help="The log; by default FAILSOFT_AUDIT_PATH.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def verify(
    path: Log = None,
    *,
    head: Annotated[
        str | None, typer.Option(metavar="SEQ:HASH", help="An end of the chain that you know from elsewhere.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look whether an audit log is as it was written.

    Every line of it is looked at, and of the files that were put aside for it; the first broken one is named, and the
    exit code is then 1. Entries cut from its end show by the head that is kept beside it, by FAILSOFT_AUDIT_HEAD_PATH,
    or by --head. A log that was sealed with a key needs FAILSOFT_AUDIT_KEY.
    """
    from failsoft.framework.audit.verify import verify as look_through  # noqa: PLC0415 - with this command only

    settings = _settings()
    log = _log(path, settings)
    key = settings.audit_key
    verdict = look_through(
        log,
        key=key.get_secret_value().encode() if key is not None else None,
        head=None if head is None else _head(head),
        head_path=settings.audit_head_path if path is None or _is_own(path, settings) else None,
    )
    screen = open_screen()
    if as_json:
        screen.json(verdict.to_dict())
    else:
        counted = f"{_count(verdict.entries, 'entry', 'entries')} in {_count(len(verdict.files), 'file', 'files')}"
        end = f", the last one {verdict.last}" if verdict.last is not None else ""
        screen.text(f"whole: {counted}{end}" if verdict.is_whole else f"broken: {verdict.broken}")
        if not verdict.is_whole:
            screen.text(f"in order before it: {counted}{end}")
        for remark in verdict.remarks:
            screen.text(f"remark: {remark}")
    if not verdict.is_whole:
        raise typer.Exit(ExitCode.FAILED)


def tail(
    path: Log = None,
    *,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=100_000, help="How many entries.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print each as one line of JSON.")] = False,
) -> None:
    """Show the last entries of an audit log, oldest first."""
    from failsoft.framework.audit.reading import tail as last_of  # noqa: PLC0415 - with this command only

    found = last_of(_log(path, _settings()), count)
    screen = open_screen()
    if as_json:
        for entry in found:
            screen.json(entry, compact=True)
        return
    screen.rows(_SHOWN, [[_cell(entry.get(name)) for name in _SHOWN] for entry in found])


def find(
    error_id: Annotated[str, typer.Argument(metavar="ERROR_ID", help="The id, as an answer or a log line has it.")],
    path: Log = None,
) -> None:
    """Show the entry of an audit log that has an error id."""
    from failsoft.framework.audit.reading import find as all_with  # noqa: PLC0415 - with this command only

    log = _log(path, _settings())
    found = all_with(log, error_id.strip())
    if not found:
        raise NotFound(
            message=f"The audit log has no entry with the error id '{bounded(error_id)}'.",
            operator_hint=f"failsoft audit tail {log}",
        )
    for entry in found:
        open_screen().json(entry)


def _settings() -> Settings:
    from failsoft.framework.settings import Settings  # noqa: PLC0415 - `failsoft --help` needs none of it

    return Settings.load()


def _is_own(path: Path, settings: Settings) -> bool:
    """Return whether the settings may be about this log: its head is then where they say."""
    return settings.audit_path is None or path.absolute() == settings.audit_path.absolute()


def _log(path: Path | None, settings: Settings) -> Path:
    """Return the log that is meant.

    Raises:
        CONFIG_ERROR: None was named, and no setting names one.
        NOT_FOUND: There is nothing at the path, and never was.
    """
    from failsoft.framework.audit.segments import segments  # noqa: PLC0415 - with these commands only
    from failsoft.framework.audit.verify import default_head  # noqa: PLC0415 - the same

    log = path or settings.audit_path
    if log is None:
        raise ConfigurationError(
            issue="no audit log was named", resolution="name it after the command, or set FAILSOFT_AUDIT_PATH"
        )
    if not log.is_file() and not segments(log) and not default_head(log).is_file():
        raise NotFound(message=f"There is no audit log at '{bounded(str(log))}'.")
    return log


def _head(text: str) -> Head:
    from failsoft.framework.audit.sealing import Head  # noqa: PLC0415 - with `verify` only

    seq, _, digest = text.partition(":")
    if not seq.isdecimal() or len(digest) != 64:  # noqa: PLR2004 - hexadecimal digits of a SHA-256
        raise usage(
            message="--head is the number of an entry and its hash, as in 12:0f...", hint="failsoft audit tail --json"
        )
    return Head(int(seq), digest.lower())


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _cell(value: Any) -> str:
    return "-" if value is None else printable(str(value))
