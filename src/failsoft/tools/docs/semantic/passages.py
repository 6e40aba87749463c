"""The texts that are embedded of a document: its opening, or all its passages."""

from __future__ import annotations

import re

_CHARACTERS = 1_200
_PASSAGES_AT_MOST = 12
_OPENING_CHARACTERS = 500
_INTRODUCTION_WITHIN_CHARACTERS = 6_000
_PROSE_AT_LEAST = 30
"""Characters of a paragraph in an introduction; shorter ones are labels, or what is left of markup."""
_NOISE = re.compile(r"```.*?(?:```|\Z)|<[^<>]{1,300}>|\]\([^)]{0,300}\)|[|#*`_\[\]>-]+", re.DOTALL)


def opening(title: str, lead: str, body: str) -> str:
    """Return one text that tells what a document is about: its title, its description and its first prose.

    Args:
        title: Its title.
        lead: Its description; headings may follow from the second line on.
        body: Its text.
    """
    described = lead.split("\n", 1)[0]
    return f"{title}. {_plain(described)} {introduction(body, _OPENING_CHARACTERS)}"


def introduction(body: str, characters: int) -> str:
    """Return the first prose of a text, at most so many characters, without headings, markup and code."""
    found = ""
    for part in _paragraphs(body[:_INTRODUCTION_WITHIN_CHARACTERS]):
        text = "" if part.lstrip().startswith("#") else _plain(part)
        if len(text) > _PROSE_AT_LEAST:
            found = f"{found} {text}"
            if len(found) > characters:
                break
    return found[1 : characters + 1]


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
