"""What the operations answer with. Times are in seconds."""

from __future__ import annotations

from typing_extensions import TypedDict

__all__ = ["BegunSession", "EndedSession"]


class BegunSession(TypedDict):
    """A session that has begun: pass `session_id` with every further call."""

    session_id: str
    role: str
    workspace_root: str
    expires_in_s: float


class EndedSession(TypedDict):
    """A session that is over."""

    session_id: str
    role: str
    workspace_root: str
