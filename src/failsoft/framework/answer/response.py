"""`ToolResponse`: the answer to every call, success or failure, and its encoding for MCP."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Protocol, TypeVar, cast

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.receipt import RecoveryReceipt
from failsoft.framework.safe import json_safe
from failsoft.framework.safe.json_safe import Encoded

__all__ = ["EncodedResponse", "Failed", "Metadata", "Renderer", "Success", "ToolResponse"]

T = TypeVar("T")
_TEXT = frozenset({str})


@dataclass(slots=True)
class Metadata:
    """Facts about the call. Times are in milliseconds; unknown facts are left out of the wire form."""

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


@dataclass(slots=True)
class EncodedResponse:
    """A response in MCP's form: as compact JSON, and as text, which is the same unless it is written for models."""

    json: Encoded
    text: str
    is_error: bool
    meta: dict[str, Any] | None = None
    content: tuple[Any, ...] = ()
    """Content blocks that the handler returned besides its data (images, resource links)."""

    @property
    def structured(self) -> dict[str, Any]:
        """The response as a tree."""
        return self.json.tree  # type: ignore[no-any-return]  # a response is an object

    @property
    def is_faithful(self) -> bool:
        """Whether all data could be encoded: no part was replaced by the name of its type."""
        return self.json.is_faithful

    @property
    def size_bytes(self) -> int:
        """The size on the wire, text, structured content and further blocks together, in bytes."""
        size = _bytes_of(self.text) + _bytes_of(self.json.text)
        return size + sum(len(block.model_dump_json()) for block in self.content) if self.content else size


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


class Renderer(Protocol):
    """The part of a wire format that a response needs; the formats are in `failsoft.framework.wire`."""

    name: str

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return a success, its data not yet JSON-safe."""

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:
        """Return a failure."""


@dataclass(slots=True, eq=False)
class ToolResponse(Generic[T]):
    """The answer to a call: a `Success` with the handler's value as `data`, or a `Failed` with a `Failure` as `error`.

    Type checkers distinguish the two by `success` and by `isinstance`. The wire format is the one that was configured
    when the call was made.

    Args:
        success: Whether the call worked.
        data: What the handler returned; None for a failure.
        error: What failed; None for a success.
        metadata: Duration, warnings and recovery.
        content: Content blocks besides the data: images, resource links.
        wire: The wire format.
        encoded: The encoded response, once `encode` made it.
    """

    success: bool
    data: T | None = None
    error: Failure | None = None
    metadata: Metadata = field(default_factory=lambda: Metadata(0.0))
    content: tuple[Any, ...] = ()
    wire: Renderer | None = None
    encoded: EncodedResponse | None = None
    as_text: Callable[[Failure], str] | None = None
    """Renders the text of a failure; None renders it as JSON."""

    def unwrap(self) -> T:
        """Return the data of a success.

        Raises:
            ToolError: The call failed. A copy of its typed error, of the same class; its cause is the exception that
                the handler raised, with the handler's own traceback.
        """
        if self.error is None:
            return cast("T", self.data)
        original = self.error.exception
        raise copy.copy(original) from (original.__cause__ or original)

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form as a JSON tree, in the call's wire format."""
        return self.encode().structured

    def encode(self) -> EncodedResponse:
        """Return the response in MCP's form. Encoded once; never raises, whatever the handler returned."""
        if self.encoded is None:
            if self.wire is None:
                msg = "this response was made by hand: give it a wire format to encode it"
                raise TypeError(msg)
            tree = self.wire.failure(self.error, self.metadata) if self.error else self.wire.success(self)
            json = json_safe.encode(tree)
            if self.error is None and json.warnings:
                self.metadata.warnings = [*self.metadata.warnings, *json.warnings]
                json = json_safe.encode(self.wire.success(self))
            meta = None if self.error is None else _meta_of(self.error)
            text = json.text if self.error is None or self.as_text is None else self.as_text(self.error)
            self.encoded = EncodedResponse(json, text, not self.success, meta, self.content)
        return self.encoded


class Success(ToolResponse[T]):
    """The answer to a successful call: `success` is True, `data` the handler's value, `error` None."""

    if TYPE_CHECKING:
        success: Literal[True]
        data: T
        error: None
    else:
        __slots__ = ()


class Failed(ToolResponse[Any]):
    """The answer to a call that failed: `success` is False, `data` None, `error` the `Failure`."""

    if TYPE_CHECKING:
        success: Literal[False]
        data: None
        error: Failure

        def unwrap(self) -> NoReturn:
            """Raise the typed error."""
    else:
        __slots__ = ()


def _meta_of(failure: Failure) -> dict[str, Any]:
    texts = (failure.code, failure.category, failure.effect, failure.error_id, failure.retry.when)
    is_safe = _TEXT.issuperset(map(type, texts)) and "".join(texts).isascii()  # as always, unless a class is odd
    meta = {"dev.failsoft/error": failure.meta() if is_safe else json_safe.json_safe(failure.meta())}
    if failure.sends_draft:
        meta["io.modelcontextprotocol/toolFailure"] = json_safe.json_safe(failure.draft_record())
    return meta
