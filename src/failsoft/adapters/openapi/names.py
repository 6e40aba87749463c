"""Names made of a document's: identifiers of ASCII letters, unique, and none that Python or a toolset uses."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.text import snake_case

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
