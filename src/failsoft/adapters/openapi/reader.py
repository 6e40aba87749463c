"""The one reader of OpenAPI documents: a record for each operation, which the adapter runs and the generator writes.

A document is foreign input. What cannot be used of it leaves out an operation, with the reason.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypeAlias

from failsoft.adapters.openapi.document import ApiDocument, is_text, listed, mapping
from failsoft.adapters.openapi.records import (
    READS,
    Api,
    ApiOperation,
    ApiParameter,
    Place,
    Scheme,
    Style,
    identifier,
    unique,
)
from failsoft.adapters.openapi.schemas import Conversion, can_be_spread, reachable, text
from failsoft.framework.arguments.json_schema import JsonSchemaArguments
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.settings import ToolsetSettings
from failsoft.framework.text import bounded, enumerated

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_OPERATIONS_AT_MOST = 2_000
_LOOKED_AT_AT_MOST = 10_000
_TAGS_AT_MOST = 100
_ARGUMENTS_AT_MOST = 100
_PARAMETERS_AT_MOST = 300
_ALTERNATIVES_AT_MOST = 20
_INPUT_PARTS, _RESULT_PARTS = 300, 80
_DESCRIPTION_AT_MOST = 800
_PATH_AT_MOST = 500
_PATH = re.compile(r"/[A-Za-z0-9_.~!$&'*+(),;=:@/{}%-]*")
_FIELD_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}")
_JSON = frozenset({"application/json", "*/*"})
_KEY_HEADERS = frozenset({"idempotency-key", "x-idempotency-key"})
_OWN_HEADERS = frozenset(
    {
        *("accept", "authorization", "connection", "content-length", "content-type", "cookie", "host", "te"),
        *("proxy-authorization", "trailer", "transfer-encoding", "upgrade", "traceparent", "x-request-id"),
    }
)
"""Headers that the client sets itself; the first ones OpenAPI ignores as parameters, too."""

_STYLES: Mapping[tuple[str, bool], Style] = {
    ("form", False): "comma",
    ("spaceDelimited", False): "space",
    ("pipeDelimited", False): "pipe",
}


class UnusableError(Exception):
    """An operation cannot be offered, for this reason."""


def read_api(document: ApiDocument, tags: Sequence[str] = ()) -> Api:
    """Return what a document describes.

    Args:
        document: The document.
        tags: Only operations with one of these tags; by default all.

    Raises:
        CONFIG_ERROR: It has no operation that can be offered, or none with one of the tags.
    """
    found = list(islice(_all_operations(document), _LOOKED_AT_AT_MOST + 1))
    if len(found) > _LOOKED_AT_AT_MOST:
        raise ConfigurationError(issue=f"The document has more than {_LOOKED_AT_AT_MOST:,} operations")
    known = {tag: None for _, _, _, node in found for tag in _tags(node)}
    for tag in tags:
        if tag not in known:
            closest = closest_name(tag, known)
            meant = f"; did you mean '{closest}'?" if closest else f". Its tags are: {enumerated([*known], 20)}."
            raise ConfigurationError(message=f"No operation has the tag '{bounded(tag)}'{meant}")
    schemes = _schemes(document)
    operations: list[ApiOperation] = []
    left_out: list[tuple[str, str]] = []
    for name, (method, path), item, node in found:
        where = bounded(f"{method.upper()} {path}", 100)
        if tags and not set(tags).intersection(_tags(node)):
            continue
        if len(operations) >= _OPERATIONS_AT_MOST:
            left_out.append((where, f"there are more than {_OPERATIONS_AT_MOST:,}; choose tags"))
            continue
        try:
            operations.append(_OperationReading(document, schemes, item, node).operation(name, method, path))
        except (UnusableError, TypeError) as reason:
            left_out.append((where, bounded(str(reason))))
    if not operations:
        reasons = "; ".join(f"{where} ({reason})" for where, reason in left_out[:3])
        raise ConfigurationError(
            issue=f"The document has no operation that can be offered{': ' * bool(left_out)}{reasons}"
        )
    info = document.follow(document.tree.get("info"))
    return Api(
        title=text(info.get("title"), 80).replace("\n", " "),
        description=text(info.get("description"), _DESCRIPTION_AT_MOST),
        base_url=document.server(),
        base_path=document.server_path(),
        schemes=tuple(schemes.values()),
        operations=tuple(operations),
        left_out=tuple(left_out),
    )


_Found: TypeAlias = "tuple[str, tuple[str, str], Mapping[str, Any], Mapping[str, Any]]"


def _all_operations(document: ApiDocument) -> Iterator[_Found]:
    """Yield the name of each operation, its method and path, and the objects of path and operation."""
    taken: set[str] = set()
    for path, given in mapping(document.tree.get("paths"), sys.maxsize).items():
        item = document.follow(given)
        for method in _METHODS:
            node = item.get(method)
            if isinstance(node, Mapping):
                own = node.get("operationId")
                otherwise = identifier(f"{method}_{path}", method)
                name = identifier(own, method, taken) if isinstance(own, str) and own else unique(otherwise, taken)
                taken.add(name)
                yield name, (method, path), item, node


def _tags(node: Mapping[str, Any]) -> list[str]:
    return [tag for tag in listed(node.get("tags"))[:_TAGS_AT_MOST] if is_text(tag)]


def _schemes(document: ApiDocument) -> dict[str, Scheme]:
    """Return the credentials by the names of the document; a bearer token where it names none."""
    found: dict[str, Scheme] = {}
    taken = {"base_url"}
    for name, given in mapping(document.follow(document.tree.get("components")).get("securitySchemes")).items():
        scheme = document.follow(given)
        setting = identifier(name, "credential")
        is_used = setting.startswith("model_") or hasattr(ToolsetSettings, setting)
        setting = unique(f"api_{setting}" if is_used else setting, taken)
        said = text(scheme.get("description"), 200).replace("\n", " ")
        kind, place, own = (str(scheme.get(member) or "") for member in ("type", "in", "name"))
        if kind == "apiKey" and place in {"header", "query", "cookie"} and _FIELD_NAME.fullmatch(own):
            found[name] = Scheme(setting, place, own, said)  # type: ignore[arg-type]  # one of the three
        elif kind == "http" and str(scheme.get("scheme")).lower() == "basic":
            found[name] = Scheme(setting, "basic", "", said or "user:password")
        elif kind in {"oauth2", "openIdConnect"} or (kind == "http" and str(scheme.get("scheme")).lower() == "bearer"):
            found[name] = Scheme(setting, "bearer", "", said)
        else:
            continue
        taken.add(setting)
    return found or {"": Scheme("token", "bearer", "", "Sent as a bearer token; the document does not name one.")}


class _OperationReading:
    """Reads one operation."""

    def __init__(
        self, document: ApiDocument, schemes: Mapping[str, Scheme], item: Mapping[str, Any], node: Mapping[str, Any]
    ) -> None:
        self._document, self._schemes, self._item, self._node = document, schemes, item, node
        self._inputs = Conversion(document, "readOnly", _INPUT_PARTS)
        self._parameters: list[ApiParameter] = []
        self._arguments: set[str] = set()
        self._key_header, self._needs_key = "", False

    def operation(self, name: str, method: str, path: str) -> ApiOperation:
        """Return the record of the operation.

        Raises:
            UnusableError: It cannot be offered.
            TypeError: Arguments cannot be checked by its schemas.
        """
        if len(path) > _PATH_AT_MOST or not _PATH.fullmatch(path) or not {".", ".."}.isdisjoint(path.split("/")):
            reason = "its path is none"
            raise UnusableError(reason)
        self._check_server()
        self._read_parameters(path)
        changes = method.upper() not in READS
        body, is_whole_body = self._read_body() if changes else ("none", False)
        if len(self._parameters) > _ARGUMENTS_AT_MOST:
            reason = f"it has more than {_ARGUMENTS_AT_MOST} arguments"
            raise UnusableError(reason)
        result, result_defs, example = self._result()
        defs = reachable([item.schema for item in self._parameters], self._inputs.defs)
        properties = {item.argument: item.schema for item in self._parameters}
        required = [item.argument for item in self._parameters if item.is_required]
        parts = {"type": "object", "properties": properties, "required": required, "$defs": defs}
        schema = {key: part for key, part in parts.items() if part or key == "properties"}
        return ApiOperation(
            name=name,
            method=method.upper(),
            path=path,
            description=self._description(method, path),
            tags=tuple(_tags(self._node)),
            parameters=tuple(sorted(self._parameters, key=lambda item: not item.is_required)),
            arguments=JsonSchemaArguments(name, schema, changes=changes, slow_patterns="skip"),
            body=body,
            is_whole_body=is_whole_body,
            key_header=self._key_header,
            needs_key=self._needs_key,
            credentials=self._credentials(),
            defs=defs,
            result=result,
            result_defs=result_defs,
            example=example,
        )

    def _check_server(self) -> None:
        """Refuse an operation of another server: requests go to the address in the settings only."""
        for node in (self._node, self._item):
            servers = listed(node.get("servers"))
            if servers and self._document.address(servers[0]) != self._document.server():
                reason = "it has a server of its own"
                raise UnusableError(reason)

    def _description(self, method: str, path: str) -> str:
        summary, more = text(self._node.get("summary"), 200), text(self._node.get("description"), _DESCRIPTION_AT_MOST)
        parts = [summary, more if more.rstrip(".") != summary.rstrip(".") else ""]
        said = "\n\n".join(filter(None, parts)) or f"{method.upper()} {path}"
        return f"Deprecated. {said}" if self._node.get("deprecated") is True else said

    def _read_parameters(self, path: str) -> None:
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        lists = (listed(of.get("parameters")) for of in (self._item, self._node))
        for given in islice(chain.from_iterable(lists), _PARAMETERS_AT_MOST):
            node = self._document.follow(given)
            place, name = str(node.get("in")), node.get("name")
            if isinstance(name, str) and is_text(name) and place in {"path", "query", "header", "cookie"}:
                found[place, name] = node
        names = re.findall(r"\{([^{}]*)\}", path)
        for name in names:
            found.setdefault(("path", name), {"in": "path", "schema": {"type": "string"}})
        order = {"path": 0, "query": 1, "header": 2, "cookie": 3}
        for (place, name), node in sorted(found.items(), key=lambda item: order[item[0][0]]):
            if place != "path" or name in names:
                self._read_parameter(place, name, node)

    def _read_parameter(self, place: Any, name: str, node: Mapping[str, Any]) -> None:
        is_required = place == "path" or node.get("required") is True
        if place == "header" and name.lower() in _KEY_HEADERS:
            self._key_header, self._needs_key = name, is_required
            return
        if place == "header" and name.lower() in _OWN_HEADERS:
            return
        style = self._style(place, node)
        if style is None or (place in {"header", "cookie"} and not _FIELD_NAME.fullmatch(name)):
            if is_required:
                reason = f"its parameter {bounded(name, 40)!r} cannot be written"
                raise UnusableError(reason)
            return
        content = next(iter(mapping(node.get("content")).values()), None)
        schema = self._inputs.convert(node.get("schema") if content is None else mapping(content).get("schema"))
        if said := text(node.get("description")):
            schema = {**schema, "description": said}
        self._add(name, place, schema, is_required=is_required, style=style)

    def _style(self, place: str, node: Mapping[str, Any]) -> Style | None:
        """Return how a parameter is written; None for a style that is not supported."""
        if node.get("content"):
            return "json"
        default = "form" if place in {"query", "cookie"} else "simple"
        style = node.get("style", default)
        explode = node.get("explode", style == "form") is True
        if place in {"path", "header"}:
            return "plain" if style == "simple" and not explode else "comma" if style == "simple" else None
        kind = self._document.follow(node.get("schema")).get("type")
        if style == "deepObject":
            return "indexed" if kind == "array" else "plain"
        if style == "form" and explode:
            return "spread" if kind == "object" else "plain"
        return _STYLES.get((str(style), explode), "plain" if explode else None)

    def _add(
        self, name: str, place: Place, schema: Mapping[str, Any], *, is_required: bool, style: Style = "plain"
    ) -> None:
        argument = identifier(name, "argument")
        if argument in self._arguments:
            argument = unique(f"{argument.rstrip('_')}_{place}", self._arguments)
        self._arguments.add(argument)
        self._parameters.append(
            ApiParameter(argument=argument, name=name, place=place, schema=schema, is_required=is_required, style=style)
        )

    def _read_body(self) -> tuple[Literal["none", "json", "form"], bool]:
        """Read the body; return how it is sent, and whether it is one argument."""
        body = self._document.follow(self._node.get("requestBody"))
        contents = {name.partition(";")[0].strip().lower(): item for name, item in mapping(body.get("content")).items()}
        is_required = body.get("required") is True
        json_type = next((name for name in contents if name in _JSON or name.endswith("+json")), None)
        media = json_type or ("application/x-www-form-urlencoded" if contents else None)
        if media is None or media not in contents:
            if is_required and contents:
                reason = f"its body is {bounded(enumerated([*contents], 3), 100)}"
                raise UnusableError(reason)
            return "none", False
        kind: Literal["json", "form"] = "form" if json_type is None else "json"
        content = mapping(contents[media])
        raw = content.get("schema")
        schema = self._inputs.convert(raw)
        whole = self._inputs.defs[schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema
        if not can_be_spread(whole, is_required=is_required):
            if kind == "form" and whole.get("type") != "object":
                reason = "its form has no fields"
                raise UnusableError(reason)
            self._add("body", "body", schema, is_required=is_required)
            return kind, True
        encoding = mapping(content.get("encoding"))
        for name, below in whole["properties"].items():
            is_deep = mapping(encoding.get(name)).get("style") == "deepObject" and below.get("type") == "array"
            style: Style = "indexed" if kind == "form" and is_deep else "plain"
            self._add(name, "body", below, is_required=name in whole.get("required", ()), style=style)
        return kind, False

    def _credentials(self) -> tuple[tuple[str, ...], ...]:
        if "" in self._schemes:
            return ((self._schemes[""].setting,),)
        declared = self._node.get("security", self._document.tree.get("security"))
        alternatives = [mapping(item) for item in listed(declared)[:_ALTERNATIVES_AT_MOST]]
        return tuple(
            tuple(self._schemes[name].setting for name in item)
            for item in alternatives
            if item and all(name in self._schemes for name in item)
        )

    def _result(self) -> tuple[Mapping[str, Any] | None, Mapping[str, Any], Any]:
        """Return the schema of a success, None if there is none or too large a one; its `$defs`; and an example."""
        responses = mapping(self._node.get("responses"))
        status = next((status for status in responses if status[:1] == "2"), "default")
        contents = mapping(self._document.follow(responses.get(status)).get("content"))
        content = mapping(
            next((content for name, content in contents.items() if "json" in name or name == "*/*"), None)
        )
        if not content:
            return None, {}, None
        first = next(iter(mapping(content.get("examples")).values()), None)
        example = content.get("example", self._document.follow(first).get("value"))
        conversion = Conversion(self._document, "writeOnly", _RESULT_PARTS)
        result = conversion.convert(content.get("schema"))
        return (None, {}, example) if conversion.is_cut else (result, conversion.defs, example)
