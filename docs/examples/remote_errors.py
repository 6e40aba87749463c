import json
import smtplib
from collections.abc import Callable
from functools import partial
from typing import Any

from failsoft import (
    AlreadyExists,
    ConfigurationError,
    Conflict,
    InvalidArgument,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaExhausted,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
    UpstreamError,
)

# --8<-- [start:outcomes]
LOGIN = partial(Unauthenticated, "The remote machine did not accept the credentials.")
SETTINGS = partial(
    ConfigurationError, "The access to the remote machine is not set up.", effect="none"
)
LATER = partial(Unavailable, "The remote machine asks to try again later.")
LOST = partial(Unavailable, "The connection to the remote machine was lost.")
UNREACHABLE = partial(
    Unavailable, "The remote machine cannot be reached.", effect="none"
)
REFUSED = partial(PermissionDenied, "The remote machine does not allow this.")
FAILED = partial(UpstreamError, "The remote machine failed.")
UNSUPPORTED = partial(Unsupported, "The remote machine does not support this.")
MISTRUSTED = partial(
    UpstreamError, "The key of the remote machine is not the known one.", effect="none"
)
ADDRESS = partial(InvalidArgument, "The mail server refused an address.", effect="none")
NO_ROOM = partial(QuotaExhausted, "The mailbox has no room for the message.")
BUSY = partial(Overloaded, "The remote machine has no room for it at the moment.")
GONE = partial(NotFound, "The cluster does not have what was asked for.")
# --8<-- [end:outcomes]

Outcome = Callable[..., ToolError]
SMTP: dict[int, Outcome] = {
    452: BUSY,
    **dict.fromkeys((500, 501, 502, 503, 504, 555), UNSUPPORTED),
    **dict.fromkeys((530, 534, 535, 538), LOGIN),
    **dict.fromkeys((510, 511, 550, 551, 553), ADDRESS),
    552: NO_ROOM,
}
"""Reply code -> outcome (RFC 5321, section 4.2.3, and RFC 4954)."""
SSH_CHANNEL: dict[Any, Outcome] = {1: REFUSED, 2: UNREACHABLE, 3: UNSUPPORTED, 4: BUSY}
"""Why a channel was not opened (RFC 4254, section 5.1)."""
CLUSTER: dict[Any, Outcome] = {
    401: LOGIN,
    403: REFUSED,
    404: GONE,
    409: Conflict,
    429: LATER,
    503: LATER,
}
BAD_REQUESTS, BAD_SERVERS = range(400, 500), 500


def by_reply(code: Any, otherwise: Outcome) -> ToolError:
    """Return the error for an SMTP reply; those below 500 are worth a repetition."""
    is_transient = isinstance(code, int) and 0 < code < BAD_SERVERS
    return SMTP.get(code, LATER if is_transient else otherwise)(details={"reply": code})


def recipients(exc: smtplib.SMTPRecipientsRefused) -> ToolError:
    """Return the error for a message without an accepted recipient."""
    codes = [reply[0] for reply in exc.recipients.values()]
    return by_reply(min(codes, default=550), ADDRESS)


def cluster(exc: Any) -> ToolError:
    """Return the error for an `ApiException`."""
    if not exc.status:
        return UNREACHABLE()
    try:
        reason = json.loads(exc.body).get("reason")
    except (ValueError, TypeError, AttributeError):
        reason = None
    outcome = CLUSTER.get(
        exc.status, InvalidArgument if exc.status in BAD_REQUESTS else FAILED
    )
    error = (AlreadyExists if reason == "AlreadyExists" else outcome)(
        details={"status": exc.status, "reason": reason}
    )
    wait = dict(exc.headers or {}).get("Retry-After", "")
    error.retry_after_seconds = float(wait) if wait.isdecimal() else None
    return error


# --8<-- [start:rule]
RULES: dict[str, dict[str, Callable[[Any], ToolError]]] = {
    "smtplib": {
        "SMTPAuthenticationError": lambda _: LOGIN(),
        "SMTPConnectError": lambda _: UNREACHABLE(),
        "SMTPNotSupportedError": lambda _: UNSUPPORTED(),
        "SMTPRecipientsRefused": recipients,
        "SMTPResponseException": lambda exc: by_reply(exc.smtp_code, REFUSED),
        "SMTPServerDisconnected": lambda _: LOST(),
        "SMTPException": lambda _: FAILED(),
    },
    "paramiko": {
        "AuthenticationException": lambda _: LOGIN(),
        "BadAuthenticationType": lambda _: SETTINGS(),
        "BadHostKeyException": lambda _: MISTRUSTED(),
        "ChannelException": lambda exc: SSH_CHANNEL.get(exc.code, LOST)(),
        "ConfigParseError": lambda _: SETTINGS(),
        "IncompatiblePeer": lambda _: UNSUPPORTED(),
        "NoValidConnectionsError": lambda _: UNREACHABLE(),
        "PasswordRequiredException": lambda _: SETTINGS(),
        "SFTPError": lambda _: FAILED(),
        "SSHException": lambda _: LOST(),
    },
    "kubernetes": {"ApiException": cluster, "ConfigException": lambda _: SETTINGS()},
}
"""Package -> class -> rule, by name, so that no library is imported for them."""


def from_exception(exc: BaseException) -> ToolError | None:
    """Return the error for an exception of mail, SSH or Kubernetes, or None."""
    for cls in type(exc).__mro__:
        rule = RULES.get(cls.__module__.partition(".")[0], {}).get(cls.__name__)
        if rule is not None:
            return rule(exc)
    return None


# --8<-- [end:rule]

Answered = type(
    "ApiException",
    (Exception,),
    {"__module__": "kubernetes.client", "body": "{}", "headers": {}},
)
Channel = type(
    "ChannelException",
    (Exception,),
    {"__module__": "paramiko.ssh_exception", "code": 4},
)
conflict = Answered()
conflict.status, conflict.body = 409, '{"reason": "AlreadyExists"}'  # type: ignore[attr-defined]
limited = Answered()
limited.status, limited.headers = 429, {"Retry-After": "3"}  # type: ignore[attr-defined]
for exc in (
    smtplib.SMTPDataError(451, b"later"),
    smtplib.SMTPDataError(552, b"full"),
    smtplib.SMTPDataError(554, b"no"),
    smtplib.SMTPRecipientsRefused({"a@b": (450, b"grey"), "c@d": (550, b"no")}),
    smtplib.SMTPRecipientsRefused({"a@b": (550, b"no")}),
    smtplib.SMTPServerDisconnected("gone"),
    Channel(),
    conflict,
    limited,
    KeyError("x"),
):
    error = from_exception(exc)
    print(error and (error.code, error.retry, error.effect, error.retry_after_seconds))
