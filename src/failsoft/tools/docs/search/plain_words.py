"""`PlainWords`: repeats a search with invalid syntax as plain words."""

from __future__ import annotations

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import RecoveryResult
from failsoft.framework.errors import SearchError, ToolError
from failsoft.framework.text import quoted
from failsoft.tools.docs.search.query import plain_words


class PlainWords:
    """Strips a refused query of its signs and operators and searches once more; the receipt says with what.

    Args:
        parameter: The parameter that holds the query.
    """

    name = "plain_words"

    def __init__(self, parameter: str = "query") -> None:
        self._parameter = parameter

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return what the plain words find; None if it was not the syntax, or if no word is left."""
        query = call.arguments.get(self._parameter)
        if not isinstance(error, SearchError) or not isinstance(query, str):
            return None
        words = plain_words(query)
        if not words or words == query:
            return None
        value = await call.retry(**{self._parameter: words})
        return RecoveryResult(value, f"Searched for the plain words: {quoted(words)}", {self._parameter: words})
