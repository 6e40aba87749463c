"""Questions of a call to the person at the terminal: yes or no, a choice by number, or a text."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from failsoft.framework.asking import Answer, Ask, Question
from failsoft.framework.asking.forms import CONFIRM
from failsoft.framework.text import printable

if sys.platform != "win32":
    import termios
if TYPE_CHECKING:
    from failsoft.client import OnQuestion

_YES = frozenset({"y", "yes"})


def person_at_terminal() -> Ask | None:
    """Return how the person is asked, on standard error; None unless they can read it and type an answer."""
    is_there = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    return _ask if is_there else None


def answers_at_terminal() -> OnQuestion | None:
    """Return what answers a server's questions by the person at the terminal; None if nobody is there."""
    ask = person_at_terminal()
    if ask is None:
        return None

    async def answer(message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        is_consent = [*schema["properties"]] == [CONFIRM]
        given = await ask(Question(message, schema, "confirm" if is_consent else "arguments"))
        return given.content if given.action == "accept" else None

    return answer


async def _ask(question: Question) -> Answer:
    """Ask in a thread of its own, which does not keep the process from ending while nobody answers."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Answer] = loop.create_future()

    def settle(answer: Answer) -> None:
        if not answered.done():
            answered.set_result(answer)

    def ask() -> None:
        answer = _answer(question)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, answer)

    threading.Thread(target=ask, daemon=True, name="failsoft question").start()
    return await answered


def _answer(question: Question) -> Answer:
    _forget_typed()
    _show("", *question.message.splitlines())
    content: dict[str, Any] = {}
    required = question.schema.get("required", ())
    for name, field in question.schema["properties"].items():
        try:
            value = _value(str(field.get("title") or name), field)
        except (EOFError, ValueError):
            return Answer("cancel")
        if value is not None:
            content[name] = value
        elif name in required:
            return Answer("cancel")
    if question.about == "confirm" and not any(content.values()):
        return Answer("decline")
    return Answer("accept", content)


def _value(title: str, field: Mapping[str, Any]) -> Any:
    """Return what is typed for a field, in its type; None for nothing.

    Raises:
        EOFError: The input has ended.
        ValueError: It is no value of the field.
    """
    if field.get("type") == "boolean":
        return _typed(f"{title}? [y/N]").lower() in _YES
    if options := field.get("enum"):
        _show(*(f"  {number}. {option}" for number, option in enumerate(options, start=1)))
        typed = _typed(f"{title} [1-{len(options)}]:")
        return options[range(1, len(options) + 1).index(int(typed))] if typed else None
    typed = _typed(f"{title}:")
    kinds = {"integer": int, "number": float}
    return kinds.get(str(field.get("type")), str)(typed) if typed else None


def _forget_typed() -> None:
    """Forget what was typed before the question was shown: it is no answer to it."""
    if sys.platform != "win32":
        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _typed(prompt: str) -> str:
    """Return a line that is typed.

    Raises:
        EOFError: The input has ended.
    """
    sys.stderr.write(f"{printable(prompt)} ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()


def _show(*lines: str) -> None:
    sys.stderr.write("".join(f"{printable(line)}\n" for line in lines))
