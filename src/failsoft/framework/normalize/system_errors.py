"""Errors of the operating system by errno, of Python and what runs its work, of parsers, pydantic and jsonschema."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from failsoft.framework.errors import BadOutput, ToolError, UnknownError, UpstreamError, ValidationFailed
from failsoft.framework.errors.violations import Violation, clause
from failsoft.framework.normalize.outcomes import (
    OUTCOMES,
    Inside,
    Rule,
    Table,
    called,
    coded,
    judged,
    read,
    rows,
    type_name,
    unknown,
)
from failsoft.framework.text import bounded

BY_NAME = coded(
    no_file="ENOENT",
    absent="ESRCH ENODEV ENXIO",
    os_denied="EACCES EPERM",
    login="EKEYEXPIRED EKEYREVOKED EKEYREJECTED ENOKEY",
    exists="EEXIST ENOTUNIQ",
    disk_full="ENOSPC EFBIG EMLINK",
    disk_read_only="EROFS",
    disk_damaged="EIO EUCLEAN ENOMEDIUM EMEDIUMTYPE EREMOTEIO EBADMSG EHWPOISON",
    disk_quota="EDQUOT",
    timeout="ETIMEDOUT ETIME",
    unreachable="ECONNREFUSED",
    lost="ECONNRESET ECONNABORTED EPIPE ENOTCONN ESHUTDOWN ENETRESET ENOLINK",
    network="EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN EADDRNOTAVAIL ENONET",
    interrupted="EINTR",
    full="EMFILE ENFILE ENOMEM ENOBUFS EAGAIN EWOULDBLOCK EUSERS ENOSR",
    in_use="EBUSY ETXTBSY EDEADLK EDEADLOCK ENOLCK EADDRINUSE EALREADY EINPROGRESS EISCONN EOWNERDEAD ENOTRECOVERABLE",
    not_empty="ENOTEMPTY",
    stale="ESTALE",
    too_long="ENAMETOOLONG E2BIG EMSGSIZE",
    link_loop="ELOOP",
    folder="EISDIR",
    no_folder="ENOTDIR",
    os_refused="EINVAL EILSEQ EDOM ERANGE EOVERFLOW EDESTADDRREQ",
    os_unsupported="ENOSYS ENOTSUP EOPNOTSUPP EXDEV ENOTTY ESPIPE ENOEXEC EAFNOSUPPORT EPFNOSUPPORT EPROTONOSUPPORT"
    " ESOCKTNOSUPPORT ENOPROTOOPT EPROTOTYPE ENOTBLK",
    protocol="EPROTO ECOMM",
)
"""Name of the errno -> outcome; names, because the numbers differ between systems and not every system has them all."""

_BY_ERRNO = {number: found for name, found in BY_NAME.items() if (number := getattr(errno, name, None)) is not None}
_BY_CLASS: dict[type[OSError], str] = {
    FileNotFoundError: "ENOENT",
    PermissionError: "EACCES",
    FileExistsError: "EEXIST",
    TimeoutError: "ETIMEDOUT",
    ConnectionRefusedError: "ECONNREFUSED",
    ConnectionError: "ECONNRESET",
    IsADirectoryError: "EISDIR",
    NotADirectoryError: "ENOTDIR",
    BlockingIOError: "EAGAIN",
    InterruptedError: "EINTR",
    ProcessLookupError: "ESRCH",
}
"""For errors that Python code raised without an errno."""
_NOT_STARTED = frozenset(["ENOENT", "EACCES", "EPERM", "ENOTDIR", "ENOEXEC"])
"""What starting a program fails with if it is not installed, or its working directory does not exist."""


def _by_errno(exc: OSError) -> ToolError | None:
    number = read(exc, "errno")
    outcome = _BY_ERRNO.get(number) if isinstance(number, int) else None
    if number is None:
        outcome = next((BY_NAME[name] for cls, name in _BY_CLASS.items() if isinstance(exc, cls)), None)
    elif isinstance(number, int) and errno.errorcode.get(number) in _NOT_STARTED and raised_in(exc) == "subprocess":
        outcome = OUTCOMES["no_program"]
    if outcome is None:
        return None
    error = outcome(exc)
    if isinstance(number, int):
        error.details["errno"] = errno.errorcode.get(number, str(number))
    filename = read(exc, "filename")
    if isinstance(filename, (str, bytes, os.PathLike)) and filename:
        error.details["path"] = bounded(os.fsdecode(filename))
    return error


def raised_in(exc: BaseException) -> str:
    """Return the name of the module that raised an exception: that of the last frame of its traceback."""
    trace = read(exc, "__traceback__")
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))


def _stop(exc: BaseException) -> ToolError:
    """Return the error for a tool that tried to end the server it runs in."""
    name = type_name(exc)
    return UnknownError(message=f"The tool tried to end the program that runs it ({name}).", type_name=name)


def _stray_cancellation(exc: BaseException) -> ToolError:
    """Return the error for a stray cancellation: a part of the tool's own work was cancelled."""
    name = type_name(exc)
    return UnknownError(message=f"A part of the tool's own work was cancelled ({name}).", type_name=name)


_IF_YOURS = "If your arguments are the cause, correct them and"
_TRY_LATER = 75
"""EX_TEMPFAIL of sysexits.h; a negative status is the signal that ended the program."""


def _exit_status(exc: Any) -> ToolError:
    """Return the error for an exit status: the same call ends so again, unless a signal ended the program."""
    status = read(exc, "returncode")
    ended = f"exited with status {status}" if isinstance(status, int) else "reported a failure"
    error = UpstreamError(message=f"A program that this tool runs {ended}.")
    if isinstance(status, int):
        error.details["exit_status"] = status
    if not isinstance(status, int) or (status >= 0 and status != _TRY_LATER):
        says_why = bool(read(exc, "stderr") or read(exc, "output"))
        return judged(error, "after_fix", _IF_YOURS) if says_why else judged(error, "never")
    return error


def _last_attempt(exc: Any) -> Inside | None:
    """Return what the last attempt raised, for tenacity's `RetryError`."""
    cause = called(read(exc, "last_attempt"), "exception")
    return Inside(cause, lambda _: unknown(cause)) if isinstance(cause, BaseException) else None


def _undecodable(kind: str) -> Rule:
    """Return the rule for text that is not of a kind; the place of the fault is kept where the parser names it."""

    def rule(exc: Any) -> ToolError:
        mark = read(exc, "problem_mark")
        line, column = (read(mark, "line"), read(mark, "column")) if mark is not None else _place(exc)
        error = BadOutput(message=f"Data that this tool read is not valid {kind}.")
        if isinstance(line, int):
            error.details["line"] = line + (mark is not None)  # PyYAML counts from 0
        if isinstance(column, int):
            error.details["column"] = column
        return error

    return rule


def _place(exc: Any) -> tuple[Any, Any]:
    position = read(exc, "position")
    if isinstance(position, tuple) and len(position) == 2:  # noqa: PLR2004 - line and column, of ElementTree
        return position
    if callable(read(exc, "getLineNumber")):
        return called(exc, "getLineNumber"), called(exc, "getColumnNumber")
    return read(exc, "lineno"), read(exc, "colno", read(exc, "offset"))


def _pydantic(exc: Any) -> ToolError:
    from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic  # noqa: PLC0415 - it loads pydantic

    error = _failed_check(violations_from_pydantic(exc))
    error.operator_hint = f"{type_name(exc, full=True)} of {read(exc, 'title', '?')}"
    error.details["model"] = str(read(exc, "title", ""))
    return error


def _jsonschema(exc: Any) -> ToolError:
    from failsoft.framework.arguments.faults import violations_from_error  # noqa: PLC0415 - not before it is needed

    error = _failed_check(violations_from_error(exc))
    error.operator_hint = type_name(exc, full=True)
    return error


def _failed_check(violations: Sequence[Violation]) -> ToolError:
    """Return VALIDATION_ERROR for faults that a handler's own check found, without values or untrusted text.

    They may be about what a caller sent inside an argument or about what a service answered. The type does not tell
    the two apart, so the faults are named, and the caller sees whether they are about something it can change.
    """
    shown = [
        replace(
            item,
            received=None,
            suggestion=item.suggestion if item.reason in {"enum", "unexpected"} else None,
            message="is not acceptable" if item.reason == "value" else item.message,
        )
        for item in violations
    ]
    count = f"{len(shown)} error{'' if len(shown) == 1 else 's'}"
    listed = "; ".join([clause(item) for item in shown[:5]])
    return ValidationFailed(message=f"Validation failed: {count} ({listed}).", violations=shown)


_XML = _undecodable("XML")
_TOML: Table = {"TOMLDecodeError": _undecodable("TOML")}

TABLES: dict[str, Table] = {
    "builtins": {
        "OSError": _by_errno,
        **dict.fromkeys(("SystemExit", "KeyboardInterrupt", "GeneratorExit"), _stop),
        "UnicodeDecodeError": _undecodable("text"),
        **rows(memory="MemoryError", not_built="NotImplementedError"),
    },
    "socket": rows(nameless="gaierror herror"),
    "ssl": rows(mistrusted="SSLCertVerificationError", tls="SSLError"),
    "asyncio": {"CancelledError": _stray_cancellation, **rows(closed="IncompleteReadError", queue="QueueFull")},
    "anyio": rows(
        closed="BrokenResourceError EndOfStream IncompleteRead",
        worker="BrokenWorkerProcess BrokenWorkerInterpreter",
        unreachable="ConnectionFailed",
    ),
    "concurrent": {"CancelledError": _stray_cancellation, **rows(worker="BrokenExecutor", timeout="TimeoutError")},
    "multiprocessing": rows(timeout="TimeoutError"),
    "queue": rows(queue="Full"),
    "shutil": rows(not_copied="Error"),
    "subprocess": {"CalledProcessError": _exit_status, **rows(timeout="TimeoutExpired", program="SubprocessError")},
    "tenacity": {"RetryError": _last_attempt},
    "json": {"JSONDecodeError": _undecodable("JSON")},
    "tomllib": _TOML,
    "tomli": _TOML,
    "yaml": {"YAMLError": _undecodable("YAML")},
    "xml": {
        **dict.fromkeys(("ParseError", "ExpatError", "SAXException"), _XML),
        **rows(xml_unsupported="SAXNotSupportedException SAXNotRecognizedException"),
    },
    "zipfile": rows(damaged="BadZipFile", zip64="LargeZipFile"),
    "tarfile": rows(damaged="TarError"),
    "gzip": rows(damaged="BadGzipFile"),
    "_lzma": rows(damaged="LZMAError"),
    "zlib": rows(damaged="error"),
    "pydantic_core": {"ValidationError": _pydantic, **rows(bad_output="PydanticSerializationError")},
    "jsonschema": {"ValidationError": _jsonschema},
    "pydantic_settings": rows(tool_setting="SettingsError"),
}
