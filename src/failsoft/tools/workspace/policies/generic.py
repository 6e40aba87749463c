"""The policy `generic`: no secrets, merge markers or TODO comments."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from failsoft.framework.safe.tokens import TOKEN
from failsoft.tools.workspace.policies.judging import Finding, LineNumbers

_SECRET = "read it from the environment or a secret store, and have it revoked if it is real"  # noqa: S105 - advice
_MARKER = re.compile(r"(?:^|(?<=[\r\ufeff]))(?:<{7}|>{7}|\|{7})(?: [^\r\n]*)?(?=[\r\n]|\Z)", re.MULTILINE)

_PASSWORD = re.compile(
    r"""(?i)(?<![\w-])[\w-]{0,40}(?:passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|private|secret|signing)[_-]?key)"""
    r"""["']?\]?\s{0,20}(?::[^=\n"']{0,40}=|:=|=>|[:=]|(?<=["']),)[\s(\\]{0,20}(?:[bfru]{1,2})?["'`]{1,3}"""
    r"""(?P<value>[^"'`\s]{16,200})["'`]""",
    re.ASCII,
)
"""A literal assigned to a name like that of a secret; its entropy is checked separately."""
_SETTING = re.compile(
    r"""(?im)^[ \t-]{0,40}(?:export[ ]{1,3})?["']?(?<![\w.-])[\w.-]{0,60}"""
    r"""(?:passw(?:or)?d|passphrase|secret|token|(?:api|access|private|secret|signing)[_-]?key)["']?"""
    r"""[ \t]{0,3}[:=][ \t]{0,3}(?P<value>[^\s"'#]{8,200})[ \t]{0,20}(?:\#[^\n]*)?\r?$""",
    re.ASCII,
)
"""An unquoted value of a settings file under a name that ends like that of a secret."""
_SETTINGS_FILES = frozenset({".cfg", ".conf", ".env", ".ini", ".properties", ".toml", ".yaml", ".yml"})
_MADE_UP = re.compile(
    r"(?i)example|placeholder|dummy|change|redacted|your|test|fake|sample|x{4}|\*{3}|0{6}|1234567|\.\.\."
)
_TEMPLATE = re.compile(r"[${}<>%()\[\]]|://")
_BODY = re.compile(r"[A-Za-z0-9+/]{40}")
_RUN = re.compile(r"[A-Za-z0-9]{10}")
_BITS_AT_LEAST = 3.5
"""Bits of information in one character, below which a literal is a word rather than a key."""
_BITS_OF_A_SETTING = 2.5
"""Passwords in settings files are shorter than keys in code, and little else is named like that there."""
_PYTHON_TEXT = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r'|"""(?>(?:[^"\\]|\\.|"(?!""))*)(?:"""|\Z)'
    r"|'''(?>(?:[^'\\]|\\.|'(?!''))*)(?:'''|\Z)"
    r'|"(?>(?:[^"\\\n]|\\.)*)"?'
    r"|'(?>(?:[^'\\\n]|\\.)*)'?",
    re.DOTALL,
)
_MARK = r"(?:TODO|FIXME|XXX|HACK)\b"
_TODO_AFTER_SHARP = re.compile(rf"(?:^|(?<=[\s\ufeff]))#{{1,9}}:?[^\S\n]{{0,3}}{_MARK}", re.MULTILINE)
_TODO_AFTER_SLASHES = re.compile(
    rf"(?:(?:^|(?<=[\s;{{}}]))(?://[/!]?|/\*+)|^[ \t]{{0,80}}\*)[ \t]{{0,3}}@?{_MARK}", re.MULTILINE
)
_SHARP_COMMENTS = frozenset({".rb", ".sh", ".toml", ".yaml", ".yml"})
_SLASH_COMMENTS = frozenset(
    {
        *(".c", ".cc", ".cjs", ".cpp", ".cs", ".css", ".cts", ".go", ".h", ".hpp", ".java", ".js", ".jsx", ".kt"),
        *(".kts", ".mjs", ".mts", ".php", ".rs", ".scala", ".scss", ".swift", ".ts", ".tsx"),
    }
)


class GenericPolicy:
    """Finds keys and tokens, merge markers and TODO comments in every text.

    A secret looks like one of the well-known kinds, or is a random literal under a name such as `api_key`, quoted in
    code or unquoted in `.env`, YAML and the like. Examples, placeholders and templates are not secrets.
    """

    name = "generic"
    rules = frozenset({"merge-marker", "secret", "todo"})

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each place, in the order of the rules."""
        lines = LineNumbers(text)
        ending = _ending(path)
        for start, end in _secrets(text, is_settings=ending in _SETTINGS_FILES):
            yield lines.finding("secret", _SECRET, start, end)
        for marker in _MARKER.finditer(text):
            yield lines.finding("merge-marker", "resolve the conflict", marker.start())
        for offset in _todo_comments(ending, text):
            yield lines.finding("todo", "do it, or leave the comment out", offset)


def _ending(path: str) -> str:
    """Return the ending of a file's name, in lower case with its dot; `.env` also for `.env.local` and the like."""
    name = PurePosixPath(path).name.lower()
    return ".env" if name == ".env" or name.startswith(".env.") else PurePosixPath(name).suffix


def _todo_comments(ending: str, text: str) -> Iterator[int]:
    """Yield the offset of each comment that begins with TODO, FIXME, XXX or HACK."""
    if ending in {".py", ".pyw"}:
        if "#" in text:
            text = _PYTHON_TEXT.sub(_without_text, text)
        yield from (found.start() for found in _TODO_AFTER_SHARP.finditer(text))
    elif ending in _SHARP_COMMENTS:
        yield from (found.start() for found in _TODO_AFTER_SHARP.finditer(text))
    elif ending in _SLASH_COMMENTS:
        yield from (found.start() for found in _TODO_AFTER_SLASHES.finditer(text))


def _without_text(found: re.Match[str]) -> str:
    """Return blanks for a string, line feeds kept; a comment stays."""
    return found[0] if found["comment"] is not None else re.sub(r"[^\n]", " ", found[0])


def _secrets(text: str, *, is_settings: bool) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each secret once."""
    seen: set[int] = set()
    for found in TOKEN.finditer(text):
        if _is_real(found[0]):
            seen.add(found.start())
            yield found.span()
    for found in _PASSWORD.finditer(text):
        value = found["value"]
        is_known = any(found.start() <= start < found.end() for start in seen)
        if not is_known and _is_random(value):
            yield found.span("value")
    for found in _SETTING.finditer(text) if is_settings else ():
        value = found["value"]
        is_known = any(found.start() <= start < found.end() for start in seen)
        if not is_known and _is_random(value, bits=_BITS_OF_A_SETTING):
            yield found.span("value")


def _is_real(token: str) -> bool:
    """Return whether what looks like a well-known kind of token is one, and not an example of it."""
    if token.startswith("-----BEGIN"):
        return _BODY.search(token) is not None
    return not _MADE_UP.search(token) and _RUN.search(token) is not None and _bits(token) >= _BITS_AT_LEAST - 0.5


def _is_random(value: str, *, bits: float = _BITS_AT_LEAST) -> bool:
    has_both = any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
    return has_both and not _TEMPLATE.search(value) and not _MADE_UP.search(value) and _bits(value) >= bits


def _bits(text: str) -> float:
    """Return the entropy of a text, in bits per character."""
    counts = Counter(text)
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
