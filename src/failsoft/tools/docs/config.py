"""A project's config.json: its published JSON Schema, and the parsed form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from failsoft.framework.arguments.json_schema import JsonSchemaArguments
from failsoft.framework.errors import ConfigurationError, InvalidArgument
from failsoft.framework.errors.violations import Violation, clause
from failsoft.framework.text import quoted

SearchMode: TypeAlias = Literal["lexical", "semantic", "hybrid"]
LANGUAGES = ("english", "none")
"""The languages whose words are stemmed in the index; `none` takes words as they are."""
DEFAULT_LEVELS = ("standard", "important", "critical")

_NAME: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 64}
_PATH: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 1024}

CONFIG_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "failsoft docs project",
    "description": "The config.json of a documentation project. Paths are relative to the folder of this file.",
    "type": "object",
    "properties": {
        "$schema": {"type": "string", "description": "The address of this schema, for editors."},
        "name": {**_NAME, "description": "The project's name."},
        "docs_root": {**_PATH, "description": "The folder of the .md and .mdx documents."},
        "doc_types": {
            "type": "array",
            "maxItems": 100,
            "description": "The document types. A page's type is its front matter's `type`, else by its path.",
            "items": {
                "type": "object",
                "properties": {
                    "name": {**_NAME, "description": "The type's name."},
                    "paths": {
                        "type": "array",
                        "items": _PATH,
                        "maxItems": 100,
                        "description": "Globs below docs_root (`guide/**`); pages there are of this type.",
                    },
                    "schema": {
                        "type": ["object", "string"],
                        "description": "The JSON Schema of the front matter, or the path of a file that holds it.",
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "promotion_levels": {
            "type": "array",
            "items": _NAME,
            "minItems": 1,
            "maxItems": 20,
            "uniqueItems": True,
            "default": list(DEFAULT_LEVELS),
            "description": "The levels of promotion, lowest first; a page without one is at the lowest.",
        },
        "external_docs": {
            "description": "Folders of documentation by others, searched apart: a path, or several with names.",
            "anyOf": [
                _PATH,
                {
                    "type": "array",
                    "maxItems": 20,
                    "items": {
                        "type": "object",
                        "properties": {"name": _NAME, "path": _PATH},
                        "required": ["name", "path"],
                        "additionalProperties": False,
                    },
                },
            ],
        },
        "search": {
            "type": "object",
            "description": "How the documents are searched.",
            "properties": {
                "mode": {
                    "enum": ["lexical", "semantic", "hybrid"],
                    "default": "lexical",
                    "description": "The mode of a search that names none.",
                },
                "language": {
                    "enum": list(LANGUAGES),
                    "default": "english",
                    "description": "The language whose words are stemmed.",
                },
                "min_score": {"type": "number", "minimum": 0, "description": "The least score of a result."},
            },
            "additionalProperties": False,
        },
    },
    "required": ["name", "docs_root"],
    "additionalProperties": False,
}


class DocTypeConfig(NamedTuple):
    """A document type as configured. `schema` is a JSON Schema, the path of one, or None."""

    name: str
    paths: tuple[str, ...] = ()
    schema: dict[str, Any] | str | None = None


class ProjectConfig(NamedTuple):
    """A project as configured; paths are as written, relative to the folder of its config.json."""

    name: str
    docs_root: str
    doc_types: tuple[DocTypeConfig, ...] = ()
    promotion_levels: tuple[str, ...] = DEFAULT_LEVELS
    external_docs: tuple[tuple[str, str], ...] = ()
    mode: SearchMode = "lexical"
    language: str = "english"
    min_score: float | None = None


def parse_config(path: str, data: bytes) -> ProjectConfig:
    """Return the configuration that the bytes of a config.json hold.

    Args:
        path: Its path, for messages.
        data: Its bytes.

    Raises:
        CONFIG_ERROR: It is not JSON, or does not fit the schema; `violations` has every fault, unknown keys with the
            closest name.
    """
    try:
        given = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        raise ConfigurationError(issue=f"{quoted(path)} is not JSON{where}") from error
    if not isinstance(given, Mapping):
        raise ConfigurationError(issue=f"{quoted(path)} does not hold a JSON object")
    try:
        JsonSchemaArguments(path, CONFIG_SCHEMA).validate(given)
    except InvalidArgument as error:
        raise _refused(path, error.violations) from None
    _require_distinct(path, given)
    search = given.get("search", {})
    return ProjectConfig(
        name=given["name"],
        docs_root=given["docs_root"],
        doc_types=tuple(
            DocTypeConfig(item["name"], tuple(item.get("paths", ())), item.get("schema"))
            for item in given.get("doc_types", ())
        ),
        promotion_levels=tuple(given.get("promotion_levels", DEFAULT_LEVELS)),
        external_docs=_external(given.get("external_docs", ())),
        mode=search.get("mode", "lexical"),
        language=search.get("language", "english"),
        min_score=search.get("min_score"),
    )


def _external(given: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(given, str):
        return ((given.rstrip("/").rpartition("/")[2] or "external", given),)
    return tuple((item["name"], item["path"]) for item in given)


def _require_distinct(path: str, given: Mapping[str, Any]) -> None:
    """Refuse two types or two external folders of one name."""
    external = given.get("external_docs", ())
    for key, items in (("doc_types", given.get("doc_types", ())), ("external_docs", external)):
        names = [item["name"] for item in items if not isinstance(item, str)]
        for position, name in enumerate(names):
            if name in names[:position]:
                fault = Violation(
                    path=f"{key}.{position}.name", reason="value", message="repeats a name", expected="a unique name"
                )
                raise _refused(path, (fault,))


def _refused(path: str, violations: tuple[Violation, ...]) -> ConfigurationError:
    said = "; ".join(clause(item) for item in violations[:5])
    return misconfigured(f"{quoted(path)} is not a valid project configuration: {said}", violations)


def misconfigured(issue: str, violations: Sequence[Violation] = ()) -> ConfigurationError:
    """Return the error for an issue that names keys in backticks; foreign text in it has to be quoted already."""
    end = "" if issue.endswith("?") else "."
    return ConfigurationError(message=f"Configuration error: {issue}{end}", issue=issue, violations=violations)
