"""A handler's value: whether it reports a failure, whether it fits its declared type, its data and content blocks."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NoReturn

import pydantic_core
from pydantic import BaseModel, PydanticUserError, TypeAdapter

from failsoft.framework.arguments.schemas import accepted_names, alternatives, drop_generated_titles
from failsoft.framework.errors import BadOutput
from failsoft.framework.safe.json_safe import MAX_ITEMS, json_safe
from failsoft.framework.text import bounded

_PLAIN = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""Types of no block: a list of two million of them is looked through in 0.04 s, by `is_block` in 0.2 s."""
_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_NO_ATTRIBUTES: Mapping[str, Any] = {}
_RESULTS = ("data", "items", "output", "result", "results", "value")
"""Names of results, beside which an `error` is data."""
_TELLING = ('"success"', '"error"', '"isError"')
_TEXT_AT_MOST, _INDENT_AT_MOST = 1_000_000, 100
_DATA = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold values and no schemas."""
_UNCHECKED = (Any, inspect.Signature.empty, object)
_OPEN = (*_UNCHECKED, list, tuple)
"""Annotations that allow content blocks among the data."""


class Result:
    """The declared result of an operation.

    A type without a pydantic schema is not validated and is described as any JSON value; so are `NoReturn` and a
    missing annotation. A number may be null on the wire, because JSON has no NaN.
    """

    __slots__ = ("_adapter", "_digest", "_is_open", "_model", "annotation", "schema")
    is_passed_on: ClassVar[bool] = False
    """Whether values are results of another library, which are passed on whole."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation
        self._digest = ""
        self._is_open = annotation in _OPEN or "typing.Any" in str(annotation) or _holds_blocks(annotation)
        is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
        self._model: type[BaseModel] | None = annotation if is_model else None

        self._adapter: TypeAdapter[Any] | None
        self.schema: dict[str, Any]
        if annotation in _UNCHECKED or annotation is NoReturn or _holds_blocks(annotation):
            self._adapter, self.schema = None, {}
        else:
            self.__class__ = _Unread

    def conform(self, value: Any) -> Any:
        """Convert the value to the declared type. Text with lone surrogates (such as file names) is sanitized later.

        Raises:
            BAD_OUTPUT: It does not fit.
        """
        if self._adapter is None or (self._model is not None and isinstance(value, self._model)):
            return value
        try:
            return _drawn(self._adapter.validate_python(_drawn(value)))
        except pydantic_core.ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
            if all(fault["type"] == "string_unicode" for fault in faults) and self.admits(json_safe(value)):
                return value
            raise BadOutput(details={"faults": error.error_count()}) from error
        except RecursionError as error:
            raise BadOutput(details={"faults": 1}) from error

    def admits(self, tree: Any) -> bool:
        """Return whether a JSON tree fits the published schema. Slow: only for trees that were sanitized."""
        from jsonschema import Draft202012Validator  # noqa: PLC0415 - 30 ms that only such results pay for

        return not self.schema or Draft202012Validator(self.schema).is_valid(tree)

    @property
    def digest(self) -> str:
        """Return a hash of the schema, which tells a stored value that an earlier version of the code returned."""
        if not self._digest:
            self._digest = schema_digest(self.schema)
        return self._digest

    def converted(self, data: Any) -> Any:
        """Convert JSON data that an earlier version of the code has returned.

        Stricter than `conform`: a number is no date. A field that is gone while another takes its default may have been
        renamed, so that the default would be untrue.

        Raises:
            BAD_OUTPUT: It does not fit.
        """
        if self._adapter is None:
            return data
        try:
            value = self._adapter.validate_json(pydantic_core.to_json(data), strict=True)
        except pydantic_core.ValidationError as error:
            if self.admits(data):
                return data
            raise BadOutput(details={"faults": error.error_count()}) from error
        now = json_safe(value)
        if isinstance(data, dict) and isinstance(now, dict) and data.keys() - now.keys() and now.keys() - data.keys():
            raise BadOutput(details={"fields": sorted(data.keys() - now.keys())})
        return value

    def is_final(self, value: Any) -> bool:  # noqa: ARG002 - for results that may be a question
        """Return whether the value is the outcome of its call; one that asks the client something is not."""
        return True

    def kept(self, value: Any) -> Any:  # noqa: ARG002 - for results that are no data
        """Return the JSON tree to keep of a value that is passed on whole; None for data."""
        return None

    def restored(self, tree: Any, *, is_unchanged: bool) -> Any:
        """Return the value of which `kept` has made this tree.

        Args:
            tree: The JSON tree.
            is_unchanged: Whether the schema is still that of the value.

        Raises:
            BAD_OUTPUT: It does not fit.
        """
        raise NotImplementedError

    def split(self, value: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the data and the MCP content blocks of a value."""
        return split_content(value) if self._is_open else (value, ())


class _Unread(Result):
    """A result until its first use: to read a type takes milliseconds, and a server may have hundreds of tools.

    A class of its own, since `__getattr__` makes every attribute of a class slower to look up.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in {"_adapter", "schema"}:
            raise AttributeError(name)
        self._adapter, self.schema = _read(self.annotation, is_open=self._is_open)
        self.__class__ = Result  # type: ignore[assignment]  # read, it is one
        return getattr(self, name)


def _read(annotation: Any, *, is_open: bool) -> tuple[TypeAdapter[Any] | None, dict[str, Any]]:
    try:
        adapter = TypeAdapter(annotation)
        schema: dict[str, Any] = with_null_for_nan(adapter.json_schema(mode="serialization"))
    except (PydanticUserError, TypeError):
        return None, {}
    schema.pop("title", None)
    drop_generated_titles(schema)
    if is_open and "array" in str([schema.get("type"), schema.get("anyOf")]):
        schema = {}  # content blocks are removed from a list, and the rest may not be a list
    return adapter, schema


def schema_digest(schema: Any) -> str:
    """Return a hash of a JSON Schema."""
    return hashlib.sha256(json.dumps(schema, sort_keys=True, default=str).encode(errors="replace")).hexdigest()[:16]


def _drawn(value: Any) -> Any:
    """Convert an iterator to a list of at most as many items as can be sent, since it may be endless.

    An iterator that is a value of a dict is converted too; deeper ones are not, since searching costs every call.

    Raises:
        BAD_OUTPUT: It has more items.
    """
    kind = type(value)
    if hasattr(kind, "__next__"):
        items = list(itertools.islice(value, MAX_ITEMS + 1))
        if len(items) > MAX_ITEMS:
            raise BadOutput(details={"items_at_most": MAX_ITEMS})
        return items
    if kind is dict and any(hasattr(type(item), "__next__") for item in value.values()):
        return {key: _drawn(item) for key, item in value.items()}
    return value


def with_null_for_nan(schema: Any) -> Any:
    """Return a JSON Schema whose numbers may be null: JSON has no NaN."""
    if isinstance(schema, list):
        return [with_null_for_nan(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A property may be called `type`: the value is then a schema and not text.
    converted = {key: below if key in _DATA else with_null_for_nan(below) for key, below in schema.items()}
    if converted.get("type") == "number" and not converted.keys() & {"const", "enum"}:
        converted["type"] = ["number", "null"]
    return converted


def _holds_blocks(annotation: Any) -> bool:
    return any(module in str(annotation) for module in ("mcp_types.", "mcp.types."))


def is_block(value: Any) -> bool:
    """Return whether this is an MCP content block. The name of its module decides, so `mcp` is not imported."""
    return type(value).__module__.partition(".")[0] in {"mcp", "mcp_types"} and (
        getattr(value, "type", None) in _BLOCK_TYPES
    )


def split_content(value: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a handler's value into data and content blocks; without other data, the data describes the blocks.

    The result of a call to another MCP server is replaced by its structured content, or by its blocks.
    """
    if is_result(value):
        structured = value.structured_content
        if structured is not None:
            return structured, tuple(block for block in value.content if block.type != "text")
        value = list(value.content)
    if is_block(value):
        blocks: tuple[Any, ...] = (value,)
    elif isinstance(value, (list, tuple)) and not _PLAIN.issuperset(map(type, value)) and any(map(is_block, value)):
        blocks = tuple(item for item in value if is_block(item))
        rest = [item for item in value if not is_block(item)]
        if rest:
            return (rest[0] if len(rest) == 1 else rest), blocks
    else:
        return value, ()
    if all(block.type == "text" for block in blocks):
        return "\n".join(block.text for block in blocks), ()
    return {"content": [_described(block) for block in blocks]}, blocks


def is_result(value: Any) -> bool:
    """Return whether this is the result of a call to another MCP server."""
    return type(value).__name__ == "CallToolResult" and type(value).__module__.partition(".")[0] in {"mcp", "mcp_types"}


def _described(block: Any) -> dict[str, Any]:
    """Describe a block for clients that read only the structured content: everything but the bytes."""
    facts = {"type": block.type}
    for name in ("text", "mime_type", "name", "uri", "description"):
        value = getattr(block, name, None)
        if value is not None:
            facts[name] = str(value)
    return facts


def reported_failure(value: Any, declared: Mapping[str, Any] | None = None) -> str | None:
    """Return the text of a failure that a value reports, ours or a foreign one, otherwise None.

    A failure is `{"success": false}`, an `error` that is a text, an object or true, or an `isError` result of another
    server, as an object or as the JSON text of one. An `error` that is a number or a list, that the declared type has,
    or that comes beside results, is data; so is a text where the declared type is a text. The report is bounded and
    stripped, because it is foreign.

    Args:
        value: What a handler returned, or the structured content or the text of another server's answer.
        declared: The JSON Schema of the declared result; None or empty if nothing is declared.
    """
    if type(value) is str:
        value = _object_in(value, declared)
    if _is_mapping(type(value)):  # type: ignore[arg-type]  # a class is hashable
        if value.get("success") is False or value.get("isError") is True:
            return _report(_reason_in(value))
        error = value.get("error")
        return _report(_reason_in(value)) if _is_error(error) and not _is_data(value, declared) else None
    own = getattr(value, "__dict__", _NO_ATTRIBUTES)  # looking up a missing attribute of a pydantic model costs 2 us
    if own.get("is_error") is True and "content" in own:
        texts = [str(block.text) for block in value.content or () if getattr(block, "type", "") == "text"]
        return _report(" ".join(texts) or "no reason given")
    return None


def object_in(text: Any) -> Mapping[str, Any]:
    """Return the JSON object that a text is, or an empty one."""
    if not isinstance(text, str) or len(text) > _TEXT_AT_MOST or not text.lstrip().startswith("{"):
        return {}
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def _object_in(text: str, declared: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the JSON object in a text that may report a failure; most texts are not parsed."""
    if not text[:_INDENT_AT_MOST].lstrip().startswith("{") or not any(word in text for word in _TELLING):
        return _NO_ATTRIBUTES
    return _NO_ATTRIBUTES if declared and declared.get("type") == "string" else object_in(text)


def _is_error(said: Any) -> bool:
    """Return whether the `error` of a result says that it failed."""
    return said is True or (isinstance(said, (str, Mapping)) and bool(said))


def _is_data(value: Mapping[str, Any], declared: Mapping[str, Any] | None) -> bool:
    """Return whether the `error` of a result is data: it is declared, or comes beside results."""
    if value.get("success") is True or any(value.get(name) is not None for name in _RESULTS):
        return True
    return bool(declared) and "error" in accepted_names(alternatives([declared], declared or {}))


@lru_cache(maxsize=500)  # `isinstance` takes three times as long for a class that is no mapping
def _is_mapping(kind: type) -> bool:
    return issubclass(kind, Mapping)


def _reason_in(value: Mapping[str, Any]) -> Any:
    """Return the text of a reported failure; `error` may be only a flag next to the reason."""
    error = value.get("error")
    reason = value.get("message") if error is True or not error else error
    content = value.get("content")
    if not reason and isinstance(content, (list, tuple)):
        reason = " ".join(str(block.get("text", "")) for block in content if isinstance(block, Mapping)).strip()
    return reason or value.get("code") or "no reason given"


def _report(reason: Any) -> str:
    if isinstance(reason, Mapping):
        reason = reason.get("message") or reason.get("code") or "no reason given"
    return bounded(str(reason)) if isinstance(reason, (str, int, float)) else "no reason given"
