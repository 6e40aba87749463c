"""The wire formats by name; all render the same `Failure`."""

from __future__ import annotations

import json

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.installed import installed_points
from failsoft.framework.wire.base import WireFormat, published_schema
from failsoft.framework.wire.coded_error import CodedErrorFormat
from failsoft.framework.wire.edit_envelope import EditEnvelopeFormat
from failsoft.framework.wire.error_response import ErrorResponseFormat
from failsoft.framework.wire.problem import ProblemFormat
from failsoft.framework.wire.system_error import SystemErrorFormat
from failsoft.framework.wire.tool_response import ToolResponseFormat

__all__ = ["WireFormat", "find_format", "format_names", "register_format", "schema_files"]

ENTRY_POINT_GROUP = "failsoft.wire_formats"
"""Entry points of other packages: the name of a format -> its class."""

_formats: dict[str, WireFormat] = {}


def register_format(wire: WireFormat) -> None:
    """Add a wire format, or replace the one of its name."""
    _formats[wire.name] = wire


def format_names() -> tuple[str, ...]:
    """Return the names of the formats, in the order of registration."""
    return tuple(_formats)


def find_format(name: str, *, docs_url: str = "") -> WireFormat:
    """Return the format of that name, of failsoft or of a package with an entry point in `failsoft.wire_formats`.

    Args:
        name: The name of a format.
        docs_url: Where the error catalogue is published, for formats that link to it.

    Raises:
        CONFIG_ERROR: There is none, or it cannot be loaded; the message lists those that there are.
    """
    wire = _formats.get(name) or _installed_format(name)
    return ProblemFormat(docs_url) if docs_url and isinstance(wire, ProblemFormat) else wire


def _installed_format(name: str) -> WireFormat:
    points = {point.name: point for point in installed_points(ENTRY_POINT_GROUP)}
    if name not in points:
        issue = (
            f"FAILSOFT_WIRE_FORMAT: there is no wire format '{name}'; the formats are {', '.join([*_formats, *points])}"
        )
        raise ConfigurationError(issue=issue, resolution="set FAILSOFT_WIRE_FORMAT to one of them, or to auto")
    try:
        register_format(points[name].load()())
    except Exception as error:
        issue = f"the wire format '{name}' cannot be loaded ({type(error).__name__})"
        raise ConfigurationError(issue=issue, resolution="correct it, or set FAILSOFT_WIRE_FORMAT to auto") from error
    return _formats[name]


def schema_files() -> dict[str, str]:
    """Return the published schemas: file name -> text."""
    return {
        f"{name}.schema.json": json.dumps(published_schema(wire), indent=2) + "\n" for name, wire in _formats.items()
    }


for _wire in (
    ToolResponseFormat(),
    CodedErrorFormat(),
    EditEnvelopeFormat(),
    ErrorResponseFormat(),
    ProblemFormat(),
    SystemErrorFormat(),
):
    register_format(_wire)
