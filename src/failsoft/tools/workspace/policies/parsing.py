"""Policies that parse: what they find in a text, with the parser in a process of its own unless the text is short."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from failsoft.framework.plugins import missing_extra
from failsoft.tools.workspace.policies import languages
from failsoft.tools.workspace.policies.judging import Finding, LineNumbers
from failsoft.tools.workspace.policies.languages import Language, places_in

_UNCHECKED = "unchecked"
_SPLIT = "the parser ran out of time or memory: correct what does not parse, or split the file"
_HERE_AT_MOST = 2_000
"""Bytes that are parsed in this process. It takes the parser up to 0.1 s, in which no other thread runs."""
_WITHIN_S = 20.0
"""Seconds for the process that parses, which has a limit of processor time of its own."""
_PASSED_ON = ("LD_LIBRARY_PATH", "SYSTEMROOT")


class LanguagePolicy:
    """The policy of one language, for the files that it has by their ending.

    Comments and strings are no code. What does not parse is skipped by the parser, which goes on behind it. A text that
    the parser cannot finish within its limits has one finding, `unchecked`.

    Args:
        name: Of the policy, and of the language.
        language: What it needs to know.

    Raises:
        CONFIG_ERROR: The extra is not installed.
    """

    def __init__(self, name: str, language: Language) -> None:
        self.name = name
        self.rules = frozenset({*language.advice, _UNCHECKED})
        self._language = language
        try:
            importlib.import_module("tree_sitter")
            importlib.import_module(language.grammar)
        except ImportError as error:
            what, instead = f"the policy '{name}'", "leave it out of FAILSOFT_WORKSPACE_POLICIES"
            raise missing_extra(extra="policies", what=what, package=str(error.name), otherwise=instead) from error

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each place, in the order of the text."""
        language = self._language
        function = language.endings.get(PurePosixPath(path).suffix.lower())
        if function is None:
            return
        text = language.spelled(text)
        if not any(word in text for word in language.words):
            return
        data = text.encode(errors="replace")
        found = (
            places_in(self.name, function, data) if len(data) <= _HERE_AT_MOST else _apart(self.name, function, data)
        )
        lines = LineNumbers(text)
        if found is None:
            # It covers the whole text, so that only the same text has had it before.
            yield lines.finding(_UNCHECKED, _SPLIT, 0, len(text))
            return
        places, spared = found
        is_spared_file = language.is_test_file(path)
        offset = _offsets(text, data)
        end = -1
        regions = iter(spared)
        region = next(regions, None)
        for start, rule in places:
            while region is not None and region[0] <= start:
                end, region = max(end, region[1]), next(regions, None)
            if rule not in language.spared or not (is_spared_file or start < end):
                yield lines.finding(rule, language.advice[rule], offset(start))


def _apart(name: str, function: str, data: bytes) -> tuple[list[Any], list[Any]] | None:
    """Return what `places_in` does, from a process with limits; None if it ended without an answer.

    The parser holds the interpreter's lock until it is done, and takes the square of the length of some texts, in time
    and in memory.
    """
    head = json.dumps({"path": sys.path, "name": name, "function": function}).encode()
    command = [sys.executable, "-I", languages.__file__]
    environment = {variable: os.environ[variable] for variable in _PASSED_ON if variable in os.environ}
    try:
        ran = subprocess.run(  # noqa: S603 - our own script
            command,
            input=head + b"\n" + data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_WITHIN_S,
            env=environment,
            check=True,
        )
        places, spared = json.loads(ran.stdout)
    except (subprocess.SubprocessError, ValueError):
        return None
    return places, spared


def _offsets(text: str, data: bytes) -> Callable[[int], int]:
    """Return the function from an offset in the UTF-8 bytes of a text to its characters, for arguments that grow."""
    if len(text) == len(data):
        return lambda byte: byte
    done = [0, 0]

    def offset(byte: int) -> int:
        done[:] = byte, done[1] + len(data[done[0] : byte].decode())
        return done[1]

    return offset
