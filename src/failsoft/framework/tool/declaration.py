"""`Declaration`: the facts of one operation as declared by its author, and its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from failsoft.framework.answer.result import Result
from failsoft.framework.arguments.json_schema import JsonSchemaArguments
from failsoft.framework.arguments.signature import Parameter, SignatureArguments, read_parameters
from failsoft.framework.validation.schemas import check_tool_name

if TYPE_CHECKING:
    from failsoft.framework.call.ports import Arguments
    from failsoft.framework.call.recovery_port import PlacedStrategy, RecoveryStrategy

__all__ = ["Declaration", "Interface"]


@dataclass(frozen=True, slots=True)
class Interface:
    """The arguments and the result of an operation.

    Args:
        arguments: The arguments that callers give.
        result: The type of the result.
        parameters: The handler's parameters that are arguments; empty with a JSON Schema of the author's.
        context_parameter: The handler's parameter that gets the `CallContext`, or None.
    """

    arguments: Arguments
    result: Result
    parameters: tuple[Parameter, ...] = ()
    context_parameter: str | None = None


class Declaration:
    """One operation as it is declared in the body of a toolset's class."""

    def __init__(  # noqa: PLR0913 - a declaration has as many facts as MCP knows of a tool
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        read_only: bool = False,
        destructive: bool | None = None,
        idempotent: bool = False,
        atomic: bool = False,
        effects: bool = False,
        open_world: bool | None = None,
        verify_with: str | None = None,
        timeout: float | None = None,
        recovery: Sequence[RecoveryStrategy | PlacedStrategy] | None = None,
        input_schema: Mapping[str, Any] | None = None,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        _check_handler(function)
        self.function = function
        self.attribute = function.__name__
        self.name = name or function.__name__
        check_tool_name(self.name)
        if timeout is not None and not timeout > 0:
            msg = f"{function.__qualname__}: timeout is in seconds and must be above 0, not {timeout}"
            raise TypeError(msg)
        if effects and read_only:
            msg = f"{function.__qualname__} is read_only, so it has no effects to mark; remove effects=True"
            raise TypeError(msg)
        self.title = title
        self.description = inspect.cleandoc(function.__doc__ or "")
        self.read_only = read_only
        self.destructive = destructive
        self.idempotent = idempotent
        self.atomic = atomic
        self.effects = effects
        self.open_world = open_world
        self.verify_with = verify_with
        self.timeout = timeout
        self.recovery = recovery
        self.input_schema = input_schema
        self.is_async = inspect.iscoroutinefunction(function)
        self.checks: list[Callable[..., Any]] = []
        self.reviews: list[Callable[..., Any]] = []
        self._names = dict(names or {})
        self._hints = self._try_hints()
        self._signature: tuple[SignatureArguments, Result, str | None] | None = None

    def interface(self, owner: str) -> Interface:
        """Return the arguments and the result of the operation.

        A signature is read once, which takes milliseconds; each toolset gets an input schema that it may complete.

        Args:
            owner: The class and the method, for messages.

        Raises:
            TypeError: MCP cannot represent the signature or a schema.
        """
        if self.input_schema is None:
            if self._signature is None:
                self._signature = self._read_signature(owner)
            arguments, result, context = self._signature
            return Interface(arguments.copied(changes=not self.read_only), result, tuple(arguments.parameters), context)
        hints = self.hints()
        parameters, context, keywords = read_parameters(self.function, hints)
        declared = JsonSchemaArguments(owner, self.input_schema, changes=not self.read_only)
        self._check_names(owner, declared.schema.get("properties", {}), context, takes_any=keywords is not None)
        return Interface(declared, Result(hints.get("return", Any)), tuple(parameters), context)

    def _read_signature(self, owner: str) -> tuple[SignatureArguments, Result, str | None]:
        """Return the arguments, the result and the name of the context parameter.

        Raises:
            TypeError: MCP cannot represent the signature.
        """
        hints = self.hints()
        parameters, context, keywords = read_parameters(self.function, hints)
        if keywords is not None:
            msg = f"{owner} takes **{keywords}: give it an input_schema, so that callers know what it accepts"
            raise TypeError(msg)
        return SignatureArguments.from_parameters(owner, parameters), Result(hints.get("return", Any)), context

    def hints(self) -> dict[str, Any]:
        """Return the handler's type hints.

        Raises:
            TypeError: A name in an annotation is not defined.
        """
        if self._hints is None:
            try:
                self._hints = get_type_hints(self.function, localns=self._names, include_extras=True)
            except NameError as error:
                msg = f"{self.function.__qualname__}: an annotation uses a name that is not defined: {error}"
                raise TypeError(msg) from error
            finally:
                self._names = {}
        return self._hints

    def _try_hints(self) -> dict[str, Any] | None:
        """Read the hints now, while local names are available; forward references wait until the tool is created."""
        try:
            hints = get_type_hints(self.function, localns=self._names, include_extras=True)
        except NameError:
            return None
        self._names = {}
        return hints

    def _check_names(self, owner: str, names: Iterable[str], context: str | None, *, takes_any: bool) -> None:
        """Reject a schema with a name that cannot be passed to the handler."""
        signature = inspect.signature(self.function).parameters
        itself = next(iter(signature.values()))
        taken = {context} if itself.kind is itself.POSITIONAL_ONLY else {context, itself.name}
        for name in names:
            if name in taken or not (takes_any or name in signature):
                msg = f"{owner} cannot be given '{name}', which its input schema lists; write `self, /`"
                raise TypeError(msg)


def _check_handler(function: Any) -> None:
    """Reject functions that cannot run as a method with one return value.

    Raises:
        TypeError: A static or a class method, or one that yields.
    """
    if isinstance(function, (staticmethod, classmethod, property)) or not callable(function):
        msg = f"@operation decorates a {type(function).__name__}: it needs a method that takes `self`"
        raise TypeError(msg)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        msg = f"{function.__qualname__} yields: an operation returns one value; use report_progress for the way there"
        raise TypeError(msg)
