"""Questions to clients of older protocol versions over HTTP, whose answers come in other requests.

No process remembers a client: what it declared at `initialize` it brings back with each request, sealed, as the id of
its session. A question goes out in the response to the call that asks. Its answer may come to any process; one that
does not wait for it leaves it in the state store, where the one that does looks from time to time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import mcp_types as types
import pydantic_core
from mcp.shared.exceptions import MCPError

from failsoft.framework.errors import ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.server.http.exchange import AskClient, Exchange
from failsoft.server.protocol.asking import Asking, shows_forms
from failsoft.server.protocol.seal import NotOurs, new_once

SESSION_HEADER = b"mcp-session-id"
_SESSION, _QUESTION = "session", "question"
_SESSION_S = 30 * 86_400.0
"""How long a client may go on with what it declared once, in seconds."""
_PREFIX = "ask."
"""What the ids of questions begin with."""
_ANSWER_BYTES_AT_MOST = 65_536
_LOOKS_FIRST_S, _LOOKS_AT_LEAST_S = 0.05, 1.0
"""The first and the longest interval at which the state store is polled for an answer; it doubles in between."""
_GOODBYE_S = 1.0
"""How long a client may take to accept the notice that a question is withdrawn, in seconds."""
_WITHOUT_LIMIT_S = 120.0
"""How long an answer is waited for if the SDK's caller gives no limit, in seconds."""


class Backchannel:
    """Puts the questions of calls in this process, and takes answers to questions of any process.

    Args:
        asking: Seals sessions and questions, and says whether clients need any.
    """

    def __init__(self, asking: Asking) -> None:
        self._seal = asking.seal
        self._may_be_needed = asking.may_be_needed
        self._waiting: dict[str, tuple[str | None, asyncio.Future[dict[str, Any]]]] = {}

    async def session_of(self, request: Mapping[str, Any], principal: str | None) -> bytes | None:
        """Return the id of the session that an `initialize` opens; None if there is no need for one."""
        if not shows_forms(request["params"].get("capabilities")) or not self._may_be_needed():
            return None
        try:
            return (await self._seal.make(_SESSION, principal, _SESSION_S)).encode()
        except ToolError as lost:
            logger.bind(code=lost.code).warning("A client cannot be asked anything: the state store has no key for it")
            return None

    async def asker(self, session: bytes, principal: str | None) -> AskClient | None:
        """Return what asks the client of a session; None if the principal has not opened it."""
        try:
            await self._seal.open(_SESSION, session.decode("latin-1"), principal)
        except (NotOurs, ToolError):
            return None
        return partial(self._ask, principal)

    async def _ask(
        self, principal: str | None, exchange: Exchange, asked: Mapping[str, Any], timeout_s: float | None
    ) -> dict[str, Any]:
        """Put a question in the response to the call, and return the result that the client answers with.

        Raises:
            MCPError: The client has refused the question, or not answered in time.
        """
        limit_s, once = timeout_s or _WITHOUT_LIMIT_S, new_once()
        question = _PREFIX + await self._seal.make(_QUESTION, principal, limit_s, once=once)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[question] = principal, answer
        reason = "the call has ended"
        found = None
        try:
            await exchange.send({"id": question, **asked})
            found = await self._wait(answer, once, limit_s)
            reason = "it was not answered in time"
        finally:
            del self._waiting[question]
            if found is None:
                with anyio.move_on_after(_GOODBYE_S, shield=True):
                    await exchange.notify("notifications/cancelled", {"requestId": question, "reason": reason})
        if found is None:
            raise MCPError(code=types.REQUEST_TIMEOUT, message="The question was not answered in time")
        if "result" not in found:
            raise MCPError(code=types.INTERNAL_ERROR, message="The client has refused the question")
        return found["result"]  # type: ignore[no-any-return]  # an object, see `deliver`

    async def _wait(self, answer: asyncio.Future[dict[str, Any]], once: str, timeout_s: float) -> dict[str, Any] | None:
        """Return the answer from here or from the state store, or None if there is none in time."""
        loop, records = asyncio.get_running_loop(), self._seal.records
        until, pause_s = loop.time() + timeout_s, timeout_s if records.is_local else _LOOKS_FIRST_S
        while (left_s := until - loop.time()) > 0:
            await asyncio.wait({answer}, timeout=min(pause_s, left_s))
            if answer.done():
                return answer.result()
            if records.is_local:
                continue
            try:
                found: dict[str, Any] | None = await records.get(f"answer:{once}")
                if found is not None:
                    await records.delete(f"answer:{once}")
                    return found
            except ToolError as lost:  # the answer may still come to this process
                logger.bind(code=lost.code).debug("An answer could not be looked for in the state store")
            pause_s = min(2 * pause_s, _LOOKS_AT_LEAST_S)
        return None

    async def deliver(self, message: Mapping[str, Any], principal: str | None) -> bool:
        """Take an answer to a question of this server; return whether the message is meant as one.

        One of another principal, one that is made up, and one that comes too late are dropped. The response to each is
        the same, so that nobody learns which questions there are.
        """
        question = message.get("id")
        if type(question) is not str or not question.startswith(_PREFIX) or "method" in message:
            return False
        body = {name: message[name] for name in ("result", "error") if type(message.get(name)) is dict}
        if len(body) != 1 or len(pydantic_core.to_json(body)) > _ANSWER_BYTES_AT_MOST:
            body = {"error": {}}
        asker, waiting = self._waiting.get(question, (None, None))
        if waiting is not None:
            if asker == principal and not waiting.done():
                waiting.set_result(body)
            return True
        if self._seal.records.is_local:
            return True
        try:
            claims = await self._seal.open(_QUESTION, question.removeprefix(_PREFIX), principal)
            kept_s = claims["ends"] - self._seal.clock() + _LOOKS_AT_LEAST_S
            key = f"answer:{claims['once']}"
            await self._seal.records.put(key, body, kept_s, only_if_absent=True, principal=principal)
        except NotOurs as refused:
            logger.warning("An answer was dropped: {reason}", reason=str(refused))
        except ToolError as lost:
            logger.bind(code=lost.code).warning("An answer was lost, since the state store does not take it down")
        return True
