"""A handler's value held to its declared type, and split into data and content blocks."""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

import pydantic_core
from pydantic import BaseModel, PydanticUserError, TypeAdapter

from failsoft.framework.content import split_content
from failsoft.framework.errors import BadOutput

__all__ = ["Result"]

_UNCHECKED = (Any, inspect.Signature.empty, object)


class Result:
    """The declared result of an operation.

    A type that pydantic has no schema for is passed through unchecked and described as any JSON. `None`, `NoReturn`
    and a missing annotation count as any.
    """

    __slots__ = ("_adapter", "_is_open", "_model", "annotation", "schema")

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation
        self.schema: dict[str, Any] = {}
        self._adapter: TypeAdapter[Any] | None = None
        self._model: type[BaseModel] | None = None
        self._is_open = annotation in _UNCHECKED or "typing.Any" in str(annotation) or _holds_blocks(annotation)
        if annotation in _UNCHECKED or annotation is NoReturn or _holds_blocks(annotation):
            return
        try:
            self._adapter = TypeAdapter(annotation)
            self.schema = self._adapter.json_schema(mode="serialization")
        except (PydanticUserError, TypeError):
            self._adapter = None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            self._model = annotation

    def conform(self, value: Any) -> Any:
        """Return the value as the declared type. Text that is not Unicode (an odd file name) is mended when it is sent.

        Raises:
            BAD_OUTPUT: It does not fit.
        """
        if self._adapter is None or (self._model is not None and isinstance(value, self._model)):
            return value
        try:
            return self._adapter.validate_python(value)
        except pydantic_core.ValidationError as error:
            if all(fault["type"] == "string_unicode" for fault in error.errors(include_url=False, include_input=False)):
                return value
            raise BadOutput(details={"faults": error.error_count()}) from error
        except RecursionError as error:
            raise BadOutput(details={"faults": 1}) from error

    def split(self, value: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the data and the MCP content blocks of a value."""
        return split_content(value) if self._is_open else (value, ())


def _holds_blocks(annotation: Any) -> bool:
    return any(module in str(annotation) for module in ("mcp_types.", "mcp.types."))
