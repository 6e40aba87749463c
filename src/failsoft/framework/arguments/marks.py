"""Markers for parameter annotations: other accepted names, the error class of a violation, references to look up."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from failsoft.framework.errors import InvalidArgument
from failsoft.framework.errors.corrections import is_same_spelling
from failsoft.framework.errors.violations import Reason, Violation

M = TypeVar("M")
NameKind: TypeAlias = Literal["identifier", "spelled", "handle"]
"""The kind of name that a parameter takes: an accession number or id, a name typed by people, or an opaque handle."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Other accepted names of a parameter: `to: Annotated[str, Alias("recipient", "addressee")]`.

    A call with one of them is accepted as if the parameter's own name had been sent; with two names of one parameter it
    is refused. Case and separators are corrected as for the own name. The published schema has the own name alone.

    Args:
        names: The names.

    Raises:
        TypeError: There is none, or one is empty. At import also if another parameter has the name.

    Examples:
        >>> class Post(BaseTool):
        ...     @operation
        ...     async def send(self, to: Annotated[str, Alias("recipient")]) -> str:
        ...         "Send a letter."
        ...         return f"sent to {to}"
        >>> asyncio.run(Post().execute_with_error_handling("send", {"recipient": "Ann"})).data
        'sent to Ann'
    """

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        if not names or not all(map(str.strip, names)):
            msg = f"an Alias has one name or more, not {names!r}"
            raise TypeError(msg)
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class Fault:
    """Assigns an error class to faults of a parameter: `Annotated[int, Field(ge=1), Fault(InvalidLimit)]`.

    Args:
        error: The class that is raised in place of INVALID_PARAM, with the violations.
        reasons: The kinds of fault it applies to; all by default.
        at: The location within the parameter, dotted, with `*` for any position in a list (`*.limit`) and empty for the
            value itself; by default every location. The first of several matching marks applies.

    Examples:
        >>> Query = Annotated[str, Field(min_length=2), Fault(SearchError, "length")]
    """

    error: type[InvalidArgument]
    reasons: frozenset[Reason] = frozenset()
    at: str | None = None

    def __init__(self, error: type[InvalidArgument], *reasons: Reason, at: str | None = None) -> None:
        object.__setattr__(self, "error", error)
        object.__setattr__(self, "reasons", frozenset(reasons))
        object.__setattr__(self, "at", at)

    def stands_for(self, violation: Violation) -> bool:
        """Return whether a violation of the parameter is a fault of this kind, at this place."""
        if self.reasons and violation.reason not in self.reasons:
            return False
        steps = violation.path.split(".")[1:]
        return self.at is None or self.at == ".".join("*" if step.isdecimal() else step for step in steps)


@dataclass(frozen=True, slots=True)
class Reference:
    """Checks that a well-formed value refers to something that exists: `Annotated[str, Reference(lookup)]`.

    Args:
        lookup: `lookup(value)` or `lookup(tool, value)`, sync or async; raises a typed error if nothing is found. It
            may return False instead, but the caller then learns less. None if the handler looks the value up itself;
            only the kind is declared then.
        kind: `identifier` (accession numbers, gene and compound ids, versions, hashes): a similar one means something
            else, so it is only listed in `suggestions`. `spelled` (paths, titles, names): a single close match is used
            in the next step. `handle` (opaque ids issued by this server): never guessed.

    Examples:
        >>> async def known(title: str) -> None:
        ...     if title != "Dune":
        ...         raise NotFound(message=f"No book '{title}'.", suggestions=["Dune"])
        >>> Title = Annotated[str, Reference(known, kind="spelled")]
    """

    lookup: Callable[..., Any] | None = None
    kind: NameKind = "identifier"

    def __post_init__(self) -> None:
        if self.kind not in get_args(NameKind):
            msg = f"a Reference is of the kind {', '.join(get_args(NameKind))}, not {self.kind!r}"
            raise TypeError(msg)


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one parameter."""

    faults: tuple[Fault, ...]
    references: tuple[Reference, ...]
    item_references: tuple[Reference, ...]
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a handler, the context excepted. `default` is `inspect.Parameter.empty` if it is required."""

    name: str
    annotation: Any
    default: Any
    faults: tuple[Fault, ...] = ()
    references: tuple[Reference, ...] = ()
    item_references: tuple[Reference, ...] = ()
    """The references of each item of a list."""
    aliases: tuple[str, ...] = ()
    """Its other accepted names."""


def read_marks(owner: str, annotation: Any) -> Marks:
    """Return the marks in an annotation, including those of an optional value and of list items.

    Raises:
        TypeError: A reference is nested too deep to be checked, or an alias is on a part of a value.
    """
    every = _deep(annotation)
    own = _shallow(annotation)
    of_items = [mark for item in _items(annotation) for mark in _shallow(item)]
    references, item_references = _only(Reference, own), _only(Reference, of_items)
    if len(_only(Reference, every)) != len(references) + len(item_references):
        msg = f"{owner} has a Reference too deep to be looked up: put it on the value itself or on the items of a list"
        raise TypeError(msg)
    aliases = _only(Alias, own)
    if len(_only(Alias, every)) != len(aliases):
        msg = f"{owner} has an Alias on a part of its value: put it on the parameter"
        raise TypeError(msg)
    names = tuple(name for alias in aliases for name in alias.names)
    return Marks(_only(Fault, every), references, item_references, names)


def _only(kind: type[M], marks: list[Any]) -> tuple[M, ...]:
    return tuple(mark for mark in marks if isinstance(mark, kind))


def _peeled(annotation: Any) -> tuple[Any, list[Any]]:
    """Return an annotation without `Annotated` and without its alias (`type X = ...`), and its marks."""
    annotation = getattr(annotation, "__value__", annotation)
    if get_origin(annotation) is not Annotated:
        return annotation, []
    inner, *marks = get_args(annotation)
    inner, more = _peeled(inner)
    return inner, [*marks, *more]


def _shallow(annotation: Any) -> list[Any]:
    """Return the marks of a value, and of the members of a union of values."""
    inner, marks = _peeled(annotation)
    if get_origin(inner) in {Union, types.UnionType}:
        marks = marks + [mark for member in get_args(inner) for mark in _shallow(member)]
    return marks


def _items(annotation: Any) -> list[Any]:
    """Return the annotations of a list's items."""
    inner, _ = _peeled(annotation)
    origin = get_origin(inner)
    if origin in {Union, types.UnionType}:
        return [item for member in get_args(inner) for item in _items(member)]
    if origin in {list, set, frozenset} or (origin is tuple and get_args(inner)[-1] is ...):
        return [get_args(inner)[0]]
    return []


def _deep(annotation: Any) -> list[Any]:
    """Return every mark in an annotation, however deep."""
    inner, marks = _peeled(annotation)
    return marks + [mark for member in get_args(inner) for mark in _deep(member)]


def aliases_of(owner: str, parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """Map each other name of a parameter, by `Alias` or by pydantic, to the name in the schema that it stands for.

    Raises:
        TypeError: Two parameters have one name, in whatever case and with whatever separators.
    """
    owned = [(own, own) for own in parameters]
    owned += [(parameter.name, own) for own, parameter in parameters.items() if parameter.name != own]
    found: dict[str, str] = {}
    for own, parameter in parameters.items():
        for alias in parameter.aliases:
            other = next((other for name, other in owned if is_same_spelling(alias, name)), own)
            if other != own or alias == own or alias in found:
                msg = f"{owner}: the alias '{alias}' of parameter '{own}' is already a name of '{other}'"
                raise TypeError(msg)
            owned.append((alias, own))
            found[alias] = own
    for own, parameter in parameters.items():
        for name in (parameter.name, *_aliases(FieldInfo.from_annotation(parameter.annotation))):
            if name not in parameters:
                found.setdefault(name, own)
    return found


def under_own_names(params: Any, aliases: Mapping[str, str]) -> Any:
    """Return arguments under the names of the schema; one that is also there under that name stays as it was sent."""
    if not isinstance(params, Mapping) or params.keys().isdisjoint(aliases):
        return params
    named: dict[str, Any] = {}
    for name, value in params.items():
        own = aliases.get(name, name)
        named[name if own in named or (own != name and own in params) else own] = value
    return named


def _aliases(field: FieldInfo) -> list[str]:
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [choice for choice in choices if isinstance(choice, str)]
