"""Shows the examples on the pages: the code of files under docs/examples, written into the Markdown itself.

So the pages can be read wherever Markdown is, in a clone or on a forge, and not only on the built site. A new block
is written as one line, `--8<-- "examples/FILE:SECTION"`, the section left out for the whole file; running
scripts/reference.py puts the code in its place and a comment above it, by which it is kept up to date from then on.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

__all__ = ["BLOCK", "shown"]

BLOCK = re.compile(
    r'(?:^<!-- (?P<kept>examples/\S+) -->\n)?^```(?P<language>[^\n]*)\n(?:--8<-- "(?P<new>examples/[^"]+)"\n)?'
    r"(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_EDGE = re.compile(r".*--8<-- \[(?:start|end):\w+\].*\n")


def shown(page: str, folder: Path) -> str:
    """Return a page with every example as its file has it.

    Args:
        page: The Markdown.
        folder: Holds `examples`.

    Raises:
        LookupError: A file has no such section.
        OSError: There is no such file.
    """
    return BLOCK.sub(lambda block: _block(block, folder), page)


def _block(block: re.Match[str], folder: Path) -> str:
    name = block["new"] or block["kept"]
    if name is None:
        return block[0]
    return f"<!-- {name} -->\n```{block['language']}\n{_code(name, folder)}\n```"


def _code(name: str, folder: Path) -> str:
    path, _, section = name.partition(":")
    text = (folder / path).read_text()
    if section:
        found = re.search(
            rf"^[^\n]*\[start:{section}\][^\n]*\n(.*?)^[^\n]*\[end:{section}\]", text, re.DOTALL | re.MULTILINE
        )
        if found is None:
            msg = f"{path} has no section {section}"
            raise LookupError(msg)
        text = found[1]
    return textwrap.dedent(_EDGE.sub("", text)).strip("\n")
