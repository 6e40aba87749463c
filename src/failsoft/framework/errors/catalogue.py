"""Renders an error's documentation as Markdown from its class, for `explain` and the docs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, get_args, get_origin

from failsoft.framework.errors import Actor, RetryWhen, ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.errors.tool_error import registry
from failsoft.framework.errors.vocabulary import is_code
from failsoft.framework.text import bounded

_FRAMEWORK = "failsoft"
_SECTION = re.compile(r"^(Raised when|Caller|Operator|Source):[ \n]", re.MULTILINE)
_PUBLIC = re.compile(r"(?:\w+\.)*Public\[(.*)\]")
_TYPES = {"str": "string", "Words": "string", "int": "integer", "float": "number", "bool": "boolean"}
_INTRODUCTION = (
    "Every failure has a code, which never changes its meaning, and a category, which says who can act and whether a "
    "repeat helps. `failsoft explain CODE` prints what the page of its category says of a code."
)
_SHARED = ("Repeat", "Who acts", "HTTP status", "In `coded_error`", "Since")
"""The facts that a page shows once if an error has them from its category."""
_SHARING = "All errors of this category share these facts, unless their section says otherwise."
_RETRY: dict[RetryWhen, str] = {
    "after_fix": "once the call is corrected",
    "after_delay": "after a wait, unless something may have been changed that must not be changed twice",
    "never": "no",
}
_ACTOR: dict[Actor, str] = {
    "caller": "the caller",
    "framework": "the framework, then the caller",
    "operator": "the operator of the server",
    "author": "the author of the tool",
    "person": "the user",
}


def summary(entry: type[ToolError]) -> str:
    """Return the first line of the class's documentation."""
    return inspect.cleandoc(entry.__doc__ or "").partition("\n")[0]


def sections(entry: type[ToolError]) -> dict[str, str]:
    """Return the parts of the class's documentation by their headings; what it leaves out is its category's."""
    found: dict[str, str] = {}
    for cls in (_category_of(entry), entry):
        _, *parts = _SECTION.split(inspect.cleandoc(cls.__doc__ or ""))
        found |= {name: inspect.cleandoc(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}
    return found


def _category_of(entry: type[ToolError]) -> type[ToolError]:
    """Return the category class of an error."""
    return next(cls for cls in entry.__mro__ if ToolError in cls.__bases__)


def page_of(entry: type[ToolError]) -> str:
    """Return the documentation of one error on its own: its section, and what it has in common with its category."""
    parts = sections(entry)
    blocks = [f"# {entry.code}", summary(entry), _list(_facts(entry)), *_section(entry, parts)]
    return "\n\n".join(blocks) + "\n"


def pages_of(entries: Sequence[type[ToolError]]) -> dict[str, str]:
    """Return a page for each category, with a section for each of its errors, by file name."""
    found: dict[type[ToolError], list[type[ToolError]]] = {}
    for entry in entries:
        found.setdefault(_category_of(entry), []).append(entry)
    return {f"{category.category}.md": _category(category, members) for category, members in found.items()}


def _category(category: type[ToolError], members: Sequence[type[ToolError]]) -> str:
    shared = {name: value for name, value in _facts(category).items() if name in _SHARED}
    blocks = [f"# Category `{category.category}`", _list(shared), _SHARING]
    for entry in sorted(members, key=lambda entry: (entry is not category, entry.code)):
        parts = sections(entry)
        own = {name: value for name, value in _facts(entry).items() if shared.get(name) != value}
        del own["Category"]
        blocks += [f"## {entry.code}", summary(entry), _list(own), *_section(entry, parts)]
    return "\n\n".join(blocks) + "\n"


def _section(entry: type[ToolError], parts: dict[str, str]) -> list[str]:
    """Return the blocks that a section and the page of one error have in common."""
    told = [f"**{name}:** {_sentence(parts[name])}" for name in ("Raised when", "Caller", "Operator") if name in parts]
    hints = ["**Hints:**", "\n".join(f"- {hint}" for hint in entry.hints)] if entry.hints else []
    fields = _fields(entry)
    return [*told, f"**Message:** {entry.template}", *hints, *([fields] if fields else [])]


def index_of(entries: Sequence[type[ToolError]]) -> str:
    """Return the page that lists all errors: the framework's by category, then those of each package."""
    own = [entry for entry in entries if _package(entry) == _FRAMEWORK]
    blocks = ["# Error codes", _INTRODUCTION, "Those of the framework, which every tool can raise, by category:"]
    for category in (entry for entry in ToolError.__subclasses__() if entry in own):
        members = [entry for entry in own if issubclass(entry, category)]
        members.sort(key=lambda entry: (entry is not category, entry.code))
        rows = [f"| [`{one.code}`]({_place(one)}) | {summary(one)} | {_RETRY[one.retry]} |" for one in members]
        blocks += [f"## {category.category}", "\n".join(["| Code | Meaning | Repeat |", "|---|---|---|", *rows])]
    for package in sorted({_package(entry) for entry in entries} - {_FRAMEWORK}):
        members = sorted((entry for entry in entries if _package(entry) == package), key=lambda entry: entry.code)
        rows = [
            f"| [`{one.code}`]({_place(one)}) | {one.category} | {summary(one)} | {_RETRY[one.retry]} |"
            for one in members
        ]
        header = ["| Code | Category | Meaning | Repeat |", "|---|---|---|---|"]
        blocks += [f"## Errors of `{package}`", "\n".join([*header, *rows])]
    return "\n\n".join(blocks) + "\n"


def _place(entry: type[ToolError]) -> str:
    """Return the link to an error's section, from another page of errors; anchors are headings in lower case."""
    return f"{entry.category}.md#{entry.code.lower()}"


def _package(entry: type[ToolError]) -> str:
    """Return what an error came with: the framework, a toolset of failsoft, or another distribution's package."""
    parts = entry.__module__.split(".")
    if parts[0] != _FRAMEWORK:
        return parts[0]
    return ".".join(parts[:3]) if parts[1:2] == ["tools"] else _FRAMEWORK


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def _facts(entry: type[ToolError]) -> dict[str, str]:
    """Return the facts of an error by their names; none is empty."""
    category = _category_of(entry)
    named = f"`{entry.category}`" if entry is category else f"[`{entry.category}`]({entry.category}.md)"
    facts = {
        "Class": f"`{entry.__name__}` in `{_home(entry)}`",
        "Category": named,
        "Repeat": _RETRY[entry.retry],
        "Who acts": _ACTOR[entry.actor],
        "HTTP status": str(entry.http_status),
        "In `coded_error`": f"`{entry.error_type}`, {entry.numeric_code}",
        "Also known as": ", ".join(f"`{name}` in `{wire_format}`" for wire_format, name in _other_names(entry)),
        "Alerts": "the operator is alerted" if entry.critical else "",
        "Since": entry.since,
    }
    return {name: value for name, value in facts.items() if value}


def _list(facts: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def _other_names(entry: type[ToolError]) -> list[tuple[str, str]]:
    """Return the wire formats with other codes for the class, and these codes."""
    by_reason = [(name, code) for name, codes in entry.aliases_by_reason.items() for code in codes.values()]
    return sorted({*entry.aliases.items(), *by_reason})


def _home(entry: type[ToolError]) -> str:
    """Return the module to import the class from: `failsoft` for core errors, otherwise the toolset's package."""
    if entry.__module__.startswith("failsoft.framework."):
        return "failsoft"
    return re.sub(r"^(failsoft\.tools\.\w+)\..*", r"\1", entry.__module__)


def _fields(entry: type[ToolError]) -> str:
    if not entry.fields:
        return ""
    annotations = {name: text for cls in reversed(entry.__mro__) for name, text in inspect.get_annotations(cls).items()}
    rows = [
        f"| `{name}` | {_type(_written(annotations.get(name, '')))} "
        f"| {'every caller' if name in entry.public_fields else 'developers only'} |"
        for name in entry.fields
    ]
    return "\n".join(["| Field | Type | Shown to |", "|---|---|---|", *rows])


def _written(annotation: Any) -> str:
    """Return the source text of an annotation, also if it was evaluated to an object."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _type(annotation: str) -> str:
    """Return a field's annotation in JSON's terms."""
    found = _PUBLIC.fullmatch(annotation)
    inner = found[1] if found else annotation
    alternatives = [_TYPES.get(part.strip(), "array" if "[" in part else part.strip()) for part in inner.split("|")]
    return " or ".join("null" if part == "None" else part for part in alternatives)


def entries() -> tuple[type[ToolError], ...]:
    """Return the classes of all errors that have been imported, sorted by code."""
    return tuple(registry[code] for code in sorted(registry))


def lookup(code: str) -> type[ToolError] | None:
    """Return the class of a code, or of a name that a wire format gives it, or None; case does not matter.

    Where one class has the name as its code and another as an alias, the code wins.
    """
    wanted = code.strip().upper()
    if wanted in registry:
        return registry[wanted]
    return next((entry for entry in entries() if wanted in _aliases(entry)), None)


def faults() -> list[str]:
    """Return the faults of the entries: a class may have been modified after its definition."""
    found = []
    for code, entry in sorted(registry.items()):
        if entry.code != code:
            found.append(f"{entry.__qualname__} is registered as {code}, but has the code {entry.code}")
        if not (entry.__doc__ or "").strip():
            found.append(f"{code} is not documented")
        found += [f"{code} has the malformed name {bounded(name)}" for name in _aliases(entry) if not is_code(name)]
    return found


def _aliases(entry: type[ToolError]) -> Iterator[str]:
    """Yield every other name of a class."""
    yield from entry.aliases.values()
    for by_reason in entry.aliases_by_reason.values():
        yield from by_reason.values()


def closest(code: str) -> str | None:
    """Return the code that is closest to an unknown one, or None if none is close."""
    return closest_name(code, registry)


def render_page(code: str | type[ToolError]) -> str:
    """Return the documentation of one error as Markdown, rendered from its class.

    Raises:
        KeyError: There is no such code.
    """
    entry = lookup(code) if isinstance(code, str) else code
    if entry is None:
        raise KeyError(code)
    return page_of(entry)


def pages() -> dict[str, str]:
    """Return every page of failsoft's own documentation of errors, one for each category, by file name."""
    own = [entry for entry in entries() if entry.__module__.startswith("failsoft.")]
    return {"index.md": index_of(own), **pages_of(own)}
