"""The tools that the conformance suite calls, written as a user of failsoft would write them."""

import base64
from typing import Any

from mcp_types import AudioContent, EmbeddedResource, ImageContent, TextContent, TextResourceContents

from failsoft import BaseTool, CallContext, Infeasible, operation

PIXEL = base64.b64encode(
    base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
).decode()
SILENCE = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0").decode()

ADDRESS_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

HEADER_SCHEMA = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
    "required": ["region"],
}


class Conformance(BaseTool):
    """Tools for the conformance suite."""

    @operation(read_only=True)
    async def test_simple_text(self) -> TextContent:
        """Return a text."""
        return TextContent(type="text", text="This is a simple text response for testing.")

    @operation(read_only=True)
    async def test_image_content(self) -> ImageContent:
        """Return an image."""
        return ImageContent(type="image", data=PIXEL, mime_type="image/png")

    @operation(read_only=True)
    async def test_audio_content(self) -> AudioContent:
        """Return a sound."""
        return AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")

    @operation(read_only=True)
    async def test_embedded_resource(self) -> EmbeddedResource:
        """Return a resource."""
        return _resource("test://embedded-resource", "This is an embedded resource content.")

    @operation(read_only=True)
    async def test_multiple_content_types(self) -> list[Any]:
        """Return a text, an image and a resource."""
        return [
            TextContent(type="text", text="Multiple content types test:"),
            ImageContent(type="image", data=PIXEL, mime_type="image/png"),
            _resource("test://mixed-content-resource", '{"test": "data", "value": 123}'),
        ]

    @operation(read_only=True)
    async def test_tool_with_progress(self, ctx: CallContext) -> str:
        """Report progress three times."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100, f"{done} of 100")
        return "done"

    @operation(read_only=True)
    async def test_error_handling(self) -> str:
        """Fail on purpose."""
        raise Infeasible(message="This tool intentionally returns an error for testing.")

    @operation(read_only=True)
    async def test_logging_tool(self) -> str:
        """Log nothing to a client that did not ask for logs."""
        return "done"

    @operation(read_only=True)
    async def test_streaming_elicitation(self) -> str:
        """Answer without a request of our own on the stream."""
        return "done"

    @operation(input_schema=HEADER_SCHEMA, read_only=True)
    async def test_custom_headers(self, **arguments: Any) -> dict[str, Any]:
        """Take arguments that are repeated in headers."""
        return arguments

    @operation(input_schema=ADDRESS_SCHEMA, read_only=True)
    async def json_schema_2020_12_tool(self, **arguments: Any) -> dict[str, Any]:
        """Take what JSON Schema 2020-12 can say."""
        return arguments


def _resource(uri: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type="text/plain", text=text))
