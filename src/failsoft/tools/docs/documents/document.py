"""`ParsedDocument`: title, type, front matter and former paths of a page, parsed from its bytes."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from failsoft.framework.errors import DocumentLoadError
from failsoft.tools.docs.documents.front_matter import FrontMatter, read_front_matter
from failsoft.tools.docs.documents.markdown import headings
from failsoft.tools.docs.documents.paths import address
from failsoft.tools.docs.documents.root import DocumentRoot

TITLE_CHARACTERS_AT_MOST = 300
_TYPE_CHARACTERS_AT_MOST = 64
_HEADING_WITHIN_CHARACTERS = 20_000
_ALIASES_AT_MOST = 100


class ParsedDocument(NamedTuple):
    """One document, parsed.

    Args:
        content: The text for readers; without the front matter, unless that could not be understood.
        body: The text without the front matter in any case, for the index.
        own_type: `doc_type` or `type` of the front matter, else empty; the project knows what other pages are.
        aliases: The addresses (see `address`) that it claims besides its own.
        sha256: Of the file's bytes.
        front: The front matter as parsed: its fields, faults and position.
    """

    path: str
    title: str
    content: str
    body: str
    own_type: str
    aliases: tuple[str, ...]
    sha256: str
    front: FrontMatter

    @property
    def front_matter(self) -> dict[str, Any]:
        """The front matter in JSON types."""
        return self.front.data


def parse_document(path: str, data: bytes) -> ParsedDocument:
    """Return the document that these bytes hold.

    Raises:
        DOC_LOAD_ERROR: They are not UTF-8 text.
    """
    front = read_front_matter(decoded(path, data))
    return ParsedDocument(
        path=path,
        title=_title(front.data, front.body, path),
        content=front.content,
        body=front.body,
        own_type=_doc_type(front.data),
        aliases=_aliases(front.data),
        sha256=hashlib.sha256(data).hexdigest(),
        front=front,
    )


def load_document(root: DocumentRoot, names: Sequence[str]) -> ParsedDocument:
    """Return the document at the names, read from the disk now.

    Raises:
        DOC_NOT_FOUND: There is none.
        PERMISSION_DENIED: It lies outside the root, or may not be read.
        DOC_LOAD_ERROR: It cannot be read, or is not UTF-8.
    """
    return parse_document("/".join(names), root.read(names))


def decoded(path: str, data: bytes) -> str:
    """Return the text of a document's bytes.

    Raises:
        DOC_LOAD_ERROR: They are not UTF-8 text.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentLoadError(path=path, reason=f"it is not UTF-8 text (byte {error.start})") from error


def _title(front: Mapping[str, Any], body: str, path: str) -> str:
    given = front.get("title")
    if isinstance(given, (str, int, float)) and not isinstance(given, bool) and str(given).strip():
        title = str(given)
    else:
        title = _first_heading(body) or posixpath.splitext(posixpath.basename(path))[0]
    return " ".join(title.split())[:TITLE_CHARACTERS_AT_MOST]


def _first_heading(body: str) -> str:
    """Return the text of the first heading, or nothing."""
    return next((found.text for found in headings(body[:_HEADING_WITHIN_CHARACTERS]) if found.text), "")


def _doc_type(front: Mapping[str, Any]) -> str:
    for name in ("doc_type", "type"):
        value = front.get(name)
        if isinstance(value, str) and 0 < len(value.strip()) <= _TYPE_CHARACTERS_AT_MOST:
            return value.strip()
    return ""


def _aliases(front: Mapping[str, Any]) -> tuple[str, ...]:
    claimed: list[Any] = []
    for name in ("aliases", "redirect_from"):
        value = front.get(name)
        claimed += [value] if isinstance(value, str) else value if isinstance(value, list) else []
    addresses = (address(item) for item in claimed[:_ALIASES_AT_MOST] if isinstance(item, str))
    return tuple(dict.fromkeys(item for item in addresses if item))
