"""What is known of an API, for adapter and generator: the records that its document is read into, and their names.

Names are made of those in the document: identifiers of ASCII letters, unique, and none that Python or a toolset uses.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from failsoft.framework.arguments.json_schema import JsonSchemaArguments
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.text import snake_case

READS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
Place: TypeAlias = Literal["path", "query", "header", "cookie", "body"]
Style: TypeAlias = Literal["plain", "comma", "space", "pipe", "spread", "indexed", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParameter:
    """An argument of an operation, and where it is sent.

    Args:
        argument: The name of the argument.
        name: Its name in the request.
        place: Where it is sent.
        schema: The JSON Schema of its values; references lead to the `$defs` of the operation.
        is_required: Whether it has to be given.
        style: How lists and objects are written.
    """

    argument: str
    name: str
    place: Place
    schema: Mapping[str, Any]
    is_required: bool
    style: Style = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """One operation of the API.

    Args:
        name: The name of the tool: unique in the document, whichever tags are chosen.
        method: In capitals.
        path: With its `{names}`.
        description: Bounded plain text.
        tags: Its tags.
        parameters: Its arguments.
        arguments: By which they are checked.
        body: How the body is sent.
        is_whole_body: Whether the body is one argument, `body`; otherwise its fields are arguments.
        key_header: The header of its idempotency key; "" if it takes none.
        needs_key: Whether each request has to have one.
        credentials: Alternatives, each the names of the settings of all credentials that it needs.
        defs: The schemas that those of the parameters refer to.
        result: The JSON Schema of what it returns; None if that is too large or not described.
        result_defs: The schemas that `result` refers to.
        example: An answer, as the document shows it; None if it shows none.
    """

    name: str
    method: str
    path: str
    description: str
    tags: tuple[str, ...]
    parameters: tuple[ApiParameter, ...]
    arguments: JsonSchemaArguments
    body: Literal["none", "json", "form"]
    is_whole_body: bool
    key_header: str
    needs_key: bool
    credentials: tuple[tuple[str, ...], ...]
    defs: Mapping[str, Any]
    result: Mapping[str, Any] | None
    result_defs: Mapping[str, Any]
    example: Any

    @property
    def is_read(self) -> bool:
        """Whether its method changes nothing."""
        return self.method in READS


@dataclass(frozen=True, slots=True)
class Scheme:
    """A credential of the API.

    Args:
        setting: The name of its setting.
        kind: How it is sent.
        name: The header, query parameter or cookie.
        description: For people who set it.
    """

    setting: str
    kind: Literal["bearer", "basic", "header", "query", "cookie"]
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """What a document describes.

    Args:
        title: Its title, bounded.
        description: Its description, bounded.
        base_url: The address of its first server; "" if it names none.
        base_path: The path of its first server, where that is all the document says of it.
        schemes: Its credentials.
        operations: Its operations, in the order of the document.
        left_out: The method and path of each operation that cannot be offered, and why.
    """

    title: str
    description: str
    base_url: str
    base_path: str
    schemes: tuple[Scheme, ...]
    operations: tuple[ApiOperation, ...]
    left_out: tuple[tuple[str, str], ...]


_LENGTH_AT_MOST = 60
"""Some clients refuse tool names above 64 characters; this leaves room for a number."""
_USED = frozenset(
    {
        *("api", "bool", "call", "cls", "dict", "float", "indexed", "int", "joined", "json_text", "list", "operation"),
        *("result", "self", "str", "types"),
    }
)
"""Names that a generated toolset uses in its methods and their annotations."""


def identifier(text: str, otherwise: str, taken: Collection[str] = ()) -> str:
    """Return a name in snake case for a text of a document, which `taken` does not have.

    >>> identifier("repos/list-forOrg", "x"), identifier("class", "x"), identifier("2nd", "x"), identifier("é!", "x")
    ('repos_list_for_org', 'class_', 'x_2nd', 'e')
    >>> identifier("get", "x", {"get", "get_2"})
    'get_3'
    """
    plain = unicodedata.normalize("NFKD", text[: 4 * _LENGTH_AT_MOST]).encode("ascii", "ignore").decode()
    name = snake_case(re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_"))
    name = re.sub(r"_+", "_", name)[:_LENGTH_AT_MOST].strip("_") or otherwise
    if not name[0].isalpha():
        name = f"{otherwise}_{name}"[:_LENGTH_AT_MOST]
    if keyword.iskeyword(name) or name in _USED or hasattr(BaseTool, name):
        name += "_"
    return unique(name, taken)


def unique(name: str, taken: Collection[str]) -> str:
    """Return a name with a number that makes it one that is not taken, the first one unless there are gaps.

    Itself if it is free.
    """
    if name not in taken:
        return name
    stem, last, free = name.rstrip("_"), 1, 2
    while f"{stem}_{free}" in taken:
        last, free = free, 2 * free
    while free - last > 1:
        between = (last + free) // 2
        last, free = (between, free) if f"{stem}_{between}" in taken else (last, between)
    return f"{stem}_{free}"
