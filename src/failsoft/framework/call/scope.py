"""`CallScope`: what a transport knows about a call besides its arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from failsoft.framework.errors import ToolError

if TYPE_CHECKING:
    from failsoft.framework.tool.toolbox import Toolbox

__all__ = ["META_KEY", "NO_SCOPE", "CallScope", "FailedReference", "ProgressReporter"]

ProgressReporter: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
META_KEY = "dev.failsoft/idempotency-key"
"""Key of the idempotency key in a request's `_meta`."""


def _always() -> bool:
    return True


@dataclass(slots=True, kw_only=True, eq=False)
class CallScope:
    """What a transport knows about a call besides its arguments. Not to be changed.

    It is not frozen, because then each attribute would be set by a call of `object.__setattr__`.

    Args:
        request_id: The id of the request on the wire.
        session_id: The session named by the caller.
        principal: The authenticated caller.
        meta: The request's `_meta`.
        report_progress: Sends one progress notification; None if the caller did not ask for progress.
        toolbox: The tools that are served together with this one.
        max_response_bytes: Above this the response becomes RESULT_TOO_LARGE; None leaves it unencoded until needed.
        ended_by_server: Called when the call is cancelled; returns the error to respond with if the server ended it.
        cancels: Called when a keyed call is cancelled; returns whether its caller requested that, as opposed to a lost
            connection.
    """

    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    report_progress: ProgressReporter | None = None
    toolbox: Toolbox | None = None
    max_response_bytes: int | None = None
    ended_by_server: Callable[[], ToolError | None] | None = None
    cancels: Callable[[], bool] = _always


NO_SCOPE = CallScope()


@dataclass(frozen=True, slots=True)
class FailedReference:
    """An argument whose look-up found nothing: the error, the location, the kind of name, and the value."""

    error: ToolError
    path: str
    kind: str
    value: Any
