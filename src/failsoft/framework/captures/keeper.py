"""Keeps failed calls: what is needed is noted before the answer, and redacted and written by a thread after it."""

from __future__ import annotations

import atexit
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from failsoft.framework.asking.waiting import around
from failsoft.framework.captures.folder import CaptureFolder, captures_folder
from failsoft.framework.captures.redacted import exact, redacted
from failsoft.framework.captures.script import facts_of, type_name_of
from failsoft.framework.captures.stored import VERSION, is_kept_variable
from failsoft.framework.captures.trail import Trail, outermost
from failsoft.framework.clock import OnceAMinute
from failsoft.framework.files import protected_files
from failsoft.framework.safe.author_reports import logger, tell
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tracebacks import author_place, original

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.arguments.accepted import Accepted
    from failsoft.framework.settings import Settings

Call: TypeAlias = Any
"""A `Call`, whose room stands above this one."""

_WAITING_AT_MOST, _SIZE_AT_MOST = 5_000, 20_000_000
"""Captures that wait to be written, and the characters of their arguments."""
_BURST, _LARGE = 1_000, 1_000_000
"""Captures, and characters of arguments, that are written though more may come."""
_BURST_AT_MOST_S, _PAUSE_S = 1.0, 0.02
_AT_EXIT_S = 5.0
_OF_A_KEY = frozenset({"IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_OUTCOME_UNKNOWN"})


@dataclass(frozen=True, slots=True)
class _Noted:
    """A failed call, before its redaction.

    Args:
        arguments: As JSON text; None where JSON does not have them as they are.
        readable: What can be shown of them then.
        accepted: What the schema says of them.
        trail: What the call and those below it noted.
        facts: All else, as in the file.
    """

    arguments: str | None
    readable: Any
    accepted: Accepted
    trail: Trail | None
    facts: dict[str, Any]


class Captures:
    """The captures of one runtime.

    Args:
        folder: Where they are written.
        variables: The `FAILSOFT_` variables of the process.
    """

    def __init__(self, folder: CaptureFolder, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self.count = folder.count
        self._refused = OnceAMinute()
        kept = {name: value for name, value in sorted(variables.items()) if name.startswith("FAILSOFT_")}
        self._settings = {
            name: value for name, value in kept.items() if is_kept_variable(name) and redact_text(value) == value
        }
        self._withheld = sorted(name for name in kept.keys() - self._settings.keys() if name != "FAILSOFT_CAPTURE")
        protected_files.add(self, folder.folder, kind="tree")

    @classmethod
    def from_settings(cls, settings: Settings) -> Captures:
        """Return the captures of settings that keep failures."""
        folder = CaptureFolder(
            captures_folder(),
            count=settings.capture_count,
            bytes_at_most=settings.capture_bytes,
            keep_s=settings.capture_keep_s,
        )
        return cls(folder, os.environ)

    def keep(self, call: Call, failure: Failure) -> None:
        """Note a failed call, which is written later; nothing of one that is `sensitive`, or made by such a handler."""
        if any(one.bound.declaration.sensitive for one in around(call)):
            return
        own = call.bound.tool.operations.get(call.operation)
        if own is None or own.declaration is not call.bound.declaration:  # an unknown tool, under another's name
            return
        noted = self._noted(call, failure)
        if not _writer.put(self, noted):
            self._report("too many captures wait to be written")

    def _noted(self, call: Call, failure: Failure) -> _Noted:
        error = failure.exception
        cause = original(error)
        place = author_place(cause)
        is_of_key = call.told.is_replayed or (failure.code in _OF_A_KEY and place is None)
        arguments = exact(call.params)
        return _Noted(
            arguments,
            None if arguments is not None else json_safe(call.params),
            call.bound.arguments.accepted,
            getattr(outermost(call), "trail", None),
            {
                "version": VERSION,
                "error_id": failure.error_id,
                "timestamp": failure.timestamp,
                "tool": call.tool,
                "operation": call.operation,
                "toolset_class": _class_of(call.bound),
                "roots": [str(root) for root in getattr(call.bound.tool, "roots", ())],
                "read_only": bool(call.bound.read_only),
                "code": failure.code,
                "category": failure.category,
                "effect": failure.effect,
                "type": type_name_of(cause),
                "origin": "" if place is None else place[0],
                "function": "" if place is None else place[1],
                "attempts": call.attempt,
                "principal": call.principal,
                "session_id": call.session_id,
                "key": "answered" if is_of_key else "run" if call.idempotency_key is not None else "",
            },
        )

    def write(self, noted: _Noted, *, is_last: bool) -> None:
        """Redact and write a capture; one that cannot be written is a line in the log."""
        try:
            content = json.dumps(self._content(noted)).encode("ascii")
            self._folder.write(noted.facts["error_id"], content, is_last=is_last)
        except OSError as error:
            self._report(error.strerror or type(error).__name__)
        except Exception as error:  # noqa: BLE001 - whatever a capture is made of, the thread goes on with the next
            self._report(type(error).__name__)

    def _content(self, noted: _Noted) -> dict[str, Any]:
        given = noted.readable if noted.arguments is None else json.loads(noted.arguments)
        arguments, paths = redacted(given, noted.accepted)
        trail = noted.trail or Trail()
        effects, hidden = redacted([_effect(*effect) for effect in trail.effects])
        reason = ""
        if noted.arguments is None:
            reason = "its arguments are not JSON, or nested too deeply, so that they could not be kept as they were"
        elif paths:
            reason = f"its arguments held secrets, which were redacted: {', '.join(paths[:10])}"
        elif hidden:
            reason = "the values of its effects held secrets, which were redacted"
        elif any("lost" in effect for effect in effects):
            reason = "the value of one of its effects is not JSON"
        people = {name: redact_text(value) for name in ("principal", "session_id") if (value := noted.facts[name])}
        return {
            **noted.facts,
            **people,
            "arguments": arguments,
            "redacted": paths,
            "not_replayable": reason,
            "effects": effects,
            "faults": [
                {"operation": operation, "delay_s": delay_s, "kind": kind} for operation, delay_s, kind in trail.faults
            ],
            "settings": self._settings,
            "withheld": self._withheld,
        }

    def _report(self, reason: str) -> None:
        if count := self._refused.due(reason):
            facts = logger.bind(event="capture_failed", reason=reason, count=count)
            facts.warning("A failed call was not captured")


def _class_of(bound: Any) -> str:
    """Return `module:Class` of a toolset; the module alone if it has no such class, as one of `@soft` functions."""
    owner = type(bound.tool)
    is_there = vars(sys.modules.get(owner.__module__, object)).get(owner.__qualname__) is owner
    return f"{owner.__module__}:{owner.__qualname__}" if is_there else owner.__module__


def _effect(operation: str, name: str, how: str, what: Any) -> dict[str, Any]:
    kept: dict[str, Any] = {"operation": operation, "name": name}
    if how == "error":
        kept["error"] = facts_of(what)
    elif how == "unfinished":
        kept["unfinished"] = True
    elif (text := exact(what)) is None:
        kept["lost"] = True
    else:
        kept["value"] = json.loads(text)
    return kept


class _Writer:
    """The thread that writes captures, started with the first one; at the end of the process it finishes.

    A failure that stands alone is written at once. Of a burst the others are written together when it pauses, after a
    second at the latest, so that writing does not take the interpreter from the calls.
    """

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Captures, _Noted]] = queue.SimpleQueue()
        self._count = self._done = self._size = 0
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def put(self, captures: Captures, noted: _Noted) -> bool:
        """Write a capture soon; return False if too many wait."""
        if self._count - self._done >= _WAITING_AT_MOST or self._size > _SIZE_AT_MOST:
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="failsoft-captures", daemon=True)
            self._thread.start()
            atexit.register(self.finish)
        self._count += 1
        self._size += len(noted.arguments or "")
        self._waiting.put((captures, noted))
        return True

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while batch:
                self._write(batch)
                batch = self._burst()

    def _burst(self) -> list[tuple[Captures, _Noted]]:
        """Return what has come when nothing more comes, or when it is too much or too old to wait."""
        seen, until = -1, time.monotonic() + _BURST_AT_MOST_S
        while seen < (seen := self._waiting.qsize()) < _BURST and self._size < _LARGE and time.monotonic() < until:
            self._hurry.wait(_PAUSE_S)
        return [self._waiting.get() for _ in range(self._waiting.qsize())]

    def _write(self, batch: Sequence[tuple[Captures, _Noted]]) -> None:
        by_runtime: dict[Captures, list[_Noted]] = {}
        for captures, noted in batch:
            by_runtime.setdefault(captures, []).append(noted)
        for captures, kept in by_runtime.items():
            newest = kept[-captures.count :]  # the others would be removed at once
            for place, noted in enumerate(newest, start=1):
                tell(captures.write, noted, is_last=place == len(newest))
            self._done += len(kept)
        if self._waiting.empty():
            self._size = 0

    def finish(self, within_s: float = _AT_EXIT_S) -> None:
        """Wait until all captures are written, for this many seconds at most."""
        until = time.monotonic() + within_s
        self._hurry.set()
        while self._done < self._count and time.monotonic() < until:
            time.sleep(0.002)
        self._hurry.clear()

    def forget(self) -> None:
        """Begin anew: a forked process has no thread, and its parent writes what waits."""
        self.__init__()  # type: ignore[misc]  # the same object, which others hold


_writer = _Writer()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_writer.forget)


def finish_captures() -> None:
    """Wait until the captures of this process are written, for a few seconds at most."""
    _writer.finish(_AT_EXIT_S)
