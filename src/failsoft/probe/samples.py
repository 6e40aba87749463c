"""Arguments that are likely to work: from examples, descriptions, and what other tools of the server returned."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from failsoft.probe.connection import ServerAnswer
from failsoft.probe.schemas import ListedParameter, ToolInfo, examples_in, flattened, properties_of

_KEPT_A_KEY = 6
_VALUES_AT_MOST = 400
_TEXT_AT_MOST = 20_000
_DEPTH = 5
_LONGEST = 300
_FORMATS = {
    "date": "2026-01-02",
    "date-time": "2026-01-02T03:04:05Z",
    "time": "12:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
_BY_WORD = (
    (("timezone", "tz"), "UTC"),
    (("time",), "12:00"),
    (("date", "day"), "2026-01-02"),
    (("url", "uri"), "https://example.com/"),
    (("email",), "ada@example.com"),
    (("expression", "formula"), "1 + 1"),
    (("sql",), "SELECT 1"),
    (("cwd", "path", "directory", "dir", "folder", "repo", "root"), "."),
    (("pattern", "glob"), "*"),
    (("branch", "revision", "ref", "target"), "HEAD"),
    (("language", "lang", "locale"), "en"),
    (("currency",), "EUR"),
    (("country",), "DE"),
    (("city", "location"), "Berlin"),
)
WAITS = re.compile(r"duration|delay|sleep|wait|interval", re.IGNORECASE)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_FILE_LINE = re.compile(r"^\s*(?:\[(?:FILE|DIR)\]|[-*])?\s*([^\s:|{}\"]+\.?[^\s:|{}\"]*)\s*$")
_ABSOLUTE = re.compile(r"(?<![\w/.:])(/[\w.@+-]+(?:/[\w.@+-]+)+)")


class Harvest:
    """Values that read-only tools of the server returned, by the key that they came under."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[Any]] = {}
        self._paths: list[str] = []
        self._count = 0

    def take(self, tool: str, arguments: Mapping[str, Any], answer: ServerAnswer) -> None:
        """Keep the scalars of a successful answer."""
        tree = answer.structured
        text = answer.text[:_TEXT_AT_MOST]
        if tree is None:
            try:
                tree = json.loads(answer.text) if len(answer.text) <= _TEXT_AT_MOST * 10 else None
            except (ValueError, RecursionError):
                tree = None
        self._walk(tree, tool)
        if tree is None or isinstance(tree, str) or "\n" in text:
            self._lines(arguments, text)

    def take_paths(self, text: str) -> None:
        """Keep the absolute paths that a text names, such as the folders that a refusal says are allowed."""
        found = dict.fromkeys(match[1].rstrip(".") for match in _ABSOLUTE.finditer(text[:_TEXT_AT_MOST]))
        self._paths += [path for path in [*found][:_KEPT_A_KEY] if path not in self._paths]

    def values(self, name: str, tool: ToolInfo) -> list[Any]:
        """Return what a parameter of this name may be given."""
        words = _words(name)
        found = [*self._by_key.get(name.lower(), [])]
        last = words[-1] if words else ""
        if last in {"id", "ids", "name", "key", "path", "slug", "code"}:
            subject = words[0] if len(words) > 1 else (_words(tool.name) or [""])[-1].rstrip("s")
            found += self._by_key.get(f"{subject}.{last.rstrip('s')}", [])
            found += self._by_key.get(f"{subject}_{last.rstrip('s')}", [])
            found += self._by_key.get(f"{subject}.item", [])
            found += self._by_key.get(last.rstrip("s"), []) if last != "name" or len(words) == 1 else []
        found += self._by_key.get(f"{name.lower()}s", []) + self._by_key.get(f"{last.rstrip('s')}.item", [])
        if set(words) & {"path", "file", "filename", "directory", "dir", "folder", "paths", "repo", "root", "cwd"}:
            found += self._paths
        return [*dict.fromkeys(one for one in found if isinstance(one, (str, int, float)))]

    def _add(self, key: str, value: Any) -> None:
        kept = self._by_key.setdefault(key.lower(), [])
        if len(kept) < _KEPT_A_KEY and value not in kept and self._count < _VALUES_AT_MOST:
            kept.append(value)
            self._count += 1

    def _walk(self, tree: Any, tool: str, key: str = "", above: str = "", depth: int = 0) -> None:
        if depth > _DEPTH:
            return
        if isinstance(tree, Mapping):
            for name, value in itertools.islice(tree.items(), 60):
                self._walk(value, tool, str(name), key, depth + 1)
        elif isinstance(tree, list):
            for value in tree[:_KEPT_A_KEY]:
                self._walk(value, tool, key, key or above, depth + 1)
                if isinstance(value, (str, int)) and not isinstance(value, bool):
                    self._add(f"{(_words(tool) or [''])[-1].rstrip('s')}.item", value)
        elif isinstance(tree, (str, int, float)) and not isinstance(tree, bool) and key and len(str(tree)) <= _LONGEST:
            self._add(key, tree)
            subject = above.rstrip("s") or (_words(tool) or [""])[-1].rstrip("s")
            self._add(f"{subject}.{key}", tree)

    def _lines(self, arguments: Mapping[str, Any], text: str) -> None:
        """Keep the paths of a text, and the lines that may be entries of the folder that was asked for."""
        found = [*dict.fromkeys(match[1] for match in _ABSOLUTE.finditer(text))][:_KEPT_A_KEY]
        folder = next((one for one in arguments.values() if isinstance(one, str) and one.startswith("/")), None)
        lines = (line for line in text.splitlines() if len(line) <= _LONGEST)
        entries = [match[1] for line in lines if (match := _FILE_LINE.match(line))]
        if folder is not None:
            files = sorted(entries, key=lambda entry: "." not in entry)
            found += [f"{folder.rstrip('/')}/{entry}" for entry in files[:4] if not entry.startswith("/")]
        self._paths += [path for path in found if path not in self._paths][:_KEPT_A_KEY]


def candidates(tool: ToolInfo, harvest: Harvest, *, at_most: int) -> Iterator[dict[str, Any]]:
    """Yield arguments for a tool, the likeliest first: the required parameters alone."""
    options = {one.name: values_for(one, tool, harvest) for one in tool.required}
    slow = [one for one in tool.parameters.values() if WAITS.search(one.name) and one.type in {"integer", "number"}]
    options |= {one.name: [_made(one.name, one.schema)] for one in slow}
    seen: list[dict[str, Any]] = []
    longest = max((len(values) for values in options.values()), default=1)
    for number in range(longest):
        made = {name: values[min(number, len(values) - 1)] for name, values in options.items()}
        if made not in seen:
            seen.append(made)
            yield made
        if len(seen) >= at_most:
            return


def values_for(parameter: ListedParameter, tool: ToolInfo, harvest: Harvest) -> list[Any]:
    """Return values for a parameter, the likeliest first; at least one."""
    found: list[Any] = []
    schema = parameter.schema
    if "const" in schema:
        return [schema["const"]]
    if parameter.choices:
        return parameter.choices
    if "default" in schema and schema["default"] is not None:
        found.append(schema["default"])
    kinds = {"string": str, "integer": int, "number": (int, float)}
    known = harvest.values(parameter.name, tool)
    wanted: Any = kinds.get(parameter.type, object)
    is_path = bool(set(_words(parameter.name)) & {"path", "file", "directory", "dir", "folder", "cwd", "repo", "root"})
    harvested = [one for one in known if isinstance(one, wanted)] if parameter.type in kinds else []
    shown = [*parameter.examples, *(examples_in(tool.description) if [*tool.required] == [parameter] else [])]
    examples = [one for one in shown if isinstance(one, wanted) or parameter.type == "array"]
    found += [*harvested, *examples] if is_path else [*examples, *harvested]
    if parameter.type == "array" and isinstance(items := schema.get("items"), Mapping):
        inner = values_for(ListedParameter(parameter.name.rstrip("s") or parameter.name, items, True), tool, harvest)  # noqa: FBT003 - a required one
        found += [[one] for one in inner if not isinstance(one, list)][:4]
    found.append(_made(parameter.name, schema))
    unique: list[Any] = []
    for one in found:
        if one not in unique:
            unique.append(one)
    return unique[:8]


def _made(name: str, schema: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value that fits a schema, as far as it says."""
    kind = ListedParameter(name, schema, is_required=True).type
    if kind in {"integer", "number"}:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        value = 1 if low is None else low + ("exclusiveMinimum" in schema and "minimum" not in schema)
        return value if high is None or value <= high else high
    if kind == "boolean":
        return False
    if kind == "array":
        items = schema.get("items")
        count = max(1, int(schema.get("minItems", 1)))
        return [_made(name.rstrip("s"), items if isinstance(items, Mapping) else {}, depth + 1)] * min(count, 20)
    if kind == "object":
        if depth > _DEPTH:
            return {}
        return {
            part: _made(part, flattened(inner, schema), depth + 1)
            for part, inner, must in properties_of(schema)
            if must
        }
    return _text(name, schema)


def _text(name: str, schema: Mapping[str, Any]) -> str:
    value = _FORMATS.get(str(schema.get("format")))
    if value is None:
        words = set(_words(name))
        value = next((given for known, given in _BY_WORD if words & set(known)), "test")
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if isinstance(shortest, int) and len(value) < shortest <= _TEXT_AT_MOST:
        value += "a" * (shortest - len(value))
    return value[:longest] if isinstance(longest, int) else value


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]
