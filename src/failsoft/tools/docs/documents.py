"""A document as it is understood: title, type and former paths, taken from its bytes."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from failsoft.framework.errors import DocumentLoadError
from failsoft.tools.docs.front_matter import read_front_matter
from failsoft.tools.docs.spelling import folded, without_ending

__all__ = ["DEFAULT_TYPE", "Document", "address", "parse_document"]

DEFAULT_TYPE = "document"
_TITLE_CHARACTERS_AT_MOST = 300
_TYPE_CHARACTERS_AT_MOST = 64
_HEADING_WITHIN_CHARACTERS = 20_000
_ALIASES_AT_MOST = 100
_INDEX_ADDRESS = re.compile(r"(?:^|/)(?:index|readme)$")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_ATX = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_MARKUP = re.compile(r"!\[[^\]]*\]\([^)]*\)|\s*\{#[^}]*\}\s*$|`|\*\*")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Document(NamedTuple):
    """One document, parsed.

    Args:
        content: The text for readers; without the front matter, unless that could not be understood.
        body: The text without the front matter in any case, for the index.
        doc_type: `doc_type` or `type` of the front matter, else `document`.
        aliases: The addresses (see `address`) that it claims besides its own.
        sha256: Of the file's bytes.
        warning: What is wrong with the front matter; empty if nothing is.
    """

    path: str
    title: str
    content: str
    body: str
    doc_type: str
    front_matter: dict[str, Any]
    aliases: tuple[str, ...]
    sha256: str
    warning: str


def parse_document(path: str, data: bytes) -> Document:
    """Return the document that these bytes hold.

    Raises:
        DOC_LOAD_ERROR: They are not UTF-8 text.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentLoadError(path=path, reason=f"it is not UTF-8 text (byte {error.start})") from error
    front = read_front_matter(text)
    return Document(
        path=path,
        title=_title(front.data, front.body, path),
        content=front.content,
        body=front.body,
        doc_type=_doc_type(front.data),
        front_matter=front.data,
        aliases=_aliases(front.data),
        sha256=hashlib.sha256(data).hexdigest(),
        warning=front.warning,
    )


def address(path: str) -> str:
    """Return what a site calls the page: no outer slashes, no ending, no `index`, no case.

    `/Guide/Intro/`, `guide/intro.mdx` and `guide/intro/index.md` are one address. Former paths are compared so.
    """
    bare = path.split("#", 1)[0].split("?", 1)[0].strip("/ ")
    stem, ending = posixpath.splitext(bare)
    bare = stem if ending.lower() in {".html", ".htm"} else without_ending(bare)
    return _INDEX_ADDRESS.sub("", folded(bare))


def _title(front: Mapping[str, Any], body: str, path: str) -> str:
    given = front.get("title")
    if isinstance(given, (str, int, float)) and not isinstance(given, bool) and str(given).strip():
        title = str(given)
    else:
        title = _first_heading(body) or posixpath.splitext(posixpath.basename(path))[0]
    return " ".join(title.split())[:_TITLE_CHARACTERS_AT_MOST]


def _first_heading(body: str) -> str:
    """Return the text of the first heading outside a code fence, or nothing."""
    fence = ""
    previous = ""
    for line in body[:_HEADING_WITHIN_CHARACTERS].splitlines():
        mark = _FENCE.match(line)
        if mark is not None:
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
        elif not fence:
            heading = _ATX.match(line)
            text = heading[1] if heading is not None else previous if _SETEXT.match(line) else ""
            text = _LINK.sub(r"\1", _MARKUP.sub("", text)).strip()
            if text:
                return text
        previous = "" if fence or mark else line.strip()
    return ""


def _doc_type(front: Mapping[str, Any]) -> str:
    for name in ("doc_type", "type"):
        value = front.get(name)
        if isinstance(value, str) and 0 < len(value.strip()) <= _TYPE_CHARACTERS_AT_MOST:
            return value.strip()
    return DEFAULT_TYPE


def _aliases(front: Mapping[str, Any]) -> tuple[str, ...]:
    claimed: list[Any] = []
    for name in ("aliases", "redirect_from"):
        value = front.get(name)
        claimed += [value] if isinstance(value, str) else value if isinstance(value, list) else []
    addresses = (address(item) for item in claimed[:_ALIASES_AT_MOST] if isinstance(item, str))
    return tuple(dict.fromkeys(item for item in addresses if item))
