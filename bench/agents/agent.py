"""A scripted agent: it knows its goal and the arguments that it meant, and of the tools only what the answers say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from agents.readers import Advice, read_any_text
from agents.tasks import Call, Task

__all__ = ["Agent"]

_WAITS_AT_MOST = 2
_UNKNOWN = re.compile(r"nknown tool")
_NAMED = re.compile(r"[Dd]id you mean ['`](\w+)['`]")
_SHA = re.compile(r'"sha(?:256)?": ?"([0-9a-f]{8,64})"')
_SHA_BEFORE = re.compile(r'"sha256_before": ?"([0-9a-f]{64})"')
_MADE = {"begin_session": "session_id", "build_media": "media_id"}
"""What is taken over from what a step made."""
_NOT_COMPARED = frozenset({"session_id", "query", "expected_hash", "expected_sha"})
_STATEMENT = re.compile(r"syntax error|no such|incomplete input")
_ROLE = re.compile(r"\b(WINDSURF|ANTIGRAVITY)\b")


class Agent:
    """What an agent is about to call, and what it makes of the answers.

    It makes the next step that an answer names, but none twice; waits where it says so; corrects the parameters that it
    names, and those whose right value it recognizes in it; begins a session where it says so; and stops where nothing
    is left. On a server that gives no advice it sends the call once more, as models do.

    Args:
        task: What to do.
        read: What it makes of an answer.
        root: The folder that it works in, if it does.
    """

    def __init__(self, task: Task, read: Callable[[str, Any], Advice], root: str = "") -> None:
        self.tool, self.arguments = task.first
        self.is_done = False
        self.follows = False
        """Whether the call is one that an answer named."""
        self._task = task
        self._meant = task.meant
        self.read = read
        self._root = root
        self._taken: list[tuple[str, dict[str, Any]]] = []
        self._repeated: set[str] = set()
        self._waits = 0
        self._last: Advice | None = None

    def after_success(self, text: str, structured: Any) -> bool:
        """Take over what was found; return whether there is more to do."""
        whole = text or json.dumps(structured)
        is_look = bool(self.arguments.get("dry_run")) and not self._meant[1].get("dry_run")
        if self.tool.casefold().replace("-", "_") == self._meant[0] and not is_look:
            self.is_done = self._is_what_was_meant(whole)
            return False
        if self._last is not None and self._last.is_uncertain and self.read is not read_any_text:
            self.is_done = not _is_empty(text, structured)  # the state was looked at: the work was done, or was not
            self.tool, self.arguments = self._meant
            return not self.is_done
        tool, arguments = self._meant
        arguments = dict(arguments)
        if found := _SHA_BEFORE.search(whole) or _SHA.search(whole):
            for name in ("expected_hash", "expected_sha"):
                if self._last is not None and (name in arguments or name in self._last.whole or name in self.arguments):
                    arguments[name] = found[1]
        handle = _MADE.get(self.tool, "")
        if handle and (made := re.search(rf'"{handle}": ?"([^"]+)"', whole)):
            arguments[handle] = made[1]
            self._meant = (tool, arguments)
        self.tool, self.arguments, self.follows = tool, arguments, False
        return True

    def after_failure(self, text: str, structured: Any) -> bool:
        """Do what the answer says; return whether there is anything to do."""
        advice = self._last = self.read(text, structured)
        self.follows = False
        if (tool := self._named(advice.remark)) is not None:
            self.tool = tool
            return True
        self._waits += advice.wait
        if self._waits > _WAITS_AT_MOST:
            return False
        step = advice.step
        if step is not None and (
            advice.wait or (_differ(step, (self.tool, self.arguments)) and step not in self._taken)
        ):
            self._taken.append(step)
            self.tool, self.arguments = step[0], self._completed(step)
            self.follows = True
            return True
        fixed = self._corrected(advice)
        if _differ(fixed, self.arguments):
            self.arguments = fixed
            return True
        if (other := self._other_call(advice)) is not None:
            self.tool, self.arguments = other
            return True
        is_guided = self.read is not read_any_text
        may_repeat = advice.wait or not (is_guided or self.tool in self._repeated)
        self._repeated.add(self.tool)
        return may_repeat and not advice.stop

    def _named(self, remark: str) -> str | None:
        """Return the tool that an answer names in place of an unknown one, or that was meant and is in its list."""
        if not _UNKNOWN.search(remark):
            return None
        found = _NAMED.search(remark)
        tool = found[1] if found else self._meant[0] if re.search(rf"`{self._meant[0]}`", remark) else self.tool
        return tool if tool != self.tool else None

    def _other_call(self, advice: Advice) -> Call | None:
        """Return the change that was meant if a check names its file, or the session to begin where one is missing."""
        tool, arguments = self._meant
        if self.tool == "run_preflight" != tool and arguments["path"] in advice.whole:
            return self._meant
        if "begin_session" in self._repeated or not re.search("begin_session|Begin a session", advice.remark):
            return None
        self._repeated.add("begin_session")
        role = _ROLE.search(advice.remark)
        return "begin_session", {"workspace_root": self._root, "role": role[1] if role else "WINDSURF"}

    def _completed(self, step: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        """Return the arguments of a step; a new session is begun in the folder of the task."""
        tool, arguments = step
        return {"workspace_root": self._root, "role": "WINDSURF", **arguments} if tool == "begin_session" else arguments

    def _corrected(self, advice: Advice) -> dict[str, Any]:
        """Return the arguments with those that the answer names as they were meant."""
        meant = self._meant[1]
        if self.tool != self._meant[0]:
            return self.arguments
        if "sql" in meant and _STATEMENT.search(advice.remark):
            return meant
        kept = {name: value for name, value in self.arguments.items() if name not in advice.faults}
        fixed = {**kept, **{name: value for name, value in meant.items() if name in advice.faults}}
        if not _differ(fixed, self.arguments) and advice.faults:
            fixed = {name: value for name, value in fixed.items() if name in meant}
        if not _differ(fixed, self.arguments) and not advice.stop:
            fixed = {**fixed, **{name: meant[name] for name in self._recognized(advice.whole)}}
            fixed = {
                name: value for name, value in fixed.items() if name in meant or not _is_quoted(value, advice.whole)
            }
        return fixed

    def _recognized(self, whole: str) -> Iterator[str]:
        """Yield the parameters that are not as meant, and of which a name or value, sent or meant, is in the answer."""
        for name, value in self._meant[1].items():
            sent = self.arguments.get(name)
            if not _differ(sent, value):
                continue
            words = [name, *_names_within(value), *_texts_within(value), *_names_within(sent)]
            if any(re.search(rf"(?<![\w/]){re.escape(word)}(?!\w)", whole) for word in words if word):
                yield name

    def _is_what_was_meant(self, whole: str) -> bool:
        """Return whether names in the call are those that were meant, or the answer shows that it is about them."""
        for name, value in self._meant[1].items():
            given = self.arguments.get(name)
            if name in _NOT_COMPARED or given == value or not (isinstance(value, str) or _all_text(value)):
                continue
            if not all(text in whole for text in ([value] if isinstance(value, str) else value)):
                return False
        return True


def _differ(one: Any, other: Any) -> bool:
    """Return whether two values differ as JSON: 45 and 45.0 do, and 1 and true."""
    return json.dumps(one) != json.dumps(other)


def _is_quoted(value: Any, whole: str) -> bool:
    """Return whether an answer quotes something of a value."""
    return any(json.dumps(text) in whole for text in _texts_within(value))


def _all_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _texts_within(value: Any) -> Iterator[str]:
    """Yield the short texts that a model would recognize."""
    if isinstance(value, str) and "\n" not in value:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_within(item)


def _names_within(value: Any) -> Iterator[str]:
    """Yield the names of objects, however deep."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _names_within(item)


def _is_empty(text: str, structured: Any) -> bool:
    """Return whether a look at the state found nothing."""
    try:
        tree = json.loads(text) if text else structured
    except ValueError:
        return False
    data = tree.get("data", tree.get("result", tree)) if isinstance(tree, dict) else tree
    return data in ([], {}, None)
