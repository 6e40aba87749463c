"""Log lines for people: time, level, message and facts, in color on a terminal, the traceback below."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any

from failsoft.framework.text import printable

__all__ = ["text_renderer"]

_NOT_REPEATED = frozenset(("timestamp", "level", "service", "environment", "logger", "message", "event", "stack_trace"))
_COLORS = {"DEBUG": "36", "INFO": "32", "SUCCESS": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_WORD = re.compile(r"[^\s\"={}\[\]]+")
_DIM, _BOLD = "2", "1"


def text_renderer(*, colors: bool) -> Callable[[Mapping[str, Any]], str]:
    """Return the function that renders a record as a line for people.

    Args:
        colors: Use ANSI colors, and the time of day without the date.
    """
    return _colored if colors else _plain


def _plain(line: Mapping[str, Any]) -> str:
    return f"{line['timestamp']} {line['level']:<8} {line['message']}  {_facts(line)}".rstrip() + _stack(line)


def _colored(line: Mapping[str, Any]) -> str:
    time = _in(_DIM, line["timestamp"][11:23])
    level = _in(_COLORS.get(line["level"], _DIM), f"{line['level']:<8}")
    facts = _facts(line)
    return f"{time} {level} {_in(_BOLD, line['message'])}" + (f"  {_in(_DIM, facts)}" if facts else "") + _stack(line)


def _in(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def _facts(line: Mapping[str, Any]) -> str:
    return " ".join(f"{_fact(name)}={_fact(value)}" for name, value in line.items() if name not in _NOT_REPEATED)


def _fact(value: Any) -> str:
    """Return a name or value as a word if it is one, otherwise as JSON, so that it cannot look like another fact."""
    is_word = isinstance(value, str) and _WORD.fullmatch(value) is not None
    return printable(value if is_word else json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _stack(line: Mapping[str, Any]) -> str:
    """Return the stack below the line, indented: the text of an exception may look like a line of the log."""
    stack = line.get("stack_trace")
    return f"\n{indent(stack.rstrip(), '  ')}" if isinstance(stack, str) else ""
