"""Readers that obey: they know nothing of the goal, and do what an answer says as it says it.

Three sources of what they do are kept apart. A `step` is a whole call that the answer names, or the advice to leave
something out. A `suggestion` is one correction of one name or value ("did you mean `x`?"), put in literally; where an
answer asks about two or three, nothing is obeyed. A `candidate` is the only entry of a list of what exists: a list is
no advice, so it is obeyed last and counted apart.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agents.adversarial.cases import Call, differ

__all__ = ["Obeyed", "Reader", "read_object", "read_text"]

_NEXT = re.compile(r"^Next: (\S+) (\{.*\})$", re.MULTILINE)
_LINE = re.compile(r"^- (\S+?)(?: \([\d,-]+\))?: (.*)$", re.MULTILINE)
_MEANT = re.compile(r"[Dd]id you mean (.+?)\?(?=\s|$|;|,|\.)")
_UNKNOWN_TOOL = re.compile(r"[Uu]nknown tool|[Nn]o (?:such )?tool")
_NO_NAME = re.compile(r"^[Nn]o such (?:parameter|name|field|key)|^[Uu]nexpected")
_LEAVE_OUT = re.compile(r"[Ll]eave (?:it|them|`?([\w.-]+)`?) out|[Oo]mit (?:it|them|`([\w.-]+)`)")
_CANDIDATES = re.compile(r"^Candidates: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Obeyed:
    """What a reader does next.

    Args:
        source: `step`, `suggestion` or `candidate`.
        call: The call.
    """

    source: str
    call: Call


Reader = Callable[[Call, str, Any], "Obeyed | None"]
"""`reader(call, text, structured)`: what it does about the failure of a call; None if nothing is advised."""


def read_text(call: Call, text: str, structured: Any) -> Obeyed | None:  # noqa: ARG001 - this one reads no object
    """Obey the `Next:` line, else what the text corrects, else the only candidate that it lists."""
    if found := _NEXT.search(text):
        return Obeyed("step", (found[1], json.loads(found[2])))
    lines = [(found[1], found[2]) for found in _LINE.finditer(text)]
    unknown = [path for path, says in lines if _NO_NAME.search(says) and not _MEANT.search(says)]
    changed = copy.deepcopy(call)
    if _UNKNOWN_TOOL.search(text):
        named = _only(text)
        return Obeyed("suggestion", (named, call[1])) if isinstance(named, str) and named != call[0] else None
    for path, says in lines:
        value = _only(says)
        if value is not None:
            _put(changed[1], path, value, is_name=bool(_NO_NAME.search(says)))
    if differ(changed, call):
        return Obeyed("suggestion", changed)
    if left := _leave_out(text, unknown):
        return _without(call, left)
    return _candidate(call, [_value(one) for found in _CANDIDATES.findall(text) for one in _entries(found)])


def read_object(call: Call, text: str, structured: Any) -> Obeyed | None:  # noqa: ARG001 - this one reads no text
    """Obey `next_step`, else the suggestions of `violations`, else the only one of `suggestions`."""
    if not isinstance(structured, dict):
        return None
    error = structured["error"] if isinstance(structured.get("error"), dict) else structured
    step, message = error.get("next_step"), str(error.get("message", ""))
    if step:
        return Obeyed("step", (step["tool"], step["arguments"]))
    changed, violations = copy.deepcopy(call), error.get("violations") or []
    for one in violations:
        if "suggestion" in one:
            _put(changed[1], one["path"], one["suggestion"], is_name=one.get("reason") == "unexpected")
    if differ(changed, call):
        return Obeyed("suggestion", changed)
    unknown = [one["path"] for one in violations if one.get("reason") == "unexpected"]
    if left := _leave_out(message, unknown):
        return _without(call, left)
    if _UNKNOWN_TOOL.search(message):
        named = _only(message)
        return Obeyed("suggestion", (named, call[1])) if isinstance(named, str) and named != call[0] else None
    return _candidate(call, error.get("suggestions") or [])


def _value(text: str) -> Any:
    """Return a name or value as it is quoted."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "`'":
        text = text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _entries(listed: str) -> list[str]:
    return [entry for entry in re.split(r",\s*(?:or\s+)?|\s+or\s+", listed) if entry]


def _only(text: str) -> Any:
    """Return what a text corrects to, if it names one thing."""
    found = _MEANT.search(text)
    if found is None:
        return None
    whole = _value(found[1])
    is_quoted = found[1][0] == found[1][-1] and found[1][0] in "`'\"" and found[1].count(found[1][0]) == 2
    is_whole = is_quoted or not isinstance(whole, str) or len(_entries(found[1])) == 1
    return whole if is_whole else None


def _leave_out(text: str, unknown: list[str]) -> list[str]:
    found = _LEAVE_OUT.search(text)
    if found is None:
        return []
    return [name] if (name := found[1] or found[2]) else unknown


def _without(call: Call, paths: list[str]) -> Obeyed | None:
    changed = copy.deepcopy(call)
    for path in paths:
        holder, name = _at(changed[1], path)
        if isinstance(holder, dict):
            holder.pop(name, None)
    return Obeyed("step", changed) if differ(changed, call) else None


def _candidate(call: Call, listed: list[Any]) -> Obeyed | None:
    """Put the only candidate where the value that is most like it was."""
    if len(listed) != 1 or not isinstance(listed[0], str):
        return None
    only, (tool, given) = listed[0], call
    texts = {name: value for name, value in given.items() if isinstance(value, str) and value != only}
    if not texts:
        return None
    name = max(texts, key=lambda one: len({*_pairs(texts[one])} & {*_pairs(only)}))
    return Obeyed("candidate", (tool, {**given, name: only}))


def _pairs(text: str) -> Iterator[str]:
    yield from (text[place : place + 2].casefold() for place in range(len(text) - 1))


def _at(arguments: Any, path: str) -> tuple[Any, str]:
    """Return the object that a path leads into, and the last name."""
    *outer, last = [part for part in re.split(r"[.\[\]]+", path) if part] or [path]
    if path in arguments:
        return arguments, path
    holder = arguments
    for part in outer:
        if isinstance(holder, list) and part.isdigit() and int(part) < len(holder):
            holder = holder[int(part)]
        elif isinstance(holder, dict) and part in holder:
            holder = holder[part]
        else:
            return None, last
    return holder, last


def _put(arguments: dict[str, Any], path: str, value: Any, *, is_name: bool) -> None:
    """Do what a correction says: give another name to what was sent, or another value to what has the name."""
    holder, name = _at(arguments, path)
    if is_name and isinstance(holder, dict) and name in holder and isinstance(value, str):
        kept = {value if key == name else key: item for key, item in holder.items()}
        holder.clear()
        holder.update(kept)
    elif not is_name and isinstance(holder, dict):
        holder[name] = value
    elif not is_name and isinstance(holder, list) and name.isdigit() and int(name) < len(holder):
        holder[int(name)] = value
