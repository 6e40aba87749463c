"""The YAML block at the top of a document. It is read without ever failing: what cannot be understood is a warning.

Real documentation holds invalid YAML, blocks that never end, lists where a map is expected, numbers as titles. A
hostile block can do worse: the C parser overruns its stack on deep nesting and takes the process down, and a few
anchors expand to gigabytes. Both are refused before they are built.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

import yaml

__all__ = ["FrontMatter", "read_front_matter"]

BLOCK_CHARACTERS_AT_MOST = 65_536
NESTING_AT_MOST = 64
NODES_AT_MOST = 5_000
ALIASES_AT_MOST = 20
"""Each alias may multiply what stands before it, and merge keys (`<<`) do so while the map is built."""
INTEGER_BITS_AT_MOST = 1024

_OPENS = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\n|\r)")
_CLOSES = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_NESTING_SIGNS = "[{-?:"
"""Every level of YAML takes at least one of these, so counting them bounds the depth from above."""

try:
    _Loader: Any = yaml.CSafeLoader
except AttributeError:  # a PyYAML built without libyaml: slower, otherwise the same
    _Loader = yaml.SafeLoader


class FrontMatter(NamedTuple):
    """What a block said.

    Args:
        data: The map, in JSON types; empty if there is no block or it cannot be understood.
        content: The text after the block; the whole text if the block cannot be understood, so that nothing is lost.
        body: The text after the block in either case, for headings and the search index.
        warning: What is wrong with the block, as one sentence; empty if nothing is.
    """

    data: dict[str, Any]
    content: str
    body: str
    warning: str = ""


class _UnfitError(Exception):
    """The block is not what we take in; the text says why."""


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a document's text, and the text without it."""
    opening = _OPENS.match(text)
    if opening is None:
        plain = text.removeprefix("\ufeff")
        return FrontMatter({}, plain, plain)
    closing = _CLOSES.search(text, opening.end())
    if closing is None:
        whole = text.removeprefix("\ufeff")
        return FrontMatter({}, whole, whole, "The front matter is not closed by a line '---'.")
    body = text[closing.end() :]
    try:
        return FrontMatter(_load(text[opening.end() : closing.start()]), body, body)
    except _UnfitError as unfit:
        return FrontMatter({}, text.removeprefix("\ufeff"), body, str(unfit))


def _load(block: str) -> dict[str, Any]:
    if len(block) > BLOCK_CHARACTERS_AT_MOST:
        msg = f"The front matter is longer than {BLOCK_CHARACTERS_AT_MOST} characters."
        raise _UnfitError(msg)
    try:
        _require_tame(block)
        data = yaml.load(block, _Loader)  # noqa: S506 - a safe loader, in C where there is one
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark is not None else ""
        msg = f"The front matter is not valid YAML{where}."
        raise _UnfitError(msg) from error
    except (ValueError, TypeError, OverflowError, RecursionError, AttributeError, KeyError) as error:
        msg = "The front matter holds a value that cannot be read, such as a date that does not exist."
        raise _UnfitError(msg) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        msg = "The front matter is not a map of names to values."
        raise _UnfitError(msg)
    return _JsonSafe().of_map(data, 0)


def _require_tame(block: str) -> None:
    """Refuse nesting that would overrun the C stack, and anchors that would multiply.

    Only blocks with enough signs for either are looked at: the parser's events cost as much as loading.
    """
    if sum(map(block.count, _NESTING_SIGNS)) < NESTING_AT_MOST and block.count("*") <= ALIASES_AT_MOST:
        return
    depth = aliases = 0
    for event in yaml.parse(block, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > NESTING_AT_MOST or aliases > ALIASES_AT_MOST:
            msg = "The front matter is nested too deep, or repeats itself by too many aliases."
            raise _UnfitError(msg)


class _JsonSafe:
    """Turns what YAML can say into what JSON can say, within a budget of nodes (anchors multiply them)."""

    def __init__(self) -> None:
        self._left = NODES_AT_MOST

    def of(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > NESTING_AT_MOST:
            msg = "The front matter expands to more than can be sent."
            raise _UnfitError(msg)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _encodable(value)
        if isinstance(value, (int, float)):
            return _number(value)
        if isinstance(value, Mapping):
            return self.of_map(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.of(item, depth + 1) for item in value]
        return _scalar(value)

    def of_map(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        return {_key(key): self.of(item, depth + 1) for key, item in value.items()}


def _key(key: Any) -> str:
    if isinstance(key, str):
        return _encodable(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(_number(key)) if isinstance(key, (int, float)) else str(_scalar(key))


def _number(value: Any) -> int | float | str:
    """Return the number, or its text where JSON has none for it (infinities) or readers choke (hundreds of digits)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return hex(value) if value.bit_length() > INTEGER_BITS_AT_MOST else int(value)


def _scalar(value: Any) -> str:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return _encodable(str(value))


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
