"""What the wire formats share: one `Failure` and one success, each rendered under the keys of a format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.lean import lean_text
from failsoft.framework.answer.response import Metadata, ToolResponse
from failsoft.framework.arguments.schemas import inline_root

AnswerStyle: TypeAlias = Literal["lean", "json", "full"]
"""`FAILSOFT_ANSWER`: a failure as lean text, as the compact JSON of the essentials, or as JSON with everything."""
EXTRAS = ("effect", "stop_reason", "next_step", "violations", "error_id")
"""Keys that every seed format may have after its own, so that a client that reads only the text can act."""
CAUSES = ("cause", "stack_trace")
_OPEN: dict[str, Any] = {"type": "object"}
STRING: dict[str, Any] = {"type": "string"}


class WireFormat:
    """A rendering of responses. Stateless; all facts come from the `Failure` or the `ToolResponse`.

    The published schema of a format is `docs/schemas/NAME.schema.json`; a law test holds every answer to it.

    Args:
        style: What an answer contains, and whether the text of a failure is its JSON.
        docs_url: Where the error catalogue is published, for a format that links to it.
    """

    name: ClassVar[str]
    required: ClassVar[tuple[str, ...]]
    """The keys that every failure has."""
    optional: ClassVar[tuple[str, ...]] = ()
    """The other keys of a failure."""
    flag: ClassVar[tuple[str, bool]] = ("success", True)
    """The key that tells a success from a failure, and its value on success."""
    described: ClassVar[dict[str, Any]] = {"code": STRING, "message": STRING}
    """The keys of a failure in a tool's output schema; the first one is only there on failure."""
    is_parsed: ClassVar[bool] = True
    """Whether clients of this format parse the text, so that it is JSON whatever the style."""

    def __init__(self, style: AnswerStyle = "lean", docs_url: str = "") -> None:
        self.is_full = style == "full"
        self.is_lean = style == "lean" and not self.is_parsed
        self.docs_url = docs_url.rstrip("/")

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return a success, its data not yet JSON-safe; `metadata` only if it says something."""
        flag, value = self.flag
        wire = {flag: value, **self.data_fields(response.data)}
        if metadata := response.metadata.to_dict(full=self.is_full):
            wire["metadata"] = metadata
        return wire

    def data_fields(self, data: Any) -> dict[str, Any]:
        """Return the data of a success under its keys."""
        return {"data": data}

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:
        """Return a failure."""
        raise NotImplementedError

    def text(self, failure: Failure) -> str | None:
        """Return the text of a failure for a model; None if it is the JSON of the failure."""
        return lean_text(failure, self.code_of(failure)) if self.is_lean else None

    def code_of(self, failure: Failure) -> str:
        """Return the code of a failure in this format."""
        return failure.exception.code_in(self.name)

    def short_schema(self) -> dict[str, Any]:
        """Return an output schema of few tokens: that of the key that tells success from failure."""
        return {"type": "object", "properties": {self.flag[0]: {"type": "boolean"}}}

    def answer_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema of an answer whose data has this schema, including the short form of a failure.

        The root has the type `object`, and `anyOf` distinguishes the two forms: clients of both protocol generations
        and the strict TypeScript client accept that.
        """
        own, definitions = inline_root(data)
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {**self.described, self.flag[0]: {"type": "boolean"}, "metadata": _OPEN, "data": own},
            "anyOf": [{"required": ["data"]}, {"required": [next(iter(self.described))]}],
        }
        return {**schema, "$defs": definitions} if definitions else schema

    def extras(self, failure: Failure, *, with_violations: bool = True) -> dict[str, Any]:
        """Return the keys of `EXTRAS` for a failure, without empty ones.

        Args:
            failure: The failure.
            with_violations: Whether to list the violations, unless the next step corrects them.
        """
        wire: dict[str, Any] = {"effect": failure.effect}
        if self.is_full and failure.sent_stop_reason is not None:
            wire["stop_reason"] = failure.sent_stop_reason
        if failure.next_step is not None:
            wire["next_step"] = failure.next_step.to_dict()
        if with_violations and failure.violations and (self.is_full or not failure.is_corrected):
            wire["violations"] = violations(failure)
        wire["error_id"] = failure.error_id
        return wire


def causes(failure: Failure) -> dict[str, Any]:
    """Return the keys `cause` and `stack_trace` if the level of detail includes them."""
    wire: dict[str, Any] = {}
    if isinstance(given := failure.cause, str):
        wire["cause"] = given
    elif given is not None:
        wire["cause"] = {name: fact for name, fact in given.items() if fact is not None}
    if failure.stack_trace is not None:
        wire["stack_trace"] = failure.stack_trace
    return wire


def general_hint(failure: Failure) -> str:
    """Return a hint for formats whose list of hints is never empty."""
    if failure.recoverable:
        return "Do what the message says before calling again"
    if failure.exception.actor == "caller":
        return "Repeating the call does not help: use another tool"
    return "Repeating the call does not help: report the error id to the user"


def violations(failure: Failure) -> list[dict[str, Any]]:
    """Return the violations in wire form."""
    return [violation.to_dict(failure.message) for violation in failure.violations]


_OWN = frozenset({"success", "metadata", "error_code"})
"""Reserved names. Data that uses one of them, or is not an object, goes under `data`."""


class FlatFormat(WireFormat):
    """Base of the flat formats: the fields of the data are next to `success: true`."""

    described: ClassVar[dict[str, Any]] = {"error_code": STRING, "message": STRING}

    def data_fields(self, data: Any) -> dict[str, Any]:
        """Return the fields of the data, or the data under `data` where they are none or one has a reserved name."""
        fields = data if type(data) is dict else _fields_of(data)
        is_flat = fields is not None and _OWN.isdisjoint(fields) and all(type(name) is str for name in fields)
        return dict(fields) if is_flat and fields is not None else {"data": data}

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
            "properties": {"success": {"type": "boolean"}, "metadata": _OPEN, **merged},
            "anyOf": [is_success, {"required": ["error_code"]}],
        }
        return {**schema, "$defs": definitions} if definitions else schema


def _fields_of(data: Any) -> Mapping[Any, Any] | None:
    """Return the fields of a mapping or a pydantic model that is not a plain dict."""
    if isinstance(data, Mapping):
        return data
    dump = getattr(type(data), "model_dump", None)
    return dump(data) if dump is not None and hasattr(type(data), "__pydantic_serializer__") else None
