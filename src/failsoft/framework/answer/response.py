"""`ToolResponse`: the answer to a call, with its metadata and recovery receipt, encoded once."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, cast

from failsoft.framework.answer.failure import Failure
from failsoft.framework.safe import json_safe
from failsoft.framework.safe.json_safe import Encoded
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.answer.wire import WireFormat


@dataclass(frozen=True, slots=True)
class RecoveryReceipt:
    """How a failing call was recovered: strategy, description, number of attempts, and changed arguments."""

    strategy: str
    message: str
    attempts: int
    changed: Mapping[str, Any] = field(default_factory=dict)
    degraded: bool = False
    rule: str = ""
    """Which of the strategy's rules applied, where it has several."""

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, without what is empty or false."""
        wire: dict[str, Any] = {"strategy": self.strategy, "message": self.message, "attempts": self.attempts}
        if self.changed:
            wire["changed"] = dict(self.changed)
        if self.degraded:
            wire["degraded"] = True
        if self.rule:
            wire["rule"] = self.rule
        return wire


def after_receipt(before: RecoveryReceipt, receipt: RecoveryReceipt) -> RecoveryReceipt:
    """Return the receipt of a further recovery, which keeps what the one before has changed."""
    if not before.changed:
        return receipt
    message = bounded(f"{before.message}; {receipt.message}")
    return replace(receipt, message=message, changed={**before.changed, **receipt.changed})


T = TypeVar("T")
ERROR_KEY = "dev.failsoft/error"
METADATA_KEY = "dev.failsoft/metadata"
TRACE_KEY = "dev.failsoft/trace"
_TEXT = frozenset({str})
_PRINTED_AT_MOST = 200
_SHOWN_AT_MOST = 2_000
_CUTS: tuple[dict[str, Any], ...] = (
    {"details": None, "cause": None, "stack_trace": None, "is_cut": True},
    {"violations_at_most": 10},
    {"violations_at_most": 0, "suggestions": (), "next_step": None},
)
"""What a failure that is too large for a client does without, step by step: first text for people, then lists."""


@dataclass(slots=True)
class Metadata:
    """Facts about the call. Times are in milliseconds; unknown facts are left out of the wire form."""

    execution_time_ms: float
    cache_hit: bool | None = None
    documents_processed: int | None = None
    warnings: list[str] = field(default_factory=list)
    recovery: RecoveryReceipt | None = None

    def to_dict(self, *, full: bool = True) -> dict[str, Any]:
        """Return the wire form; the duration, which a model does not act on, only if `full`."""
        wire: dict[str, Any] = {"execution_time_ms": self.execution_time_ms} if full else {}
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
    meta: dict[str, Any]
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


@dataclass(slots=True, eq=False, repr=False)
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

    Examples:
        >>> class Shelf(BaseTool):
        ...     @operation(read_only=True)
        ...     async def count(self, title: str) -> int:
        ...         "Count the copies of a book."
        ...         raise NotFound(message=f"No book '{title}'.")
        >>> match asyncio.run(Shelf().count(title="Dun")):
        ...     case Success(data=copies): print(copies)
        ...     case Failed(error=failure): print(failure.code, failure.effect)
        NOT_FOUND none
    """

    success: bool
    data: T | None = None
    error: Failure | None = None
    metadata: Metadata = field(default_factory=lambda: Metadata(0.0))
    content: tuple[Any, ...] = ()
    wire: WireFormat | None = None
    encoded: EncodedResponse | None = None

    def __repr__(self) -> str:
        if self.error is not None:
            return f"Failed {self.error.line}"
        return f"Success {bounded(json_safe.dumps(self.data), _PRINTED_AT_MOST)}"

    def _repr_markdown_(self) -> str:
        """Return the response for a notebook: the data of a success, or the text of a failure for a model."""
        if self.error is None:
            return f"**Success**\n\n```json\n{bounded(json_safe.dumps(self.data), _SHOWN_AT_MOST)}\n```"
        return f"**Failed**\n\n```text\n{self.encode().text if self.wire else self.error.message}\n```"

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

    def encode(self, limit_bytes: int | None = None) -> EncodedResponse:
        """Return the response in MCP's form. Encoded once; without a limit it never raises, whatever the data is.

        Raises:
            TooLarge: The JSON of a response that is not encoded yet has more than half of the limit: it is sent twice.
        """
        if self.encoded is None:
            if self.wire is None:
                msg = "this response was made by hand: give it a wire format to encode it"
                raise TypeError(msg)
            tree = self.wire.failure(self.error, self.metadata) if self.error else self.wire.success(self)
            max_bytes = None if limit_bytes is None else limit_bytes // 2
            json = json_safe.encode(tree, max_bytes=max_bytes)
            if self.error is None and json.warnings:
                self.metadata.warnings = [*self.metadata.warnings, *json.warnings]
                json = json_safe.encode(self.wire.success(self), max_bytes=max_bytes)
            time_ms = self.metadata.execution_time_ms
            if self.error is None:
                text, meta = json.text, {METADATA_KEY: {"execution_time_ms": time_ms}}
            else:
                text = self.wire.text(self.error) or json.text
                meta = {ERROR_KEY: {**_meta_of(self.error), "execution_time_ms": time_ms}}
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

    def within(self, limit_bytes: int) -> Failed:
        """Return the response, reduced to the size limit of clients where it is larger."""
        response = self
        for cut in _CUTS:
            if response.encode().size_bytes <= limit_bytes:
                break
            facts = dict(cut)
            if "violations_at_most" in facts:
                facts["violations"] = response.error.violations[: facts.pop("violations_at_most")]
            response = replace(response, error=replace(response.error, **facts), encoded=None)
        return response


def _meta_of(failure: Failure) -> dict[str, Any]:
    meta = failure.meta()
    texts = [*(value for name, value in meta.items() if name != "retry"), failure.retry.when]
    is_safe = _TEXT.issuperset(map(type, texts)) and "".join(texts).isascii()  # as always, unless a class is odd
    return meta if is_safe else json_safe.json_safe(meta)
