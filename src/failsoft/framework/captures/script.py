"""Answers a replayed call from its capture: marked effects, and the faults that `Chaos` injected."""

from __future__ import annotations

import asyncio
import builtins
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from failsoft.framework.errors import ToolSystemError
from failsoft.framework.errors.tool_error import ToolError, registry
from failsoft.framework.normalize import normalize
from failsoft.framework.safe.tracebacks import author_place
from failsoft.framework.text import type_name

Call: TypeAlias = Any
"""A `Call`, whose room stands above this one."""

_SCALARS = (str, int, float, bool, type(None))


class Script:
    """The answers of one replay, each given once, in the order in which they were captured.

    Args:
        effects: As in a capture: `operation`, `name`, and `value`, `error` or `unfinished`.
        faults: As in a capture: `operation`, `delay_s` and `kind`.
    """

    def __init__(self, effects: Iterable[Mapping[str, Any]], faults: Iterable[Mapping[str, Any]]) -> None:
        self._effects: dict[tuple[str, str], deque[Mapping[str, Any]]] = defaultdict(deque)
        self._faults: dict[str, deque[tuple[float, str]]] = defaultdict(deque)
        for effect in effects:
            self._effects[str(effect["operation"]), str(effect["name"])].append(effect)
        for fault in faults:
            self._faults[str(fault["operation"])].append((float(fault["delay_s"]), str(fault["kind"])))
        self._raised: list[tuple[BaseException, Mapping[str, Any]]] = []
        self.has_stopped = False
        """Whether an effect was answered that had not ended when its call did."""
        self.substituted: list[str] = []
        """Names of effects whose exception could not be made again, so that their typed error was raised."""

    def effect(self, call: Call, name: str) -> Callable[[], Any] | None:
        """Return what answers an effect in place of its work; None for one that the captured call did not reach."""
        kept = self._effects.get((call.operation, name))
        if not kept:
            return None
        captured = kept.popleft() if len(kept) > 1 else kept[0]  # a further run of the handler gets the last answer

        async def answer() -> Any:
            if "error" in captured:
                raise self._made(name, captured["error"])
            if captured.get("unfinished"):
                self.has_stopped = True
                remaining_s = call.remaining_s()
                await asyncio.sleep(0 if remaining_s is None else remaining_s + 1)
                raise TimeoutError
            return captured["value"]

        return answer

    def fault(self, call: Call) -> tuple[float, str]:
        """Return the delay in seconds and the kind of fault for the next run; nothing after the captured ones."""
        kept = self._faults.get(call.operation)
        return kept.popleft() if kept else (0.0, "")

    def captured_end(self, error: BaseException) -> Mapping[str, Any] | None:
        """Return `type` and `function` of an exception that was raised from the capture; None for any other."""
        return next((facts for raised, facts in self._raised if raised is error), None)

    def _made(self, name: str, facts: Mapping[str, Any]) -> BaseException:
        error = exception_from(facts)
        if error is None:
            self.substituted.append(name)
            error = ToolSystemError(component=f"the effect {name}")
        elif type_name_of(error) != facts["type"]:
            self.substituted.append(name)
        self._raised.append((error, facts))
        return error


def type_name_of(error: BaseException) -> str:
    """Return `module.Class` of an exception, without the module of builtin ones."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def facts_of(error: BaseException) -> dict[str, Any]:
    """Return an exception as JSON: its type, its arguments if they are scalars, its typed error, and where it was."""
    typed: ToolError = error if isinstance(error, ToolError) else normalize(error)
    place = author_place(error)
    arguments = [*error.args] if all(isinstance(item, _SCALARS) for item in error.args) else None
    return {
        "type": type_name_of(error),
        "arguments": None if isinstance(error, ToolError) else arguments,
        "code": typed.code,
        "message": str(typed.message),
        "effect": typed.effect,
        "fields": {
            field: value for field in typed.fields if isinstance(value := getattr(typed, field, None), _SCALARS)
        },
        "function": "" if place is None else place[1],
    }


def exception_from(facts: Mapping[str, Any]) -> BaseException | None:
    """Return the exception of such facts, or its typed error if it cannot be made; None for an unknown code.

    No module is imported for it, and only subclasses of `Exception` are made.
    """
    arguments = facts.get("arguments")
    if arguments is not None:
        module, _, name = str(facts["type"]).rpartition(".")
        kind: Any = vars(builtins).get(name) if not module else getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                made = kind(*arguments)
            except Exception:  # noqa: BLE001 - a constructor of others
                made = None
            if isinstance(made, Exception):
                return made
    typed = registry.get(str(facts.get("code")))
    if typed is None:
        return None
    error = typed(message=str(facts.get("message") or type_name(typed)), effect=facts.get("effect"))
    vars(error).update({name: value for name, value in facts.get("fields", {}).items() if name in typed.fields})
    return error
