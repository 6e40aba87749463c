"""The policy `python`: no empty `except` and no `eval` or `exec`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from failsoft.tools.workspace.policies.judging import Finding, LineNumbers
from failsoft.tools.workspace.policies.syntax import captures, offset_of, require_grammar, text_of

_GRAMMAR = "tree_sitter_python"
_QUERY = """
(except_clause (block) @body)
(call function: (identifier) @call)
(call function: (attribute object: (identifier) @module attribute: (identifier) @method))
"""
_NOTHING = frozenset({"pass_statement", "comment"})
_ADVICE = {
    "empty-except": "handle the exception, log it, or let it pass on",
    "eval": "parse the input, as with ast.literal_eval",
    "exec": "call a function instead",
}


class PythonPolicy:
    """No empty `except` clause, and no call of `eval` or `exec`, in files named `*.py` and `*.pyi`."""

    name = "python"
    rules = frozenset(_ADVICE)

    def __init__(self) -> None:
        require_grammar(_GRAMMAR, self.name)

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each place, in the order of the text."""
        if not path.lower().endswith((".py", ".pyi")) or not ("except" in text or "eval" in text or "exec" in text):
            return
        lines, offsets = LineNumbers(text), offset_of(text)
        is_builtins = False
        for capture, node in captures(_GRAMMAR, "language", _QUERY, text):
            if capture == "module":
                is_builtins = text_of(node) in {"builtins", "__builtins__"}
            elif capture == "body":
                if _is_empty(node):
                    yield lines.finding("empty-except", _ADVICE["empty-except"], offsets(node.parent.start_byte))
            elif text_of(node) in {"eval", "exec"} and (capture == "call" or is_builtins):
                yield lines.finding(text_of(node), _ADVICE[text_of(node)], offsets(node.start_byte))


def _is_empty(block: Any) -> bool:
    return all(
        child.type in _NOTHING or (child.type == "expression_statement" and text_of(child) == "...")
        for child in block.named_children
    )
