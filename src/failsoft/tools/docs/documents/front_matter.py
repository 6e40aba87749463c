"""Tolerant reader of YAML and TOML front matter: a block that cannot be parsed becomes a warning with its line.

Real documentation holds invalid YAML, blocks that never end, lists where a map is expected, numbers as titles. A
hostile block can do worse: the C parser overruns its stack on deep nesting and takes the process down, and a few
anchors expand to gigabytes. Both are refused before they are built.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.safe.json_safe import encode

BLOCK_CHARACTERS_AT_MOST = 65_536
NESTING_AT_MOST = 64
NODES_AT_MOST = 5_000
ALIASES_AT_MOST = 20
"""Each alias may multiply the content before it."""

_TOO_DEEP = "The front matter is nested too deep, or repeats itself by too many aliases."
_OPENS = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*(?:\r\n|\n|\r)")
_CLOSES = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE),
}
_NOT_RESOLVED = frozenset({"tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"})
_DOTTED = re.compile(rf"""(?:\.[ \t]*+(?:[\w-]++|"[^"\r\n]*+"|'[^'\r\n]*+')[ \t]*+){{{NESTING_AT_MOST}}}""", re.ASCII)
"""A long dotted key of TOML. Each part of it is a table, for which the parser takes quadratic time and space."""
_TOML_LINE = re.compile(r"\(at line (\d+)")
_NESTING_SIGNS = "[{-?:"
"""Every level of YAML takes at least one of these, so counting them bounds the depth from above."""


class FrontMatter(NamedTuple):
    """A parsed block.

    Args:
        data: The map, in JSON types; empty if there is no block or it cannot be parsed.
        content: The text after the block; the whole text if the block cannot be parsed, so that nothing is lost.
        body: The text after the block in either case, for headings and the search index.
        warning: What is wrong with the block, as one sentence; empty if nothing is.
        fault_line: The line of the document, from 1, that the warning is about; 0 without a warning.
        kind: The language of the block; None without a block.
        start: Where the text of the block begins, as a position in the document's text.
        end: Where it ends.
    """

    data: dict[str, Any]
    content: str
    body: str
    warning: str = ""
    fault_line: int = 0
    kind: Literal["yaml", "toml"] | None = None
    start: int = 0
    end: int = 0


class _UnfitError(PicklableError):
    """The block cannot be taken in; the text says why, and `line` where in it, from 0."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message, line)
        self.message = message
        self.line = line


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a document's text, and the text without it."""
    opening = _OPENS.match(text)
    if opening is None:
        plain = text.removeprefix("\ufeff")
        return FrontMatter({}, plain, plain)
    closing = _CLOSES[opening[1]].search(text, opening.end())
    if closing is None:
        whole = text.removeprefix("\ufeff")
        return FrontMatter({}, whole, whole, f"The front matter is not closed by a line '{opening[1]}'.", 1)
    body = text[closing.end() :]
    kind: Literal["yaml", "toml"] = "yaml" if opening[1] == "---" else "toml"
    place = (kind, opening.end(), closing.start())
    try:
        load = _load_yaml if kind == "yaml" else _load_toml
        return FrontMatter(load(text[opening.end() : closing.start()]), body, body, "", 0, *place)
    except _UnfitError as unfit:
        line = unfit.line + 2
        return FrontMatter({}, text.removeprefix("\ufeff"), body, unfit.message.format(line=line), line, *place)


def _load_toml(block: str) -> dict[str, Any]:
    _require_short(block)
    if _DOTTED.search(block) is not None:
        raise _UnfitError(_TOO_DEEP)
    try:
        return _as_json(tomllib.loads(block.replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as error:
        found = _TOML_LINE.search(str(error))
        line = int(found[1]) - 1 if found is not None else block.count("\n")
        msg = "The front matter is not valid TOML (line {line})."
        raise _UnfitError(msg, line) from error
    except (ValueError, RecursionError) as error:
        msg = "The front matter holds a value that cannot be read, such as a date that does not exist."
        raise _UnfitError(msg) from error


def _require_short(block: str) -> None:
    if len(block) > BLOCK_CHARACTERS_AT_MOST:
        msg = f"The front matter is longer than {BLOCK_CHARACTERS_AT_MOST} characters."
        raise _UnfitError(msg)


def _load_yaml(block: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - 15 ms that no server needs to start

    _require_short(block)
    try:
        _require_tame(block)
        data = yaml.load(block, _loader())  # noqa: S506 - a safe loader, in C where there is one
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        msg = "The front matter is not valid YAML (line {line})." if mark else "The front matter is not valid YAML."
        raise _UnfitError(msg, mark.line if mark is not None else 0) from error
    except (ValueError, TypeError, OverflowError, RecursionError, AttributeError, KeyError) as error:
        msg = "The front matter holds a value that cannot be read, such as a date that does not exist."
        raise _UnfitError(msg) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        msg = "The front matter is not a map of names to values."
        raise _UnfitError(msg)
    fields: dict[Any, Any] = data
    return _as_json(fields)


@lru_cache(maxsize=1)
def _loader() -> Any:
    """Return the safe loader in C, or in Python for a PyYAML without libyaml. It knows neither merge keys nor `=`.

    Maps that merge each other multiply while they are built, before their values are counted.
    """
    import yaml  # noqa: PLC0415 - as above

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # one of two
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NOT_RESOLVED]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    return Loader


def _require_tame(block: str) -> None:
    """Refuse nesting that would overrun the C stack, and anchors that would multiply.

    Only blocks with enough signs for either are looked at: the parser's events cost as much as loading.
    """
    if sum(map(block.count, _NESTING_SIGNS)) < NESTING_AT_MOST and block.count("*") <= ALIASES_AT_MOST:
        return
    import yaml  # noqa: PLC0415 - as above

    depth = aliases = 0
    for event in yaml.parse(block, _loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > NESTING_AT_MOST or aliases > ALIASES_AT_MOST:
            raise _UnfitError(_TOO_DEEP)


def _as_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map in JSON types, if it can be sent whole: anchors multiply values."""
    found = encode(data, max_items=NODES_AT_MOST)
    if not found.is_faithful:
        msg = "The front matter expands to more than can be sent."
        raise _UnfitError(msg)
    tree: dict[str, Any] = found.tree
    return tree


_TABLE = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def line_of(front: FrontMatter, text: str, path: str) -> int:
    """Return the line of a field in its document, counted from 1; of a missing one that of what should hold it.

    Args:
        front: The front matter, parsed without a fault.
        text: The text of the whole document.
        path: The field, dotted, with list positions as numbers (`tags.0`).
    """
    block = text[front.start : front.end]
    steps = path.split(".") if path else []
    if front.kind == "yaml":
        return 2 + _yaml_line(block, steps)
    return 2 + _toml_line(block, steps) if front.kind == "toml" else 1


def _yaml_line(block: str, steps: Sequence[str]) -> int:
    """Return the line in the block, from 0; -1 for the line that opens it."""
    import yaml  # noqa: PLC0415 - as above

    node = yaml.compose(block, yaml.SafeLoader)
    line = -1
    for step in steps:
        below = None
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if getattr(key, "value", None) == step]
            if found:
                line, below = found[-1][0].start_mark.line, found[-1][1]
        elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
            below = node.value[int(step)]
            line = below.start_mark.line
        if below is None:
            break
        node = below
    return line


def _toml_line(block: str, steps: Sequence[str]) -> int:
    """Return the line in the block, from 0, of the longest part of the path that it has; -1 for none."""
    wanted = [step for step in steps if not step.isdecimal()]
    best, line, table = 0, -1, []
    for number, text in enumerate(block.splitlines()):
        header, key = _TABLE.match(text), _KEY.match(text)
        if header is not None:
            table = _names(header[1])
            found = table
        elif key is not None:
            found = [*table, *_names(key[1])]
        else:
            continue
        if best < len(found) <= len(wanted) and wanted[: len(found)] == found:
            best, line = len(found), number
    return line


def _names(dotted: str) -> list[str]:
    return [name.strip().strip("\"'") for name in dotted.split(".")]
