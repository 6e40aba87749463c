"""Questions to the person behind a client, their answers, and calls that wait for one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from failsoft.framework.safe.author_reports import is_real_cancellation

AnswerAction: TypeAlias = Literal["accept", "decline", "cancel", "unanswered"]
ASK_PERSON = "ask_person"
"""The name of asking in receipts, metrics and logs."""


@dataclass(frozen=True)
class Question:
    """A short form for a person, as in MCP's elicitation.

    Args:
        message: What is asked, one line a fact, without secrets; text that is not the server's own is quoted in it.
        schema: A flat JSON Schema object of primitives and enums (`requestedSchema`).
        about: Whether a call is to be confirmed, or arguments are to be given.
        subject: What the answer holds for, whole, where the message shows a part of it. It is not shown.
        kept: What the request with the answer brings back sealed, where the answer comes with another one; JSON.
    """

    message: str
    schema: Mapping[str, Any]
    about: Literal["confirm", "arguments"]
    subject: str = ""
    kept: Any = field(default=None, compare=False)

    @cached_property
    def digest(self) -> str:
        """A hash of message, schema and subject: of equal questions it is the same in every process."""
        asked = json.dumps([self.message, self.schema, self.subject], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(asked.encode("utf-8", "backslashreplace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person did about a question.

    Args:
        action: `unanswered` if no answer came in time, or the client left.
        content: The fields of the form, as received; empty unless the action is `accept`.
        by: Who answered, as far as it is known: the principal, as in logs.
    """

    action: AnswerAction
    content: Mapping[str, Any] = field(default_factory=dict)
    by: str | None = None


Ask: TypeAlias = Callable[[Question], Awaitable[Answer]]
"""Puts a question to the person who uses the client of a call.

It waits for the answer, or raises `AwaitingAnswer` where the answer comes with another request.
"""


class AwaitingAnswer(BaseException):
    """A call has to ask its caller before it begins its work, and the answer comes with another request.

    It leaves the chain as a cancellation does: nothing has been done, nothing counts, and the request that brings the
    answer runs the call from its beginning.
    """

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


def has_no_outcome(error: BaseException) -> bool:
    """Return whether a call ends without an outcome of its own: really cancelled, or put off until a person answers."""
    return issubclass(type(error), AwaitingAnswer) or is_real_cancellation(error)


def awaiting_in(error: BaseException) -> AwaitingAnswer | None:
    """Return the question that a run of a handler waits for, also one of a call in a task group; None if there is none.

    The first of several is asked.
    """
    if issubclass(type(error), BaseExceptionGroup):
        for one in error.exceptions:  # type: ignore[attr-defined]  # the type was asked for
            if (found := awaiting_in(one)) is not None:
                return found
    return error if issubclass(type(error), AwaitingAnswer) else None  # type: ignore[return-value]  # as above
