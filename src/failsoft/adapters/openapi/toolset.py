"""`OpenAPITools`: the operations of an API as tools, straight from its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, SecretStr, create_model

from failsoft.adapters.openapi.document import read_document
from failsoft.adapters.openapi.http_api import Credential, HttpApi, indexed, joined, json_text
from failsoft.adapters.openapi.reader import read_api
from failsoft.adapters.openapi.records import Api, ApiOperation, ApiParameter, identifier
from failsoft.framework.answer.result import Result
from failsoft.framework.arguments.signature import read_parameters
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import CONTEXTS, Interface, Operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.setting_types import WebAddress
from failsoft.framework.settings import ToolsetSettings

_SEPARATORS = {"comma": ",", "space": " ", "pipe": "|"}


class OpenAPITools(BaseTool):
    """The operations of an HTTP API that an OpenAPI 3 document describes.

    Arguments are checked by the document's schemas. GET, HEAD and OPTIONS are read-only, DELETE is destructive, PUT
    idempotent. An operation that cannot be offered is left out with a warning in the log.

    Its settings are `base_url` and each credential of the document (`FAILSOFT_<NAME>_BASE_URL`, ...).

    Args:
        document: The document, parsed, or its file, or its http or https address.
        name: The toolset's name; by default that of the document's title.
        tags: Only operations with one of these tags; by default all.
        runtime: Settings, recovery, metrics and audit of its calls; by default the process-wide runtime.
        settings: Values of its settings, by name; they take precedence over the environment.

    Raises:
        CONFIG_ERROR: The document cannot be used, or a setting; `base_url` is not set and the document names no server.
        TypeError: The name is one whose settings would collide with the framework's.

    Example:
        >>> pets = {
        ...     "openapi": "3.1.0",
        ...     "info": {"title": "Pets"},
        ...     "servers": [{"url": "https://pets.example.org"}],
        ...     "paths": {"/pets": {"get": {"operationId": "listPets"}}},
        ... }
        >>> list(OpenAPITools(pets).operations)
        ['list_pets']
    """

    _adds_operations: ClassVar[bool] = True

    def __init__(
        self,
        document: str | Path | Mapping[str, Any],
        *,
        name: str | None = None,
        tags: Sequence[str] = (),
        runtime: Runtime | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        described = read_api(read_document(document), tags)
        name = name or identifier(described.title, "api").rstrip("_")
        super().__init__(runtime=runtime, settings=settings_of(described, name)(**(settings or {})))
        self.name = name
        self._described = described
        self.api = HttpApi(
            self.settings.base_url or "",
            credentials={scheme.setting: Credential(scheme.kind, scheme.name) for scheme in described.schemes},
            secrets={scheme.setting: getattr(self.settings, scheme.setting) for scheme in described.schemes},
        )

    def introduction(self) -> str:
        """Return the title and the description of the document."""
        return "\n\n".join(filter(None, (self._described.title, self._described.description)))

    async def startup(self) -> None:
        """Open the connection pool."""
        await self.api.start()

    async def shutdown(self) -> None:
        """Close it."""
        await self.api.stop()

    def bind_operations(self) -> None:
        """Bind an operation for each of the document's."""
        super().bind_operations()
        self._records = {record.name: record for record in self._described.operations}
        self._operations |= {name: BoundOperation(_Described(record), self) for name, record in self._records.items()}
        for where, reason in self._described.left_out:
            logger.bind(tool=self.name, left_out=where).warning("An operation cannot be offered: {}", reason)

    async def send(self, call: Call, arguments: Mapping[str, Any]) -> Any:
        """Send the request of an operation and return its data."""
        record = self._records[call.operation]
        places: dict[str, dict[str, Any]] = {place: {} for place in ("path", "query", "header", "cookie", "body")}
        for parameter in record.parameters:
            if parameter.argument in arguments:
                places[parameter.place].update(_written(parameter, arguments[parameter.argument]))
        fields = places["body"]
        whole = fields.pop("body", None) if record.is_whole_body else None
        is_json = record.body == "json"
        return await self.api.request(
            call,
            record.method,
            record.path,
            path_values=places["path"],
            query=places["query"],
            headers=places["header"],
            cookies=places["cookie"],
            json_body=whole if is_json else None,
            fields=fields if is_json and not record.is_whole_body else None,
            form=(whole if record.is_whole_body else fields) if record.body == "form" else None,
            key_header=record.key_header,
            needs_key=record.needs_key,
            auth=record.credentials,
        )


def _written(parameter: ApiParameter, value: Any) -> dict[str, Any]:
    """Return an argument as the names and values that are sent for it."""
    if parameter.style in _SEPARATORS:
        return {parameter.name: joined(value, _SEPARATORS[parameter.style])}
    if parameter.style == "spread" and isinstance(value, Mapping):
        return dict(value)
    if parameter.style == "indexed" and isinstance(value, list):
        return {parameter.name: indexed(value)}
    return {parameter.name: json_text(value) if parameter.style == "json" else value}


def settings_of(described: Api, name: str) -> type[ToolsetSettings]:
    """Return the settings of a toolset of this name: the address, and each credential.

    Raises:
        TypeError: They would collide with the framework's.
    """
    path = f" Its path there is {described.base_path}." if described.base_path else ""
    fields: dict[str, Any] = {
        "base_url": (
            WebAddress | None,
            Field(default=described.base_url or None, description=f"Address of the API.{path}"),
        )
    }
    for scheme in described.schemes:
        said = scheme.description or "Credential of the API."
        fields[scheme.setting] = (SecretStr | None, Field(default=None, description=said))
    made: type[ToolsetSettings] = create_model("OpenAPISettings", __base__=ToolsetSettings, **fields)
    made.model_config = {**made.model_config}
    made.bind(name)
    return made


async def _run(self: OpenAPITools, /, _failsoft_call: Call, **arguments: Any) -> Any:
    return await self.send(_failsoft_call, arguments)


class _Described(Operation):
    """An operation, declared by the document."""

    def __init__(self, record: ApiOperation) -> None:
        super().__init__(
            _run,
            name=record.name,
            read_only=record.is_read,
            destructive=True if record.method == "DELETE" else None,
            idempotent=record.method == "PUT",
        )
        self.description = record.description
        self._record = record

    def interface(self, owner: str) -> Interface:  # noqa: ARG002 - the schema is checked already
        """Return the arguments that the document describes, and any result: documents often promise more."""
        _, context, _ = read_parameters(self.function, self.hints(), CONTEXTS)
        return self._record.arguments, Result(Any), (), context
