"""A scanner for Rust source: separates code from comments and strings, and finds test code.

Not a parser: comments, strings and characters are blanked, so that plain searches find code only. If a text
ends within one of them, it is not valid Rust, and the rest counts as part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NO_CODE = re.compile(
    r"""
      //[^\n]*                                              # a comment to the end of the line
    | (?P<block>/\*)                                        # one that may hold others
    | (?<!\w)(?:b|c)?r(?P<hashes>\#*)"                      # a raw string, which ends with as many hashes
    | "(?:[^"\\]|\\.)*+(?:"|\Z)                             # any other string
    | '(?:\\(?:u\{[^}'\n]{0,12}\}|x[0-9A-Fa-f]{2}|.)|[^'\\\n\r\t])'    # a character, or a byte
    | '\w+                                                  # a lifetime or a label: code, but its quote opens nothing
    """,
    re.VERBOSE | re.DOTALL,
)
_SHEBANG = re.compile(r"\ufeff?#!(?!\s*\[)[^\n]*")
_NOT_A_LINE_END = re.compile(r"[^\n]")
_COMMENT_EDGE = re.compile(r"/\*|\*/")

_ATTRIBUTE = re.compile(r"#\s*(?P<inner>!\s*)?\[")
_BRACKET = re.compile(r"[][(){};,]")
_TEST_PATH = re.compile(r"(?:\w+\s*::\s*)*(?:test|bench|rstest|test_case|proptest|quickcheck)\s*(?:\(.*)?", re.DOTALL)
_CFG = re.compile(r"cfg\s*\((.*)\)", re.DOTALL)
_ITEM = re.compile(
    r"(?:pub|fn|mod|impl|struct|enum|union|trait|use|const|static|type|async|unsafe|extern|macro_rules|let)\b"
)
_ENDS_AT_SEMICOLON = re.compile(
    r"(?:pub\s*(?:\([^)]*\)\s*)?)?(?:use|static|type|let|const(?!\s+(?:unsafe\s+)?(?:extern\s+)?(?:async\s+)?fn\b))\b"
)
_DEPTH_AT_MOST = 16
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the text, as offsets; `end` is exclusive."""

    start: int
    end: int


def code_of(text: str) -> str:
    """Return the text with comments, strings and characters blanked; offsets and lines do not change."""
    parts: list[str] = []
    done = 0
    if (shebang := _SHEBANG.match(text)) is not None:
        parts.append(_blank(shebang[0]))
        done = shebang.end()
    while (found := _NO_CODE.search(text, done)) is not None:
        start, end = found.span()
        parts.append(text[done:start])
        if found["block"] is not None:
            end = _end_of_comment(text, end)
        elif found["hashes"] is not None:
            closed = text.find('"' + found["hashes"], end)
            end = len(text) if closed < 0 else closed + 1 + len(found["hashes"])
        # A lifetime is kept, to separate the code before and after it.
        is_lifetime = text[start] == "'" and text[end - 1] != "'"
        parts.append(text[start:end] if is_lifetime else _blank(text[start:end]))
        done = end
    parts.append(text[done:])
    return "".join(parts)


def test_regions(code: str) -> Iterator[Region]:
    """Yield what is compiled for tests only: items under `#[test]` and the like, or under a `cfg` that implies `test`.

    Args:
        code: What `code_of` returned.
    """
    done = 0
    while (attribute := _ATTRIBUTE.search(code, done)) is not None:
        closed = _closing(code, attribute.end())
        if not _is_for_tests(code[attribute.end() : closed - 1]):
            done = closed
        elif attribute["inner"] is None:
            done = _end_of_item(code, closed)
            yield Region(attribute.start(), done)
        elif _is_at_top(code, attribute.start()):
            yield Region(0, len(code))
            return
        else:
            done = closed


def _blank(text: str) -> str:
    return _NOT_A_LINE_END.sub(" ", text)


def _end_of_comment(text: str, start: int) -> int:
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _closing(code: str, start: int) -> int:
    """Return the offset behind the bracket that closes the one before `start`."""
    depth = 1
    for bracket in _BRACKET.finditer(code, start):
        depth += (bracket[0] in _OPENING) - (bracket[0] in _CLOSING)
        if depth == 0:
            return bracket.end()
    return len(code)


def _is_for_tests(attribute: str) -> bool:
    attribute = attribute.strip()
    if _TEST_PATH.fullmatch(attribute):
        return True
    cfg = _CFG.fullmatch(attribute)
    return cfg is not None and _implies_test(cfg[1], 0)


def _implies_test(predicate: str, depth: int) -> bool:
    """Return whether a `cfg` predicate holds in tests only: `any(test, feature)` does not."""
    predicate = predicate.strip().rstrip(",").strip()
    if predicate == "test":
        return True
    name, _, rest = predicate.partition("(")
    if depth >= _DEPTH_AT_MOST or not rest.endswith(")"):
        return False
    parts = [_implies_test(part, depth + 1) for part in _parts(rest[:-1])]
    name = name.strip()
    return (name == "all" and any(parts)) or (name == "any" and bool(parts) and all(parts))


def _parts(predicates: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for bracket in _BRACKET.finditer(predicates):
        depth += (bracket[0] in _OPENING) - (bracket[0] in _CLOSING)
        if bracket[0] == "," and depth == 0:
            parts.append(predicates[start : bracket.start()])
            start = bracket.end()
    return [part for part in (*parts, predicates[start:]) if part.strip()]


def _is_at_top(code: str, start: int) -> bool:
    """Return whether only inner attributes of the file precede this one."""
    done = 0
    while not code[done:start].isspace() and done < start:
        before = _ATTRIBUTE.search(code, done, start)
        if before is None or before["inner"] is None or code[done : before.start()].strip():
            return False
        done = _closing(code, before.end())
    return True


def _end_of_item(code: str, start: int) -> int:
    """Return the end offset of the item, statement, field or arm that an attribute before `start` applies to."""
    start = _behind_attributes(code, start)
    needs_semicolon = _ENDS_AT_SEMICOLON.match(code, start) is not None
    is_item = _ITEM.match(code, start) is not None
    depth = 0
    for bracket in _BRACKET.finditer(code, start):
        sign = bracket[0]
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
            if depth < 0:
                return bracket.start()
            if sign == "}" and depth == 0 and not needs_semicolon:
                return bracket.end()
        elif depth == 0 and (sign == ";" or (sign == "," and not is_item)):
            return bracket.end()
    return len(code)


def _behind_attributes(code: str, start: int) -> int:
    while True:
        while start < len(code) and code[start].isspace():
            start += 1
        further = _ATTRIBUTE.match(code, start)
        if further is None:
            return start
        start = _closing(code, further.end())
