"""Questions of a server to the person who uses a client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types

from failsoft.framework.safe.author_reports import logger

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
