"""Stubs and TODO comments, by the ending of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from failsoft.tools.workspace.policies.judging import LineNumbers
from failsoft.tools.workspace.policies.rust_source import code_of

_WRITE_IT = "write what is missing, or leave it out"
_ABSTRACT = "write it, or mark the method with @abstractmethod"

_RUST = re.compile(r"\b(?:todo|unimplemented)\s*!\s*[(\[{]")
_SCRIPT = re.compile(
    r"""^(?![ \t]*(?://|\*|/\*))[^\n]*?\bthrow\s+(?:new\s+)?Error\(\s*(["'`])\s*(?:todo|not\s+(?:yet\s+)?implemented)\b""",
    re.IGNORECASE | re.MULTILINE,
)
_SHARP = re.compile(
    r"^(?![ \t]*(?://|\*|/\*))[^\n]*?\bthrow\s+new\s+(?:System\.)?NotImplementedException\b", re.MULTILINE
)
_KOTLIN = re.compile(r"^(?![ \t]*(?://|\*|/\*))[^\n]*?(?<![\w.@])TODO\(", re.MULTILINE)

_PYTHON_TEXT = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r'|"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\Z)'
    r"|'''(?:[^'\\]|\\.|'(?!''))*+(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'(?:[^'\\\n]|\\.)*+'?",
    re.DOTALL,
)
_PASS = re.compile(r"^[ \t]*+(?:[^\n#]*:[ \t]*+)?(?:pass|\.\.\.)[ \t]*+\#[ \t]*+(?:TODO|FIXME|XXX)\b", re.MULTILINE)
_RAISE = re.compile(r"^(?P<indent>[ \t]*)raise[ \t]+NotImplementedError\b", re.MULTILINE)
_HEADER = re.compile(r"(?P<indent>[ \t]*)(?:async[ \t]+def|def|class)\b")
_LINES_BACK_AT_MOST = 2_000
"""How far up the head of a function is searched."""


def stubs(ending: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset of each stub, and what to do instead.

    Args:
        ending: Of the file's name, in lower case, with its dot.
        text: Its content.
    """
    find = _BY_ENDING.get(ending)
    if find is not None:
        yield from find(text)


_MARK = r"(?:TODO|FIXME|XXX|HACK)\b"
_TODO_AFTER_SHARP = re.compile(rf"(?:^|(?<=\s))#[ \t]{{0,3}}{_MARK}", re.MULTILINE)
_TODO_AFTER_SLASHES = re.compile(
    rf"(?:(?:^|(?<=[\s;{{}}]))(?://[/!]?|/\*+)|^[ \t]{{0,80}}\*)[ \t]{{0,3}}@?{_MARK}", re.MULTILINE
)
_SHARP_COMMENTS = frozenset({".rb", ".sh", ".toml", ".yaml", ".yml"})
_SLASH_COMMENTS = frozenset(
    {
        *(".c", ".cc", ".cjs", ".cpp", ".cs", ".cts", ".go", ".h", ".hpp", ".java", ".js", ".jsx", ".kt", ".kts"),
        *(".mjs", ".mts", ".php", ".rs", ".scala", ".swift", ".ts", ".tsx"),
    }
)


def todo_comments(ending: str, text: str) -> Iterator[int]:
    """Yield the offset of each comment that begins with TODO, FIXME, XXX or HACK.

    Args:
        ending: Of the file's name, in lower case, with its dot.
        text: Its content.
    """
    if ending == ".py":
        if "#" in text:
            text = _PYTHON_TEXT.sub(_without_text, text)
        yield from (found.start() for found in _TODO_AFTER_SHARP.finditer(text))
    elif ending in _SHARP_COMMENTS:
        yield from (found.start() for found in _TODO_AFTER_SHARP.finditer(text))
    elif ending in _SLASH_COMMENTS:
        yield from (found.start() for found in _TODO_AFTER_SLASHES.finditer(text))


def _in_rust(text: str) -> Iterator[tuple[int, str]]:
    for found in _RUST.finditer(code_of(text)):
        yield found.start(), _WRITE_IT


def _in_python(text: str) -> Iterator[tuple[int, str]]:
    if "NotImplementedError" not in text and "#" not in text:
        return
    code = _PYTHON_TEXT.sub(_without_text, text)
    for found in _PASS.finditer(code):
        yield found.start(), _WRITE_IT
    numbers, lines = LineNumbers(code), code.split("\n")
    for found in _RAISE.finditer(code):
        if not _is_abstract(lines, numbers.number(found.start()) - 1, len(found["indent"].expandtabs())):
            yield found.end("indent"), _ABSTRACT


def _without_text(found: re.Match[str]) -> str:
    """Return blanks for a string, line feeds kept; a comment stays."""
    return found[0] if found["comment"] is not None else re.sub(r"[^\n]", " ", found[0])


def _is_abstract(lines: list[str], number: int, width: int) -> bool:
    """Return whether the function around a line is decorated with `@abstractmethod`, and so needs no body."""
    is_decorated = False
    for line in reversed(lines[max(0, number - _LINES_BACK_AT_MOST) : number]):
        if is_decorated:
            if not line.lstrip().startswith("@"):
                return False
            if "abstractmethod" in line:
                return True
            continue
        header = _HEADER.match(line)
        if header is not None and len(header["indent"].expandtabs()) < width:
            is_decorated = True
    return False


def _by(pattern: re.Pattern[str]) -> Callable[[str], Iterator[tuple[int, str]]]:
    def find(text: str) -> Iterator[tuple[int, str]]:
        for found in pattern.finditer(text):
            yield found.start(), _WRITE_IT

    return find


_BY_ENDING: dict[str, Callable[[str], Iterator[tuple[int, str]]]] = {
    ".rs": _in_rust,
    ".py": _in_python,
    ".pyi": lambda _: iter(()),
    ".cs": _by(_SHARP),
    ".kt": _by(_KOTLIN),
    ".kts": _by(_KOTLIN),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"), _by(_SCRIPT)),
}
