"""Questions of an upstream to the person behind a call: whose call it is, what may be asked, and how it is marked."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import mcp_types as types
import pydantic_core

from failsoft.framework.asking import Answer, AwaitingAnswer, Question
from failsoft.framework.asking.forms import BOUNDS, FORMATS, PLAIN
from failsoft.framework.asking.waiting import ask, asked_in
from failsoft.framework.call.call import Call
from failsoft.framework.errors import Unavailable, Unsupported
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.text import bounded, quoted
from failsoft.proxy.clients import Front

_MESSAGE_AT_MOST = 1_000
_FIELDS_AT_MOST = 20
_TEXT_AT_MOST = 200
_NAME_AT_MOST = 80
_OPTIONS_AT_MOST = 100
_OPTIONS = frozenset({"enum", "oneOf"})
_WORD = re.compile(r"\w{1,80}")
_SECRETS = frozenset(
    {
        *("pin", "ssn", "mnemonic", "passwort", "kennwort", "contraseña", "senha", "card_number", "security_number"),
        *("seed_phrase", "recovery_phrase", "backup_code", "recovery_code", "security_code", "verification_code"),
        *("2fa_code", "time_code", "de_passe"),
    }
)
"""What a person is not asked for in a form beside what is a secret in arguments: words, and pairs of words."""
_WARNING = re.compile(r"(?i)\b(?:do not|don't|never) (?:give|enter|send|share|tell|type|provide)\b[^.;:\n]*+")
"""A part of a text that warns of giving something away."""
_KEPT = ("resultType", "inputRequests", "requestState")
"""What is needed of a result that asks, when the answer is there."""
_KEPT_BYTES_AT_MOST = 65_536
_DECLINED = types.ElicitResult(action="decline")
_HELD = "held"


@dataclass(slots=True)
class _Held:
    """A request to an upstream that waits on its connection, while the answer comes with another one to this process.

    Args:
        question: What was asked.
        task: The request.
        answer: The answer.
    """

    question: Question
    task: asyncio.Task[dict[str, Any]]
    answer: asyncio.Future[Answer]


class Questions:
    """Passes the questions of one upstream on to the person whose call it serves, and to nobody else.

    Args:
        server: The upstream's name.
        front: Counts what could not be asked.
    """

    def __init__(self, server: str, front: Front) -> None:
        self._server = server
        self._front = front
        self._calls: list[Call] = []
        self._asking_for: Call | None = None
        self._tasks: dict[Call, tuple[asyncio.Task[dict[str, Any]], asyncio.Future[AwaitingAnswer]]] = {}
        self._held: dict[str, _Held] = {}

    @contextmanager
    def during(self, call: Call) -> Iterator[None]:
        """Note that the upstream works on a call; its question ends with the call."""
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)
            if self._asking_for is call and (asked := asked_in(call)) is not None:
                asked.stop()

    async def elicit(self, _ctx: Any, params: Any) -> types.ElicitResult | types.ErrorData:
        """Return the person's answer to a question of the upstream; decline it unless one call is in flight."""
        if (at_work := len(self._calls) + len(self._held)) != 1 or not self._calls:
            self._log(f"it works on {at_work} calls, and the question names none")
            return _DECLINED
        call = self._calls[0]
        try:
            question = question_from(self._server, params.message, getattr(params, "requested_schema", None))
        except ValueError as refused:
            self._log(str(refused))
            return _DECLINED
        place = secrets.token_hex(8)
        try:
            self._asking_for = call
            question = replace(question, kept={_HELD: place})
            answer = await _put(question, call)
        except AwaitingAnswer as later:
            answer = await self._later(call, place, later)
        if answer is None:
            return self._front.refusal()
        if answer.action == "unanswered":
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action=answer.action, content=dict(answer.content) or None)

    async def held(self, calling: Coroutine[Any, Any, dict[str, Any]], call: Call) -> dict[str, Any]:
        """Return what the upstream answers to a request.

        Raises:
            AwaitingAnswer: It asks, and waits on its connection until `go_on`.
        """
        task, asks = asyncio.create_task(calling), asyncio.get_running_loop().create_future()
        self._tasks[call] = task, asks
        try:
            await asyncio.wait({task, asks}, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            task.cancel()
            raise
        finally:
            del self._tasks[call]
        if asks.done():
            raise asks.result()
        return task.result()

    async def _later(self, call: Call, place: str, later: AwaitingAnswer) -> Answer | None:
        """Wait for the answer that another request to this process brings; without one the request is cancelled."""
        task, asks = self._tasks.get(call, (None, None))
        if task is None or asks is None or asks.done():
            return None
        held = self._held[place] = _Held(later.question, task, asyncio.get_running_loop().create_future())
        asks.set_result(later)
        try:
            async with asyncio.timeout(call.bound.settings.ask_timeout_s):
                return await held.answer
        except TimeoutError:
            task.cancel()
            return Answer("unanswered")
        finally:
            self._held.pop(place, None)

    async def go_on(self, asked: Mapping[str, Any], call: Call) -> dict[str, Any]:
        """Give the upstream the answer that it waits for, and return what it then answers.

        Raises:
            UNAVAILABLE: It waits in another process, or no longer.
        """
        held = self._held.pop(asked[_HELD], None)
        answer = None if held is None else await ask(call, held.question)
        if held is None or answer is None or held.answer.done():
            said = f"The server '{self._server}' waits for this answer in another process of this proxy, or no longer."
            raise Unavailable(message=said, effect="unknown")
        held.answer.set_result(answer)
        try:
            return await asyncio.shield(held.task)
        except asyncio.CancelledError:
            held.task.cancel()
            raise

    async def end(self) -> None:
        """Give up the requests that wait for an answer."""
        over = [*self._held.values()]
        for held in over:
            held.task.cancel()
            if not held.answer.done():
                held.answer.set_result(Answer("unanswered"))
        await asyncio.gather(*[held.task for held in over], return_exceptions=True)

    async def answers_for(self, raw: Mapping[str, Any], call: Call) -> dict[str, Any] | None:
        """Return what repeats a call whose result asks the person one form.

        None for any other result, and where the question cannot be put.

        Raises:
            UNSUPPORTED: What it asks for is not asked.
            AwaitingAnswer: The answer comes with another request, which brings back this result.
        """
        asked = raw.get("inputRequests") if raw.get("resultType") == "input_required" else None
        if not isinstance(asked, Mapping) or len(asked) != 1:
            return None
        ((key, request),) = asked.items()
        if not isinstance(request, Mapping) or request.get("method") != "elicitation/create":
            return None
        params = request.get("params") or {}
        try:
            question = question_from(self._server, params.get("message"), params.get("requestedSchema"))
            kept = {name: raw[name] for name in _KEPT if name in raw}
            if len(pydantic_core.to_json(kept)) > _KEPT_BYTES_AT_MOST:
                msg = f"with its state it is larger than {_KEPT_BYTES_AT_MOST} bytes"
                raise ValueError(msg)  # noqa: TRY301 - refused as others
        except ValueError as refused:
            self._log(str(refused))
            said = f"The server '{self._server}' asked its user something that is not passed on: {refused}."
            raise Unsupported(message=said) from refused
        answer = await _put(replace(question, kept=kept), call)
        if answer is None:
            return None
        action = "cancel" if answer.action == "unanswered" else answer.action
        result = {"action": action, "content": dict(answer.content)} if answer.content else {"action": action}
        state = {"requestState": raw["requestState"]} if "requestState" in raw else {}
        return {"inputResponses": {key: result}, **state}

    def _log(self, reason: str) -> None:
        logger.bind(upstream=self._server, reason=reason).warning("A question of an upstream was declined: {}", reason)


async def _put(question: Question, call: Call) -> Answer | None:
    """Ask for an upstream; what it has begun goes on while it waits, or by its state, so that nothing is repeated."""
    begun, call.effects_begun = call.effects_begun, 0
    answer = await ask(call, question)
    call.effects_begun = begun
    return answer


def question_from(server: str, message: Any, schema: Any) -> Question:
    """Return an upstream's question as it is put to the person: bounded, its text quoted, marked as the upstream's.

    Raises:
        ValueError: It is no form of plain fields, or it asks for a secret.
    """
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    required = (schema.get("required") or ()) if isinstance(schema, Mapping) else ()
    if not isinstance(fields, Mapping) or len(fields) > _FIELDS_AT_MOST or not _are_texts(required):
        msg = f"it is no form of at most {_FIELDS_AT_MOST} fields"
        raise ValueError(msg)
    if not isinstance(message, str):
        msg = "it says nothing"
        raise ValueError(msg)  # noqa: TRY004 - of the upstream, not of the caller
    kept = {name: _field(name, field) for name, field in fields.items()}
    is_typed = any(field["type"] not in {"array", "boolean"} and not _OPTIONS & field.keys() for field in kept.values())
    if is_typed and _asks_for_secret(message):
        msg = "it asks for a secret"
        raise ValueError(msg)
    said = f"The server {quoted(server)} asks, and gets the answer: {quoted(message, _MESSAGE_AT_MOST)}"
    listed = [name for name in required if name in kept]
    return Question(said, {"type": "object", "properties": kept, "required": listed}, "arguments")


def _field(name: str, field: Any) -> dict[str, Any]:
    """Return a field with its texts bounded, and with nothing that clients need not know.

    Raises:
        ValueError: It is no plain field, it is a secret, or its name or its options cannot be shown as they are.
    """
    kind = field.get("type") if isinstance(field, Mapping) else None
    if not isinstance(kind, str) or kind not in {*PLAIN, "array"} or not _is_shown_whole(name, _NAME_AT_MOST):
        msg = f"its field {quoted(name, _NAME_AT_MOST)} is no plain value"
        raise ValueError(msg)
    texts = (name, field.get("title"), field.get("description"))
    is_secret = field.get("format") == "password" or bool(field.get("writeOnly"))
    if is_secret or (kind != "boolean" and any(_asks_for_secret(text) for text in texts if text)):
        msg = f"its field {quoted(name)} is a secret"
        raise ValueError(msg)
    kept: dict[str, Any] = {"type": kind}
    kept |= {key: bounded(str(field[key]), _TEXT_AT_MOST) for key in ("title", "description") if field.get(key)}
    kept |= {key: field[key] for key in BOUNDS if type(field.get(key)) in {int, float}}
    if kind == "array":
        kept |= {key: field[key] for key in ("minItems", "maxItems") if type(field.get(key)) is int}
        return {**kept, "items": _items(name, field.get("items"))}
    kept |= {"format": field["format"]} if field.get("format") in FORMATS else {}
    for key in (_OPTIONS | {"enumNames"}) & field.keys():
        options = field[key]
        if kind != "string" or not isinstance(options, list) or not 0 < len(options) <= _OPTIONS_AT_MOST:
            msg = f"its field {quoted(name)} has no list of at most {_OPTIONS_AT_MOST} texts to choose from"
            raise ValueError(msg)
        kept[key] = [_titled(name, one) if key == "oneOf" else _option(name, one) for one in options]
    default = field.get("default")
    if isinstance(default, (bool, int, float)) or _is_shown_whole(default, _TEXT_AT_MOST):
        kept["default"] = default
    return kept


def _items(name: str, items: Any) -> dict[str, Any]:
    """Return what several may be chosen of, as `_field` returns what one may. Raises its errors."""
    given = items if isinstance(items, Mapping) else {}
    if isinstance(given.get("anyOf"), list):
        return {"anyOf": _field(name, {"type": "string", "oneOf": given["anyOf"]})["oneOf"]}
    return {"type": "string", "enum": _field(name, {"type": "string", "enum": given.get("enum")})["enum"]}


def _titled(name: str, option: Any) -> dict[str, str]:
    given = option if isinstance(option, Mapping) else {}
    return {key: _option(name, given.get(key)) for key in ("const", "title")}


def _option(name: str, text: Any) -> str:
    if not _is_shown_whole(text, _TEXT_AT_MOST):
        msg = f"its field {quoted(name)} has an option that cannot be shown as it is"
        raise ValueError(msg)
    return str(text)


def _is_shown_whole(text: Any, limit: int) -> bool:
    return isinstance(text, str) and len(text) <= limit and text.isprintable()


def _are_texts(names: Any) -> bool:
    return isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)


def _asks_for_secret(text: Any) -> bool:
    words = _WORD.findall(_WARNING.sub("", str(text)[: _MESSAGE_AT_MOST * 4]))
    pairs = [f"{one}_{two}" for one, two in pairwise(words)]
    return any(is_secret_name(one) or one.casefold() in _SECRETS for one in (*words, *pairs))
