"""The wire formats by name; all render the same `Failure`."""

from __future__ import annotations

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.wire.base import AnswerStyle, WireFormat
from failsoft.framework.wire.coded_error import CodedErrorFormat
from failsoft.framework.wire.edit_envelope import EditEnvelopeFormat
from failsoft.framework.wire.error_response import ErrorResponseFormat
from failsoft.framework.wire.problem import ProblemFormat
from failsoft.framework.wire.system_error import SystemErrorFormat
from failsoft.framework.wire.tool_response import ToolResponseFormat

FORMATS: dict[str, type[WireFormat]] = {
    kind.name: kind
    for kind in (
        ToolResponseFormat,
        CodedErrorFormat,
        EditEnvelopeFormat,
        ErrorResponseFormat,
        ProblemFormat,
        SystemErrorFormat,
    )
}


def find_format(name: str, *, style: AnswerStyle = "lean", docs_url: str = "") -> WireFormat:
    """Return the format of that name.

    Args:
        name: The name of a format.
        style: What its answers contain (`FAILSOFT_ANSWER`).
        docs_url: Where the error catalogue is published, for a format that links to it.

    Raises:
        CONFIG_ERROR: There is none; the message lists those that there are.
    """
    if name not in FORMATS:
        issue = f"FAILSOFT_WIRE_FORMAT: there is no wire format '{name}'; the formats are {', '.join(FORMATS)}"
        raise ConfigurationError(issue=issue, resolution="set FAILSOFT_WIRE_FORMAT to one of them, or to auto")
    return FORMATS[name](style, docs_url)
