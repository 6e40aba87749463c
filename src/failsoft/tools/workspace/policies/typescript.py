"""The policy `typescript`: no empty `catch`, no `eval`, and no comment that switches the type checker off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from failsoft.tools.workspace.policies.judging import Finding, LineNumbers
from failsoft.tools.workspace.policies.syntax import captures, offset_of, require_grammar, text_of

_GRAMMAR = "tree_sitter_typescript"
_LANGUAGES = {
    **dict.fromkeys((".ts", ".mts", ".cts"), "language_typescript"),
    **dict.fromkeys((".tsx", ".jsx", ".js", ".mjs", ".cjs"), "language_tsx"),
}
_QUERY = """
(catch_clause body: (statement_block) @body)
(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @method))
(new_expression constructor: (identifier) @call)
(comment) @comment
"""
_EVALUATING = frozenset({"eval", "Function"})
_GLOBAL = frozenset({"globalThis", "self", "window"})
_UNCHECKED = re.compile(r"/[/*][\s*]{0,10}@ts-(?:ignore|nocheck)\b")
_ADVICE = {
    "empty-catch": "handle the error, log it, or let it pass on",
    "eval": "parse the input, or call a function instead",
    "ts-ignore": "correct the type, or use @ts-expect-error with a reason",
}


class TypeScriptPolicy:
    """No empty `catch`, no `eval` or `Function(...)`, and no `@ts-ignore`, in TypeScript and JavaScript files."""

    name = "typescript"
    rules = frozenset(_ADVICE)

    def __init__(self) -> None:
        require_grammar(_GRAMMAR, self.name)

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each place, in the order of the text."""
        language = _LANGUAGES.get(PurePosixPath(path).suffix.lower())
        if language is None or not any(word in text for word in ("catch", "eval", "Function", "@ts-")):
            return
        lines, offsets = LineNumbers(text), offset_of(text)
        is_global = False
        for capture, node in captures(_GRAMMAR, language, _QUERY, text):
            if capture == "object":
                is_global = text_of(node) in _GLOBAL
            elif capture == "body":
                if _is_empty(node):
                    yield lines.finding("empty-catch", _ADVICE["empty-catch"], offsets(node.parent.start_byte))
            elif capture == "comment":
                if _UNCHECKED.match(text_of(node)):
                    yield lines.finding("ts-ignore", _ADVICE["ts-ignore"], offsets(node.start_byte))
            elif text_of(node) in _EVALUATING and (capture == "call" or is_global):
                yield lines.finding("eval", _ADVICE["eval"], offsets(node.start_byte))


def _is_empty(block: Any) -> bool:
    return all(child.type == "comment" for child in block.named_children)
