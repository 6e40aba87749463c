"""Documents, sections and pages of them, read for a caller, and the cursors that continue long answers."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from failsoft.framework.errors import DocumentNotFound, InvalidParameter, NextStep
from failsoft.framework.errors.corrections import near_names, slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import file_name
from failsoft.tools.docs.documents.document import ParsedDocument, load_document
from failsoft.tools.docs.documents.markdown import anchors, section
from failsoft.tools.docs.documents.paths import names_of
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.documents.site import SitePages
from failsoft.tools.docs.signatures import DocumentText

_PREVIOUS = "the `next_cursor` of the previous answer, with the same arguments"
_CHANGED = "no cursor: the document was changed, so begin with its first page"


class AskedDocument(NamedTuple):
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

    @property
    def suffix(self) -> str:
        """The anchor as it ends a path; empty for the whole page."""
        return f"#{self.anchor}" if self.anchor else ""

    @property
    def prefix(self) -> str:
        """What the path begins with besides the names: of an external document, its folder."""
        return self.path[: len(self.path) - len("/".join(self.names) + self.suffix)]


def split_anchor(path: str) -> tuple[str, str]:
    """Return the path of the page, and the anchor behind `#`."""
    page, _, anchor = path.partition("#")
    return page, anchor


def asked(path: str, root: DocumentRoot, shown: str = "") -> AskedDocument:
    """Return what a path asks for.

    Args:
        path: Relative to the root, with or without an anchor; or from the root of the disk or of the site that is
            built of the documents, if a document is there.
        root: Where to look.
        shown: What comes before the path in answers.

    Raises:
        INVALID_PARAM: The path is malformed.
    """
    page, anchor = (path, "") if root.holds(path) else split_anchor(path)  # names of files may hold a #
    if page.startswith("/"):
        page = _at_address(page, root) or page
    names = names_of(page, find=lambda meant: SitePages(root, any_case=True).find(f"/{meant}"))
    return AskedDocument(shown + "/".join(names) + (f"#{anchor}" if anchor else ""), root, names, anchor)


def _at_address(page: str, root: DocumentRoot) -> str | None:
    """Return the document of a path that begins with `/`, if there is one."""
    inner = page.removeprefix(f"{root.root}/")
    return SitePages(root).find(f"/{inner.lstrip('/')}") if inner.strip("/") else None


def read_asked(item: AskedDocument) -> tuple[ParsedDocument, str]:
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
    items: Sequence[AskedDocument], position: Position, bytes_at_most: int
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


def _text(item: AskedDocument, document: ParsedDocument, content: str, linking: str) -> DocumentText:
    """Return a document of the answer; `linking` is the text whose links are listed."""
    return DocumentText(
        path=item.path,
        title=document.title,
        content=content,
        front_matter=document.front_matter,
        sha256=document.sha256,
        links=[item.prefix + other for other in SitePages(item.root).links(document.path, linking)] if linking else [],
    )


def _no_section(item: AskedDocument, document: ParsedDocument) -> DocumentNotFound:
    known = anchors(document.content)
    page = item.path.removesuffix(item.suffix)
    meant = slip_of(item.anchor, known)
    near = dict.fromkeys([*([meant] if meant else []), *near_names(item.anchor, known)])
    return DocumentNotFound(
        path=item.path,
        message=f"{file_name(page)} has no section #{file_name(item.anchor)}.",
        suggestions=[f"{page}#{name}" for name in near],
        next_step=NextStep("get_documentation", {"path": f"{page}#{meant}" if meant else page}),
    )


class Position(NamedTuple):
    """Where a page begins.

    Args:
        document: The place of the document in the list of paths.
        offset: The first character of its text.
        sha256: The beginning of the document's hash; empty where the page begins with a new document.
    """

    document: int = 0
    offset: int = 0
    sha256: str = ""


def next_cursor(about: Sequence[str], *facts: str | int) -> str:
    """Return the cursor of what follows, as `next_from` reads it."""
    return (
        base64.urlsafe_b64encode(json.dumps([_key(about), *facts], separators=(",", ":")).encode()).decode().rstrip("=")
    )


def next_from(cursor: str | None, about: Sequence[str], first: tuple[Any, ...], places: int = 0) -> tuple[Any, ...]:
    """Return the facts of a cursor.

    Args:
        cursor: What the caller sent; None for the beginning.
        about: What was listed: the cursor of something else is refused.
        first: The facts of the beginning, and so their types. Numbers are never negative.
        places: The number that a first fact has to be below if it is a number.

    Raises:
        INVALID_PARAM: It is none of ours, or was returned for something else.
    """
    if cursor is None:
        return first
    try:
        key, *facts = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        key, facts = None, []
    is_ours = key == _key(about) and [*map(type, facts)] == [*map(type, first)]
    numbers = [fact for fact in facts if isinstance(fact, int)]
    if not is_ours or min(numbers, default=0) < 0 or numbers[:1] >= [places]:
        raise refused_cursor(_PREVIOUS)
    return tuple(facts)


def refused_cursor(expected: str) -> InvalidParameter:
    """Return the error for a cursor that leads nowhere."""
    fault = Violation(path="cursor", reason="value", message=f"expected {expected}", expected=expected)
    return InvalidParameter.from_violations([fault])


def page_end(content: str, start: int, bytes_at_most: int) -> int:
    """Return where a page of this size ends: behind a line, or within one that is longer than the page."""
    end = min(len(content), start + bytes_at_most)
    while (size := len(content[start:end].encode())) > bytes_at_most:
        end = start + max(1, (end - start) * bytes_at_most // size)
        if end == start + 1:
            break
    if end == len(content):
        return end
    behind_line = content.rfind("\n", start, end) + 1
    return behind_line if behind_line > start else end


def _key(about: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(about).encode(errors="surrogatepass")).hexdigest()[:12]
