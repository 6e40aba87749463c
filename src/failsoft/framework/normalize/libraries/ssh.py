"""Errors of SSH (paramiko), by class, and by the reason why a channel was not opened."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import (
    ConfigurationError,
    Overloaded,
    PermissionDenied,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.normalize.rules import FixedError, Table, read

__all__ = ["SSH_CHANNEL_CODES", "TABLES"]

SSH_CHANNEL_CODES: dict[int, FixedError] = {
    1: FixedError(PermissionDenied, "The remote machine does not allow this."),
    2: FixedError(Unavailable, "The remote machine could not connect to where it was asked to.", "none"),
    3: FixedError(Unsupported, "The remote machine does not support this."),
    4: FixedError(Overloaded, "The remote machine has no room for another channel."),
}
"""Why a channel was not opened (RFC 4254, section 5.1) -> verdict."""
_SSH_LOST = FixedError(Unavailable, "The connection to the remote machine failed.")
_SSH_SETTINGS = FixedError(ConfigurationError, "The access to the remote machine is not set up.", "none")


def _channel(exc: Any) -> ToolError:
    code = read(exc, "code")
    return (SSH_CHANNEL_CODES.get(code, _SSH_LOST) if isinstance(code, int) else _SSH_LOST)(exc)


TABLES: dict[str, Table] = {
    "paramiko": {
        "PasswordRequiredException": _SSH_SETTINGS,
        "BadAuthenticationType": _SSH_SETTINGS,
        "AuthenticationException": FixedError(Unauthenticated, "The remote machine did not accept the credentials."),
        "BadHostKeyException": FixedError(UpstreamError, "The key of the remote machine is not the known one.", "none"),
        "ChannelException": _channel,
        "ConfigParseError": _SSH_SETTINGS,
        "CouldNotCanonicalize": _SSH_SETTINGS,
        "IncompatiblePeer": FixedError(Unsupported, "The remote machine speaks no common version of SSH.", "none"),
        "MessageOrderError": FixedError(UpstreamError, "The remote machine broke the protocol."),
        "NoValidConnectionsError": FixedError(Unavailable, "The remote machine cannot be reached.", "none"),
        "ProxyCommandFailure": FixedError(Unavailable, "The proxy command failed.", "none"),
        "SFTPError": FixedError(UpstreamError, "The file transfer failed."),
        "SSHException": _SSH_LOST,
        "UnknownKeyType": _SSH_SETTINGS,
    },
}
