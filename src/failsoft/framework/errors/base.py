"""`ToolError`, the root: a failure that a tool call can explain. The class is its own catalogue entry."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeGuard, TypeVar, get_args, get_origin

from failsoft.framework.errors.template import Template
from failsoft.framework.text import bounded
from failsoft.framework.violations import Violation

__all__ = [
    "Actor",
    "CatalogueError",
    "Effect",
    "ErrorType",
    "NextStep",
    "Public",
    "RetryWhen",
    "ToolError",
    "is_code",
    "registry",
]

RetryWhen: TypeAlias = Literal["after_fix", "after_delay", "never"]
Effect: TypeAlias = Literal["none", "unknown", "applied"]
Actor: TypeAlias = Literal["caller", "framework", "operator", "author", "person"]
ErrorType: TypeAlias = Literal[
    "validation_error",
    "not_found_error",
    "infeasibility_error",
    "library_error",
    "database_error",
    "timeout_error",
    "server_error",
]
"""The kinds of failure, as the format `coded_error` tells them."""

T = TypeVar("T")
PUBLIC = "failsoft: public field"
Public = Annotated[T, PUBLIC]
"""Marks a field of an error that may be told to every caller in every environment: `path: Public[str]`."""

_CODE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_CODE_LENGTH = 64
_NOTHING: tuple[Any, ...] = (None, "", (), [])

registry: dict[str, type[ToolError]] = {}
"""Every code and its class, filled as the classes are defined. Read it through `failsoft.framework.catalogue`."""


class CatalogueError(TypeError):
    """An error class was declared wrongly: no code, a taken one, a malformed one, or no documentation."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """The call to make next: an MCP tool of the same server, and arguments that pass its validation."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, `{"tool": ..., "arguments": {...}}`."""
        return {"tool": self.tool, "arguments": dict(self.arguments)}


class ToolError(Exception):
    """A failure with a stable code, a sentence, and what may be done about it.

    Subclass one of the categories, never this class: set `code`, annotate the fields, give `message` as a template
    over them and `hints`, and write the docstring. All arguments are keyword-only.

    Args:
        message: The whole sentence, in place of the class's template. Any class can be made with it alone.
        suggestions: Further candidates or hints for the caller, most likely first.
        next_step: The call that helps, as a `NextStep` or `{"tool": ..., "arguments": {...}}`.
        retry_after_seconds: When repeating the call makes sense, in seconds from now.
        effect: What this failure left behind, if the raiser knows: `none`, `unknown` or `applied`.
        details: Facts for whoever debugs; never sent in production.
        operator_hint: What the operator should do. Goes to the log only, so it may name commands and settings.
        violations: The faults of the arguments, for errors of the category `invalid_argument`.
        **fields: The fields that the class annotates.

    Raises:
        TypeError: A field that the class does not have, or one missing while no `message` is given.
    """

    code: ClassVar[str] = ""
    message: str = "The call failed."
    hints: ClassVar[tuple[str, ...]] = ()
    since: ClassVar[str] = ""
    category: str = ""
    http_status: ClassVar[int] = 500
    error_type: ClassVar[str] = "server_error"
    numeric_code: ClassVar[int] = -32603
    retry: ClassVar[RetryWhen] = "never"
    actor: ClassVar[Actor] = "author"
    critical: ClassVar[bool] = False
    """Whether operators are alerted, where the failure is not recoverable."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """Wire format -> the code under which that format knows this class."""
    aliases_by_reason: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Wire format -> reason of the first violation -> code, where a format has one code for each kind of fault."""

    fields: ClassVar[tuple[str, ...]] = ()
    public_fields: ClassVar[frozenset[str]] = frozenset()
    field_defaults: ClassVar[Mapping[str, Any]] = {}
    template: ClassVar[str] = "The call failed."
    _known: ClassVar[frozenset[str]] = frozenset()
    _builtin: ClassVar[type[BaseException]] = Exception
    _sentence: ClassVar[Template] = Template.parse(template)
    _hints: ClassVar[tuple[Template, ...]] = ()

    def __init_subclass__(cls, *, category: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_place(cls, category)
        if category is not None:
            cls.category = category
        cls._builtin = _builtin_base(cls)
        _collect_fields(cls)
        _check_entry(cls)
        registry[cls.code] = cls

    def __new__(cls, *_args: Any, **_fields: Any) -> Self:
        """Return a bare instance by the builtin base that owns the memory layout (`OSError` has one of its own)."""
        return cls._builtin.__new__(cls)

    def __init__(
        self,
        *,
        message: str | None = None,
        suggestions: Iterable[str] = (),
        next_step: NextStep | Mapping[str, Any] | None = None,
        retry_after_seconds: float | None = None,
        effect: Effect | None = None,
        details: Mapping[str, Any] | None = None,
        operator_hint: str = "",
        violations: Sequence[Violation] = (),
        **fields: Any,
    ) -> None:
        self._set_fields(fields, required=message is None)
        self.message = message if message is not None else self._sentence.fill(self)
        self.args = (self.message,)
        self.suggestions: tuple[str, ...] = (suggestions,) if isinstance(suggestions, str) else tuple(suggestions)
        self.next_step = None if next_step is None else _as_next_step(next_step)
        self.retry_after_seconds = retry_after_seconds
        self.effect = effect
        self.details: dict[str, Any] = dict(details or {})
        self.operator_hint = operator_hint
        self.violations = tuple(violations)

    def _set_fields(self, given: dict[str, Any], *, required: bool) -> None:
        missing = []
        for name in self.fields:
            value = given.get(name, self.field_defaults.get(name, ...))
            if value is ...:
                missing.append(name)
                value = None
            setattr(self, name, value)
        if missing and required:
            msg = f"{type(self).__name__} needs {', '.join(missing)} (or a whole sentence as message=)"
            raise TypeError(msg)
        if not given.keys() <= self._known:
            known = ", ".join(self.fields) or "none"
            unknown = ", ".join(sorted(given.keys() - self._known))
            msg = f"{type(self).__name__} has no field {unknown}; its fields: {known}"
            raise TypeError(msg)

    def code_in(self, wire_format: str) -> str:
        """Return the code under which a wire format knows this error."""
        if self.violations and wire_format in self.aliases_by_reason:
            by_reason = self.aliases_by_reason[wire_format]
            if (alias := by_reason.get(self.violations[0].reason)) is not None:
                return alias
        return self.aliases.get(wire_format, self.code)

    @property
    def recoverable(self) -> bool:
        """Whether the caller may try again at all, now, later or corrected (the seeds' `retryable`)."""
        return self.retry != "never"

    def public(self) -> dict[str, Any]:
        """Return the public fields that have a value, for callers in every environment."""
        return {
            name: value
            for name in self.fields
            if name in self.public_fields and (value := getattr(self, name)) is not None
        }

    def all_details(self) -> dict[str, Any]:
        """Return all fields that have a value, and the details, for environments that may see them."""
        own = {name: value for name in self.fields if (value := getattr(self, name)) is not None}
        return {**own, **self.details}

    def rendered_hints(self) -> tuple[str, ...]:
        """Return the class's hints with the fields filled in; a hint over a missing field is left out."""
        rendered = []
        for hint in self._hints:
            for name in hint.names:
                if getattr(self, name) in _NOTHING:
                    break
            else:
                rendered.append(hint.fill(self))
        return tuple(rendered)

    def to_dict(self) -> dict[str, Any]:
        """Return the error as a JSON tree with all its facts: for code of your own, since not every caller may see it.

        Source: seed 004, `toJSON`.
        """
        from failsoft.framework.clock import utc_timestamp  # noqa: PLC0415 - as below
        from failsoft.framework.json_safe import json_safe  # noqa: PLC0415 - pydantic comes with it

        return {
            "name": type(self).__name__,
            "message": self.message,
            "code": self.code,
            "category": self.category,
            "status_code": self.http_status,
            "details": json_safe(self.all_details()),
            "recoverable": self.recoverable,
            "timestamp": utc_timestamp(),
        }

    def __str__(self) -> str:
        return self.message

    def __copy__(self) -> Self:
        return _rebuild(type(self), dict(self.__dict__), self.__cause__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return _rebuild(type(self), {name: _deep(value, memo) for name, value in self.__dict__.items()}, self.__cause__)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: _picklable(value) for name, value in self.__dict__.items()}
        return _rebuild, (type(self), state, _picklable(self.__cause__, otherwise=None))


E_ = TypeVar("E_", bound=ToolError)


def _rebuild(cls: type[E_], state: dict[str, Any], cause: BaseException | None) -> E_:
    error = cls.__new__(cls)
    error.args = (state.get("message", ""),)
    error.__dict__.update(state)
    error.__cause__ = cause
    return error


def _deep(value: Any, memo: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001 - a field that cannot be copied is shared rather than lost
        return value


def _picklable(value: Any, *, otherwise: Any = ...) -> Any:
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes, made one call earlier
    except Exception:  # noqa: BLE001 - an error must cross a process even if one of its facts cannot
        return bounded(repr(value)) if otherwise is ... else otherwise
    return value


def _as_next_step(step: NextStep | Mapping[str, Any]) -> NextStep:
    if isinstance(step, NextStep):
        return step
    return NextStep(str(step["tool"]), dict(step.get("arguments", {})))


def _check_place(cls: type[ToolError], category: str | None) -> None:
    parents = [base for base in cls.__bases__ if issubclass(base, ToolError)]
    if len(parents) != 1:
        msg = f"{cls.__qualname__} must have exactly one parent among the error categories"
        raise CatalogueError(msg)
    depth = len([base for base in cls.__mro__ if issubclass(base, ToolError)])
    if category is None and depth == 2:  # noqa: PLR2004 - root and the class itself
        msg = f"{cls.__qualname__} must subclass a category (NotFound, InvalidArgument, ...), not ToolError itself"
        raise CatalogueError(msg)
    if depth > 3 or (category is not None and depth != 2):  # noqa: PLR2004 - root, category, concrete
        msg = f"{cls.__qualname__} stands too deep: the hierarchy is ToolError, category, concrete error"
        raise CatalogueError(msg)


def _builtin_base(cls: type[BaseException]) -> type[BaseException]:
    while cls.__module__ != "builtins":
        cls = cls.__base__  # type: ignore[assignment]
    return cls


def _collect_fields(cls: type[ToolError]) -> None:
    own = {
        name: annotation
        for name, annotation in inspect.get_annotations(cls).items()
        if not _is_class_variable(annotation) and not name.startswith("_") and name not in ToolError.__annotations__
    }
    cls.fields = tuple(dict.fromkeys((*cls.fields, *own)))
    cls._known = frozenset(cls.fields)
    cls.public_fields = cls.public_fields | {name for name, annotation in own.items() if _is_public(annotation)}
    cls.field_defaults = {**cls.field_defaults, **{name: cls.__dict__[name] for name in own if name in cls.__dict__}}
    cls.template = cls.message
    cls._sentence = Template.parse(cls.template)
    cls._hints = tuple(Template.parse(hint) for hint in cls.hints)


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return "ClassVar" in annotation
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _is_public(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return re.match(r"(\w+\.)*Public\[", annotation) is not None
    return get_origin(annotation) is Annotated and PUBLIC in get_args(annotation)


def is_code(name: object) -> TypeGuard[str]:
    """Return whether a name may be an error code: UPPERCASE_SNAKE_CASE, and not too long."""
    return isinstance(name, str) and _CODE.fullmatch(name) is not None and len(name) <= _CODE_LENGTH


def _check_entry(cls: type[ToolError]) -> None:
    name = cls.__qualname__
    code = cls.__dict__.get("code")
    if not is_code(code):
        msg = f"{name}.code must be UPPERCASE_SNAKE_CASE of at most {_CODE_LENGTH} characters, not {code!r}"
        raise CatalogueError(msg)
    if not (cls.__dict__.get("__doc__") or "").strip():
        msg = f"{name} ({code}) has no docstring: say when it is raised and how it is mended"
        raise CatalogueError(msg)
    facts: dict[str, Sequence[Any]] = {
        "retry": get_args(RetryWhen),
        "actor": get_args(Actor),
        "http_status": range(400, 600),
        "error_type": get_args(ErrorType),
        "numeric_code": range(-32768, -31999),
    }
    for fact, accepted in facts.items():
        if getattr(cls, fact) not in accepted:
            msg = f"{name} ({code}): {fact} is one of {accepted}, not {getattr(cls, fact)!r}"
            raise CatalogueError(msg)
    taken = registry.get(code)
    if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, name):
        msg = f"{name}: the code {code} belongs to {taken.__module__}.{taken.__qualname__} already"
        raise CatalogueError(msg)
    for template in (cls._sentence, *cls._hints):
        unknown = template.names - cls._known
        if unknown:
            used = ", ".join(sorted(unknown))
            msg = f"{name} ({code}): the text {template.text!r} uses {used}, which it has no field for"
            raise CatalogueError(msg)
