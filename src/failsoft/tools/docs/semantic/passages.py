"""The texts that are embedded of a document: its opening, or all its passages."""

from __future__ import annotations

import re

__all__ = ["opening", "passages"]

_CHARACTERS = 1_200
_PASSAGES_AT_MOST = 12
_OPENING_CHARACTERS = 500
_OPENING_WITHIN_CHARACTERS = 6_000
_PROSE_AT_LEAST = 30
"""Characters of a paragraph in an opening; shorter ones are labels, or what is left of markup."""
_NOISE = re.compile(r"```.*?(?:```|\Z)|<[^<>]{1,300}>|\]\([^)]{0,300}\)|[|#*`_\[\]>-]+", re.DOTALL)


def opening(title: str, lead: str, body: str) -> str:
    """Return one text that tells what a document is about: its title, its description and its first prose.

    Args:
        title: Its title.
        lead: Its description; headings may follow from the second line on.
        body: Its text.
    """
    described = lead.split("\n", 1)[0]
    prose = (
        _plain(part) for part in _paragraphs(body[:_OPENING_WITHIN_CHARACTERS]) if not part.lstrip().startswith("#")
    )
    first = " ".join(text for text in prose if len(text) > _PROSE_AT_LEAST)
    return f"{title}. {_plain(described)} {first[:_OPENING_CHARACTERS]}"


def passages(title: str, path: str, body: str) -> list[str]:
    """Return the passages of a document, cut at paragraphs; the first is its title and path, all hold the title."""
    name = re.sub(r"[/_.-]+", " ", path.rsplit(".", 1)[0])
    found: list[str] = []
    piece = ""
    for paragraph in _paragraphs(body[: _CHARACTERS * _PASSAGES_AT_MOST * 2]):
        text = _plain(paragraph)
        if piece and len(piece) + len(text) > _CHARACTERS:
            found.append(piece)
            piece = ""
        piece = f"{piece} {text}".strip()[: _CHARACTERS * 2]
        if len(found) == _PASSAGES_AT_MOST:
            break
    if piece and len(found) < _PASSAGES_AT_MOST:
        found.append(piece)
    return [f"{title}. {name}", *(f"{title}. {text}" for text in found)]


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n\s*\n", text)


def _plain(text: str) -> str:
    return " ".join(_NOISE.sub(" ", text).split())
