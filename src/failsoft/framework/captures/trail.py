"""What a running call notes for its capture: the outcomes of marked effects, and the faults that `Chaos` injected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from failsoft.framework.asking.waiting import around

Call: TypeAlias = Any
"""A `Call`, whose room stands above this one."""

_NOTES_AT_MOST = 1_000


class Trail:
    """The notes of a call and of the calls that its handler made.

    Attributes:
        effects: Operation and name of each effect, how it ended (`value`, `error` or `unfinished`), and its value or
            exception.
        faults: Operation, delay in seconds and kind of what was injected into each run.
    """

    __slots__ = ("effects", "faults")

    def __init__(self) -> None:
        self.effects: list[tuple[str, str, str, Any]] = []
        self.faults: list[tuple[str, float, str]] = []

    def note_effect(self, call: Call, name: str, how: str, what: Any = None) -> None:
        """Note how an effect ended; the first 1,000 are kept."""
        if len(self.effects) < _NOTES_AT_MOST:
            self.effects.append((call.operation, name, how, what))

    def note_fault(self, call: Call, delay_s: float, kind: str) -> None:
        """Note what was injected into a run; the first 1,000 are kept."""
        if len(self.faults) < _NOTES_AT_MOST:
            self.faults.append((call.operation, delay_s, kind))


def outermost(call: Call) -> Call:
    """Return the call that a caller has made, around this one and all between them."""
    *_, found = around(call)
    return found


def trail_of(call: Call) -> Trail | None:
    """Return the notes of the outermost call; None where no calls are captured."""
    if call.bound.captures is None:
        return None
    root = outermost(call)
    trail: Trail | None = getattr(root, "trail", None)
    if trail is None:
        trail = root.trail = Trail()
    return trail


def script_of(call: Call) -> Any:
    """Return the `Script` of a call that is replayed; None of any other."""
    scope = call.scope
    if scope.script is not None or not hasattr(call, "outer"):
        return scope.script
    return outermost(call).scope.script


def effect_in(call: Call, name: str, run: Callable[[], Any]) -> tuple[Callable[[], Any], Callable[..., None] | None]:
    """Return the function to run for an effect, and the function that notes its end.

    In a replay the function answers from the capture; nothing is noted where calls are not captured.
    """
    script = script_of(call)
    if script is not None and (answer := script.effect(call, name)) is not None:
        return answer, None
    trail = trail_of(call)
    if trail is None:
        return run, None

    def note(how: str, what: Any = None) -> None:
        trail.note_effect(call, name, how, what)

    return run, note


def note_found(call: Call, name: str, value: Any) -> None:
    """Note an effect that an earlier call with the same key has carried out."""
    if (trail := trail_of(call)) is not None:
        trail.note_effect(call, name, "value", value)
