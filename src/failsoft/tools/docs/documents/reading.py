"""Documents, sections and pages of them, read for a caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from failsoft.framework.errors import DocumentNotFound, NextStep
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.text import file_name
from failsoft.tools.docs.documents.documents import Document
from failsoft.tools.docs.documents.library import load_document
from failsoft.tools.docs.documents.links import links
from failsoft.tools.docs.documents.pages import Position, page_end, refused_cursor
from failsoft.tools.docs.documents.path_syntax import names_of
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.documents.sections import anchors, section
from failsoft.tools.docs.results import DocumentText

_ANCHORS_AT_MOST = 5
_CHANGED = "no cursor: the document was changed, so begin with its first page"


class Asked(NamedTuple):
    """One document of a call.

    Args:
        path: As the answer names it, with the anchor of a section.
        root: Where it is.
        names: The names that lead to it there.
        anchor: The section; empty for the whole page.
    """

    path: str
    root: DocumentRoot
    names: tuple[str, ...]
    anchor: str


def split_anchor(path: str) -> tuple[str, str]:
    """Return the path of the page, and the anchor behind `#`."""
    page, _, anchor = path.partition("#")
    return page, anchor


def asked(path: str, root: DocumentRoot, shown: str = "") -> Asked:
    """Return what a path asks for.

    Args:
        path: Relative to the root, with or without an anchor.
        root: Where to look.
        shown: What comes before the path in answers.

    Raises:
        INVALID_PARAM: The path is malformed.
    """
    page, anchor = (path, "") if root.holds(path) else split_anchor(path)  # names of files may hold a #
    names = names_of(page, exists=root.holds)
    return Asked(shown + "/".join(names) + (f"#{anchor}" if anchor else ""), root, names, anchor)


def read_asked(item: Asked) -> tuple[Document, str]:
    """Return the document, and the part of its text that was asked for.

    Raises:
        DOC_NOT_FOUND: There is none, or it has no section of that anchor; with the closest anchors.
        PERMISSION_DENIED: It lies outside the root, or may not be read.
        DOC_LOAD_ERROR: It cannot be read, or is not UTF-8.
    """
    found = load_document(item.root, item.names)
    if not item.anchor:
        return found, found.content
    text = section(found.content, item.anchor)
    if text is None:
        raise _no_section(item, found)
    return found, text


def read_page(
    items: Sequence[Asked], position: Position, bytes_at_most: int
) -> tuple[list[DocumentText], Position | None, list[str]]:
    """Return the documents of one page, where the next one begins (None at the end), and warnings.

    Raises:
        INVALID_PARAM: The document of the cursor was changed.
    """
    texts: list[DocumentText] = []
    warnings: list[str] = []
    left = bytes_at_most
    for place in range(position.document, len(items)):
        document, content = read_asked(items[place])
        start = position.offset if place == position.document else 0
        if start and not document.sha256.startswith(position.sha256):
            raise refused_cursor(_CHANGED)
        if texts and left <= 0:
            return texts, Position(place), warnings
        end = page_end(content, start, max(left, 1))
        texts.append(_text(items[place], document, content[start:end], content if not start else ""))
        if document.front.warning:
            warnings.append(f"{items[place].path}: {document.front.warning}")
        if end < len(content):
            return texts, Position(place, end, document.sha256[:16]), warnings
        left -= len(content[start:end].encode())
    return texts, None, warnings


def _text(item: Asked, document: Document, content: str, linking: str) -> DocumentText:
    """Return a document of the answer; `linking` is the text whose links are listed."""
    prefix = item.path[: len(item.path) - len(_bare(item))]
    return DocumentText(
        path=item.path,
        title=document.title,
        content=content,
        front_matter=document.front_matter,
        sha256=document.sha256,
        links=[prefix + other for other in links(document.path, linking, item.root.holds)] if linking else [],
    )


def _bare(item: Asked) -> str:
    return "/".join(item.names) + (f"#{item.anchor}" if item.anchor else "")


def _no_section(item: Asked, document: Document) -> DocumentNotFound:
    known = anchors(document.content)
    closest = closest_name(item.anchor, known)
    page = split_anchor(item.path)[0]
    order = [closest, *(name for name in known if name != closest)] if closest else known
    return DocumentNotFound(
        path=item.path,
        message=f"{file_name(page)} has no section #{file_name(item.anchor)}.",
        suggestions=[f"{page}#{name}" for name in order[:_ANCHORS_AT_MOST]],
        next_step=NextStep("get_documentation", {"path": f"{page}#{closest}" if closest else page}),
    )
