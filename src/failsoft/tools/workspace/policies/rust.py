"""The policy `rust`: no `unsafe`, no `static mut`, and no panics outside of tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from failsoft.tools.workspace.policies.judging import Finding, LineNumbers
from failsoft.tools.workspace.policies.rust_source import code_of, test_regions

_UNSAFE = re.compile(r"(?<!r#)\bunsafe\b")
_PANICKING = re.compile(
    r"""
      \.\s*(?:r\#)?(?P<method>unwrap|expect|unwrap_err|expect_err)\s*\(
    | (?:\b(?:Option|Result)\s*::\s*(?:<[^<>;{}]{0,200}>\s*::\s*)?
        |<\s*(?:[\w:]{1,60}::\s*)?(?:Option|Result)\b[^;{}()]{0,200}>\s*::\s*)
      (?:r\#)?(?P<path>expect|expect_err)\b
    | ::\s*(?:r\#)?(?P<any>unwrap|unwrap_err)\b(?!\s*::)    # of any type, which may be an alias of one of the two
    """,
    re.VERBOSE,
)
_PANIC = re.compile(r"(?<!r#)\bpanic\s*!")
_STATIC_MUT = re.compile(r"(?<!r#)\bstatic\s+mut\b")
_SELF = re.compile(r"(?<![\w#.])self\Z")
_INSTEAD = {
    "unsafe": "write it in safe Rust",
    "unwrap": "handle the other case, or pass it on with `?`",
    "expect": "handle the other case, or pass it on with `?`",
    "panic": "return an error",
    "static-mut": "use an atomic, a Mutex or a OnceLock",
}


class RustPolicy:
    """No `unsafe` and no `static mut`, and outside of tests no `unwrap`, `expect` or `panic!`, in files named `*.rs`.

    Comments, strings and raw strings are not code. Tests are files in a folder `tests` or named `tests.rs`, and items
    that are compiled for tests only.
    """

    name = "rust"
    rules = frozenset(_INSTEAD)

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each place, in the order of the rules."""
        if not path.lower().endswith(".rs"):
            return
        code, lines = code_of(text), LineNumbers(text)
        for rule, pattern in (("unsafe", _UNSAFE), ("static-mut", _STATIC_MUT)):
            for found in pattern.finditer(code):
                yield lines.finding(rule, _INSTEAD[rule], found.start())
        if _is_for_tests(path):
            return
        places = sorted([*_panicking(code), *((found.start(), "panic") for found in _PANIC.finditer(code))])
        if not places:
            return
        tests = test_regions(code)
        region = next(tests, None)
        for offset, rule in places:
            while region is not None and region.end <= offset:
                region = next(tests, None)
            if region is None or offset < region.start:
                yield lines.finding(rule, _INSTEAD[rule], offset)


def _panicking(code: str) -> Iterator[tuple[int, str]]:
    for found in _PANICKING.finditer(code):
        kind = found.lastgroup or ""
        rule = "unwrap" if found[kind].startswith("unwrap") else "expect"
        # Parsers have an `expect` of their own; an Option or a Result is hardly ever `self`.
        if rule == "expect" and kind == "method" and _is_called_on_self(code, found.start()):
            continue
        yield found.start(kind), rule


def _is_called_on_self(code: str, dot: int) -> bool:
    end = dot
    while end > 0 and code[end - 1].isspace():
        end -= 1
    return _SELF.search(code, max(0, end - 5), end) is not None


def _is_for_tests(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return "tests" in parts[:-1] or parts[-1:] == ("tests.rs",)
