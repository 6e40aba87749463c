"""A scripted reader: it knows what it wants, nothing of the server, and obeys the text of an answer."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import DamerauLevenshtein

from failsoft.probe.faults import FaultyCall
from failsoft.probe.schemas import ToolInfo

_STEP = re.compile(
    r"(?:\bNext(?: step)?:?|\b[Cc]all|\b[Tt]ry|\b[Uu]se|\b[Rr]un|\b[Ii]nvoke)(?: the)?(?: tool)?:? "
    r"[`\"']?([A-Za-z_][\w./-]*)[`\"']?(?: again)?(?: with)?(?: the)?(?: arguments)?:?\s*`?(?=\{)"
)
_MEANT = re.compile(
    r"(?:[Dd]id you mean|[Mm]aybe you meant|[Cc]losest(?: match)?(?: is)?:?|[Ss]imilar:?|[Pp]erhaps)[:\s]+"
    r"(?:the \w+ )?(?:`([^`]+)`|\"([^\"]+)\"|'([^']+)'|\[?([\w./-]*[\w/-]))"
)
_INSTEAD = re.compile(r"[Uu]se [`\"']([^`\"']+)[`\"'] instead")
_LISTED = re.compile(
    r"(?:one of|options are|values are|must be|expected|allowed:|accepts)[:\s]+\(?\[?"
    r"((?:[`\"']?[\w./-]+[`\"']?(?:, or |, | or |\|)){1,20}[`\"']?[\w/-]+[`\"']?)"
)
_ECHO = re.compile(r"input_value=(?:\{[^\n]{0,1000}?\}|\[[^\n]{0,1000}?\])(?=, input_type)")
_PROSE = re.compile(
    r"(?:a|an|and|as|at|by|data|for|from|id|if|in|input|is|it|key|limit|list|name|no|not|of|on|or|out|path|query|required|"
    r"string|tag|text|time|title|to|tool|type|url|use|user|values?|with|word)"
)
"""Words of messages that may be names of parameters: these count where they are set apart."""
_UNKNOWN = re.compile(
    r"unknown|unexpected|unrecogni[sz]ed|not permitted|not allowed|additional|extra|no such|no param", re.IGNORECASE
)
_CHANGED = frozenset({"enum", "value", "unknown_tool"})
"""Faults of which a caller does not know what is right: the text has to say it."""
_WAIT = re.compile(
    r"again in \d|[Rr]etry (?:after|in) \d|[Ww]ait:? \d|[Aa]sk (?:the|your) |[Cc]ontact |[Ss]et the |[Rr]eport "
    r"|has to (?:fix|decide|act|be )|\b(?:operator|administrator)\b"
)
"""What else a text may say to do: wait, or who has to act."""
_STEP_KEYS = ("next_step", "nextStep", "next", "suggested_call", "try")
_TREE_DEPTH = 3
READ_AT_MOST = 50_000
"""Characters of a text that are read: more would be dropped by a client, and every pattern takes its time."""


@dataclass(frozen=True, slots=True)
class Advised:
    """What the reader does next.

    Args:
        source: `step` (a whole call that the text names), `suggestion` (one correction), `named` (what the text says is
            wrong is written as it was meant) or `look` (a tool that the text names, to see what there is).
        tool: The tool that is called.
        arguments: What it is called with.
    """

    source: str
    tool: str
    arguments: Mapping[str, Any]

    @property
    def is_concrete(self) -> bool:
        """Whether the answer alone determines the call."""
        return self.source in {"step", "suggestion"}


class Reader:
    """Reads the answers of one server.

    Args:
        tools: The server's tools by name.
        allowed: The names of those that may be called.
    """

    def __init__(self, tools: Mapping[str, ToolInfo], allowed: frozenset[str]) -> None:
        self._tools, self._allowed = tools, allowed

    def read(self, fault: FaultyCall, sent: tuple[str, Mapping[str, Any]], text: str) -> Advised | None:
        """Return what the text of a failure makes of a call; None if it says nothing that can be done.

        Args:
            fault: What is wrong with the call; its `meant` call is what the reader wants.
            sent: The call that was answered: the tool, and its arguments.
            text: The text of the answer.
        """
        text = without_echo(text, sent[1])
        advised = self._step(text) or self._suggestion(fault, sent, text)
        if advised is not None and (advised.tool, dict(advised.arguments)) == (sent[0], dict(sent[1])):
            advised = None
        return advised or self.named(fault, sent, text) or self._look(fault, text)

    def after_look(self, fault: FaultyCall, text: str) -> Advised | None:
        """Return the meant call if what a tool returned has what was wrong in the call that failed."""
        text = text[: READ_AT_MOST * 4]
        wanted = str(fault.meant.get(fault.field, fault.tool if fault.kind == "unknown_tool" else ""))
        if wanted and (mentions(text, wanted) or mentions(text, wanted.rsplit("/", 1)[-1])):
            return Advised("named", fault.tool, fault.meant)
        return None

    def has_advice(self, fault: FaultyCall, text: str) -> bool:
        """Return whether a text says what else to do: a tool to call, also one that this reader may not, or a wait."""
        others = (name for name in self._tools if name != fault.tool)
        text = text[:READ_AT_MOST]
        return _WAIT.search(text) is not None or any(mentions(text, name) for name in others)

    def _step(self, text: str) -> Advised | None:
        return next((step for step in self.steps(text) if step.tool in self._allowed), None)

    @staticmethod
    def steps(text: str) -> Iterator[Advised]:
        """Yield the calls that a text writes out, of whatever tools."""
        text = text[:READ_AT_MOST]
        for found in _STEP.finditer(text):
            arguments = _object_at(text, found.end())
            if arguments is not None:
                yield Advised("step", found[1], arguments)
        for tree in _trees(text):
            step: Any = next((tree[key] for key in _STEP_KEYS if isinstance(tree.get(key), Mapping)), {})
            if isinstance(step.get("tool"), str):
                arguments = step.get("arguments")
                yield Advised("step", step["tool"], arguments if isinstance(arguments, Mapping) else {})

    def unknown_step(self, text: str) -> str:
        """Return the tool of a call that a text writes out and this server does not have; empty if there is none."""
        return next((step.tool for step in self.steps(text) if step.tool not in self._tools), "")

    def _suggestion(self, fault: FaultyCall, sent: tuple[str, Mapping[str, Any]], text: str) -> Advised | None:
        """Put in the only thing that the text suggests: a tool's name, a parameter's, or a value."""
        found = [*_MEANT.finditer(text), *_INSTEAD.finditer(text)]
        suggested = [next(filter(None, match.groups())) for match in found]
        tool, arguments = sent[0], copy.deepcopy(dict(sent[1]))
        changed = False
        for name in dict.fromkeys(suggested):
            if tool not in self._tools:
                if name in self._allowed:
                    return Advised("suggestion", name, arguments)
                continue
            wrong = _closest(name, [key for key in arguments if key not in fault.meant])
            if wrong is not None and (name in fault.meant or name in self._tools[tool].parameters):
                arguments = {name if key == wrong else key: value for key, value in arguments.items()}
                changed = True
            elif (at := _place(name, arguments)) is not None:
                arguments[at] = name
                changed = True
        return Advised("suggestion", tool, arguments) if changed else None

    def named(self, fault: FaultyCall, sent: tuple[str, Mapping[str, Any]], text: str) -> Advised | None:
        """Write as it was meant what the text says is wrong, where it says enough."""
        tool, arguments = sent[0], dict(sent[1])
        if tool not in self._tools:
            return Advised("named", fault.tool, arguments) if mentions(text, fault.tool) else None
        if tool != fault.tool:
            return None
        changed = False
        for name in [*arguments]:
            if name not in fault.meant and (names(text, name) or _says_unexpected(text, name)):
                del arguments[name]
                changed = True
        for name, value in fault.meant.items():
            if name in arguments and arguments[name] == value:
                continue
            must_be_said = fault.kind in _CHANGED and name in sent[1]
            is_said = mentions(text, value if isinstance(value, str) else json.dumps(value))
            if is_said if must_be_said else names(text, name):
                arguments[name] = value
                changed = True
        return Advised("named", tool, arguments) if changed else None

    def _look(self, fault: FaultyCall, text: str) -> Advised | None:
        """Call a tool that the text names and that needs nothing, to see what there is."""
        for name in sorted(self._allowed, key=lambda name: (-len(name), name)):
            if name != fault.tool and not self._tools[name].required and mentions(text, name):
                return Advised("look", name, {})
        return None


def accepted_in(text: str) -> list[str]:
    """Return the values that a refusal lists as accepted."""
    found = _LISTED.search(text[:READ_AT_MOST])
    return (
        []
        if found is None
        else [one.strip(" `\"'") for one in re.split(r",|\||\bor\b|\band\b", found[1]) if one.strip(" `\"'")]
    )


def without_echo(text: str, arguments: Mapping[str, Any]) -> str:
    """Return the text without the whole arguments, which some servers repeat: they name every parameter."""
    text = text[:READ_AT_MOST]
    for echo in (
        json.dumps(arguments, ensure_ascii=False),
        json.dumps(arguments, ensure_ascii=False, separators=(",", ":")),
        json.dumps(arguments, ensure_ascii=False, indent=2),
        repr(dict(arguments)),
    ):
        if len(echo) > 2:  # noqa: PLR2004 - `{}` says nothing
            text = text.replace(echo, "{…}")
    return _ECHO.sub("input_value={…}", text)


def names(text: str, name: str) -> bool:
    """Return whether a text names a parameter; words of English only where they are set apart."""
    escaped, text = re.escape(name), text[:READ_AT_MOST]
    apart = rf"[`\"'\[<(]{escaped}[`\"'\])>:,=.\[]|(?<![\w.-]){escaped}:"
    apart += rf"|(?:^|\n)[ \t]{{0,20}}[-*•]?[ \t]{{0,20}}{escaped}(?:\s{{0,20}}$|\s{{0,20}}\n|[:.,]|\s{{0,20}}\()"
    if re.search(apart, text):
        return True
    noun = (
        rf"(?:parameter|argument|field|property|key|option|value for|missing|required|\bat|\bin)s?:? {escaped}(?![\w-])"
    )
    after = rf"\b{escaped} (?:is|must|should|has to|cannot|can't|may|was|parameter|argument|field|required|missing)\b"
    if re.search(f"{noun}|{after}", text, re.IGNORECASE):
        return True
    is_word = _PROSE.fullmatch(name.lower()) is not None or len(name) <= 2  # noqa: PLR2004 - `to`, `q`
    return not is_word and mentions(text, name)


def says_missing(text: str, name: str) -> bool:
    """Return whether a text says that a parameter is missing."""
    escaped, text = re.escape(name), text[:READ_AT_MOST]
    after = rf"(?<![\w-]){escaped}[`\"']?:? (?:is |was |field )?(?:missing|required|undefined)"
    before = rf"(?:missing|required|[Ff]ield required)(?: \w+){{0,3}}:? [`\"'\[]*{escaped}(?![\w-])"
    return re.search(f"{after}|{before}", text, re.IGNORECASE) is not None


def mentions(text: str, word: str) -> bool:
    """Return whether a text has a word as a whole."""
    return bool(word) and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def _says_unexpected(text: str, name: str) -> bool:
    return _UNKNOWN.search(text[:READ_AT_MOST]) is not None and mentions(text, name)


def _object_at(text: str, place: int) -> Mapping[str, Any] | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(text, place)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def _trees(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a text that is JSON, outermost first."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return
    found = [tree]
    for _ in range(_TREE_DEPTH):
        objects = [one for one in found if isinstance(one, Mapping)]
        yield from objects
        found = [value for one in objects for value in one.values()]


def _closest(name: str, keys: list[str]) -> str | None:
    return min(keys, key=lambda key: (DamerauLevenshtein.distance(key, name), key), default=None)


def _place(value: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the argument whose text a suggestion is a correction of."""
    texts = {key: text for key, text in arguments.items() if isinstance(text, str) and text != value}
    best = min(texts, key=lambda key: (DamerauLevenshtein.normalized_distance(texts[key], value), key), default=None)
    if best is None or DamerauLevenshtein.normalized_distance(texts[best], value) > 0.6:  # noqa: PLR2004 - of something else
        return None
    return best
