"""`failsoft audit`: Verify an audit log, show what is in it, archive it."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from failsoft.cli.errors import ExitCode, unreadable, usage
from failsoft.cli.options import AsJson
from failsoft.cli.screen import Screen, counted
from failsoft.cli.store import warn_of_misspelt_variables
from failsoft.framework.audit.chain import BEGINNING, Head
from failsoft.framework.audit.keeping import lend, move_closed
from failsoft.framework.audit.places import STATE, default_head, key_from
from failsoft.framework.audit.reading import find as entries_with, segments
from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.audit.verify import Verification, verify as verify_log
from failsoft.framework.errors import AuditLogFailed, ConfigurationError, NotFound
from failsoft.framework.settings import Settings
from failsoft.framework.text import bounded

Log = Annotated[Path | None, typer.Argument(metavar="PATH", help="The log; by default FAILSOFT_AUDIT_PATH.")]

_CHECKPOINT_BYTES = 16_384


def verify(
    path: Log = None,
    *,
    copy_of: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The log that this one is a copy of, whose head is used.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify that an audit log is whole: from its first entry, or from a signed checkpoint, to its head.

    Otherwise print the first fault, a changed line or missing entries or head, and exit with code 1. The key is
    FAILSOFT_AUDIT_KEY, the content of FAILSOFT_AUDIT_KEY_FILE, or the key in the user's state folder. The head is at
    FAILSOFT_AUDIT_HEAD_PATH, by default in the same folder under a name that comes from the path of the log: so a copy
    needs the path of its original. A backup of that folder too is verified with XDG_STATE_HOME set to where it is.

    Examples:
      failsoft audit verify /var/log/library/audit.jsonl
      failsoft audit verify copy.jsonl --copy-of /var/log/library/audit.jsonl
    """
    settings = Settings.load()
    verdict = _verdict(_log(path, settings), settings, copy_of)
    screen = Screen()
    if as_json:
        screen.json(verdict.to_dict())
    else:
        amount = f"{counted(verdict.entries, 'entry', 'entries')} in {counted(len(verdict.files), 'file')}"
        end = f", the last one {verdict.last}" if verdict.last is not None else ""
        screen.text(f"OK: {amount}{end}" if verdict.is_whole else f"broken: {verdict.broken}")
        if not verdict.is_whole:
            screen.text(f"in order before it: {amount}{end}")
        for remark in verdict.remarks:
            screen.text(f"remark: {remark}")
    if not verdict.is_whole:
        raise typer.Exit(ExitCode.FAILED)


def archive(
    path: Log = None,
    *,
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="Move the closed files into this folder.")] = None,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Close a log whose beginning or head is missing, and record the loss."),
    ] = False,
) -> None:
    """Close the files of an audit log with a signed checkpoint; the closed files may then be moved away.

    The log continues in a new file, and verifies with or without the closed files. A log that does not verify is not
    archived (exit code 1). A running server need not be stopped. On a full disk, --to has to be on another one.
    """
    settings = Settings.load()
    log = _log(path, settings)
    if to is not None:
        _make_folder(to, log)
    verdict = _verdict(log, settings)
    lost = None
    if verdict.broken is not None:
        if not accept_loss or verdict.broken.line is not None:
            Screen().text(f"broken, and not archived: {verdict.broken}")
            if verdict.broken.line is None:
                Screen().text("next: --accept-loss closes it all the same, and records the loss")
            raise typer.Exit(ExitCode.FAILED)
        lost = verdict.before or BEGINNING
    closed = _close(log, _trail(log, settings), lost, to)
    stays = False
    for file in closed:
        place = file
        if to is not None:
            try:
                move_closed(file, to)
                place = to / file.name
            except OSError as error:
                stays = True
                Screen().text(f"closed, and not moved: {error.strerror or error}: {file.name}")
        Screen().text(str(place))
    Screen().text(f"closed: {counted(len(closed), 'file')}")
    if stays:
        raise typer.Exit(ExitCode.FAILED)


def find(
    error_id: Annotated[str, typer.Argument(metavar="ERROR_ID", help="The id, as an answer or a log line has it.")],
    path: Log = None,
) -> None:
    """Show the entry of an audit log that has an error id."""
    log = _log(path, Settings.load())
    try:
        found = entries_with(log, error_id.strip())
    except OSError as error:
        raise unreadable(error) from None
    if not found:
        raise NotFound(message=f"The audit log has no entry with the error id '{bounded(error_id)}'.")
    for entry in found:
        Screen().json(entry)


def _close(log: Path, trail: AuditLog, lost: Head | None, to: Path | None) -> list[Path]:
    """Close the files of a log, for whose checkpoint a full disk has no room until the oldest one has left it."""
    if _has_room(log):
        return trail.archive(lost=lost)
    if to is None or to.stat().st_dev == log.parent.stat().st_dev:
        Screen().text("not archived: the disk of the log is full; name a folder on another disk with --to")
        raise typer.Exit(ExitCode.FAILED)
    try:
        return trail.archive(lost=lost)
    except AuditLogFailed:
        aside = segments(log)
        if not aside:
            raise
        lend(aside[0], to)
        return trail.archive(lost=lost)


def _has_room(log: Path) -> bool:
    """Return whether the disk of a log takes a checkpoint."""
    try:
        with tempfile.TemporaryFile(dir=log.parent) as room:
            room.write(bytes(_CHECKPOINT_BYTES))
    except OSError:
        return False
    return True


def _make_folder(to: Path, log: Path) -> None:
    """Make the folder that closed files move to, before anything is closed."""
    try:
        to.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"--to {bounded(str(to))} cannot be made a folder: {error.strerror or error}."
        raise usage(message=message, hint="failsoft audit archive --to DIR") from None
    if to.samefile(log.parent):
        raise usage(message="--to is the folder of the log itself.", hint="leave it out to keep the files there")


def _verdict(log: Path, settings: Settings, original: Path | None = None) -> Verification:
    """Verify a log with the key and the head that the settings name; of a copy, with the head of the original."""
    kept = settings.audit_head_path if _is_own(original or log, settings) else None
    if original is not None and (kept is None or str(kept) == STATE):
        kept = default_head(original)
    given = settings.audit_key
    try:
        return verify_log(
            log,
            key=given.get_secret_value().encode() if given else partial(key_from, settings.audit_key_file, make=False),
            head_path=None if kept is None or str(kept) == STATE else kept,
        )
    except OSError as error:
        raise unreadable(error) from None


def _trail(log: Path, settings: Settings) -> AuditLog:
    return AuditLog(
        log,
        key=settings.audit_key.get_secret_value().encode() if settings.audit_key is not None else None,
        key_file=settings.audit_key_file,
        head_path=settings.audit_head_path if _is_own(log, settings) else None,
        max_bytes=settings.audit_max_bytes,
        wait_s=settings.audit_wait_s,
    )


def _is_own(path: Path, settings: Settings) -> bool:
    """Return whether the settings may refer to this log, so that its head is where they say."""
    return settings.audit_path is None or path.absolute() == settings.audit_path.absolute()


def _log(path: Path | None, settings: Settings) -> Path:
    """Return the path of the log.

    Raises:
        CONFIG_ERROR: None was named, and no setting names one.
        NOT_FOUND: There is no log at the path, nor a head of one.
    """
    warn_of_misspelt_variables()
    log = path or settings.audit_path
    if log is None:
        raise ConfigurationError(
            issue="no audit log was named", resolution="name it after the command, or set FAILSOFT_AUDIT_PATH"
        )
    if not log.is_file() and not segments(log) and not default_head(log).is_file():
        raise NotFound(message=f"There is no audit log at '{bounded(str(log))}'.")
    return log
