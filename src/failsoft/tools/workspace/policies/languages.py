"""What the policies `rust`, `python` and `typescript` look for: one table of tree-sitter queries.

Also a script that looks in a process of its own. It runs without the package, whose import takes half a second.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

_WRITE_IT = "write what is missing, or leave it out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What a policy needs to know of one language.

    Args:
        grammar: The package of the grammar.
        endings: Of a file's name, in lower case, each with the function of the package that returns the language.
        words: A text without any of them is not parsed.
        query: A tree-sitter query. A capture is named as the rule that it breaks; the others begin with `_`: `_spared`
            is a part that the rules of `spared` do not apply to, the rest is for `is_found` and `tests_of`.
        advice: What to do instead, by rule.
        spared: Rules that do not apply everywhere.
        spelled: Returns a text with the names as the language reads them, and every character in its place.
        is_found: Returns whether a match breaks its rule, from its captures and the bytes of the file.
        tests_of: Returns the parts that are compiled for tests only, from the captures `_attribute` in their order.
        is_test_file: Returns whether the rules of `spared` do not apply to a file at all.
    """

    grammar: str
    endings: Mapping[str, str]
    words: Sequence[str]
    query: str
    advice: Mapping[str, str]
    spelled: Callable[[str], str] = str
    spared: frozenset[str] = frozenset()
    is_found: Callable[[Mapping[str, Any], bytes], bool]
    tests_of: Callable[[Iterable[Any]], Iterable[Any]] = list
    is_test_file: Callable[[str], bool] = lambda _: False


def _folded(text: str) -> str:
    """Return a text with letters in other shapes, such as full width, as Python reads them in names."""
    if text.isascii():
        return text
    shapes = {one: unicodedata.normalize("NFKC", one) for one in set(text) if not one.isascii()}
    return text.translate({ord(one): letter for one, letter in shapes.items() if len(letter) == 1 and letter.isalnum()})


_GAP = rb"(?>(?:\s|/\*[^*]{0,80}\*/|//[^\n]{0,80}\n)*)"
_AFTER = rb"(?>(?:\s|/\*(?>[^*]*\*+(?:[^/*][^*]*\*+)*)/|//[^\n]*\n)*)"
_CALLED = re.compile(_AFTER + rb"(?:::" + _AFTER + rb"<[^<>(){};]{0,80}>" + _AFTER + rb")?\(")
_MACRO = re.compile(_AFTER + rb"!(?!=)")
_OF_VALUE = re.compile(rb"(?<!\.)\." + _GAP + rb"\Z")
_OF_SELF = re.compile(rb"(?<![\w#.])self\s*\.\s*\Z")
_OF_PATH = re.compile(rb"::" + _GAP + rb"\Z")
_OF_OPTION = re.compile(
    rb"(?:\b(?:Option|Result)\s*::\s*(?:<[^<>;{}]*>\s*::\s*)?"
    rb"|<\s*(?:[\w:]*::\s*)?(?:Option|Result)\b[^;{}()]*>\s*::\s*)\Z"
)
_AROUND = 200
"""Bytes before a name that decide whether it is a method; a query for the nodes around it takes quadratic time."""


def _rust_is_found(nodes: Mapping[str, Any], data: bytes) -> bool:
    (rule, node), *_ = nodes.items()
    before = data[max(0, node.start_byte - _AROUND) : node.start_byte]
    end = node.end_byte
    if rule in {"panic", "stub"}:
        return _MACRO.match(data, end) is not None
    if rule not in {"unwrap", "expect"}:
        return True
    if _OF_VALUE.search(before):  # parsers have an `expect` of their own; an Option or a Result is hardly ever `self`
        return _CALLED.match(data, end) is not None and not (rule == "expect" and _OF_SELF.search(before))
    if rule == "expect":
        return _OF_OPTION.search(before) is not None
    return _OF_PATH.search(before) is not None and not data[end : end + _AROUND].lstrip().startswith(b"::")


def _rust_tests(attributes: Iterable[Any]) -> Iterator[Any]:
    """Yield what is compiled for tests only, of attributes in the order of the text."""
    seen: set[int] = set()
    end = -1
    for attribute in attributes:
        if attribute.start_byte < end or attribute.start_byte in seen or not _is_for_tests(attribute):
            continue
        parent = attribute.parent
        for part in [parent] if parent.type in _WITH_ATTRIBUTES else _parts_for_tests(parent.children, parent):
            yield part
            end = max(end, part.end_byte)
        seen.update(child.start_byte for child in parent.children if child.type in _ATTRIBUTES)


_ATTRIBUTES = frozenset({"attribute_item", "inner_attribute_item"})
_WITH_ATTRIBUTES = frozenset({"field_initializer", "match_arm", "shorthand_field_initializer"})
"""Nodes that hold the attributes that apply to them; others precede what they apply to."""


def _parts_for_tests(children: Iterable[Any], parent: Any) -> Iterator[Any]:
    is_next, is_head = False, True
    for child in children:
        is_attribute = child.type in _ATTRIBUTES
        if is_attribute and _is_for_tests(child):
            if child.type == "attribute_item":
                is_next = True
            elif is_head:
                yield parent
        elif is_next and child.is_named and not is_attribute and not child.is_extra:
            yield child
            is_next = False
        is_head = is_head and (child.type in {"inner_attribute_item", "{", "shebang"} or child.is_extra)


def _is_for_tests(item: Any) -> bool:
    attribute = next((child for child in item.named_children if child.type == "attribute"), None)
    if attribute is None:
        return False
    name = _text(attribute.named_children[0]).rpartition("::")[2].strip()
    if name != "cfg":
        return name in {"bench", "proptest", "quickcheck", "rstest", "test", "test_case"}
    condition = attribute.child_by_field_name("arguments")
    return condition is not None and _implied(condition, depth=16) == [True]


def _implied(condition: Any, *, depth: int) -> list[bool]:
    """Return for each predicate in brackets whether it holds in tests only: `any(test, feature = "x")` does not."""
    found: list[bool] = []
    for node, following in pairwise(condition.children):
        if node.type == "identifier":
            name = _text(node)
            parts = _implied(following, depth=depth - 1) if depth and following.type == "token_tree" else []
            holds = any(parts) if name == "all" else bool(parts) and name == "any" and all(parts)
            found.append(holds or (name == "test" and following.type in {",", ")"}))
    return found


def _rust_is_test_file(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return "tests" in parts[:-1] or parts[-1:] == ("tests.rs",)


def _is_empty_or_no_body(nodes: Mapping[str, Any], _: bytes) -> bool:
    """Return whether a block, if the match has one, does nothing."""
    waiting = [nodes["_body"]] if "_body" in nodes else []
    while waiting:
        for child in waiting.pop().named_children:
            if child.type in _HOLDING:
                waiting.append(child)
            elif child.type not in _IDLE:
                return False
    return True


_IDLE = frozenset({"comment", "ellipsis", "empty_statement", "false", "float", "identifier", "integer", "none", "null"})
_IDLE |= frozenset({"number", "pass_statement", "string", "string_fragment", "true", "undefined"})
"""Nodes that do nothing: values as statements, and what says so."""
_HOLDING = frozenset({"expression_statement", "list", "parenthesized_expression", "statement_block", "template_string"})
_HOLDING |= frozenset({"tuple", "unary_expression", "unary_operator"})
"""Nodes that do nothing if nothing in them does."""


LANGUAGES: Mapping[str, Language] = {
    "rust": Language(
        grammar="tree_sitter_rust",
        endings={".rs": "language"},
        words=("unsafe", "mut", "unwrap", "expect", "panic", "todo", "unimplemented"),
        query="""
        "unsafe" @unsafe
        ([(identifier) (field_identifier) (type_identifier)] @unsafe (#eq? @unsafe "unsafe"))
        ("static" @static-mut . (mutable_specifier))
        (static_item "static" @static-mut (mutable_specifier))
        ([(identifier) (field_identifier)] @unwrap
          (#any-of? @unwrap "unwrap" "unwrap_err" "r#unwrap" "r#unwrap_err"))
        ([(identifier) (field_identifier)] @expect
          (#any-of? @expect "expect" "expect_err" "r#expect" "r#expect_err"))
        ((identifier) @panic (#any-of? @panic "panic" "r#panic"))
        ((identifier) @stub (#any-of? @stub "todo" "unimplemented" "r#todo" "r#unimplemented"))
        [(attribute_item) (inner_attribute_item)] @_attribute
        """,
        advice={
            "unsafe": "write it in safe Rust",
            "static-mut": "use an atomic, a Mutex or a OnceLock",
            "unwrap": "handle the other case, or pass it on with `?`",
            "expect": "handle the other case, or pass it on with `?`",
            "panic": "return an error",
            "stub": _WRITE_IT,
        },
        spared=frozenset({"unwrap", "expect", "panic"}),
        is_found=_rust_is_found,
        tests_of=_rust_tests,
        is_test_file=_rust_is_test_file,
    ),
    "python": Language(
        grammar="tree_sitter_python",
        endings={".py": "language", ".pyi": "language", ".pyw": "language"},
        spelled=_folded,
        words=("except", "eval", "exec", "NotImplementedError"),
        query="""
        (except_clause (block) @_body) @empty-except
        ([(call function: (identifier) @eval)
          (call function: (parenthesized_expression (identifier) @eval))
          (call function: (attribute object: (identifier) @_of attribute: (identifier) @eval))]
          (#eq? @eval "eval") (#any-of? @_of "builtins" "__builtins__"))
        ([(call function: (identifier) @exec)
          (call function: (parenthesized_expression (identifier) @exec))
          (call function: (attribute object: (identifier) @_of attribute: (identifier) @exec))]
          (#eq? @exec "exec") (#any-of? @_of "builtins" "__builtins__"))
        (function_definition body: (block
          (raise_statement [
            (identifier) @_kind
            (call function: (identifier) @_kind)
            (attribute attribute: (identifier) @_kind)]) @stub)
          (#eq? @_kind "NotImplementedError"))
        ((decorated_definition (decorator) @_mark) @_spared
          (#match? @_mark "^@[\\\\w.]*\\\\babstract(class|static)?(method|property)\\\\b"))
        """,
        advice={
            "empty-except": "handle the exception, log it, or let it pass on",
            "eval": "parse the input, as with ast.literal_eval",
            "exec": "call a function instead",
            "stub": "write it, or mark the method with @abstractmethod",
        },
        spared=frozenset({"stub"}),
        is_found=_is_empty_or_no_body,
    ),
    "typescript": Language(
        grammar="tree_sitter_typescript",
        endings={
            **dict.fromkeys((".ts", ".mts", ".cts"), "language_typescript"),
            **dict.fromkeys((".tsx", ".jsx", ".js", ".mjs", ".cjs"), "language_tsx"),
        },
        words=("catch", "eval", "Function", "@ts-", "throw"),
        query="""
        (catch_clause body: (statement_block) @_body) @empty-catch
        ([(call_expression function: (identifier) @eval) (new_expression constructor: (identifier) @eval)
          (call_expression function: (parenthesized_expression [
            (identifier) @eval
            (as_expression . (identifier) @eval)
            (sequence_expression (identifier) @eval .)]))
          (call_expression function: (member_expression
            object: (identifier) @eval property: (property_identifier) @_through))
          (call_expression function:
            (member_expression object: (identifier) @_of property: (property_identifier) @eval))
          (new_expression constructor:
            (member_expression object: (identifier) @_of property: (property_identifier) @eval))
          (call_expression function:
            (subscript_expression object: (identifier) @_of index: (string . (string_fragment) @eval .)))]
          (#any-of? @eval "eval" "Function") (#any-of? @_through "apply" "bind" "call")
          (#any-of? @_of "frames" "global" "globalThis" "parent" "self" "top" "window"))
        ((comment) @ts-ignore (#match? @ts-ignore "(^/|\\\\n)([/*]|[^\\\\S\\\\n])*@ts-(ignore|nocheck)\\\\b"))
        (throw_statement [
            (new_expression constructor: (identifier) @_kind arguments: (arguments . (_) @_said))
            (call_expression function: (identifier) @_kind arguments: (arguments . (_) @_said))]
          (#any-of? @_kind "Error" "TypeError")
          (#match? @_said "^[\\"'`]\\\\s*(?i:todo|not[\\\\s_-]*(yet[\\\\s_-]*)?implemented)\\\\b")) @stub
        """,
        advice={
            "empty-catch": "handle the error, log it, or let it pass on",
            "eval": "parse the input, or call a function instead",
            "ts-ignore": "correct the type, or use @ts-expect-error with a reason",
            "stub": _WRITE_IT,
        },
        is_found=_is_empty_or_no_body,
    ),
}


def places_in(name: str, function: str, data: bytes) -> tuple[list[tuple[int, str]], list[tuple[int, int]]]:
    """Return where each rule is broken, and the parts that are spared; offsets are of bytes, both sorted.

    Args:
        name: Of the language.
        function: Of its grammar's package, which returns the language.
        data: The text.
    """
    language = LANGUAGES[name]
    sitter = importlib.import_module("tree_sitter")
    grammar, query = _compiled(language.grammar, function, language.query)
    places: set[tuple[int, str]] = set()
    spared: set[tuple[int, int]] = set()
    attributes: list[Any] = []
    root = sitter.Parser(grammar).parse(data).root_node
    found = (match for part in _parts(root) for match in sitter.QueryCursor(query).matches(part))
    for _, captured in found:
        nodes = {name: several[0] for name, several in captured.items()}
        if "_spared" in nodes:
            spared.add((nodes["_spared"].start_byte, nodes["_spared"].end_byte))
        elif "_attribute" in nodes:
            attributes.append(nodes["_attribute"])
        elif language.is_found(nodes, data):
            places.update((nodes[rule].start_byte, rule) for rule in nodes if rule in language.advice)
    tests = language.tests_of(sorted(attributes, key=lambda node: node.start_byte))
    spared.update((one.start_byte, one.end_byte) for one in tests)
    return sorted(places), sorted(spared)


def _parts(root: Any) -> Iterator[Any]:
    """Yield the nodes to search: a large one that does not parse in parts, as each token in it looks at all behind."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.has_error and node.descendant_count > _BROKEN_AT_MOST:
            waiting += node.children
        else:
            yield node


_BROKEN_AT_MOST = 10_000
"""Nodes of a part that does not parse."""


def _text(node: Any) -> str:
    source: bytes = node.text
    return source.decode(errors="replace")


@cache
def _compiled(grammar: str, function: str, query: str) -> tuple[Any, Any]:
    """Return the language and the compiled query; threads share both."""
    sitter = importlib.import_module("tree_sitter")
    language = sitter.Language(getattr(importlib.import_module(grammar), function)())
    return language, sitter.Query(language, query)


CPU_S = 5
"""Seconds of processor time for one text: several MB of real source."""
MEMORY_BYTES = 512 << 20
"""Memory for one text; 16 kB of operators without operands take 3 GB."""


def _limit() -> None:
    """Bound the processor time and the memory of this process, and let others go first."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        os.nice(5)


def _answer() -> None:
    """Print the places in the text on standard input, which a line of JSON precedes."""
    head = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = head["path"]
    print(json.dumps(places_in(head["name"], head["function"], sys.stdin.buffer.read())))  # noqa: T201 - the answer


if __name__ == "__main__":
    _limit()
    _answer()
