"""The words of errors, what raising one accepts, and how an error is copied and pickled."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeGuard, TypeVar, get_args, get_origin

from failsoft.framework.text import bounded

T = TypeVar("T")
E_ = TypeVar("E_", bound=BaseException)

PUBLIC = "failsoft: public field"
Public = Annotated[T, PUBLIC]
"""Marks a field of an error that every caller may see in every environment: `path: Public[str]`."""

WORDS = "failsoft: the author's own words"
Words: TypeAlias = Annotated[str, WORDS]
"""Marks a field that holds a clause of the author's own (`reason: Public[Words]`): it is not quoted in a message."""

Effect: TypeAlias = Literal["none", "unknown", "applied"]
"""Whether a failed call changed anything."""
RetryWhen: TypeAlias = Literal["after_fix", "after_delay", "never"]
"""When a call may be repeated: with other arguments, after a wait, or not at all."""
Actor: TypeAlias = Literal["caller", "framework", "operator", "author", "person"]
"""Who has to act on a failure."""

ErrorType: TypeAlias = Literal[
    "validation_error",
    "not_found_error",
    "infeasibility_error",
    "library_error",
    "database_error",
    "timeout_error",
    "server_error",
]
"""The kinds of failure in the format `coded_error`."""
NUMERIC_CODES: dict[ErrorType, int] = {
    "validation_error": -32000,
    "not_found_error": -32001,
    "infeasibility_error": -32002,
    "library_error": -32003,
    "database_error": -32004,
    "timeout_error": -32005,
    "server_error": -32603,
}
"""The number that goes with each kind, as in JSON-RPC."""

StopReason: TypeAlias = Literal[
    "not_transient",
    "effect_possible",
    "attempts",
    "budget",
    "deadline",
    "wait_too_long",
    "circuit_open",
    "rejected",
    "no_strategy",
    "repeated",
]
"""Why a failed call was not attempted again; part of every failure.

- `not_transient`: the error does not go away by waiting.
- `effect_possible`: another attempt could do the work twice.
- `attempts`, `budget`: the number of attempts or the retry budget is used up.
- `deadline`, `wait_too_long`: the wait does not fit before the deadline, or exceeds the longest one allowed.
- `circuit_open`: the breaker of its dependency is open.
- `rejected`: the call was refused before the handler started.
- `no_strategy`: no strategy handles errors of this kind.
- `repeated`: the same call has failed the same way at least three times within ten minutes.
"""
OF_A_CATEGORY = ("category", "retry", "actor", "http_status", "error_type", "numeric_code")
"""What an error has of its category, and one error may have of another."""

CODE_LENGTH = 64
_CODE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_STEP_KEYS = ("tool", "arguments")
_EFFECTS: tuple[Effect, ...] = get_args(Effect)


@dataclass(frozen=True, slots=True)
class NextStep:
    """The call to make next: an MCP tool of the same server, and arguments that pass its validation.

    Examples:
        >>> NextStep("get_book", {"title": "Dune"}).to_dict()
        {'tool': 'get_book', 'arguments': {'title': 'Dune'}}
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, `{"tool": ..., "arguments": {...}}`."""
        return {"tool": self.tool, "arguments": dict(self.arguments)}


class PicklableError(Exception):
    """An exception that is rebuilt without its constructor, from `args` and its attributes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args), self.__dict__


def _rebuild(kind: type[PicklableError], args: tuple[Any, ...]) -> PicklableError:
    return kind.__new__(kind, *args)


def is_code(name: object) -> TypeGuard[str]:
    """Return whether a name may be an error code: UPPERCASE_SNAKE_CASE, and not too long."""
    return isinstance(name, str) and _CODE.fullmatch(name) is not None and len(name) <= CODE_LENGTH


class RaisedWrongly(PicklableError, TypeError):
    """An error was constructed with an unknown field, or without a required one.

    Args:
        text: What is wrong.
        error: The error without the invalid fields, which the caller of the tool gets.
    """

    def __init__(self, text: str, error: Any) -> None:
        super().__init__(text)
        self.error = error


def field_faults(kind: Any, given: Collection[str], *, has_message: bool) -> list[str]:
    """Return what is wrong with the names of the fields given to an error of this class."""
    known: Sequence[str] = kind.fields
    if has_message and not given:
        return []
    unknown = [] if kind._known.issuperset(given) else [name for name in given if name not in known]  # noqa: SLF001 - of the same package
    missing = [] if has_message else [name for name in known if name not in given and name not in kind.field_defaults]
    if not unknown and not missing:
        return []
    faults = [_unknown_field(name, known) for name in sorted(unknown)]
    if missing:
        faults.append(f"needs {', '.join(missing)} (or a whole sentence as message=)")
    return faults


def as_next_step(step: Any) -> tuple[NextStep | None, list[str]]:
    """Return a next step, and what is wrong with its form; the step is None if it names no tool."""
    if step is None or isinstance(step, NextStep):
        return step, []
    if isinstance(step, str):
        return NextStep(step), [f'next_step is a text; it takes {{"tool": {step!r}, "arguments": {{}}}}']
    if not isinstance(step, Mapping) or not isinstance(step.get("tool"), str):
        return None, [f"next_step is {_described(step)}; it takes " + '{"tool": "...", "arguments": {...}}']
    arguments = step.get("arguments", {})
    faults = [_unknown_key(key) for key in step if key not in _STEP_KEYS]
    if not isinstance(arguments, Mapping):
        return None, [*faults, f"next_step has arguments of type {type(arguments).__name__}; it takes an object"]
    return NextStep(step["tool"], dict(arguments)), faults


def as_effect(effect: Any) -> tuple[Effect | None, list[str]]:
    """Return an effect, and what is wrong with it; the effect is None if it is unknown."""
    if effect is None or effect in _EFFECTS:
        return effect, []
    return None, [f"effect is {bounded(repr(effect))}; it is one of {', '.join(_EFFECTS)}"]


def report_mistakes(name: str, faults: Iterable[str]) -> None:
    """Report mistakes in raising an error of this name, with the file and line that raises it."""
    for fault in faults:
        from failsoft.framework.safe.author_reports import report_mistake  # noqa: PLC0415 - loguru, for mistakes only

        report_mistake(f"{name} {fault}")


def _unknown_field(name: str, known: Sequence[str]) -> str:
    from failsoft.framework.errors.corrections import closest_name  # noqa: PLC0415 - for mistakes only

    accepted = (*known, "message", "suggestions", "next_step", "retry_after_seconds", "effect", "details")
    meant = closest_name(name, accepted)
    listed = f"its fields: {', '.join(known) or 'none'}"
    return f"has no field {name}" + (f"; did you mean {meant}? ({listed})" if meant else f"; {listed}")


def _unknown_key(key: Any) -> str:
    from failsoft.framework.errors.corrections import closest_name  # noqa: PLC0415 - for mistakes only

    meant = closest_name(str(key), _STEP_KEYS)
    hint = f"; did you mean '{meant}'?" if meant else "; it takes tool and arguments"
    return f"next_step has no key '{bounded(str(key))}'{hint}"


def _described(step: Any) -> str:
    return "without a tool" if isinstance(step, Mapping) else f"of type {type(step).__name__}"


def is_class_variable(annotation: Any) -> bool:
    """Return whether an annotation is that of a class variable, as text or evaluated."""
    if isinstance(annotation, str):
        return "ClassVar" in annotation
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def is_public(annotation: Any) -> bool:
    """Return whether an annotation marks a field as public."""
    if isinstance(annotation, str):
        return re.match(r"(\w+\.)*Public\[", annotation) is not None
    return get_origin(annotation) is Annotated and PUBLIC in get_args(annotation)


def is_words(annotation: Any) -> bool:
    """Return whether an annotation marks a field as the author's own words."""
    if isinstance(annotation, str):
        return re.search(r"\bWords\b", annotation) is not None
    return WORDS in _marks(annotation)


def _marks(annotation: Any) -> list[Any]:
    """Return the marks of an annotation, including those of an optional value."""
    own = list(getattr(annotation, "__metadata__", ()))
    return own + [mark for member in get_args(annotation) for mark in _marks(member)]


def rebuild(cls: type[E_], state: dict[str, Any], cause: BaseException | None) -> E_:
    """Return an error of a class with this state, without its constructor."""
    error = cls.__new__(cls)
    error.args = (state.get("message", ""),)
    error.__dict__.update(state)
    error.__cause__ = cause
    return error


def deep(value: Any, memo: dict[int, Any]) -> Any:
    """Return a deep copy of a value, or the value itself if it cannot be copied."""
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001 - as above
        return value


def picklable(value: Any, *, otherwise: Any = ...) -> Any:
    """Return a value if it can be pickled, otherwise a replacement, by default its text."""
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes, made one call earlier
    except Exception:  # noqa: BLE001 - an error must cross a process even if one of its facts cannot
        return bounded(repr(value)) if otherwise is ... else otherwise
    return value


def reduced(error: BaseException, root: type[BaseException]) -> tuple[Any, ...]:
    """Return what pickles an error with its causes, as far as they are of this class, and the one after them."""
    links: dict[int, BaseException] = {}
    link: BaseException | None = error
    while isinstance(link, root) and id(link) not in links:
        links[id(link)] = link
        link = link.__cause__
    facts = [(type(one), {name: picklable(value) for name, value in one.__dict__.items()}) for one in links.values()]
    return _rebuild_all, (facts, None if isinstance(link, root) else picklable(link, otherwise=None))


def _rebuild_all(facts: list[tuple[type[BaseException], dict[str, Any]]], cause: BaseException | None) -> Any:
    for cls, state in reversed(facts):
        cause = rebuild(cls, state, cause)
    return cause
