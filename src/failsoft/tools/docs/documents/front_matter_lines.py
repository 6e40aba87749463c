"""Line numbers of front matter fields, for the faults that a validation reports."""

from __future__ import annotations

import re
from collections.abc import Sequence

from failsoft.tools.docs.documents.front_matter import FrontMatter

_TABLE = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def line_of(front: FrontMatter, text: str, path: str) -> int:
    """Return the line of a field in its document, counted from 1; of a missing one that of what should hold it.

    Args:
        front: The front matter, parsed without a fault.
        text: The text of the whole document.
        path: The field, dotted, with list positions as numbers (`tags.0`).
    """
    block = text[front.start : front.end]
    steps = path.split(".") if path else []
    if front.kind == "yaml":
        return 2 + _yaml_line(block, steps)
    return 2 + _toml_line(block, steps) if front.kind == "toml" else 1


def _yaml_line(block: str, steps: Sequence[str]) -> int:
    """Return the line in the block, from 0; -1 for the line that opens it."""
    import yaml  # noqa: PLC0415 - as in front_matter.py

    node = yaml.compose(block, yaml.SafeLoader)
    line = -1
    for step in steps:
        below = None
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if getattr(key, "value", None) == step]
            if found:
                line, below = found[-1][0].start_mark.line, found[-1][1]
        elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
            below = node.value[int(step)]
            line = below.start_mark.line
        if below is None:
            break
        node = below
    return line


def _toml_line(block: str, steps: Sequence[str]) -> int:
    """Return the line in the block, from 0, of the longest part of the path that it has; -1 for none."""
    wanted = [step for step in steps if not step.isdecimal()]
    best, line, table = 0, -1, []
    for number, text in enumerate(block.splitlines()):
        header, key = _TABLE.match(text), _KEY.match(text)
        if header is not None:
            table = _names(header[1])
            found = table
        elif key is not None:
            found = [*table, *_names(key[1])]
        else:
            continue
        if best < len(found) <= len(wanted) and wanted[: len(found)] == found:
            best, line = len(found), number
    return line


def _names(dotted: str) -> list[str]:
    return [name.strip().strip("\"'") for name in dotted.split(".")]
