"""Arguments validated by a signature: strict JSON types, unknown names rejected, all problems reported together."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Required, get_args

import pydantic_core
from pydantic import ConfigDict, PydanticUserError, TypeAdapter
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from failsoft.framework.arguments.accepted import Accepted
from failsoft.framework.arguments.faults import Explanation
from failsoft.framework.arguments.marks import Parameter, aliases_of, read_marks, under_own_names
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.arguments.schemas import check_input_schema, drop_generated_titles, objects_of, subschemas
from failsoft.framework.arguments.wording import NOT_JSON, violation
from failsoft.framework.errors import InvalidArgument, InvalidParameter
from failsoft.framework.errors.violations import Violation


class ParameterWithoutType(TypeError):
    """A parameter has no annotation, so that any value would be accepted in silence."""

    operation: str = ""
    """The name of the method."""


def check_annotations(function: Callable[..., Any]) -> None:
    """Reject a method with a parameter that has no annotation.

    Raises:
        ParameterWithoutType: It names the first one.
    """
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.annotation is parameter.empty and parameter.kind not in several:
            place = f"{function.__qualname__}: parameter '{parameter.name}'"
            refused = ParameterWithoutType(f"{place} has no annotation; give it its type, or Any")
            refused.operation = function.__name__
            raise refused


def read_parameters(
    function: Callable[..., Any], hints: Mapping[str, Any], contexts: Collection[type]
) -> tuple[list[Parameter], str | None, str | None]:
    """Return the parameters of a method, the name of its context parameter, and that of its `**` parameter.

    Args:
        function: The method.
        hints: Its annotations, resolved.
        contexts: The classes of a context parameter, which is no argument.

    Raises:
        TypeError: No `self`, a positional-only parameter or `*args` (MCP arguments have names), or a `Reference` that
            is too deep.
    """
    parameters: list[Parameter] = []
    context = keywords = None
    members = list(inspect.signature(function).parameters.items())
    if not members or not _takes_toolset(members[0][1], hints):
        msg = f"{function.__qualname__} takes no `self`: an operation is a method"
        raise TypeError(msg)
    for name, parameter in members[1:]:
        annotation = hints.get(name, Any)
        if any(kind in contexts for kind in (annotation, *get_args(annotation)) if isinstance(kind, type)):
            context = name
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords = name
        elif parameter.kind in {parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY}:
            msg = f"{function.__qualname__}: parameter '{name}' has no name to a caller; make it a keyword parameter"
            raise TypeError(msg)
        else:
            parameters.append(_parameter(function.__qualname__, name, annotation, parameter.default))
    return parameters, context, keywords


def _takes_toolset(first: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    """Return whether the first parameter is `self`, or that of a function that a toolset shares with others."""
    if first.kind in {first.KEYWORD_ONLY, first.VAR_KEYWORD}:
        return False
    annotation = hints.get(first.name)
    is_value = annotation is not None and getattr(annotation, "__module__", "") in {"builtins", "types", "typing"}
    return first.name == "self" or not is_value


def _parameter(owner: str, name: str, annotation: Any, default: Any) -> Parameter:
    if isinstance(default, FieldInfo):
        annotation = Annotated[annotation, default]
        default = inspect.Parameter.empty if default.is_required() else default.get_default(call_default_factory=True)
    marks = read_marks(f"{owner}: parameter '{name}'", annotation)
    return Parameter(name, annotation, default, marks.faults, marks.references, marks.item_references, marks.aliases)


@dataclass(slots=True)
class SignatureArguments:
    """Arguments declared by a handler's signature, validated by pydantic in strict JSON mode.

    Values of plain JSON types are validated in pydantic's strict Python mode, which is faster. Values that only JSON
    mode can validate (a date or an enum as a string, a nested model) are serialized once and validated there.
    Defaults are left to the signature: an argument that is not given is not passed.
    """

    validate_beside: ClassVar[None] = None
    """Pydantic is fast, and keeps the interpreter's lock."""

    parameters: list[Parameter]
    schema: dict[str, Any]
    validator: pydantic_core.SchemaValidator
    needs_json: bool
    is_flat: bool
    """Whether every argument is a scalar, so that one call cannot have many faults."""
    extra: Literal["forbid"] | None
    """How unknown names in nested models are treated: forbidden, unless one of the models allows them."""
    accepted: Accepted
    """The schema in words, for error messages."""
    with_faults: Sequence[tuple[str, Parameter]]
    """The parameters that declare error classes, by their names in the schema."""
    aliases: Mapping[str, str]
    """Other accepted names, and the names in the schema that they stand for."""

    @classmethod
    def from_parameters(cls, owner: str, parameters: list[Parameter]) -> SignatureArguments:
        """Return the arguments for these parameters.

        Raises:
            TypeError: A parameter's type has no JSON Schema, or its schema would break MCP clients; two parameters have
                one name.
        """
        required = inspect.Parameter.empty
        fields = {
            item.name: (Required if item.default is required else NotRequired)[item.annotation] for item in parameters
        }
        shape = TypedDict("Arguments", fields)  # type: ignore[misc]  # made at run time
        shape.__pydantic_config__ = ConfigDict(  # type: ignore[attr-defined]  # pydantic reads it from the class
            extra="forbid", strict=True, allow_inf_nan=False, validate_by_name=True, validate_by_alias=True
        )
        try:
            adapter = TypeAdapter(shape)
            schema = adapter.json_schema()
        except PydanticUserError as error:
            msg = f"{owner}: a parameter has a type that JSON cannot carry: {error}"
            raise TypeError(msg) from error
        _complete(schema, parameters)
        objects = list(objects_of(schema))
        is_open = any(nested.get("additionalProperties") for nested in objects)
        for nested in [] if is_open else objects:
            nested["additionalProperties"] = False
        needs_json = _needs_json(schema)
        _admit_duplicates(schema)
        check_input_schema(owner, schema)
        extra: Literal["forbid"] | None = None if is_open else "forbid"
        named = zip(schema["properties"], parameters, strict=True)
        with_faults = [(name, parameter) for name, parameter in named if parameter.faults]
        is_flat = all(own.get("type") in _SCALAR_TYPES for own in schema["properties"].values())
        validator: Any = adapter.validator
        aliases = aliases_of(owner, dict(zip(schema["properties"], parameters, strict=True)))
        accepted = Accepted.by(schema, aliases=aliases)
        return cls(parameters, schema, validator, needs_json, is_flat, extra, accepted, with_faults, aliases)

    def copied(self, *, changes: bool) -> SignatureArguments:
        """Return the same arguments with a schema of their own.

        Args:
            changes: Whether the operation may change something.
        """
        schema = copy.deepcopy(self.schema)
        return replace(self, schema=schema, accepted=Accepted.by(schema, changes=changes, aliases=self.aliases))

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments as the handler gets them; see `ports.Arguments`."""
        given = {} if params is None else params
        if self.aliases:
            given = under_own_names(given, self.aliases)
        if not self.needs_json and (self.is_flat or not _is_large(given)):
            try:
                return self.validator.validate_python(given)  # type: ignore[no-any-return]  # the validator's type is its schema's
            except pydantic_core.ValidationError as error:
                if _is_flat(given):  # JSON mode decides, and would give the same result for such values
                    whole = _with_integers(given, self.accepted) if float in map(type, given.values()) else given
                    violations = self._explained(error, given) if whole is given else []
                else:
                    return self._validate_json(given)
            if violations:
                raise self._refusal(violations)
            given = whole
        return self._validate_json(given)

    def _validate_json(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as pydantic's JSON mode accepts them.

        Raises:
            INVALID_PARAM: With all violations; or the error class declared for a faulty parameter.
        """
        try:
            return self._accepted_as_json(given)
        except InvalidArgument:  # which is a ValueError
            raise
        except pydantic_core.ValidationError as error:
            # 20.0 is an integer to JSON Schema, and is none to pydantic in strict mode
            whole = _with_integers(given, self.accepted) if error.error_count() <= _FEW else given
            violations = self._explained(error, given) if whole is given else []
        except (ValueError, RecursionError):
            whole, violations = given, [NOT_JSON]
        if whole is not given:
            return self._validate_json(whole)
        raise self._refusal(violations)

    def _accepted_as_json(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as pydantic's JSON mode accepts them.

        Raises:
            ValidationError: Pydantic's.
            INVALID_PARAM: They are large, and have faults that are found without pydantic, which would list all.
            ValueError, RecursionError: They cannot be written as JSON.
        """
        try:
            text = pydantic_core.to_json(given)
        except (ValueError, RecursionError):  # from a caller in this process, or with lone surrogates
            return self.validator.validate_python(given, extra=self.extra)  # type: ignore[no-any-return]  # the same
        if len(text) > _EXPLAINED_FIRST_FROM_BYTES:
            violations = list(map(violation, Explanation(self.accepted).faults(given)))
            if violations:
                raise self._refusal(violations)
        return self.validator.validate_json(text, strict=True, extra=self.extra)  # type: ignore[no-any-return]  # the same

    def _explained(self, error: pydantic_core.ValidationError, given: Mapping[str, Any]) -> list[Violation]:
        try:
            return violations_from_pydantic(error, self.accepted, given)
        except (ValueError, RecursionError):
            return [NOT_JSON]

    def _refusal(self, violations: list[Violation]) -> InvalidArgument:
        """Return the error: of the class declared for the first faulty parameter, otherwise INVALID_PARAM."""
        for name, parameter in self.with_faults:
            own = [item for item in violations if item.path.partition(".")[0] == name]
            for fault in parameter.faults:
                decisive = next(filter(fault.stands_for, own), None)
                if decisive is not None:
                    message = InvalidParameter.from_violations(violations).message
                    return fault.error(message=message, violations=violations, details={"argument": decisive.path})
        return InvalidParameter.from_violations(violations)


def _complete(schema: dict[str, Any], parameters: list[Parameter]) -> None:
    """Complete a TypedDict's schema: add defaults, close the object, and drop generated titles.

    The description of an optional parameter's value is moved to the parameter, where clients look for it.
    """
    schema.pop("title", None)
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    for own, parameter in zip(schema["properties"].values(), parameters, strict=True):
        if parameter.default is not inspect.Parameter.empty and parameter.default is not None:
            own["default"] = pydantic_core.to_jsonable_python(parameter.default, fallback=str)
        described = [part for part in own.get("anyOf", ()) if "description" in part]
        if "description" not in own and len(described) == 1:
            own["description"] = described[0].pop("description")
    drop_generated_titles(schema)


def _admit_duplicates(schema: Any) -> None:
    """Drop `uniqueItems`: a set accepts duplicate values, so the schema must not forbid them."""
    for part in subschemas(schema):
        if part.get("uniqueItems") is True and part.get("type") == "array":
            del part["uniqueItems"]


_EXPLAINED_FIRST_FROM_BYTES = 50_000
"""Size of arguments whose faults are looked for first: pydantic lists a million of them, on the event loop."""
_SIZED = frozenset({str, list, dict})
_LARGE = 5_000
_SCALAR_TYPES = frozenset({"string", "integer", "number", "boolean"})
_SCALARS = frozenset({str, int, float, bool, type(None)})


def _is_large(given: Any) -> bool:
    """Return whether an argument is so large that its faults could take long to list."""
    if type(given) is not dict:
        return False
    for value in given.values():  # noqa: SIM110 - every call pays for this, and `any` takes three times as long
        if type(value) in _SIZED and len(value) > _LARGE:
            return True
    return False


def _is_flat(given: Any) -> bool:
    """Return whether every argument is a plain JSON scalar, for which both of pydantic's modes agree."""
    return type(given) is dict and _SCALARS.issuperset(map(type, given.values()))


_ONLY_IN_JSON = frozenset({"$ref", "$defs", "format", "uniqueItems", "prefixItems", "contentEncoding"})


def _needs_json(schema: Any) -> bool:
    """Return whether a value may be written differently in JSON than in Python (`$ref`, `format`, sets, tuples)."""
    return any(not _ONLY_IN_JSON.isdisjoint(part) for part in subschemas(schema))


_FEW = 200
"""Faults up to which whole numbers are looked for, in all of the arguments."""


def _with_integers(value: Any, accepted: Accepted, depth: int = 100) -> Any:
    """Return a value with integers where it has such as 20.0 and an integer is accepted; itself if there are none."""
    if type(value) is float:
        listed = any(type(option) is int and option == value for option in accepted.values)
        is_integer = listed or ("integer" in accepted.kinds and "number" not in accepted.kinds)
        return int(value) if is_integer and value.is_integer() else value
    if depth == 0 or (type(value) is not dict and type(value) is not list):
        return value
    changed = {}
    for step, item in value.items() if type(value) is dict else enumerate(value):
        if type(item) in _MAY_HOLD_FLOATS:
            other = _with_integers(item, accepted.below(step), depth - 1)
            if other is not item:
                changed[step] = other
    if not changed:
        return value
    return {**value, **changed} if type(value) is dict else [changed.get(n, item) for n, item in enumerate(value)]


_MAY_HOLD_FLOATS = frozenset({float, dict, list})
