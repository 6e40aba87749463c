"""How large the data of an answer may be, for handlers that can send less at once."""

from __future__ import annotations

from failsoft.framework.context import CallContext

__all__ = ["answer_room"]

_ENVELOPE_BYTES = 4_000
"""What the rest of an answer may take."""
_AT_LEAST = 1_000


def answer_room(call: CallContext) -> int | None:
    """Return how many bytes of JSON the data may take, since it is sent as text and as structure; None for no bound."""
    limit = call.scope.max_response_bytes
    return None if limit is None else max(_AT_LEAST, (limit - _ENVELOPE_BYTES) // 2)
