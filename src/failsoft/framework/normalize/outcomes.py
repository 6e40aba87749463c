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
class FixedOutcome:
    """A rule that knows the outcome: the same error class and message for every exception.

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


def coded(**by_outcome: str) -> dict[str, FixedOutcome]:
    """Return code -> outcome, from the codes of each outcome as text."""
    return {code: OUTCOMES[outcome] for outcome, codes in by_outcome.items() for code in codes.split()}


def numbered(**by_outcome: str) -> dict[int, FixedOutcome]:
    """Return number -> outcome, from the numbers of each outcome as text."""
    return {int(code): outcome for code, outcome in coded(**by_outcome).items()}


OUTCOMES: dict[str, FixedOutcome] = {
    # A service behind the tool
    "failed": FixedOutcome(UpstreamError),
    "unexpected": FixedOutcome(UpstreamError, "The service behind this tool answered in an unexpected way."),
    "unreadable": FixedOutcome(
        UpstreamError, "The service behind this tool answered with something that cannot be read."
    ),
    "redirects": FixedOutcome(UpstreamError, "The service behind this tool redirects without end."),
    "protocol": FixedOutcome(UpstreamError, "The service behind this tool broke the protocol."),
    "data_loss": FixedOutcome(UpstreamError, "The service behind this tool has lost data."),
    "mistrusted": FixedOutcome(
        UpstreamError, "The certificate of the service behind this tool is not trusted.", "none"
    ),
    "unreachable": FixedOutcome(Unavailable, effect="none"),
    "nameless": FixedOutcome(
        Unavailable, "The host name of the service behind this tool could not be resolved.", "none"
    ),
    "proxy": FixedOutcome(Unavailable, "The proxy on the way to the service behind this tool failed.", "none"),
    "tls": FixedOutcome(Unavailable, "A secure connection to the service behind this tool failed."),
    "network": FixedOutcome(Unavailable, "The network on the way to the service behind this tool is down."),
    "lost": FixedOutcome(Unavailable, "The connection to the service behind this tool was lost."),
    "closed": FixedOutcome(Unavailable, "The other side closed the connection."),
    "unavailable": FixedOutcome(Unavailable, "The service behind this tool is not available at the moment."),
    "cancelled": FixedOutcome(Unavailable, "The service behind this tool cancelled the request."),
    "slow": FixedOutcome(Timeout, "The service behind this tool took too long."),
    "slow_connect": FixedOutcome(Timeout, "The service behind this tool did not accept a connection in time.", "none"),
    "none_free": FixedOutcome(Timeout, "All connections to the service behind this tool were in use.", "none"),
    "pool_empty": FixedOutcome(Overloaded, "All connections to the service behind this tool were in use.", "none"),
    "overloaded": FixedOutcome(Overloaded, "The service behind this tool has more work than it takes on at once."),
    "waited": FixedOutcome(Timeout, "What this tool waited for did not happen in time."),
    "limited": FixedOutcome(RateLimited, "The service behind this tool had too many calls in a short time."),
    "quota": FixedOutcome(QuotaExhausted, "A quota of the service behind this tool is used up."),
    "payment": FixedOutcome(QuotaExhausted, "The service behind this tool asks for a payment first."),
    "refused": FixedOutcome(InvalidArgument, "The service behind this tool refused the request as invalid."),
    "too_large": FixedOutcome(InvalidArgument, "The request is larger than the service behind this tool accepts."),
    "not_sent": FixedOutcome(
        InvalidArgument, "The arguments do not make a request that the service would accept.", "none"
    ),
    "address": FixedOutcome(InvalidArgument, "The arguments lead to an address that is not a valid URL.", "none"),
    "missing": FixedOutcome(NotFound, "The service behind this tool does not have what was asked for."),
    "exists": FixedOutcome(AlreadyExists),
    "conflict": FixedOutcome(Conflict, "The request is in conflict with the state of the service behind this tool."),
    "service_lock": FixedOutcome(Conflict, "The service behind this tool holds a lock on it.", retry="after_delay"),
    "state": FixedOutcome(PreconditionFailed, "The service behind this tool is not in the state that this needs."),
    "condition": FixedOutcome(
        PreconditionFailed, "The service behind this tool found a condition of the request not met."
    ),
    "condition_wanted": FixedOutcome(
        PreconditionFailed, "The service behind this tool wants a condition with the request."
    ),
    "denied": FixedOutcome(PermissionDenied, "The service behind this tool refused the access."),
    "login": FixedOutcome(Unauthenticated),
    "proxy_login": FixedOutcome(Unauthenticated, "The proxy on the way to the service did not accept the credentials."),
    "webhook": FixedOutcome(Unauthenticated, "The signature of the webhook is not valid."),
    "unsupported": FixedOutcome(Unsupported, "The service behind this tool does not support this."),
    "no_room": FixedOutcome(StorageError, "The service behind this tool has no room left."),
    "credentials": FixedOutcome(
        ConfigurationError, "The credentials for the service behind this tool are missing.", "none"
    ),
    "settings": FixedOutcome(ConfigurationError, "The access to the service behind this tool is not set up.", "none"),
    # A model provider
    "model_failed": FixedOutcome(UpstreamError, "The model provider reported an error."),
    "model_later": FixedOutcome(Unavailable, "The model provider asks to try again."),
    "model_quota": FixedOutcome(QuotaExhausted, "The quota of the model provider is used up."),
    "model_keys": FixedOutcome(
        ConfigurationError, "The credentials for the model provider are missing or not usable.", "none"
    ),
    "model_unreadable": FixedOutcome(
        BadOutput, "The model provider answered in a form that its library does not know."
    ),
    "model_filtered": FixedOutcome(InvalidArgument, "The model provider filtered the content."),
    "model_length": FixedOutcome(Infeasible, "The answer of the model is longer than its limit."),
    "model_queue": FixedOutcome(Overloaded, "The queue of messages to the model provider is full."),
    # A database
    "db_failed": FixedOutcome(DatabaseError),
    "db_misused": FixedOutcome(DatabaseError, "This tool uses the database in a wrong way.", retry="never"),
    "db_refused": FixedOutcome(DatabaseError, "The database refused a statement of this tool.", retry="never"),
    "db_statement": FixedOutcome(
        DatabaseError,
        "The database refused the statement.",
        retry="after_fix",
        remedy="If the statement is yours, correct it and",
    ),
    "db_absent": FixedOutcome(NotFound, "The database does not have what was asked for."),
    "db_cursor": FixedOutcome(NotFound, "The cursor has ended; the query has to be made again."),
    "db_exists": FixedOutcome(AlreadyExists, "The collection is there already."),
    "db_constraint": FixedOutcome(Conflict, "The data breaks a rule of the database."),
    "db_duplicate": FixedOutcome(Conflict, "A value that must be unique in the database is there already."),
    "db_reference": FixedOutcome(
        Conflict, "A row that this refers to is not in the database, or other rows there still refer to this one."
    ),
    "db_no_parent": FixedOutcome(Conflict, "The row that this refers to is not in the database."),
    "db_referenced": FixedOutcome(Conflict, "Other rows of the database still refer to this one."),
    "db_overlap": FixedOutcome(Conflict, "The data conflicts with a row that is in the database already."),
    "db_contended": FixedOutcome(
        Conflict, "The same data was changed elsewhere at the same time.", retry="after_delay"
    ),
    "db_in_use": FixedOutcome(Conflict, "What the statement changes is in use.", retry="after_delay"),
    "db_lock": FixedOutcome(Conflict, "A lock is held elsewhere.", retry="after_delay"),
    "db_value": FixedOutcome(InvalidArgument, "A value does not fit its place in the database."),
    "db_check": FixedOutcome(InvalidArgument, "A value breaks a CHECK constraint of the database."),
    "db_null": FixedOutcome(InvalidArgument, "A value that the database requires is missing."),
    "db_too_long": FixedOutcome(InvalidArgument, "A value is longer than its column in the database allows."),
    "db_range": FixedOutcome(InvalidArgument, "A value is out of the range of its column in the database."),
    "db_document": FixedOutcome(InvalidArgument, "A document breaks the validation rules of its collection."),
    "db_name": FixedOutcome(InvalidArgument, "A name is not one that the database allows.", "none"),
    "db_bson": FixedOutcome(InvalidArgument, "A value cannot be stored as BSON.", "none"),
    "db_denied": FixedOutcome(PermissionDenied, "The database refused the access."),
    "db_login": FixedOutcome(Unauthenticated, "The database did not accept the credentials."),
    "db_limited": FixedOutcome(RateLimited, "The database had too many requests in a short time."),
    "db_busy": FixedOutcome(Overloaded, "The database has more work than it takes on at once."),
    "db_pool": FixedOutcome(Overloaded, "All connections to the database were in use.", "none"),
    "db_none_free": FixedOutcome(Timeout, "All connections to the database were in use.", "none"),
    "db_slow": FixedOutcome(Timeout, "The database took too long."),
    "db_slow_connect": FixedOutcome(Timeout, "The database did not accept a connection in time.", "none"),
    "db_locked": FixedOutcome(Unavailable, "The database is in use by another writer."),
    "db_lost": FixedOutcome(Unavailable, "The connection to the database was lost."),
    "db_unreachable": FixedOutcome(Unavailable, "The database cannot be reached.", "none"),
    "db_no_server": FixedOutcome(Unavailable, "No server of the database can be used.", "none"),
    "db_starting": FixedOutcome(Unavailable, "The database is still starting."),
    "db_no_writes": FixedOutcome(Unavailable, "The database takes no writes at the moment."),
    "db_interrupted": FixedOutcome(Unavailable, "The work of the database was interrupted."),
    "db_disk": FixedOutcome(StorageError, "The database cannot read or write its files."),
    "db_full": FixedOutcome(StorageError, "The disk of the database is full."),
    "db_no_room": FixedOutcome(StorageError, "The database has no room for the data."),
    "db_damaged": FixedOutcome(StorageError, "The database is damaged."),
    "db_closed_file": FixedOutcome(StorageError, "The database file cannot be opened."),
    "db_no_database": FixedOutcome(StorageError, "The file is not a database."),
    "db_read_only": FixedOutcome(StorageError, "The database is read-only."),
    "db_unsupported": FixedOutcome(Unsupported, "The database does not support this."),
    "db_settings": FixedOutcome(ConfigurationError, "The access to the database is not set up.", "none"),
    # The operating system, Python and this tool itself
    "timeout": FixedOutcome(Timeout),
    "full": FixedOutcome(Overloaded),
    "memory": FixedOutcome(Overloaded, "There is not enough memory for this."),
    "queue": FixedOutcome(Overloaded, "A queue of work in this server is full."),
    "interrupted": FixedOutcome(Unavailable, "The operating system interrupted the work."),
    "worker": FixedOutcome(InternalError, "A worker process of this tool has died."),
    "no_file": FixedOutcome(NotFound, "The file or folder does not exist."),
    "absent": FixedOutcome(NotFound),
    "os_denied": FixedOutcome(PermissionDenied, "The operating system refused the access."),
    "os_refused": FixedOutcome(InvalidArgument, "The operating system refused an argument as invalid."),
    "os_unsupported": FixedOutcome(Unsupported, "The operating system does not support this here."),
    "in_use": FixedOutcome(Conflict, "It is in use by another program.", retry="after_delay"),
    "not_empty": FixedOutcome(Conflict, "The folder is not empty."),
    "stale": FixedOutcome(Conflict),
    "too_long": FixedOutcome(InvalidArgument, "A path or an argument is too long."),
    "link_loop": FixedOutcome(InvalidArgument, "The symbolic links of the path go round in a circle."),
    "folder": FixedOutcome(InvalidArgument, "The path is a folder where a file is needed."),
    "no_folder": FixedOutcome(InvalidArgument, "The path is a file where a folder is needed."),
    "disk_full": FixedOutcome(StorageError, "The disk has no room for the data."),
    "disk_damaged": FixedOutcome(StorageError, "The disk cannot read or write the data."),
    "disk_read_only": FixedOutcome(StorageError, "The disk is read-only."),
    "disk_quota": FixedOutcome(QuotaExhausted, "The disk quota is used up."),
    "not_copied": FixedOutcome(StorageError, "Some files could not be copied."),
    "program": FixedOutcome(UpstreamError, "A program that this tool runs could not be started."),
    "no_program": FixedOutcome(ConfigurationError, "A program that this tool runs is not installed here.", "none"),
    "not_built": FixedOutcome(Unsupported),
    "damaged": FixedOutcome(BadOutput, "An archive that this tool read is damaged, or is none."),
    "zip64": FixedOutcome(Unsupported, "The archive needs ZIP64.", "none"),
    "xml_unsupported": FixedOutcome(Unsupported, "The XML parser does not support this."),
    "bad_output": FixedOutcome(BadOutput),
    "tool_setting": FixedOutcome(ConfigurationError, "A setting of this tool is not usable."),
}

_OF: dict[str, Rule] = {**OUTCOMES, "defect": unknown}
