"""Errors of the operating system, by errno, and those of the socket and TLS modules, whose numbers are not errnos."""

from __future__ import annotations

import errno
import os
from typing import Any

from failsoft.framework.errors import (
    AlreadyExists,
    ConfigurationError,
    Conflict,
    InvalidArgument,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaExhausted,
    StorageError,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.normalize.rules import FixedError, Table, read
from failsoft.framework.text import bounded

__all__ = ["BUGS", "BY_NAME", "TABLES"]

_LOST = FixedError(Unavailable, "The connection to the service behind this tool was lost.")
_UNREACHABLE = FixedError(Unavailable, "The network on the way to the service behind this tool is down.")
_IN_USE = FixedError(Conflict, "It is in use by another program.")
_DAMAGED = FixedError(StorageError, "The disk cannot read or write the data.")
_NO_ROOM = FixedError(StorageError, "The disk has no room for the data.")
_FULL = FixedError(Overloaded)
_UNSUPPORTED = FixedError(Unsupported, "The operating system does not support this here.")
_REFUSED = FixedError(InvalidArgument, "The operating system refused an argument as invalid.")
_TOO_LONG = FixedError(InvalidArgument, "A path or an argument is too long.")
_DENIED = FixedError(PermissionDenied, "The operating system refused the access.")
_NOT_THERE = FixedError(NotFound, "The file or folder does not exist.")

BY_NAME: dict[str, FixedError] = {
    **dict.fromkeys(("ENOENT",), _NOT_THERE),
    **dict.fromkeys(("ESRCH", "ENODEV", "ENXIO"), FixedError(NotFound)),
    **dict.fromkeys(("EACCES", "EPERM"), _DENIED),
    **dict.fromkeys(("EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "ENOKEY"), FixedError(Unauthenticated)),
    **dict.fromkeys(("EEXIST", "ENOTUNIQ"), FixedError(AlreadyExists)),
    **dict.fromkeys(("ENOSPC", "EFBIG", "EMLINK"), _NO_ROOM),
    **dict.fromkeys(("EROFS",), FixedError(StorageError, "The disk is read-only.")),
    **dict.fromkeys(("EIO", "EUCLEAN", "ENOMEDIUM", "EMEDIUMTYPE", "EREMOTEIO", "EBADMSG", "EHWPOISON"), _DAMAGED),
    **dict.fromkeys(("EDQUOT",), FixedError(QuotaExhausted, "The disk quota is used up.")),
    **dict.fromkeys(("ETIMEDOUT", "ETIME"), FixedError(Timeout)),
    **dict.fromkeys(("ECONNREFUSED",), FixedError(Unavailable, effect="none")),
    **dict.fromkeys(("ECONNRESET", "ECONNABORTED", "EPIPE", "ENOTCONN", "ESHUTDOWN", "ENETRESET", "ENOLINK"), _LOST),
    **dict.fromkeys(("EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "EADDRNOTAVAIL", "ENONET"), _UNREACHABLE),
    **dict.fromkeys(("EINTR",), FixedError(Unavailable, "The operating system interrupted the work.")),
    **dict.fromkeys(("EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "EWOULDBLOCK", "EUSERS", "ENOSR"), _FULL),
    **dict.fromkeys(("EBUSY", "ETXTBSY", "EDEADLK", "EDEADLOCK", "ENOLCK", "EADDRINUSE"), _IN_USE),
    **dict.fromkeys(("ENOTEMPTY",), FixedError(Conflict, "The folder is not empty.")),
    **dict.fromkeys(("EALREADY", "EINPROGRESS", "EISCONN", "EOWNERDEAD", "ENOTRECOVERABLE"), _IN_USE),
    **dict.fromkeys(("ESTALE",), FixedError(Conflict)),
    **dict.fromkeys(("ENAMETOOLONG", "E2BIG", "EMSGSIZE"), _TOO_LONG),
    **dict.fromkeys(("ELOOP",), FixedError(InvalidArgument, "The symbolic links of the path go round in a circle.")),
    **dict.fromkeys(("EISDIR",), FixedError(InvalidArgument, "The path is a folder where a file is needed.")),
    **dict.fromkeys(("ENOTDIR",), FixedError(InvalidArgument, "The path is a file where a folder is needed.")),
    **dict.fromkeys(("EINVAL", "EILSEQ", "EDOM", "ERANGE", "EOVERFLOW", "EDESTADDRREQ"), _REFUSED),
    **dict.fromkeys(("ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EXDEV", "ENOTTY", "ESPIPE", "ENOEXEC"), _UNSUPPORTED),
    **dict.fromkeys(("EAFNOSUPPORT", "EPFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"), _UNSUPPORTED),
    **dict.fromkeys(("ENOPROTOOPT", "EPROTOTYPE", "ENOTBLK"), _UNSUPPORTED),
    **dict.fromkeys(("EPROTO", "ECOMM"), FixedError(UpstreamError, "The service behind this tool broke the protocol.")),
}
"""Name of the errno -> verdict; names, because the numbers differ between systems and not every system has them all."""

BUGS = frozenset({"EBADF", "EFAULT", "ECHILD", "ENOTSOCK", "ECANCELED", "ENODATA", "ENOSTR"})
"""Errnos that mean a mistake in the tool itself."""

_BY_ERRNO = {number: verdict for name, verdict in BY_NAME.items() if (number := getattr(errno, name, None)) is not None}

_BY_CLASS: tuple[tuple[type[OSError], FixedError], ...] = (
    (FileNotFoundError, BY_NAME["ENOENT"]),
    (PermissionError, BY_NAME["EACCES"]),
    (FileExistsError, BY_NAME["EEXIST"]),
    (TimeoutError, BY_NAME["ETIMEDOUT"]),
    (ConnectionRefusedError, BY_NAME["ECONNREFUSED"]),
    (ConnectionError, BY_NAME["ECONNRESET"]),
    (IsADirectoryError, BY_NAME["EISDIR"]),
    (NotADirectoryError, BY_NAME["ENOTDIR"]),
    (BlockingIOError, BY_NAME["EAGAIN"]),
    (InterruptedError, BY_NAME["EINTR"]),
    (ProcessLookupError, BY_NAME["ESRCH"]),
)
"""For errors that Python code raised without an errno."""


def _by_errno(exc: OSError) -> ToolError | None:
    number = read(exc, "errno")
    if isinstance(number, int) and errno.errorcode.get(number) in _NOT_STARTED and _raised_in(exc) == "subprocess":
        return _program(exc)
    verdict = _BY_ERRNO.get(number) if isinstance(number, int) else None
    if verdict is None and number is None:
        verdict = next((known for cls, known in _BY_CLASS if isinstance(exc, cls)), None)
    if verdict is None:
        return None
    error = verdict(exc)
    if isinstance(number, int):
        error.details["errno"] = errno.errorcode.get(number, str(number))
    path = _path(read(exc, "filename"))
    if path:
        error.details["path"] = path
    return error


_NOT_STARTED = frozenset({"ENOENT", "EACCES", "EPERM", "ENOTDIR", "ENOEXEC"})
"""What starting a program fails with if it is not installed, or its working directory does not exist."""


def _program(exc: OSError) -> ToolError:
    error = ConfigurationError(message="A program that this tool runs is not installed here.", effect="none")
    error.details["path"] = _path(read(exc, "filename"))
    return error


def _raised_in(exc: OSError) -> str:
    """Return the name of the module that raised an exception: that of the last frame of its traceback."""
    trace = read(exc, "__traceback__")
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))


def _path(filename: Any) -> str:
    if isinstance(filename, (str, bytes)):
        return bounded(os.fsdecode(filename))
    return ""


_NAME = FixedError(Unavailable, "The host name of the service behind this tool could not be resolved.", effect="none")
_CERTIFICATE = FixedError(
    UpstreamError, "The certificate of the service behind this tool is not trusted.", effect="none"
)
_TLS = FixedError(Unavailable, "A secure connection to the service behind this tool failed.")

TABLES: dict[str, Table] = {
    "builtins": {"OSError": _by_errno},
    "socket": {"gaierror": _NAME, "herror": _NAME},
    "ssl": {"SSLCertVerificationError": _CERTIFICATE, "SSLError": _TLS},
}
