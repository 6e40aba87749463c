"""Flat successes: the fields of the data next to `success: true`, for the seeds' formats without `data`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.validation.schemas import inline_root
from failsoft.framework.wire.base import WireFormat

_OWN = frozenset({"success", "metadata", "error_code"})
"""Reserved names. Data that uses one of them, or is not an object, goes under `data`."""


class FlatFormat(WireFormat):
    """Base of the flat formats: the fields of the data are next to `success: true`."""

    described: ClassVar[dict[str, Any]] = {"error_code": {"type": "string"}, "message": {"type": "string"}}

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return `{"success": true}` and the fields of the data; `metadata` only if it says more than the time."""
        data = response.data
        fields = data if type(data) is dict else _fields_of(data)
        is_flat = fields is not None and _OWN.isdisjoint(fields) and all(type(name) is str for name in fields)
        wire: dict[str, Any] = {"success": True, **(fields if is_flat and fields is not None else {"data": data})}
        if metadata := response.metadata.to_dict(full=self.is_full):
            wire["metadata"] = metadata
        return wire

    def answer_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return one object schema for both forms, distinguished by `error_code`; see `WireFormat`."""
        own, definitions = inline_root(data)
        fields: dict[str, Any] = {}
        required: list[str] = []
        if own.get("type") == "object" and "properties" in own and _OWN.isdisjoint(own["properties"]):
            fields, required = own["properties"], own.get("required", [])
        elif own.get("type") not in {None, "object"}:
            fields, required = {"data": own}, ["data"]
        merged = {**self.described, **fields}
        for name in self.described.keys() & fields.keys():
            if self.described[name] != fields[name]:
                merged[name] = {"anyOf": [fields[name], self.described[name]]}
        is_success = {"required": ["success", *required], "properties": {"success": {"const": True}}}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"success": {"type": "boolean"}, "metadata": {"type": "object"}, **merged},
            "anyOf": [is_success, {"required": ["error_code"]}],
        }
        if definitions:
            schema["$defs"] = definitions
        return schema


def _fields_of(data: Any) -> Mapping[Any, Any] | None:
    """Return the fields of a mapping or a pydantic model that is not a plain dict."""
    if isinstance(data, Mapping):
        return data
    dump = getattr(type(data), "model_dump", None)
    return dump(data) if dump is not None and hasattr(type(data), "__pydantic_serializer__") else None
