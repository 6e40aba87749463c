"""The links of a page to other documents of its project."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from urllib.parse import unquote

from failsoft.tools.docs.documents.path_syntax import DOCUMENT_ENDINGS, is_document

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
