"""`LexicalInstead`: lexical search as a fallback when a query cannot be embedded."""

from __future__ import annotations

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import RecoveryResult
from failsoft.framework.errors import ToolError
from failsoft.tools.docs.errors import EmbeddingServiceError


class LexicalInstead:
    """Runs the same search by words while the embedding service is down; the answer is marked as degraded."""

    name = "lexical_search"

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return what the words find; None for other errors."""
        if not isinstance(error, EmbeddingServiceError):
            return None
        value = await call.retry(mode="lexical")
        call.warn(f"Searched by words only: {error.message[:1].lower()}{error.message[1:]}")
        message = "Searched by words, since the embedding service failed"
        return RecoveryResult(value, message, {"mode": "lexical"}, degraded=True)
