"""Widen output schemas so that clients that validate them accept failures, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.answer.result import with_null_for_nan
from failsoft.framework.answer.wire import WireFormat
from failsoft.framework.arguments.schemas import inline_root

_STAYS_AT_THE_ROOT = frozenset({"$defs", "$id", "$schema", "definitions", "description", "title", "type"})


def widened(schema: Mapping[str, Any] | None, wire: WireFormat) -> dict[str, Any] | None:
    """Return a schema that accepts what this one accepts, and every failure of the wire format.

    The root keeps `type: object` and the properties, which clients read to unpack results; what rules a failure out
    (`required`, `additionalProperties`, combinations) moves into one branch of an `anyOf`.

    Args:
        schema: The tool's own output schema; None, if it has none, stays None.
        wire: The format of failures.
    """
    if schema is None:
        return None
    own, definitions = inline_root(with_null_for_nan(dict(schema)))
    properties: dict[str, Any] = own.get("properties", {})
    shared = properties.keys() & {*wire.required, *wire.optional}
    success: dict[str, Any] = {
        key: value
        for key, value in own.items()
        if key not in _STAYS_AT_THE_ROOT and key != "properties" and not key.startswith("x-")
    }
    if "additionalProperties" in success or "patternProperties" in success or "unevaluatedProperties" in success:
        success["properties"] = {name: properties[name] if name in shared else {} for name in properties}
    elif shared:
        success["properties"] = {name: properties[name] for name in sorted(shared)}
    wide = {key: value for key, value in own.items() if key in _STAYS_AT_THE_ROOT or key.startswith("x-")}
    wide["type"] = "object"
    wide["properties"] = {name: {} if name in shared else value for name, value in properties.items()}
    wide["anyOf"] = [success, {"required": list(wire.required)}]
    if definitions and "$defs" not in wide:
        wide["$defs"] = definitions
    return wide
