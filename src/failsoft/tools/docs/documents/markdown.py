"""Markdown by lines: fences, headings and GitHub's anchors, sections, links."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from failsoft.tools.docs.documents.paths import DOCUMENT_ENDINGS, is_document

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>][ \t]|\d{1,9}[.)][ \t]|\|)|[ \t]*$| {4}|\t")
# Linear in a line however long: no part of a pattern scans across a place where the pattern may begin.
_TARGET = r"\([^()]*+(?:\([^()]*+\)[^()]*+)?\)"
_IMAGE = re.compile(rf"!\[[^\[\]]*+\]{_TARGET}")
_LINK = re.compile(rf"\[([^\[\]]*+)\](?:{_TARGET}|\[[^\[\]]*+\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*+>")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


class Heading(NamedTuple):
    """A heading: its level from 1 to 6, its anchor, and where its line begins in the text."""

    level: int
    anchor: str
    start: int


def headings(content: str) -> list[Heading]:
    """Return the headings outside code fences, in order; anchors are GitHub's slugs, repeated ones numbered."""
    taken: dict[str, int] = {}
    found: list[Heading] = []
    for level, text, start in heading_lines(content):
        slug = _explicit(text) or _slug(text)
        count = taken.get(slug)
        anchor = slug
        if count is not None:
            anchor = f"{slug}-{count + 1}"
            while anchor in taken:
                count += 1
                anchor = f"{slug}-{count + 1}"
            taken[slug] = count + 1
        taken.setdefault(anchor, 0)
        found.append(Heading(level, anchor, start))
    return found


def section(content: str, anchor: str) -> str | None:
    """Return the text from a heading up to the next one of its level or above; None if no heading has the anchor."""
    known = headings(content)
    wanted = anchor.casefold()
    for position, heading in enumerate(known):
        if heading.anchor.casefold() == wanted:
            after = (other.start for other in known[position + 1 :] if other.level <= heading.level)
            return content[heading.start : next(after, len(content))]
    return None


def anchors(content: str) -> list[str]:
    """Return the anchors of a page, in order."""
    return [heading.anchor for heading in headings(content)]


def plain_text(text: str) -> str:
    """Return the text of a heading without links, images, an anchor of its own, and marks of code and emphasis."""
    own = _explicit(text)
    bare = text.removesuffix(f"{{#{own}}}") if own else text
    return _LINK.sub(r"\1", _IMAGE.sub("", bare)).replace("`", "").replace("**", "").strip()


def heading_lines(content: str) -> Iterator[tuple[int, str, int]]:
    """Yield level, text and position of each heading."""
    fence, before, position, before_at = "", "", 0, 0
    for line in content.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        mark = _FENCE.match(bare)
        if mark is not None:
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
            before = ""
        elif not fence:
            atx, setext = _ATX.match(bare), _SETEXT.match(bare)
            if atx is not None:
                yield len(atx[1]), _without_closing(bare[atx.end() :]), position
                before = ""
            elif setext is not None and before:
                yield (1 if setext[1][0] == "=" else 2), before.strip(), before_at
                before = ""
            else:
                before, before_at = ("" if _NOT_A_PARAGRAPH.match(bare) else bare), position
        position += len(line)


def _without_closing(text: str) -> str:
    """Return the text of a heading without the marks that may close it, as in `# Heading #`."""
    text = text.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare != text and bare[-1:] in {"", " ", "\t"} else text


def _explicit(text: str) -> str:
    """Return the anchor that a heading gives itself, as in `# Heading {#anchor}`; empty if it gives none."""
    if not text.endswith("}"):
        return ""
    anchor = text[text.rfind("{#") + 2 : -1] if "{#" in text else ""
    return "" if "}" in anchor or any(map(str.isspace, anchor)) else anchor


def _slug(text: str) -> str:
    """Return GitHub's anchor of a heading's text."""
    plain = _LINK.sub(r"\1", _IMAGE.sub("", text))
    plain = _TAG.sub("", plain).replace("`", "").strip().lower()
    return _NOT_IN_SLUG.sub("", plain).replace(" ", "-")


_LINKS_AT_MOST = 100
_CHARACTERS_AT_MOST = 1024
_FENCED = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_TARGETS = re.compile(
    r"""(?<!!)\[[^\[\]]{0,500}+\]\(\s{0,100}+<?(?P<inline>[^()\s<>]{1,1024}+)>?[^()]{0,300}+\)"""
    r"""|^ {0,3}\[[^\[\]]{1,300}\]:[ \t]*<?(?P<reference>[^\s<>]{1,1024})>?"""
    r"""|\bhref=["'](?P<html>[^"'\s<>]{1,1024})["']""",
    re.MULTILINE,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


def links(path: str, content: str, holds: Callable[[str], bool]) -> list[str]:
    """Return the documents that a page links to, each once, in the order of the page.

    Links to other sites, to the page itself and to documents that do not exist are left out. A link without an ending
    means the page or the index of that folder; one that begins with `/` starts at the documentation root.

    Args:
        path: The page's own path.
        content: Its text.
        holds: Tells whether a path is a document.
    """
    found: dict[str, None] = {}
    asked: set[str] = set()
    for match in _TARGETS.finditer(_FENCED.sub("", content)):
        target = match["inline"] or match["reference"] or match["html"] or ""
        bare = unquote(target.split("#", 1)[0].split("?", 1)[0])
        if not bare or bare in asked or _SCHEME.match(target):
            continue
        asked.add(bare)
        other = _resolved(path, bare, holds)
        if other is not None and other != path:
            found.setdefault(other)
        if len(found) == _LINKS_AT_MOST or len(asked) == _LINKS_AT_MOST * 5:
            break
    return list(found)


def _resolved(path: str, target: str, holds: Callable[[str], bool]) -> str | None:
    base = "" if target.startswith("/") else posixpath.dirname(path)
    joined = posixpath.normpath(posixpath.join(base, target.lstrip("/"))).removeprefix("./")
    if joined.startswith("../") or joined == ".." or len(joined) > _CHARACTERS_AT_MOST or "\0" in joined:
        return None
    if is_document(joined):
        return joined if holds(joined) else None
    bare = "" if joined == "." else joined
    spellings = [bare + ending for ending in DOCUMENT_ENDINGS if bare and not target.endswith("/")]
    spellings += [posixpath.join(bare, name) for name in ("index.md", "index.mdx", "README.md")]
    return next((item for item in spellings if holds(item)), None)
