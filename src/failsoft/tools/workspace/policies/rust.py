"""The policy `rust`: no `unsafe`, and nothing that panics where a test would be the place for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from failsoft.tools.workspace.policies.places import Lines
from failsoft.tools.workspace.policies.port import Finding
from failsoft.tools.workspace.policies.rust_source import code_of, test_regions

__all__ = ["RustPolicy"]

_UNSAFE = re.compile(r"(?<!r#)\bunsafe\b")
_PANICKING = re.compile(
    r"""
      \.\s*(?:r\#)?(?P<method>unwrap|expect|unwrap_err|expect_err)\s*\(
    | (?:\b(?:Option|Result)\s*::\s*(?:<[^<>;{}]{0,200}>\s*::\s*)?
        |<\s*(?:[\w:]{1,60}::\s*)?(?:Option|Result)\b[^;{}()]{0,200}>\s*::\s*)
      (?:r\#)?(?P<path>expect|expect_err)\b
    | ::\s*(?:r\#)?(?P<any>unwrap|unwrap_err)\b(?!\s*::)    # of whatever type: one of the two may go by another name
    """,
    re.VERBOSE,
)
_SELF = re.compile(r"(?<![\w#.])self\Z")
_INSTEAD = {
    "unsafe": "write it in safe Rust",
    "unwrap": "handle the other case, or pass it on with `?`",
    "expect": "handle the other case, or pass it on with `?`",
}


class RustPolicy:
    """No `unsafe` anywhere, and no `unwrap` or `expect` outside of tests, in files that end with `.rs`.

    Comments, strings and raw strings are no code. Tests are files in a folder `tests` or named `tests.rs`, and items
    that are compiled for tests only.
    """

    name = "rust"

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each place, in the order of the rules."""
        if not path.lower().endswith(".rs"):
            return
        code, lines = code_of(text), Lines(text)
        for found in _UNSAFE.finditer(code):
            yield _finding("unsafe", lines.number(found.start()))
        if _is_for_tests(path):
            return
        places = list(_panicking(code))
        if not places:
            return
        tests = test_regions(code)
        region = next(tests, None)
        for offset, rule in places:
            while region is not None and region.end <= offset:
                region = next(tests, None)
            if region is None or offset < region.start:
                yield _finding(rule, lines.number(offset))


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


def _finding(rule: str, line: int) -> Finding:
    return Finding(rule, line, _INSTEAD[rule])
