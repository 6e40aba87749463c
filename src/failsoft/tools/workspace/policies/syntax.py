"""Syntax trees for policies, parsed by tree-sitter (the extra `failsoft[policies]`), loaded at first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from failsoft.framework.errors import ConfigurationError

_EXTRA = "install failsoft[policies], or leave the policy out of FAILSOFT_WORKSPACE_POLICIES"


def require_grammar(module: str, policy: str) -> None:
    """Raise unless tree-sitter and a grammar are installed.

    Raises:
        CONFIG_ERROR: They are not.
    """
    try:
        importlib.import_module("tree_sitter")
        importlib.import_module(module)
    except ImportError as error:
        issue = f"the policy '{policy}' of FAILSOFT_WORKSPACE_POLICIES needs the package {error.name}"
        raise ConfigurationError(issue=issue, resolution=_EXTRA) from error


def captures(module: str, function: str, query: str, text: str) -> Iterator[tuple[str, Any]]:
    """Yield the nodes of a text that a query captures, in the order of the text, each under its capture's name.

    Args:
        module: The package of the grammar.
        function: Its function that returns the language.
        query: A tree-sitter query.
        text: The source; what is not valid there is skipped by the parser.
    """
    parser, compiled = _compiled(module, function, query)
    root = parser.parse(text.encode(errors="replace")).root_node
    found = importlib.import_module("tree_sitter").QueryCursor(compiled).captures(root)
    nodes = [(name, node) for name, several in found.items() for node in several]
    yield from sorted(nodes, key=lambda pair: (pair[1].start_byte, pair[0]))


def text_of(node: Any) -> str:
    """Return the source of a node."""
    source: bytes = node.text
    return source.decode(errors="replace")


def offset_of(text: str) -> Callable[[int], int]:
    """Return the function from an offset in the UTF-8 bytes of a text to the offset in its characters.

    Cheap while its arguments increase: it goes on from the last one.
    """
    if text.isascii():
        return lambda byte: byte
    data = text.encode(errors="replace")
    done = [0, 0]

    def offset(byte: int) -> int:
        if byte < done[0]:
            done[:] = 0, 0
        done[:] = byte, done[1] + len(data[done[0] : byte].decode(errors="ignore"))
        return done[1]

    return offset


@cache
def _compiled(module: str, function: str, query: str) -> tuple[Any, Any]:
    """Return the parser and the compiled query."""
    sitter = importlib.import_module("tree_sitter")
    language = sitter.Language(getattr(importlib.import_module(module), function)())
    return sitter.Parser(language), sitter.Query(language, query)
