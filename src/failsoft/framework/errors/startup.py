"""The errors of a governed server that does not start (seed 001): told to its operator, for no call was made yet."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors.base import Public
from failsoft.framework.errors.categories import ConfigurationError

__all__ = ["BootstrapFailure", "SelfAuditFailure"]


class BootstrapFailure(ConfigurationError):
    """A governed toolset could not be set up.

    Raised when: it is made or started, and a setting, a folder, a policy or something else that it needs is missing or
    wrong. The server does not start.
    Caller: nothing to do: no call is answered before it starts.
    Operator: correct what the reason names, and start the server again; `failsoft doctor` shows the same.
    Example:
        >>> code_of(BootstrapFailure(reason="there is no policy 'rsut'"))
        'BOOTSTRAP_FAILURE'
    """

    reason: Public[str]
    code: ClassVar[str] = "BOOTSTRAP_FAILURE"
    message: str = "The server could not be set up: {reason}."
    since: ClassVar[str] = "0.1.0"


class SelfAuditFailure(ConfigurationError):
    """A governed server has looked itself over before its first call, and does not pass.

    Raised when: the audit log cannot be written or lacks its key, the catalogue of errors is not whole, a folder cannot
    be opened, or a program of the preflight is not found. The server does not start.
    Caller: nothing to do: no call is answered before it starts.
    Operator: correct everything that is named, and start the server again; `failsoft doctor` shows the same.
    Example:
        >>> code_of(SelfAuditFailure(faults="the audit log cannot be written"))
        'SELF_AUDIT_FAILURE'
    """

    faults: Public[str]
    code: ClassVar[str] = "SELF_AUDIT_FAILURE"
    message: str = "The server does not pass its own audit: {faults}."
    since: ClassVar[str] = "0.1.0"
