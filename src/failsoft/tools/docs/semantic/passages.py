"""The passages of a document that are embedded: title and text, cut at headings and paragraphs."""

from __future__ import annotations

import re

__all__ = ["passages"]

_CHARACTERS = 1_200
_PASSAGES_AT_MOST = 12
_NOISE = re.compile(r"```.*?(?:```|\Z)|<[^<>]{1,300}>|\]\([^)]{0,300}\)|[|#*`_\[\]>-]+", re.DOTALL)


def passages(title: str, path: str, body: str) -> list[str]:
    """Return the texts to embed for a document; the first holds its title and path, all hold the title."""
    name = re.sub(r"[/_.-]+", " ", path.rsplit(".", 1)[0])
    found: list[str] = []
    piece = ""
    for paragraph in re.split(r"\n\s*\n", body[: _CHARACTERS * _PASSAGES_AT_MOST * 2]):
        text = " ".join(_NOISE.sub(" ", paragraph).split())
        if piece and len(piece) + len(text) > _CHARACTERS:
            found.append(piece)
            piece = ""
        piece = f"{piece} {text}".strip()[: _CHARACTERS * 2]
        if len(found) == _PASSAGES_AT_MOST:
            break
    if piece and len(found) < _PASSAGES_AT_MOST:
        found.append(piece)
    return [f"{title}. {name}", *(f"{title}. {text}" for text in found)]
