"""What went wrong, each sentence once, and how rules are written: a row for each outcome.

Two questions decide which outcome an exception has: whose fault is it, and does the same call help if it is repeated?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.errors import (
    Actor,
    AlreadyExists,
    BadOutput,
    ConfigurationError,
    Conflict,
    DatabaseError,
    Effect,
    Infeasible,
    InternalError,
    InvalidArgument,
    NotFound,
    Overloaded,
    PermissionDenied,
    PreconditionFailed,
    QuotaExhausted,
    RateLimited,
    RetryWhen,
    StorageError,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
    UnknownError,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.text import bounded

_NAME_AT_MOST = 80


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant rule: the same error class and message for every exception.

    Args:
        error: The error class for the exception.
        message: Replaces the message of the class.
        effect: `none` if the exception proves that nothing was sent.
        retry: Replaces that of the class, and with it who has to act.
        remedy: Replaces that of the class.
    """

    error: type[ToolError]
    message: str | None = None
    effect: Effect | None = None
    retry: RetryWhen | None = None
    remedy: str = ""

    def __call__(self, _exc: Any) -> ToolError:
        """Return a new error of the class."""
        error = self.error(message=self.message or self.error.template, effect=self.effect)
        return error if self.retry is None else judged(error, self.retry, self.remedy)


_ACTORS: dict[RetryWhen, Actor] = {"never": "author", "after_fix": "caller", "after_delay": "framework"}


def judged(error: ToolError, retry: RetryWhen, remedy: str = "") -> ToolError:
    """Return an error to which both questions have another answer than to others of its class."""
    vars(error).update(retry=retry, actor=_ACTORS[retry], remedy=remedy)
    return error


@dataclass(frozen=True, slots=True)
class Inside:
    """A rule's result for a wrapper: normalize the wrapped exception instead.

    Args:
        exc: The wrapped exception.
        otherwise: The rule for the wrapper if the wrapped exception is unknown; None passes to the next rule.
    """

    exc: BaseException
    otherwise: Callable[[Any], ToolError] | None = None


Rule: TypeAlias = Callable[[Any], "ToolError | Inside | None"]
"""Returns the typed error for an exception, the exception that it wraps, or None to pass."""

Table: TypeAlias = Mapping[str, Rule]
"""Qualified class name -> rule, for the classes of one root package."""


def read(source: Any, name: str, default: Any = None) -> Any:
    """Return an attribute, or the default if there is none or it breaks: foreign exceptions run code on access."""
    try:
        return getattr(source, name, default)
    except BaseException:  # noqa: BLE001 - as the docstring says
        return default


def called(source: Any, name: str) -> Any:
    """Return what a method without arguments returns, or None if there is none or it breaks."""
    try:
        return getattr(source, name)()
    except Exception:  # noqa: BLE001 - foreign code runs here
        return None


def type_name(exc: Any, *, full: bool = False) -> str:
    """Return the name of an exception's class, printable and bounded; with its module if `full`."""
    cls = type(exc)
    name = read(cls, "__qualname__" if full else "__name__")
    module = read(cls, "__module__") if full else None
    if not isinstance(name, str) or not name:
        return "Exception"
    prefix = f"{module}." if isinstance(module, str) and module != "builtins" else ""
    return bounded(prefix + name, _NAME_AT_MOST)


def unknown(exc: Any) -> ToolError:
    """Return UNKNOWN_ERROR: the name of its type, and nothing else. A rule for defects of the tool, too."""
    return UnknownError(type_name=type_name(exc))


def rows(**by_outcome: str) -> dict[str, Rule]:
    """Return the rules of a table: outcome -> the names of the classes that have it; `defect` is UNKNOWN_ERROR.

    >>> sorted(rows(lost="NetworkError ProtocolError", defect="UsageError"))
    ['NetworkError', 'ProtocolError', 'UsageError']
    """
    return {name: _OF[outcome] for outcome, names in by_outcome.items() for name in names.split()}


def coded(**by_outcome: str) -> dict[str, Fixed]:
    """Return code -> outcome, from the codes of each outcome as text."""
    return {code: OUTCOMES[outcome] for outcome, codes in by_outcome.items() for code in codes.split()}


def numbered(**by_outcome: str) -> dict[int, Fixed]:
    """Return number -> outcome, from the numbers of each outcome as text."""
    return {int(code): outcome for code, outcome in coded(**by_outcome).items()}


OUTCOMES: dict[str, Fixed] = {
    # A service behind the tool
    "failed": Fixed(UpstreamError),
    "unexpected": Fixed(UpstreamError, "The service behind this tool answered in an unexpected way."),
    "unreadable": Fixed(UpstreamError, "The service behind this tool answered with something that cannot be read."),
    "redirects": Fixed(UpstreamError, "The service behind this tool redirects without end."),
    "protocol": Fixed(UpstreamError, "The service behind this tool broke the protocol."),
    "data_loss": Fixed(UpstreamError, "The service behind this tool has lost data."),
    "mistrusted": Fixed(UpstreamError, "The certificate of the service behind this tool is not trusted.", "none"),
    "unreachable": Fixed(Unavailable, effect="none"),
    "nameless": Fixed(Unavailable, "The host name of the service behind this tool could not be resolved.", "none"),
    "proxy": Fixed(Unavailable, "The proxy on the way to the service behind this tool failed.", "none"),
    "tls": Fixed(Unavailable, "A secure connection to the service behind this tool failed."),
    "network": Fixed(Unavailable, "The network on the way to the service behind this tool is down."),
    "lost": Fixed(Unavailable, "The connection to the service behind this tool was lost."),
    "closed": Fixed(Unavailable, "The other side closed the connection."),
    "unavailable": Fixed(Unavailable, "The service behind this tool is not available at the moment."),
    "cancelled": Fixed(Unavailable, "The service behind this tool cancelled the request."),
    "slow": Fixed(Timeout, "The service behind this tool took too long."),
    "slow_connect": Fixed(Timeout, "The service behind this tool did not accept a connection in time.", "none"),
    "none_free": Fixed(Timeout, "All connections to the service behind this tool were in use.", "none"),
    "pool_empty": Fixed(Overloaded, "All connections to the service behind this tool were in use.", "none"),
    "overloaded": Fixed(Overloaded, "The service behind this tool has more work than it takes on at once."),
    "waited": Fixed(Timeout, "What this tool waited for did not happen in time."),
    "limited": Fixed(RateLimited, "The service behind this tool had too many calls in a short time."),
    "quota": Fixed(QuotaExhausted, "A quota of the service behind this tool is used up."),
    "payment": Fixed(QuotaExhausted, "The service behind this tool asks for a payment first."),
    "refused": Fixed(InvalidArgument, "The service behind this tool refused the request as invalid."),
    "too_large": Fixed(InvalidArgument, "The request is larger than the service behind this tool accepts."),
    "not_sent": Fixed(InvalidArgument, "The arguments do not make a request that the service would accept.", "none"),
    "address": Fixed(InvalidArgument, "The arguments lead to an address that is not a valid URL.", "none"),
    "missing": Fixed(NotFound, "The service behind this tool does not have what was asked for."),
    "exists": Fixed(AlreadyExists),
    "conflict": Fixed(Conflict, "The request is in conflict with the state of the service behind this tool."),
    "service_lock": Fixed(Conflict, "The service behind this tool holds a lock on it.", retry="after_delay"),
    "state": Fixed(PreconditionFailed, "The service behind this tool is not in the state that this needs."),
    "condition": Fixed(PreconditionFailed, "The service behind this tool found a condition of the request not met."),
    "condition_wanted": Fixed(PreconditionFailed, "The service behind this tool wants a condition with the request."),
    "denied": Fixed(PermissionDenied, "The service behind this tool refused the access."),
    "login": Fixed(Unauthenticated),
    "proxy_login": Fixed(Unauthenticated, "The proxy on the way to the service did not accept the credentials."),
    "webhook": Fixed(Unauthenticated, "The signature of the webhook is not valid."),
    "unsupported": Fixed(Unsupported, "The service behind this tool does not support this."),
    "no_room": Fixed(StorageError, "The service behind this tool has no room left."),
    "credentials": Fixed(ConfigurationError, "The credentials for the service behind this tool are missing.", "none"),
    "settings": Fixed(ConfigurationError, "The access to the service behind this tool is not set up.", "none"),
    # A model provider
    "model_failed": Fixed(UpstreamError, "The model provider reported an error."),
    "model_later": Fixed(Unavailable, "The model provider asks to try again."),
    "model_quota": Fixed(QuotaExhausted, "The quota of the model provider is used up."),
    "model_keys": Fixed(
        ConfigurationError, "The credentials for the model provider are missing or not usable.", "none"
    ),
    "model_unreadable": Fixed(BadOutput, "The model provider answered in a form that its library does not know."),
    "model_filtered": Fixed(InvalidArgument, "The model provider filtered the content."),
    "model_length": Fixed(Infeasible, "The answer of the model is longer than its limit."),
    "model_queue": Fixed(Overloaded, "The queue of messages to the model provider is full."),
    # A database
    "db_failed": Fixed(DatabaseError),
    "db_misused": Fixed(DatabaseError, "This tool uses the database in a wrong way.", retry="never"),
    "db_refused": Fixed(DatabaseError, "The database refused a statement of this tool.", retry="never"),
    "db_statement": Fixed(
        DatabaseError,
        "The database refused the statement.",
        retry="after_fix",
        remedy="If the statement is yours, correct it and",
    ),
    "db_absent": Fixed(NotFound, "The database does not have what was asked for."),
    "db_cursor": Fixed(NotFound, "The cursor has ended; the query has to be made again."),
    "db_exists": Fixed(AlreadyExists, "The collection is there already."),
    "db_constraint": Fixed(Conflict, "The data breaks a rule of the database."),
    "db_duplicate": Fixed(Conflict, "A value that must be unique in the database is there already."),
    "db_reference": Fixed(
        Conflict, "A row that this refers to is not in the database, or other rows there still refer to this one."
    ),
    "db_no_parent": Fixed(Conflict, "The row that this refers to is not in the database."),
    "db_referenced": Fixed(Conflict, "Other rows of the database still refer to this one."),
    "db_overlap": Fixed(Conflict, "The data conflicts with a row that is in the database already."),
    "db_contended": Fixed(Conflict, "The same data was changed elsewhere at the same time.", retry="after_delay"),
    "db_in_use": Fixed(Conflict, "What the statement changes is in use.", retry="after_delay"),
    "db_lock": Fixed(Conflict, "A lock is held elsewhere.", retry="after_delay"),
    "db_value": Fixed(InvalidArgument, "A value does not fit its place in the database."),
    "db_check": Fixed(InvalidArgument, "A value breaks a CHECK constraint of the database."),
    "db_null": Fixed(InvalidArgument, "A value that the database requires is missing."),
    "db_too_long": Fixed(InvalidArgument, "A value is longer than its column in the database allows."),
    "db_range": Fixed(InvalidArgument, "A value is out of the range of its column in the database."),
    "db_document": Fixed(InvalidArgument, "A document breaks the validation rules of its collection."),
    "db_name": Fixed(InvalidArgument, "A name is not one that the database allows.", "none"),
    "db_bson": Fixed(InvalidArgument, "A value cannot be stored as BSON.", "none"),
    "db_denied": Fixed(PermissionDenied, "The database refused the access."),
    "db_login": Fixed(Unauthenticated, "The database did not accept the credentials."),
    "db_limited": Fixed(RateLimited, "The database had too many requests in a short time."),
    "db_busy": Fixed(Overloaded, "The database has more work than it takes on at once."),
    "db_pool": Fixed(Overloaded, "All connections to the database were in use.", "none"),
    "db_none_free": Fixed(Timeout, "All connections to the database were in use.", "none"),
    "db_slow": Fixed(Timeout, "The database took too long."),
    "db_slow_connect": Fixed(Timeout, "The database did not accept a connection in time.", "none"),
    "db_locked": Fixed(Unavailable, "The database is in use by another writer."),
    "db_lost": Fixed(Unavailable, "The connection to the database was lost."),
    "db_unreachable": Fixed(Unavailable, "The database cannot be reached.", "none"),
    "db_no_server": Fixed(Unavailable, "No server of the database can be used.", "none"),
    "db_starting": Fixed(Unavailable, "The database is still starting."),
    "db_no_writes": Fixed(Unavailable, "The database takes no writes at the moment."),
    "db_interrupted": Fixed(Unavailable, "The work of the database was interrupted."),
    "db_disk": Fixed(StorageError, "The database cannot read or write its files."),
    "db_full": Fixed(StorageError, "The disk of the database is full."),
    "db_no_room": Fixed(StorageError, "The database has no room for the data."),
    "db_damaged": Fixed(StorageError, "The database is damaged."),
    "db_closed_file": Fixed(StorageError, "The database file cannot be opened."),
    "db_no_database": Fixed(StorageError, "The file is not a database."),
    "db_read_only": Fixed(StorageError, "The database is read-only."),
    "db_unsupported": Fixed(Unsupported, "The database does not support this."),
    "db_settings": Fixed(ConfigurationError, "The access to the database is not set up.", "none"),
    # The operating system, Python and this tool itself
    "timeout": Fixed(Timeout),
    "full": Fixed(Overloaded),
    "memory": Fixed(Overloaded, "There is not enough memory for this."),
    "queue": Fixed(Overloaded, "A queue of work in this server is full."),
    "interrupted": Fixed(Unavailable, "The operating system interrupted the work."),
    "worker": Fixed(InternalError, "A worker process of this tool has died."),
    "no_file": Fixed(NotFound, "The file or folder does not exist."),
    "absent": Fixed(NotFound),
    "os_denied": Fixed(PermissionDenied, "The operating system refused the access."),
    "os_refused": Fixed(InvalidArgument, "The operating system refused an argument as invalid."),
    "os_unsupported": Fixed(Unsupported, "The operating system does not support this here."),
    "in_use": Fixed(Conflict, "It is in use by another program.", retry="after_delay"),
    "not_empty": Fixed(Conflict, "The folder is not empty."),
    "stale": Fixed(Conflict),
    "too_long": Fixed(InvalidArgument, "A path or an argument is too long."),
    "link_loop": Fixed(InvalidArgument, "The symbolic links of the path go round in a circle."),
    "folder": Fixed(InvalidArgument, "The path is a folder where a file is needed."),
    "no_folder": Fixed(InvalidArgument, "The path is a file where a folder is needed."),
    "disk_full": Fixed(StorageError, "The disk has no room for the data."),
    "disk_damaged": Fixed(StorageError, "The disk cannot read or write the data."),
    "disk_read_only": Fixed(StorageError, "The disk is read-only."),
    "disk_quota": Fixed(QuotaExhausted, "The disk quota is used up."),
    "not_copied": Fixed(StorageError, "Some files could not be copied."),
    "program": Fixed(UpstreamError, "A program that this tool runs could not be started."),
    "no_program": Fixed(ConfigurationError, "A program that this tool runs is not installed here.", "none"),
    "not_built": Fixed(Unsupported),
    "damaged": Fixed(BadOutput, "An archive that this tool read is damaged, or is none."),
    "zip64": Fixed(Unsupported, "The archive needs ZIP64.", "none"),
    "xml_unsupported": Fixed(Unsupported, "The XML parser does not support this."),
    "bad_output": Fixed(BadOutput),
    "tool_setting": Fixed(ConfigurationError, "A setting of this tool is not usable."),
}

_OF: dict[str, Rule] = {**OUTCOMES, "defect": unknown}
