"""Results of plain calls as JSON, without the trees from which the SDK would make it."""

from __future__ import annotations

from typing import Any

import pydantic_core
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, SERVER_INFO_META_KEY, methods
from pydantic import ValidationError

from failsoft.framework.answer.response import EncodedResponse, ToolResponse
from failsoft.framework.safe.author_reports import logger
from failsoft.server.http.plain_requests import VERSION
from failsoft.server.protocol.encoding import call_tool_result

_TEXT = (
    b'{"content":[{"type":"text","text":%b}],"structuredContent":%b,"isError":%b,"resultType":"complete","_meta":%b}'
)


class PlainResult(dict[str, Any]):
    """What middleware reads of a result, and all of it as JSON.

    Args:
        encoded: The response.
        json: The result on the wire.
    """

    __slots__ = ("json",)

    def __init__(self, encoded: EncodedResponse, json: bytes) -> None:
        super().__init__(isError=encoded.is_error, _meta=encoded.meta)
        self.json = json


class PlainResults:
    """Encodes the results of one server.

    Args:
        server: It puts its name and version into each result.
    """

    def __init__(self, server: Server[Any]) -> None:
        self._stamp = {SERVER_INFO_META_KEY: server.server_info_stamp}
        self._meta = _as_json(self._stamp)

    def result(self, response: ToolResponse[Any]) -> PlainResult:
        """Return the result of a call.

        Raises:
            MCPError: -32603 for a content block that the protocol does not know.
        """
        encoded = response.encode()
        if encoded.content:  # made of the handler's own blocks
            return PlainResult(encoded, self._with_blocks(response))
        text = pydantic_core.to_json(encoded.text)
        meta = _as_json({**encoded.meta, **self._stamp}) if encoded.meta else self._meta
        is_error = b"true" if encoded.is_error else b"false"
        return PlainResult(encoded, _TEXT % (text, encoded.json.text.encode(), is_error, meta))

    def _with_blocks(self, response: ToolResponse[Any]) -> bytes:
        result = call_tool_result(response)
        try:
            wire = methods.serialize_server_result("tools/call", VERSION, result)
        except ValidationError as error:
            logger.opt(exception=error).error("A tool returned a content block that the protocol does not know")
            raise MCPError(code=INTERNAL_ERROR, message="Handler returned an invalid result") from None
        return _as_json({**wire, "_meta": {**wire.get("_meta", {}), **self._stamp}})


def _as_json(tree: dict[str, Any]) -> bytes:
    return pydantic_core.to_json(tree, inf_nan_mode="null")
