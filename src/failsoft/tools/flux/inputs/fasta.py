"""Read protein sequences in FASTA format."""

from __future__ import annotations

from typing import Any

from failsoft.framework.text import bounded
from failsoft.tools.flux.errors.files import InvalidInputFile


def read_fasta(path: str, data: bytes) -> dict[str, str]:
    """Return the sequences of a file by the first word of their header.

    Raises:
        INVALID_INPUT_FILE: It has no sequence, text before the first header, or a header without an id or one that is
            repeated; with the lines.
    """
    sequences: dict[str, list[str]] = {}
    faults: list[dict[str, Any]] = []
    current: list[str] | None = None
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), start=1):
        text = line.strip()
        if text.startswith(">"):
            name = (text[1:].split() or [""])[0]
            if not name or name in sequences:
                why = "the id is repeated" if name else "the header has no id"
                faults.append({"line": number, "id": bounded(name, 100), "message": why})
            current = sequences.setdefault(name, [])
        elif text and not text.startswith(";"):
            if current is None:
                faults.append({"line": number, "message": "text before the first header line"})
                break
            current.append(text)
    if not sequences and not faults:
        faults.append({"line": 1, "message": "there is no header line, which begins with >"})
    if faults:
        said = f"is not valid FASTA: line {faults[0]['line']}: {faults[0]['message']}"
        raise InvalidInputFile.found(path, "FASTA", said, faults)
    return {name: "".join(parts) for name, parts in sequences.items()}
