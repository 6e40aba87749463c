"""What the calls of each caller did last: how often one failed the same way, and which next step was named.

Memory is bounded, and of a call it has a digest only: Python's own hash, which is keyed, with a random key of ours.
"""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from json import JSONEncoder
from operator import itemgetter
from typing import Any, TypeAlias

from failsoft.framework.events import StepResult

REPEATED_FROM = 3
"""The number of the failure from which on identical ones are told."""
_REPEATED_WITHIN_S = 600.0
_FOLLOWED_WITHIN_S = 60.0
_WAIT_AT_MOST_S = 3_600.0
"""Advised waits are doubled up to this; an error may ask for a longer one."""
_ENTRIES_AT_MOST = 1_000
_CODES_AT_MOST = 50
"""Codes of one tool; past them its failures are counted from one again."""

Begun: TypeAlias = tuple[int | None, str | None]
"""The digest of a call that begins, and the code of the failure whose next step it is."""
Failures: TypeAlias = tuple[int, float, float, float | None]
"""How often a call failed the same way without a pause of more than ten minutes and the advised wait; when it did last,
and last but one; and the wait that was advised last, in seconds, or None."""
Step: TypeAlias = tuple[str, float, float, frozenset[type]]
"""The code of the failure that named a step, when it did, until when following it counts, and the types of its
arguments."""
_canonical = JSONEncoder(sort_keys=True, separators=(",", ":"), default=repr).encode


class RecentCalls:
    """The memory of one tool. Thread-safe.

    Args:
        recent: The memory of its runtime.
    """

    def __init__(self, recent: Recent) -> None:
        self._recent, self._lock, self._clock, self.digest = recent, recent.lock, recent.clock, recent.digest
        self._codes: set[str] = set()
        self.failures: dict[tuple[int, str], Failures] = {}
        """By the digest of the call, and the code."""
        self.steps: dict[int, Step] = {}
        """By the digest of the call that they are."""

    def begun(self, digest: int | None, arguments: Mapping[str, Any]) -> Begun:
        """Return a call that begins, and take the step that it is."""
        if digest is None or digest not in self.steps:
            return digest, None
        with self._lock:
            step = self.steps.get(digest)
            if step is None or step[3] != _types(arguments):
                return digest, None
            del self.steps[digest]
            self._recent.count -= 1
        code, _, until, _ = step
        if self._clock() > until:
            self._recent.on_step(code, "ignored")
            return digest, None
        return digest, code

    def succeeded(self, begun: Begun) -> None:
        """Forget the failures of a call that succeeded."""
        digest, advised_by = begun
        if advised_by is not None:
            self._recent.on_step(advised_by, "followed_ok")
        if digest is not None and self.failures:
            with self._lock:
                for code in self._codes:
                    if self.failures.pop((digest, code), None) is not None:
                        self._recent.count -= 1

    def failed(self, begun: Begun, code: str, began_at: float, wait_s: float | None) -> tuple[int, float | None]:
        """Count a failure; return how many identical ones there are if the caller should be told, else 0, and the wait.

        The wait is twice that of the identical failure before, if the call began after it: a call that was under way
        then repeats nothing that its caller was told. It is never shorter than the error asks for.

        Args:
            begun: The call, as `begun` returned it.
            code: The code of the error.
            began_at: When it began.
            wait_s: The wait that the error asks for, in seconds; None for none.
        """
        digest, advised_by = begun
        if advised_by is not None:
            self._recent.on_step(advised_by, "followed_failed")
        if digest is None:
            return 0, wait_s
        now, key = self._clock(), (digest, code)
        with self._lock:
            found = self.failures.get(key)
            if found is None:
                self.failures[key] = 1, now, 0.0, wait_s
                self._recent.count += 1
                if self._recent.count > self._recent.at_most or code not in self._codes:
                    self._make_room(code)
                return 0, wait_s
            times, last, before, waited_s = found
            if now > _until(found):
                times, last = 0, 0.0
            elif wait_s is not None and waited_s is not None:
                wait_s = max(wait_s, min(2 * waited_s, _WAIT_AT_MOST_S) if began_at >= last else waited_s)
            self.failures[key] = times + 1, now, last, wait_s
        is_repeated = times + 1 >= REPEATED_FROM and now - before <= _REPEATED_WITHIN_S
        return times + 1 if is_repeated else 0, wait_s

    def named(
        self,
        caller: str,
        tool: str,
        arguments: Mapping[str, Any],
        code: str,
        began_at: float,
        wait_s: float | None,
    ) -> None:
        """Remember the next step that a failure names.

        Args:
            caller: The principal.
            tool: The tool of the step.
            arguments: Those of the step.
            code: The code of the failure.
            began_at: When the call that failed began.
            wait_s: The wait that was advised, in seconds.
        """
        digest = self.digest(caller, tool, arguments)
        if digest is None:
            return
        now, types = self._clock(), _types(arguments)
        with self._lock:
            earlier = self.steps.get(digest)
            self.steps[digest] = code, now, now + (wait_s or 0.0) + _FOLLOWED_WITHIN_S, types
            if earlier is None:
                self._recent.count += 1
                if self._recent.count > self._recent.at_most:
                    self._recent.make_room()
        if earlier is not None and began_at >= earlier[1]:
            self._recent.on_step(earlier[0], "ignored")

    def _make_room(self, code: str) -> None:
        if code not in self._codes and len(self._codes) >= _CODES_AT_MOST:
            self._codes.clear()
            self.failures.clear()
        self._codes.add(code)
        self._recent.make_room()


class Recent:
    """The memory of one runtime, of all its tools together. Thread-safe.

    A next step is followed by the call that it names: the same caller, tool, and arguments as JSON. It counts as
    `followed_ok` or `followed_failed` when that call has ended, and as `ignored` if it has not begun within a minute
    (after the wait that was advised), whatever else was called, because models call in parallel; or if it is named
    once more by a call that began after it had been named. Steps of calls that were cancelled, and those that had to
    be forgotten for newer ones, do not count.

    Args:
        on_step: Told the code of the failure that named a step, and what became of the step.
        is_off: Whether nothing is remembered, so that every failure is the first.
        at_most: How many failures and steps are remembered; of more, the older half is forgotten.
        clock: Now, in seconds.
    """

    def __init__(
        self,
        on_step: Callable[[str, StepResult], None],
        *,
        is_off: bool = False,
        at_most: int = _ENTRIES_AT_MOST,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.on_step, self.clock, self.lock = on_step, clock, threading.Lock()
        self.at_most, self._is_off = at_most, is_off
        self._key = secrets.randbits(61)
        self._tools: weakref.WeakValueDictionary[tuple[str, str], RecentCalls] = weakref.WeakValueDictionary()
        self.count = 0
        """How many entries there are, or more: those of tools that are gone are subtracted by the next sweep."""

    def of(self, toolset: str, name: str) -> RecentCalls:
        """Return the memory of a tool, the same one for as long as anything holds it.

        Args:
            toolset: What no other toolset of this process has.
            name: The name of the tool.
        """
        with self.lock:
            kept = self._tools.get((toolset, name))
            if kept is None:
                kept = self._tools[toolset, name] = RecentCalls(self)
            return kept

    def digest(self, caller: str, tool: str, arguments: Mapping[str, Any]) -> int | None:
        """Return the digest of a call, the same for arguments that are the same as JSON; None if they are no JSON."""
        if self._is_off:
            return None
        try:
            if -1 not in arguments.values():  # whose hash is that of -2
                return hash((self._key, caller, tool, frozenset(arguments.items())))
        except TypeError:  # a list or an object among them
            pass
        except BaseException:  # noqa: BLE001 - a caller in this process may send anything
            return None
        try:
            return hash((self._key, caller, tool, _canonical(arguments)))
        except BaseException:  # noqa: BLE001 - as above
            return None

    def sweep(self) -> dict[tuple[str, ...], float]:
        """Forget what is over and count the steps that were ignored; a reader of gauges, which returns none."""
        now, ignored = self.clock(), []
        with self.lock:
            for tool in list(self._tools.values()):
                for key, found in list(tool.failures.items()):
                    if now > _until(found):
                        del tool.failures[key]
                for digest, (code, _, until, _) in list(tool.steps.items()):
                    if now > until:
                        del tool.steps[digest]
                        ignored.append(code)
            self.count = self._counted()
        for code in ignored:
            self.on_step(code, "ignored")
        return {}

    def make_room(self) -> None:
        """Forget the older half of the entries if there are too many; the lock is held."""
        if self.count > self.at_most:
            entries = self._by_age()
            for _, kept, key in entries[: len(entries) - self.at_most // 2] if len(entries) > self.at_most else ():
                del kept[key]
            self.count = self._counted()

    def _counted(self) -> int:
        return sum(len(tool.failures) + len(tool.steps) for tool in list(self._tools.values()))

    def _by_age(self) -> list[tuple[float, dict[Any, Any], Any]]:
        kept: list[dict[Any, Any]] = []
        for tool in list(self._tools.values()):
            kept += (tool.failures, tool.steps)
        return sorted(
            ((entry[1], entries, key) for entries in kept for key, entry in entries.items()), key=itemgetter(0)
        )


def _until(failures: Failures) -> float:
    """Return until when a further failure is not the first again."""
    return failures[1] + _REPEATED_WITHIN_S + (failures[3] or 0.0)


def _types(arguments: Mapping[str, Any]) -> frozenset[type]:
    """Return the types of arguments, because Python takes 1, 1.0 and true for the same."""
    try:
        return frozenset(map(type, arguments.values()))
    except BaseException:  # noqa: BLE001 - as above
        return frozenset()
