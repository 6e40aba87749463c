"""Markdown by lines: fences, headings with the anchors that GitHub gives them, sections, links and first prose.

Blocks are found by a scan of the lines, linear in the text: markdown-it-py takes 22 times as long over real pages. It
parses the inline text of headings only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_FENCE = re.compile(
    r"(?P<container>(?>(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*))(?P<fence>`{3,}+(?=[^`]*$)|~{3,}+)(?P<info>.*)"
)
_RAW = re.compile(r" {0,3}(?:(<!--)|(\{/\*)|<(pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_ATX = re.compile(r" {0,3}(?>(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}|>[ \t]?)*)(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>][ \t]|\d{1,9}[.)][ \t]|\|)|[ \t]*$| {4}|\t")
_DEFINITION = re.compile(
    r"^ {0,3}\[([^\[\]]{1,300}+)\]:[ \t]*+(?:\n[ \t]*+)?(?:<([^<>\n]{1,1024}+)>|([^\s<>]{1,1024}+))", re.MULTILINE
)
_HREF = re.compile(r"""\bhref=(?:\{[ ]?)?["'`]([^"'`\s<>]{1,1024})["'`]""")
_INLINE = re.compile(r"\\.|`++|!?\[|\]", re.DOTALL)
# Linear however long the text: no part of a pattern scans across a place where the pattern may begin.
_DESTINATION = re.compile(
    r"\(\s{0,100}+(?:<([^<>\n]{0,1024}+)>|((?>(?:[^\s()<>\\]|\\.|\((?>(?:[^\s()\\]|\\.){0,200})\)){1,1024})))"
    r"(?>(?:\s{1,100}+(?:\"[^\"]{0,300}+\"|'[^']{0,300}+'|\([^()]{0,300}+\)))?)\s{0,100}+\)"
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKED = re.compile(r"[`*_\[\]<&\\!~]")
_HEADING_CHARACTERS_AT_MOST = 1_000
"""Of a longer heading the text counts as it is written: inline syntax can take time in the square of its length."""
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_KEPT = frozenset({"Nd", "Nl", "Pc"})
_CIRCLED = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
"""Letters in circles and squares, which are symbols and letters at once."""


class Heading(NamedTuple):
    """A heading: its level from 1 to 6, its text without markup, its anchor, and where its line begins in the text."""

    level: int
    text: str
    anchor: str
    start: int


class _SourceLine(NamedTuple):
    """A line outside code and comments, without its end; and where it begins."""

    start: int
    text: str
    follows: bool
    """Whether the line before it counts, too."""


def headings(content: str) -> list[Heading]:
    """Return the headings outside code and comments, in order; repeated anchors are numbered as GitHub does."""
    taken: dict[str, int] = {}
    found: list[Heading] = []
    lines = list(_lines(content))
    labels = _labels(lines) if "][" in content else frozenset[str]()
    for level, written, start in _heading_lines(lines):
        own = _explicit(written)
        text = _plain_text(written.removesuffix(f"{{#{own}}}").rstrip() if own else written, labels)
        slug = anchor = own or _slug(text)
        while anchor in taken:
            taken[slug] += 1
            anchor = f"{slug}-{taken[slug]}"
        taken[anchor] = 0
        found.append(Heading(level, text.strip(), anchor, start))
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


def targets(content: str) -> Iterator[str]:
    """Yield where the links of a text lead, as written, in order: inline links, definitions and `href` attributes.

    Those in code and comments are left out, and the sources of images.
    """
    for paragraph in _paragraphs(content):
        found: list[tuple[int, str]] = []
        bare = _without_code(paragraph, found)
        found += [(match.start(), match[1]) for match in _HREF.finditer(bare)]
        found += [(match.start(), match[2] or match[3]) for match in _DEFINITION.finditer(bare)]
        for _, target in sorted(found):
            yield _ESCAPE.sub(r"\1", target)


def _lines(content: str) -> Iterator[_SourceLine]:
    """Yield the lines outside fences, comments and raw HTML.

    A fence closes by a bare fence at least as long, and where the quote that it is in ends. It may be in a list.
    """
    fence, quoted, closes, follows, position = "", False, "", False, 0
    for whole in content.splitlines(keepends=True):
        line = whole.rstrip("\r\n")
        start, position = position, position + len(whole)
        if fence and quoted and not line.lstrip().startswith(">"):
            fence = ""
        if closes:
            closes = "" if closes in line.lower() else closes
            follows = False
            continue
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            is_end = mark is not None and mark["fence"].startswith(fence) and not mark["info"].strip()
            fence = "" if is_end else fence
            follows = False
            continue
        if mark is not None:
            fence, quoted, follows = mark["fence"], ">" in mark["container"], False
            continue
        raw = _RAW.match(line)
        if raw is not None:
            end = "-->" if raw[1] else "*/}" if raw[2] else f"</{raw[3].lower()}>"
            if end not in line[raw.end() :].lower():
                closes = end
                follows = False
                continue
        yield _SourceLine(start, line, follows)
        follows = True


def _heading_lines(lines: list[_SourceLine]) -> Iterator[tuple[int, str, int]]:
    """Yield level, text and position of each heading."""
    before = _SourceLine(0, "", follows=False)
    for line in lines:
        text = line.text
        atx, setext = _ATX.match(text), _SETEXT.match(text)
        if atx is not None:
            yield len(atx[1]), _without_closing(text[atx.end() :]), line.start
            before = line._replace(text="")
        elif setext is not None and before.text and line.follows:
            yield (1 if setext[1][0] == "=" else 2), before.text.strip(), before.start
            before = line._replace(text="")
        else:
            before = line._replace(text="") if _NOT_A_PARAGRAPH.match(text) else line


def _paragraphs(content: str) -> Iterator[str]:
    """Yield the text outside fences and comments by paragraphs: an unpaired mark reaches no further."""
    part: list[str] = []
    for line in _lines(content):
        if part and (not line.follows or not line.text.strip()):
            yield "\n".join(part)
            part = []
        if line.text.strip():
            part.append(line.text)
    if part:
        yield "\n".join(part)


def _without_code(text: str, found: list[tuple[int, str]]) -> str:
    """Return a paragraph with its inline code blanked, after adding its inline links with their positions."""
    runs: dict[int, list[int]] = {}
    for run in reversed(list(re.finditer("`+", text))) if "`" in text else ():
        runs.setdefault(len(run[0]), []).append(run.start())
    opened: list[bool] = []
    pieces: list[str] = []
    kept_from = position = 0
    while (mark := _INLINE.search(text, position)) is not None:
        position, sign = mark.end(), mark[0]
        if sign[0] == "`":
            same = runs.get(len(sign), [])
            while same and same[-1] < position:
                same.pop()
            if same:
                pieces += [text[kept_from : mark.start()], " " * (same[-1] + len(sign) - mark.start())]
                kept_from = position = same[-1] + len(sign)
        elif sign[-1] == "[":
            opened.append(sign == "![")
        elif sign == "]" and opened:
            is_image = opened.pop()
            target = _DESTINATION.match(text, position) if text.startswith("(", position) else None
            if target is not None:
                position = target.end()
                if not is_image:
                    found.append((mark.start(), target[1] or target[2] or ""))
    return "".join([*pieces, text[kept_from:]]) if pieces else text


def _labels(lines: list[_SourceLine]) -> frozenset[str]:
    """Return the labels that are defined, as headings may refer to them."""
    return frozenset(match[1] for match in _DEFINITION.finditer("\n".join([line.text for line in lines])))


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


def _plain_text(text: str, labels: frozenset[str]) -> str:
    """Return the inline text of a heading: without marks, targets, images and tags, with the characters of entities."""
    if len(text) > _HEADING_CHARACTERS_AT_MOST or _MARKED.search(text) is None:
        return text
    parser, normalized = _inline_parser()
    references = {normalized(label): {"title": "", "href": ""} for label in labels} if "][" in text else {}
    (inline,) = parser.parseInline(text, {"references": references})
    return "".join(
        "\n" if part.type in {"softbreak", "hardbreak"} else part.content
        for part in inline.children or ()
        if part.type not in {"html_inline", "image"}
    )


@lru_cache(maxsize=1)
def _inline_parser() -> tuple[MarkdownIt, Callable[[str], str]]:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 30 ms that only a page with a marked heading needs
    from markdown_it.common.utils import normalizeReference  # noqa: PLC0415 - as above

    return MarkdownIt("commonmark").enable("strikethrough"), normalizeReference


def _slug(text: str) -> str:
    """Return GitHub's anchor of a heading's text."""
    lower = text.lower()
    if lower.isascii():
        return _NOT_IN_SLUG.sub("", lower).replace(" ", "-")
    return "".join(filter(_in_slug, lower)).replace(" ", "-")


def _in_slug(character: str) -> bool:
    category = unicodedata.category(character)
    if category[0] in "LM" or category in _KEPT or character in "- ":
        return True
    return category == "So" and any(first <= ord(character) <= last for first, last in _CIRCLED)
