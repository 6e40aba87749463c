"""Types of normalization rules, and the completion of the errors they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.errors import Effect, ToolError, UnknownError
from failsoft.framework.text import bounded

__all__ = ["FixedError", "Inside", "Rule", "Table", "finish", "hint_of", "read", "text_of", "type_name", "unknown"]

_NAME_AT_MOST = 80


@dataclass(frozen=True, slots=True)
class FixedError:
    """A constant rule: the same error class and message for every exception.

    Args:
        error: The error class for the exception.
        message: Replaces the message of the class.
        effect: `none` if the exception proves that nothing was sent.
    """

    error: type[ToolError]
    message: str | None = None
    effect: Effect | None = None

    def __call__(self, _exc: Any) -> ToolError:
        """Return a new error of the class."""
        return self.error(message=self.message or self.error.template, effect=self.effect)


@dataclass(frozen=True, slots=True)
class Inside:
    """A rule's result for a wrapper: normalize the wrapped exception instead.

    Args:
        exc: The wrapped exception.
        otherwise: The rule for the wrapper if the wrapped exception is unknown; None passes to the next rule.
    """

    exc: BaseException
    otherwise: Callable[[Any], ToolError] | None = None


Rule: TypeAlias = Callable[[Any], "ToolError | Inside | None"]
"""Returns the typed error for an exception, the exception that it wraps, or None to pass."""

Table: TypeAlias = Mapping[str, Rule]
"""Qualified class name -> rule, for the classes of one root package."""


def read(source: Any, name: str, default: Any = None) -> Any:
    """Return an attribute, or the default if there is none or it breaks: foreign exceptions run code on access."""
    try:
        return getattr(source, name, default)
    except BaseException:  # noqa: BLE001 - as the docstring says
        return default


def type_name(exc: Any, *, full: bool = False) -> str:
    """Return the name of an exception's class, printable and bounded; with its module if `full`."""
    cls = type(exc)
    name = read(cls, "__qualname__" if full else "__name__")
    module = read(cls, "__module__") if full else None
    if not isinstance(name, str) or not name:
        return "Exception"
    prefix = f"{module}." if isinstance(module, str) and module != "builtins" else ""
    return bounded(prefix + name, _NAME_AT_MOST)


def text_of(exc: Any) -> str:
    """Return an exception's text for the log, bounded; nothing if its `__str__` breaks."""
    try:
        return bounded(str(exc))
    except BaseException:  # noqa: BLE001 - a broken __str__ must not cost the answer
        return ""


def unknown(exc: Any) -> ToolError:
    """Return UNKNOWN_ERROR for an exception that no rule knows: the name of its type, and nothing else."""
    return finish(UnknownError(type_name=type_name(exc)), exc)


def finish(error: ToolError, exc: Any) -> ToolError:
    """Return the error with the exception as its cause, and with what only the log and developers may see."""
    error.details.setdefault("type", type_name(exc, full=True))
    error.operator_hint = error.operator_hint or hint_of(exc)
    if isinstance(exc, BaseException) and error.__cause__ is None and not _leads_to(exc, error):
        error.__cause__ = exc
    return error


def hint_of(exc: Any) -> str:
    """Return an exception's type and text, for the log."""
    name, text = type_name(exc, full=True), text_of(exc)
    return f"{name}: {text}" if text else name


def _leads_to(exc: BaseException, error: ToolError) -> bool:
    """Return whether the error is among the exception's own causes: a chain must not become a circle."""
    seen: set[int] = set()
    link: Any = exc
    while link is not None and id(link) not in seen:
        if link is error:
            return True
        seen.add(id(link))
        link = read(link, "__cause__")
    return False
