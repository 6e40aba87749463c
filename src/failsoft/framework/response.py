"""`ToolResponse`: the answer to every call, success or failure, and its encoding for MCP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from failsoft.framework import json_safe
from failsoft.framework.failure import Failure
from failsoft.framework.receipt import RecoveryReceipt

__all__ = ["EncodedResponse", "Metadata", "Renderer", "ToolResponse"]

T = TypeVar("T")


@dataclass(slots=True)
class Metadata:
    """Facts about the call. Times are in milliseconds; what is not known is left out of the wire form."""

    execution_time_ms: float
    cache_hit: bool | None = None
    documents_processed: int | None = None
    warnings: list[str] = field(default_factory=list)
    recovery: RecoveryReceipt | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        wire: dict[str, Any] = {"execution_time_ms": self.execution_time_ms}
        if self.cache_hit is not None:
            wire["cache_hit"] = self.cache_hit
        if self.documents_processed is not None:
            wire["documents_processed"] = self.documents_processed
        if self.warnings:
            wire["warnings"] = list(self.warnings)
        if self.recovery is not None:
            wire["recovery"] = self.recovery.to_dict()
        return wire


@dataclass(frozen=True, slots=True)
class EncodedResponse:
    """A response as MCP carries it: the same object as a tree and as compact text."""

    structured: dict[str, Any]
    text: str
    is_error: bool
    meta: dict[str, Any] | None = None
    content: tuple[Any, ...] = ()
    """Content blocks that the handler returned besides its data (images, resource links)."""
    is_faithful: bool = True
    """Whether JSON could say everything: no part of the data was replaced by the name of its type."""

    @property
    def size_bytes(self) -> int:
        """The size on the wire, text, structured content and further blocks together, in bytes."""
        size = 2 * (len(self.text) if self.text.isascii() else len(self.text.encode()))
        return size + sum(len(block.model_dump_json()) for block in self.content)


class Renderer(Protocol):
    """What a response needs of its wire format; `failsoft.framework.wire` has the formats."""

    name: str

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return a success, its data not yet JSON-safe."""

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:
        """Return a failure."""


@dataclass(slots=True, eq=False)
class ToolResponse(Generic[T]):
    """The answer to a call. `data` is the handler's value on success, `error` the `Failure` otherwise.

    The wire format is the one that was in force when the call was made.
    """

    success: bool
    data: T | None = None
    error: Failure | None = None
    metadata: Metadata = field(default_factory=lambda: Metadata(0.0))
    content: tuple[Any, ...] = ()
    wire: Renderer | None = None
    encoded: EncodedResponse | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form as a JSON tree, in the call's wire format."""
        return self.encode().structured

    def encode(self) -> EncodedResponse:
        """Return the response as MCP carries it. Encoded once; never raises, whatever the handler returned."""
        if self.encoded is None:
            if self.wire is None:
                msg = "this response was made by hand: give it a wire format to encode it"
                raise TypeError(msg)
            tree = self.wire.failure(self.error, self.metadata) if self.error else self.wire.success(self)
            structured, text, is_faithful = json_safe.encode_and_tell(tree)
            meta = {"dev.failsoft/error": json_safe.json_safe(self.error.meta())} if self.error else None
            self.encoded = EncodedResponse(structured, text, not self.success, meta, self.content, is_faithful)
        return self.encoded
