"""Questions of a server to the person who uses a client, and how many of them wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
import pydantic_core
from mcp.shared.message import SessionMessage

from failsoft.framework.safe.author_reports import logger

_BYTES_AT_MOST = 8_000_000
"""What a server may have asked that is not answered yet; further questions are dropped."""
_TASK_BYTES = 5_000
"""What a waiting question takes beside its content."""

OnQuestion: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Takes a message and the JSON Schema of a form, and returns the form's values, or None to decline."""


def answering(on_question: OnQuestion | None) -> Any:
    """Return the SDK's callback for questions; None, by which the client does not declare that it can be asked."""

    async def answer(_ctx: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        if on_question is None or not isinstance(params, types.ElicitRequestFormParams):  # nobody opens an address here
            return types.ElicitResult(action="decline")
        try:
            values = await on_question(params.message, params.requested_schema)
        except Exception as error:  # noqa: BLE001 - the server waits for an answer, and the call goes on
            logger.opt(exception=error).error("A question of a server was not answered: on_question has failed")
            return types.ElicitResult(action="cancel")
        if values is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=dict(values))

    return None if on_question is None else answer


class Unanswered:
    """The questions of a server that wait to be answered: each is a task, whose answer the server may never take."""

    def __init__(self) -> None:
        self._sizes: dict[str | int, list[int]] = {}
        self._bytes = 0

    def admits(self, item: SessionMessage | Exception) -> bool:
        """Return whether a message is passed on; of questions, as long as few wait."""
        if isinstance(item, Exception) or not isinstance(item.message, types.JSONRPCRequest):
            return True
        size = len(pydantic_core.to_json(item.message.params)) + _TASK_BYTES
        if self._bytes + size > _BYTES_AT_MOST:
            logger.debug("A question of a server was dropped: it asks faster than it takes answers")
            return False
        self._sizes.setdefault(item.message.id, []).append(size)
        self._bytes += size
        return True

    def answered(self, number: Any) -> None:
        """Forget a question, if there is one of this id."""
        if isinstance(number, (str, int)) and number in self._sizes:
            sizes = self._sizes[number]
            self._bytes -= sizes.pop()
            if not sizes:
                del self._sizes[number]
