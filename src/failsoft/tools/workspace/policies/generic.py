"""The policy `generic`: no secrets, no merge markers, and nothing that only stands for work to be done."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from failsoft.framework.redaction import TOKENS
from failsoft.tools.workspace.policies.places import Lines
from failsoft.tools.workspace.policies.port import Finding
from failsoft.tools.workspace.policies.stubs import stubs

__all__ = ["GenericPolicy"]

_SECRET = "read it from the environment or a secret store, and have it revoked if it is real"  # noqa: S105 - advice
_MARKER = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: [^\n]*)?\r?$", re.MULTILINE)

_PASSWORD = re.compile(
    r"""(?i)(?<![\w-])[\w-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|(?:api|access|private|secret|signing)[_-]?key)"""
    r"""["']?\s{0,3}(?::[^=\n"']{0,40}=|:=|=>|[:=])\s{0,3}["'](?P<value>[^"'\s]{16,200})["']""",
    re.ASCII,
)
"""A literal under a name that says what it is; whether it is one by its looks is asked besides."""
_MADE_UP = re.compile(
    r"(?i)example|placeholder|dummy|change|redacted|your|test|fake|sample|x{4}|\*{3}|0{6}|1234567|\.\.\."
)
_TEMPLATE = re.compile(r"[${}<>%()\[\]]|://")
_BODY = re.compile(r"[A-Za-z0-9+/]{40}")
_RUN = re.compile(r"[A-Za-z0-9]{10}")
_BITS_AT_LEAST = 3.5
"""Bits of information in one character, below which a literal is a word rather than a key."""


class GenericPolicy:
    """Looks at every text for keys and tokens, marks that a merge has left, and stubs.

    A secret is what looks like one of the well-known kinds, or a literal under a name such as `api_key` that has no
    words in it. Values that say that they are made up, and templates, are none.
    """

    name = "generic"

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each place, in the order of the rules."""
        lines = Lines(text)
        for start, end in _secrets(text):
            first = lines.number(start)
            yield Finding("secret", first, _SECRET, lines.number(max(start, end - 1)) - first + 1)
        for marker in _MARKER.finditer(text):
            yield Finding("merge-marker", lines.number(marker.start()), "resolve the conflict")
        for offset, advice in stubs(PurePosixPath(path).suffix.lower(), text):
            yield Finding("stub", lines.number(offset), advice)


def _secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield where secrets stand, each place once."""
    lowered = text.lower()
    seen: set[int] = set()
    for token in TOKENS:
        if any(needle in lowered for needle in token.needles):
            for found in token.pattern.finditer(text):
                if _is_real(found[0]) and found.start() not in seen:
                    seen.add(found.start())
                    yield found.span()
    for found in _PASSWORD.finditer(text):
        value = found["value"]
        is_known = any(found.start() <= start < found.end() for start in seen)
        if not is_known and _is_random(value):
            yield found.span("value")


def _is_real(token: str) -> bool:
    """Return whether a well-known kind of token is one, and not its name or an example of one."""
    if token.startswith("-----BEGIN"):
        return _BODY.search(token) is not None
    return not _MADE_UP.search(token) and _RUN.search(token) is not None and _bits(token) >= _BITS_AT_LEAST - 0.5


def _is_random(value: str) -> bool:
    has_both = any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
    return has_both and not _TEMPLATE.search(value) and not _MADE_UP.search(value) and _bits(value) >= _BITS_AT_LEAST


def _bits(text: str) -> float:
    """Return how much a character of a text tells, in bits."""
    counts = Counter(text)
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
