"""Questions of calls to the person at the client: whether this client can be asked, how, and what comes back.

From 2026-07-28 on a question is the result of the call. The answer comes with another request, together with a sealed
state that is good for one call: same principal, tool and arguments, spent once over all replicas. In older versions the
question is a request of the server, and the call waits for its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from failsoft.framework.asking import ASK_PERSON, Answer, Ask, AwaitingAnswer, Question
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.errors import PreconditionFailed, ToolError
from failsoft.framework.settings import Settings
from failsoft.framework.state.store import StateStore
from failsoft.server.protocol.seal import Expired, NotOurs, Sealer, digest, new_once

_ASKS = frozenset({"confirm", ASK_PERSON, f"recover:{ASK_PERSON}"})
"""The steps of a chain that ask."""
_STATE = "state"
_KEY = "question"
"""The key of the question among the inputs that a result asks for."""
_NO_QUESTION, _NO_ANSWER = "it answers no question", "the answer is missing"
_OTHER_CALL, _USED = "it was issued for another call", "it was used before"


class Asking:
    """Asks the person at the client.

    Args:
        state: The state store.
        settings: The time that a person has, and the keys.
        toolbox: The tools whose calls may ask.
        asks_for_others: Whether servers behind this one may ask, too.
    """

    def __init__(
        self,
        state: StateStore,
        settings: Settings,
        toolbox: Iterable[BoundOperation] = (),
        *,
        asks_for_others: bool = False,
    ) -> None:
        self.seal = Sealer(state, settings)
        self.timeout_s = settings.ask_timeout_s
        self._toolbox = toolbox
        self._asks_for_others = asks_for_others

    def may_be_needed(self) -> bool:
        """Return whether there is a tool that asks, by the strategies that are in force now."""
        return self._asks_for_others or any(not _ASKS.isdisjoint(bound.chain.describe()) for bound in self._toolbox)

    def way(self, ctx: ServerRequestContext[Any, Any]) -> Ask | None:
        """Return how the client of this request is asked, or None if it cannot be: it has to say so each time."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            declared: Any = ctx.meta and ctx.meta.get(types.CLIENT_CAPABILITIES_META_KEY)
            return _later if declared and shows_forms(declared) else None
        session = ctx.session
        if not session.can_send_request or (known := session.client_capabilities) is None or known.elicitation is None:
            return None
        if not shows_forms({"elicitation": known.elicitation.model_dump(exclude_none=True)}):
            return None
        return partial(self._elicit, session, ctx.request_id)

    async def _elicit(self, session: ServerSession, request_id: types.RequestId | None, question: Question) -> Answer:
        """Ask while the call waits; the client is told if nobody waits for its answer any more."""
        form = types.ElicitRequestFormParams(message=question.message, requested_schema=dict(question.schema))
        related = ServerMessageMetadata(related_request_id=request_id)
        try:
            result = await session.send_request(
                types.ElicitRequest(params=form), types.ElicitResult, self.timeout_s, related
            )
        except (MCPError, ValidationError):  # too late, a refusal of the client, or no answer in the protocol's form
            return Answer("unanswered")
        return _answer(result)

    async def result(
        self, question: Question, tool: str, arguments: Mapping[str, Any], principal: str | None
    ) -> dict[str, Any]:
        """Return the result on the wire that asks for an answer.

        Raises:
            STATE_UNAVAILABLE, STATE_UNUSABLE: The state store has the key, and cannot be read.
        """
        call = digest([tool, arguments])
        facts = {"call": call, "asked": question.digest, "kept": question.kept, "once": new_once()}
        state = await self.seal.make(_STATE, principal, self.timeout_s, **facts)
        form = {"mode": "form", "message": question.message, "requestedSchema": dict(question.schema)}
        requests = {_KEY: {"method": "elicitation/create", "params": form}}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": state}

    async def resumed(self, params: types.CallToolRequestParams, principal: str | None) -> Resumed | None:
        """Return what a request brings back, which is not spent yet; None if it brings nothing.

        Args:
            params: The parameters of the request.
            principal: Who sends it.

        Raises:
            PRECONDITION_FAILED: It brings a state or an answer that is refused.
            STATE_UNAVAILABLE, STATE_UNUSABLE: The state store has the key, and cannot be read.
        """
        if params.request_state is None and params.input_responses is None:
            return None
        arguments = params.arguments or {}
        reason, claims, is_late = _NO_QUESTION, None, False
        if params.request_state is not None:
            try:
                claims = await self.seal.open(_STATE, params.request_state, principal)
            except Expired as over:
                claims, is_late = over.claims, True
            except NotOurs as refused:
                reason = str(refused)
        if claims is None:
            raise refusal(reason, params.name)
        if claims["call"] != digest([params.name, arguments]):
            raise refusal(_OTHER_CALL, params.name)
        if is_late:
            return Resumed(claims, Answer("unanswered"))
        given = (params.input_responses or {}).get(_KEY)
        if not isinstance(given, types.ElicitResult):
            raise refusal(_NO_ANSWER, params.name)
        return Resumed(claims, _answer(given))

    async def spend(self, resumed: Resumed, tool: str, principal: str | None) -> None:
        """Spend the state of a request whose call is about to run, unless it comes too late to answer anything.

        Raises:
            PRECONDITION_FAILED: It is spent already.
            STATE_UNAVAILABLE, STATE_UNUSABLE, QUOTA_EXHAUSTED: The state store does not take it down.
        """
        if resumed.answer.action != "unanswered" and not await self.seal.spend(resumed.claims, principal):
            raise refusal(_USED, tool)


@dataclass(frozen=True, slots=True)
class Resumed:
    """A call that comes again with the answer to its question.

    Args:
        claims: Those of its state.
        answer: The answer.
    """

    claims: dict[str, Any]
    answer: Answer

    async def ask(self, question: Question) -> Answer:
        """Return the answer; another question than the one that was put stays unanswered."""
        return self.answer if question.digest == self.claims["asked"] else Answer("unanswered")


def refusal(reason: str, tool: str) -> ToolError:
    """Return the error of a call whose request state is refused."""
    return PreconditionFailed(
        message=f"The request state of this call was refused: {reason}. Nothing was done; call `{tool}` again without "
        "it, and the question is put again.",
        effect="none",
    )


def shows_forms(capabilities: Any) -> bool:
    """Return whether a client that declares these capabilities shows forms. Before there were modes, all did."""
    declared = capabilities.get("elicitation") if isinstance(capabilities, Mapping) else None
    return isinstance(declared, Mapping) and ("form" in declared or "url" not in declared)


async def _later(question: Question) -> Answer:
    raise AwaitingAnswer(question)


def _answer(result: types.ElicitResult) -> Answer:
    return Answer(result.action, result.content or {} if result.action == "accept" else {})
