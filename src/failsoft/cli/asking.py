"""Questions of a call to the person at the terminal: yes or no, a choice by number, or a text."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from failsoft.framework.asking import Answer, Ask, Question
from failsoft.framework.asking.forms import CONFIRM
from failsoft.framework.text import printable, quoted

if sys.platform != "win32":
    import termios
if TYPE_CHECKING:
    from failsoft.client import OnQuestion

_YES = frozenset({"y", "yes"})
_KINDS = {"integer": int, "number": float}
_TRIES = 3


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
    """Return what is typed for a field, in its type; None for nothing. What is no value of it is asked for again.

    Raises:
        EOFError: The input has ended.
        ValueError: It was no value of the field, each time.
    """
    if field.get("type") == "boolean":
        return _typed(f"{title}? [y/N]").lower() in _YES
    takes_several = field.get("type") == "array"
    options = _options(field.get("items", {}) if takes_several else field)
    _show(*(f"  {number}. {label}" for number, label in enumerate(options.values(), start=1)))
    numbers = f" [1-{len(options)}{', several as 1,2' if takes_several else ''}]" if options else ""
    for _ in range(_TRIES):
        typed = _typed(f"{title}{numbers}:")
        try:
            if not typed:
                return None
            if takes_several:
                return _several(typed, [*options], field)
            return _chosen(typed, [*options]) if options else _KINDS.get(str(field.get("type")), str)(typed)
        except ValueError:
            _show(f"  This is not an answer: {quoted(typed)}.")
    raise ValueError(title)


def _options(field: Mapping[str, Any]) -> dict[str, str]:
    """Return the values to choose from, with how they are shown."""
    if titled := field.get("oneOf") or field.get("anyOf"):
        return {str(one["const"]): str(one.get("title") or one["const"]) for one in titled}
    values = [str(value) for value in field.get("enum", ())]
    return dict(zip(values, map(str, field.get("enumNames") or values), strict=False))


def _chosen(typed: str, options: Sequence[str]) -> str:
    """Return the option of a number, or the one that is typed itself. Raises ValueError if there is none."""
    return typed if typed in options else options[range(1, len(options) + 1).index(int(typed))]


def _several(typed: str, options: Sequence[str], field: Mapping[str, Any]) -> list[str]:
    """Return the options of several numbers. Raises ValueError if one is none, or there are too few or too many."""
    chosen = [*dict.fromkeys(_chosen(part.strip(), options) for part in typed.split(","))]
    if not field.get("minItems", 0) <= len(chosen) <= field.get("maxItems", len(chosen)):
        raise ValueError(typed)
    return chosen


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
