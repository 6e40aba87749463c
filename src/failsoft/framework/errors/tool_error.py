"""`ToolError`: a class is an entry of the catalogue, declared and checked once, then raised with its facts."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, dataclass_transform, get_args

from failsoft.framework.errors.template import MessageTemplate
from failsoft.framework.errors.violations import Violation
from failsoft.framework.errors.vocabulary import (
    CODE_LENGTH,
    NUMERIC_CODES,
    Actor,
    Effect,
    ErrorType,
    NextStep,
    RaisedWrongly,
    RetryWhen,
    as_effect,
    as_next_step,
    deep,
    field_faults,
    is_class_variable,
    is_code,
    is_public,
    is_words,
    rebuild,
    reduced,
    report_mistakes,
)

Input = TypeVar("Input")
Kept = TypeVar("Kept")
_NOTHING: tuple[Any, ...] = (None, "", (), [])

registry: dict[str, type[ToolError]] = {}
"""All codes with their classes, added when a class is defined. Read it through `errors.catalogue`."""


class CatalogueError(TypeError):
    """An error class has no code, one that is taken or malformed, or no documentation."""


class _Given(Generic[Input, Kept]):
    """The type of a keyword of `ToolError` whose attribute has another type than the argument."""

    def __init__(self, default: Kept) -> None: ...
    def __get__(self, instance: object, owner: type) -> Kept: ...  # type: ignore[empty-body]  # never run
    def __set__(self, instance: object, value: Input) -> None: ...


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class _Declared(Exception):
    """The annotated attributes of subclasses are keywords of the constructor."""


class ToolError(_Declared):
    """A failure with a stable code, a message, and advice for the caller.

    Subclass one of the categories, never this class: set `code`, annotate the fields, give `message` as a template
    over them and `hints`, and write the docstring. The rest is its category's. Only the message may be positional.

    Args:
        message: The complete message, instead of the class's template. It is the only argument that is ever required.
        suggestions: Further candidates or hints for the caller, most likely first.
        next_step: The suggested call, as a `NextStep` or `{"tool": ..., "arguments": {...}}`.
        retry_after_seconds: When repeating the call makes sense, in seconds from now.
        effect: Whether anything was changed, if known: `none`, `unknown` or `applied`.
        details: Facts for debugging; never sent in production.
        operator_hint: What the operator should do. Goes to the log only, so it may name commands and settings.
        violations: The faults of the arguments, for errors of the category `invalid_argument`.
        **fields: The fields that the class annotates.

    Raises:
        TypeError: A field that the class does not have, or one missing while no `message` is given; the closest name is
            in its text, and in a WARNING with the file and line. A tool that raises it still answers with this error.

    Examples:
        >>> DocumentNotFound(path="guide.md", suggestions=["guides.md"]).category
        'not_found'
    """

    code: ClassVar[str] = ""
    """The stable code, unique among all classes: `SHELF_NOT_FOUND`."""

    if TYPE_CHECKING:  # the constructor's arguments, in the form of a dataclass
        _text: str = field(default="", kw_only=False)
        message: str = ""
        suggestions: _Given[Iterable[str], tuple[str, ...]] = _Given(())
        next_step: _Given[NextStep | Mapping[str, Any] | None, NextStep | None] = _Given(None)
        retry_after_seconds: float | None = None
        effect: Effect | None = None
        details: _Given[Mapping[str, Any] | None, dict[str, Any]] = _Given({})
        operator_hint: str = ""
        violations: _Given[Sequence[Violation], tuple[Violation, ...]] = _Given(())
        category: str = field(default="", init=False)
        effect_is_foreign: bool = field(default=False, init=False)
        is_refusal: bool = field(default=False, init=False)
    else:
        message: str = "The call failed."
        category, effect_is_foreign = "", False  # whether a library or a call below states the effect
        is_refusal = False  # whether it is the answer of a service that did not do what was asked
    hints: ClassVar[tuple[str, ...]] = ()
    """What the caller can do, a sentence each; templates over the fields, as `message` is."""
    remedy: ClassVar[str] = ""
    """What to do before the same call is made again, as a clause that ends in `and`: `Send a new key and`."""
    since: ClassVar[str] = "0.1.0"
    """The version that introduced the code; by default the first release."""
    http_status: ClassVar[int] = 500
    """The status in formats that follow HTTP, and of resources over HTTP; the class keyword `http` sets it."""
    error_type: ClassVar[str] = "server_error"
    """The kind of failure in the format `coded_error`; the class keyword `coded` sets it, with its number."""
    numeric_code: ClassVar[int] = -32603
    """The numeric code in the format `coded_error`; by default the category's."""
    retry: ClassVar[RetryWhen] = "never"
    """When the caller may repeat the call: `after_fix`, `after_delay` or `never`; by default the category's."""
    actor: ClassVar[Actor] = "author"
    """Who has to act; by default the category's."""
    critical: ClassVar[bool] = False
    """Whether operators are alerted if the failure is not recoverable."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """Wire format -> the code of this class in that format."""
    aliases_by_reason: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Wire format -> reason of the first violation -> code, for formats with a code per kind of fault."""
    content_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields (or `suggestions`) with content that the caller may read anyway and has to copy: never redacted."""
    fields: ClassVar[tuple[str, ...]] = ()
    public_fields: ClassVar[frozenset[str]] = frozenset()
    word_fields: ClassVar[frozenset[str]] = frozenset()
    field_defaults: ClassVar[Mapping[str, Any]] = {}
    template: ClassVar[str] = "The call failed."
    _known: ClassVar[frozenset[str]] = frozenset()
    _builtin: ClassVar[type[BaseException]] = Exception
    _sentence: ClassVar[MessageTemplate] = MessageTemplate.parse(template)
    _hints: ClassVar[tuple[MessageTemplate, ...]] = ()

    def __init_subclass__(
        cls,
        *,
        category: str | None = None,
        http: int | None = None,
        coded: ErrorType | None = None,
        retry: RetryWhen | None = None,
        actor: Actor | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        _check_place(cls, category)
        facts = {"category": category, "http_status": http, "retry": retry, "actor": actor}
        for fact, value in {**facts, "error_type": coded, "numeric_code": coded and NUMERIC_CODES[coded]}.items():
            if value is not None:
                setattr(cls, fact, value)
        cls._builtin = _builtin_base(cls)
        if cls._builtin is not Exception:
            cls.__new__ = _bare  # type: ignore[method-assign]  # `OSError.__new__` takes no keywords
        _collect_fields(cls)
        _check_entry(cls)
        registry[cls.code] = cls

    if not TYPE_CHECKING:  # see above

        def __init__(  # noqa: PLR0913 - what every error takes
            self,
            text: str | None = None,
            /,
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
            message = text if message is None else message
            faults = field_faults(type(self), fields, has_message=message is not None)
            mistakes: list[str] = []
            for name in self.fields:
                setattr(self, name, fields[name] if name in fields else self.field_defaults.get(name))
            if message is None:
                is_whole = not faults or all(name in fields or name in self.field_defaults for name in self.fields)
                message = self._sentence.fill(self, self.word_fields) if is_whole else _summary(self)
            self.message = message
            self.args = (self.message,)
            self.suggestions = (suggestions,) if isinstance(suggestions, str) else tuple(suggestions)
            self.next_step = self.effect = None
            if next_step is not None:
                self.next_step, wrong = as_next_step(next_step)
                mistakes += wrong
            if effect is not None:
                self.effect, wrong = as_effect(effect)
                mistakes += wrong
            self.retry_after_seconds = retry_after_seconds
            self.details = dict(details or {})
            self.operator_hint = operator_hint
            self.violations = tuple(violations)
            if mistakes or faults:
                report_mistakes(type(self).__name__, [*mistakes, *faults])
            if faults:
                msg = f"{type(self).__name__} {'; '.join(faults)}"
                raise RaisedWrongly(msg, self)

    def code_in(self, wire_format: str) -> str:
        """Return the code of this error in a wire format."""
        if self.violations and wire_format in self.aliases_by_reason:
            by_reason = self.aliases_by_reason[wire_format]
            if (alias := by_reason.get(self.violations[0].reason)) is not None:
                return alias
        return self.aliases.get(wire_format, self.code)

    @property
    def recoverable(self) -> bool:
        """Whether the call can succeed later or with other arguments."""
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
                rendered.append(hint.fill(self, self.word_fields))
        return tuple(rendered)

    def own_suggestions(self) -> tuple[str, ...]:
        """Return the suggestions as text for callers; a class may override their wording."""
        return tuple(map(str, self.suggestions))

    def to_dict(self) -> dict[str, Any]:
        """Return the error with all its facts as a JSON tree. For your own code: callers may not see all of it."""
        from failsoft.framework.clock import utc_timestamp  # noqa: PLC0415 - as below
        from failsoft.framework.safe.json_safe import json_safe  # noqa: PLC0415 - pydantic comes with it

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
        return rebuild(type(self), dict(self.__dict__), self.__cause__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return rebuild(type(self), {name: deep(value, memo) for name, value in self.__dict__.items()}, self.__cause__)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, ToolError)


def _summary(error: ToolError) -> str:
    """Return the first line of the class's documentation: the message if fields are missing."""
    return inspect.cleandoc(type(error).__doc__ or "").partition("\n")[0] or "The call failed."


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
        msg = f"{cls.__qualname__} is too deep in the hierarchy: ToolError, category, concrete error"
        raise CatalogueError(msg)


def _bare(cls: type[Any], *_args: Any, **_fields: Any) -> Any:
    """Return a bare instance from the builtin base class that defines the memory layout, such as `OSError`."""
    return cls._builtin.__new__(cls)


def _builtin_base(cls: type[BaseException]) -> type[BaseException]:
    while cls.__module__ != "builtins":
        cls = cls.__base__  # type: ignore[assignment]  # a class below ToolError always has a base
    return cls


def _collect_fields(cls: type[ToolError]) -> None:
    own = {
        name: annotation
        for name, annotation in inspect.get_annotations(cls).items()
        if not is_class_variable(annotation) and not name.startswith("_") and name not in ToolError.__annotations__
    }
    cls.fields = tuple(dict.fromkeys((*cls.fields, *own)))
    cls._known = frozenset(cls.fields)
    cls.public_fields = cls.public_fields | {name for name, annotation in own.items() if is_public(annotation)}
    cls.word_fields = cls.word_fields | {name for name, annotation in own.items() if is_words(annotation)}
    cls.field_defaults = {**cls.field_defaults, **{name: cls.__dict__[name] for name in own if name in cls.__dict__}}
    cls.template = cls.message
    cls._sentence = MessageTemplate.parse(cls.template)
    cls._hints = tuple(MessageTemplate.parse(hint) for hint in cls.hints)


def _check_entry(cls: type[ToolError]) -> None:
    name, code = cls.__qualname__, cls.__dict__.get("code")
    if not is_code(code):
        msg = f"{name}.code must be UPPERCASE_SNAKE_CASE of at most {CODE_LENGTH} characters, not {code!r}"
        raise CatalogueError(msg)
    if not (cls.__dict__.get("__doc__") or "").strip():
        msg = f"{name} ({code}) has no docstring: describe when it is raised and how to resolve it"
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
            msg = f"{name} ({code}): the text {template.text!r} uses {sorted(unknown)}, which it has no field for"
            raise CatalogueError(msg)
