"""The module of a toolset, and that of its types."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from failsoft.adapters.openapi.records import Api, ApiOperation, ApiParameter
from failsoft.cli.openapi.layout import Group, Named, Source, Text, Union, docstring, flat, laid_out, literal
from failsoft.cli.openapi.types import Types, annotated, limits

_RESULT_AT_MOST = 80
_ITEM_AT_MOST = 100
_SEPARATORS = {"comma": ",", "space": " ", "pipe": "|"}
_PLACES = {"path": "path_values", "query": "query", "header": "headers", "cookie": "cookies"}


def modules_of(api: Api, names: Mapping[str, str], source: str) -> dict[str, str]:
    """Return the source of the modules for an API by the names of their files; see `files_of`."""
    module, toolset = names["module"], names["toolset"]
    schemas = [{"$defs": item.defs, "anyOf": [below.schema for below in item.parameters]} for item in api.operations]
    schemas += [{"$defs": item.result_defs, "anyOf": [item.result or {}]} for item in api.operations]
    types = Types(schemas, "types.")
    usual = Counter(item.credentials for item in api.operations).most_common(1)[0][0]
    methods = "\n\n".join(_method(item, types, usual) for item in api.operations)
    title = f"{api.title or toolset}: an MCP toolset for an HTTP API, which fails soft."
    head = [*docstring(f"{title}\n\nWritten from {source} by `failsoft new`, and yours to change.", 0, "")]
    body = "\n".join([*_settings(api, toolset), "", "", *_class(api, toolset, usual), "", methods, ""])
    modules = {f"{module}.py": "\n".join([*head, "", *_imports(body, module), "", "", body])}
    return modules | ({f"{module}_types.py": _types(types, api.title or toolset)} if types.classes else {})


def _used(body: str, *names: str) -> list[str]:
    """Return those of the names that source uses."""
    found = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    return [name for name in names if name in found]


def _imports(body: str, module: str) -> list[str]:
    """Return the import statements that the body of a module needs, in the order of isort."""
    helpers = ["Credential", "HttpApi", *_used(body, "indexed", "joined", "json_text")]
    return [
        "from __future__ import annotations",
        "",
        f"from typing import {', '.join(_used(body, 'Annotated', 'Any', 'ClassVar', 'Literal'))}",
        "",
        "from failsoft import BaseTool, CallContext, Runtime, ToolsetSettings, operation",
        f"from failsoft.adapters.openapi import {', '.join(helpers)}",
        f"from pydantic import {', '.join(_used(body, 'Field', 'SecretStr', 'SkipValidation'))}",
        *(["", f"import {module}_types as types"] if _used(body, "types") else []),
    ]


def _types(types: Types, title: str) -> str:
    body = "\n\n\n".join(types.classes.values())
    typing = _used(body, "Annotated", "Any", "Literal", "NotRequired")
    lines = [
        *docstring(f"The objects of {title}, as its document describes them.", 0, ""),
        "",
        "from __future__ import annotations",
        "",
        *([f"from typing import {', '.join(typing)}", ""] if typing else []),
        *(["from pydantic import Field"] if _used(body, "Field") else []),
        "from typing_extensions import TypedDict",
    ]
    return "\n".join([*lines, "", "", body, ""])


def _settings(api: Api, toolset: str) -> list[str]:
    path = f" Its document gives the path {api.base_path}." if api.base_path else ""
    facts: list[Source] = [f"default={literal(api.base_url)}", Text("description=", f"Address of the API.{path}")]
    lines = [
        f"class {toolset}Settings(ToolsetSettings):",
        '    """Where the API is, and the credentials for it; `failsoft doctor` lists the variables."""',
        "",
        "    " + laid_out(Named("base_url: str = ", Group("Field(", facts, ")")), 4),
    ]
    for scheme in api.schemes:
        said = Text("description=", scheme.description or "Credential of the API.")
        field = Group("Field(", ["default=None", said], ")")
        lines.append("    " + laid_out(field, 4, f"{scheme.setting}: SecretStr | None = "))
    return lines


def _class(api: Api, toolset: str, usual: Sequence[Sequence[str]]) -> list[str]:
    credentials = [
        f"{literal(item.setting)}: Credential({', '.join(map(literal, filter(None, (item.kind, item.name))))})"
        for item in api.schemes
    ]
    secrets = [f"{literal(item.setting)}: self.settings.{item.setting}" for item in api.schemes]
    parameters = ["self", "*", "runtime: Runtime | None = None", f"settings: {toolset}Settings | None = None"]
    client = Group(
        "HttpApi(",
        [
            "self.settings.base_url",
            Group("credentials={", credentials, "}"),
            Group("secrets={", secrets, "}"),
            *([_auth(usual)] if usual else []),
        ],
        ")",
    )
    return [
        f"class {toolset}(BaseTool):",
        *docstring("\n\n".join(filter(None, (api.title, api.description))), 4, "An HTTP API."),
        "",
        f"    Settings: ClassVar[type[ToolsetSettings]] = {toolset}Settings",
        f"    settings: {toolset}Settings",
        "",
        "    " + laid_out(Named("def __init__", Group("(", parameters, ")"), " -> None:"), 4),
        "        super().__init__(runtime=runtime, settings=settings)",
        "        " + laid_out(client, 8, "self.api = "),
        "",
        "    async def startup(self) -> None:",
        '        """Open the connection pool."""',
        "        await self.api.start()",
        "",
        "    async def shutdown(self) -> None:",
        '        """Close it."""',
        "        await self.api.stop()",
    ]


def _method(item: ApiOperation, types: Types, usual: Sequence[Sequence[str]]) -> str:
    options = {"PUT": "idempotent=True", "DELETE": "destructive=True"}.get(item.method, "read_only=True" * item.is_read)
    declared = types.annotation(item.result, item.result_defs, f"{item.name}_result") if item.result else "Any"
    # Documents promise more than services keep: the type is for readers and type checkers, and is not enforced.
    if len(flat(declared)) > _RESULT_AT_MOST:
        declared = "Any"
    returned = "Any" if declared == "Any" else f"SkipValidation[{flat(declared)}]"
    parameters: list[Source] = ["self", "call: CallContext", *(["*"] if item.parameters else [])]
    parameters += [_parameter(parameter, item, types) for parameter in item.parameters]
    request = Group("self.api.request(", _request(item, usual), ")")
    if returned == "Any":
        lines = ["        " + laid_out(Named("return await ", request), 8)]
    else:
        awaited = Named(f"result: {flat(declared)} = await ", request)
        lines = ["        " + laid_out(awaited, 8), "        return result"]
    head = Named(f"async def {item.name}", Group("(", parameters, ")"), f" -> {returned}:")
    return "\n".join(
        [
            f"    @operation({options})" if options else "    @operation",
            "    " + laid_out(head, 4),
            *docstring(item.description, 8, item.name),
            *lines,
        ]
    )


def _parameter(parameter: ApiParameter, item: ApiOperation, types: Types) -> Source:
    schema = parameter.schema
    base = types.annotation(schema, item.defs, f"{item.name}_{parameter.argument}", "Input")
    said = str(schema.get("description", "")).replace("\n", " ")
    if "default" in schema:
        said = f"{said} (default: {json.dumps(schema['default'])})".strip()
    if not parameter.is_required and base != "Any":
        base = _or_none(base)
    made = annotated(base, limits(schema), said)
    return Named(f"{parameter.argument}: ", made, "" if parameter.is_required else " = None")


def _or_none(base: Source) -> Source:
    if isinstance(base, Group) and base.opening == "Literal[":
        return replace(base, parts=[*base.parts, "None"])
    return Union(
        [*(part for part in base.parts if part != "None"), "None"] if isinstance(base, Union) else [base, "None"]
    )


def _request(item: ApiOperation, usual: Sequence[Sequence[str]]) -> list[Source]:
    """Return the arguments of the request."""
    parts: list[Source] = ["call", literal(item.method), literal(item.path)]
    for place, keyword in _PLACES.items():
        sent = [_sent(parameter) for parameter in item.parameters if parameter.place == place]
        parts += [Named(f"{keyword}=", Group("{", sent, "}"))] if sent else []
    fields = [_sent(parameter) for parameter in item.parameters if parameter.place == "body"]
    if item.is_whole_body:
        is_required = any(parameter.place == "body" and parameter.is_required for parameter in item.parameters)
        parts.append(
            "json_body=body" if item.body == "json" else f"form={{**{'body' if is_required else '(body or {})'}}}"
        )
    elif item.body != "none":
        parts.append(Named("fields=" if item.body == "json" else "form=", Group("{", fields, "}")))
    if item.key_header:
        parts += [f"key_header={literal(item.key_header)}", *(["needs_key=True"] if item.needs_key else [])]
    if item.credentials != usual:
        parts.append(_auth(item.credentials))
    return parts


def _sent(parameter: ApiParameter) -> Source:
    """Return the part of a dictionary for an argument."""
    value = parameter.argument
    if parameter.style == "spread":
        return f"**{value}" if parameter.is_required else f"**({value} or {{}})"
    if parameter.style in _SEPARATORS:
        separator = "" if parameter.style == "comma" else f", {literal(_SEPARATORS[parameter.style])}"
        value = f"joined({value}{separator})"
    elif parameter.style in {"indexed", "json"}:
        value = f"{'indexed' if parameter.style == 'indexed' else 'json_text'}({value})"
    name = literal(parameter.name)
    return f"{name}: {value}" if len(name) + len(value) <= _ITEM_AT_MOST else Group(f"{name}: (", [value], ")")


def _auth(alternatives: Sequence[Sequence[str]]) -> Source:
    return Named("auth=", Group("[", [Group("[", list(map(literal, names)), "]") for names in alternatives], "]"))
