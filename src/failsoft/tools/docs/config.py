"""A project's config.json as pydantic models, whose JSON Schema is the published one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from failsoft.framework.arguments.accepted import Accepted
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.arguments.schemas import drop_generated_titles
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.violations import Violation, clause
from failsoft.framework.text import quoted

SearchMode: TypeAlias = Literal["lexical", "semantic", "hybrid"]
DEFAULT_LEVELS = ("standard", "important", "critical")

_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=64)]
_Path: TypeAlias = Annotated[str, Field(min_length=1, max_length=1024)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _without_null(schema: dict[str, Any]) -> None:
    """Leave out that a value may be null: left out is the form for that."""
    del schema["anyOf"][-1], schema["default"]


class DocTypeConfig(_Model):
    """A document type."""

    name: _Name = Field(description="The type's name.")
    paths: tuple[_Path, ...] = Field(
        default=(), max_length=100, description="Globs below docs_root (`guide/**`); pages there are of this type."
    )
    front_matter: dict[str, Any] | str | None = Field(
        default=None,
        alias="schema",
        description="The JSON Schema of the front matter, or the path of a file that holds it.",
        json_schema_extra=_without_null,
    )


class ExternalConfig(_Model):
    """A folder of documentation by others."""

    name: _Name = Field(description="The folder's name in results.")
    path: _Path = Field(description="The folder.")


class SearchConfig(_Model):
    """How the documents are searched."""

    mode: SearchMode = Field(default="lexical", description="The mode of a search that names none.")
    language: Literal["english", "none"] = Field(
        default="english", description="The language whose words are stemmed; `none` takes words as they are."
    )
    min_score: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="The least score of a result.",
        json_schema_extra=_without_null,
    )


class ProjectConfig(_Model):
    """The config.json of a documentation project. Paths are relative to the folder of this file."""

    model_config = ConfigDict(title="failsoft docs project")

    schema_address: str = Field(default="", alias="$schema", description="The address of this schema, for editors.")
    name: _Name = Field(description="The project's name.")
    docs_root: _Path = Field(description="The folder of the .md and .mdx documents.")
    doc_types: tuple[DocTypeConfig, ...] = Field(
        default=(),
        max_length=100,
        description="The document types. A page's type is its front matter's `type` if it is one of these, else by its "
        "path.",
    )
    promotion_levels: tuple[_Name, ...] = Field(
        default=DEFAULT_LEVELS,
        min_length=1,
        max_length=20,
        description="The levels of promotion, lowest first; a page without one is at the lowest.",
        json_schema_extra={"uniqueItems": True},
    )
    external_docs: _Path | Annotated[tuple[ExternalConfig, ...], Field(max_length=20)] = Field(
        default=(), description="Folders of documentation by others, searched apart: a path, or several with names."
    )
    search: SearchConfig = Field(default=SearchConfig(), description="How the documents are searched.")

    @property
    def external(self) -> tuple[ExternalConfig, ...]:
        """The external folders; one that was given as a path is named for its last folder."""
        given = self.external_docs
        if isinstance(given, str):
            name = given.rstrip("/").rpartition("/")[2] or "external"
            return (ExternalConfig.model_construct(name=name, path=given),)
        return given


@cache
def config_schema() -> dict[str, Any]:
    """Return the published JSON Schema of a config.json."""
    schema = ProjectConfig.model_json_schema(by_alias=True)
    drop_generated_titles(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


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
        text = data.decode("utf-8-sig")
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        raise ConfigurationError(issue=f"{quoted(path)} is not JSON{where}") from error
    if not isinstance(given, Mapping):
        raise ConfigurationError(issue=f"{quoted(path)} does not hold a JSON object")
    try:
        config = ProjectConfig.model_validate_json(text)
    except ValidationError as error:
        raise _refused(path, violations_from_pydantic(error, Accepted.by(config_schema()), given)) from None
    faults = [
        Violation(path=where, reason="value", message="repeats a name", expected="a unique name")
        for where in (
            *_repeated("doc_types.{}.name", [item.name for item in config.doc_types]),
            *_repeated("external_docs.{}.name", [item.name for item in config.external]),
            *_repeated("promotion_levels.{}", config.promotion_levels),
        )
    ]
    if faults:
        raise _refused(path, faults)
    return config


def _repeated(place: str, names: Sequence[str]) -> list[str]:
    return [place.format(position) for position, name in enumerate(names) if name in names[:position]]


def _refused(path: str, violations: Sequence[Violation]) -> ConfigurationError:
    said = "; ".join(clause(item) for item in violations[:5])
    return misconfigured(f"{quoted(path)} is not a valid project configuration: {said}", violations)


def misconfigured(issue: str, violations: Sequence[Violation] = ()) -> ConfigurationError:
    """Return the error for an issue that names keys in backticks; foreign text in it has to be quoted already."""
    end = "" if issue.endswith("?") else "."
    return ConfigurationError(message=f"Configuration error: {issue}{end}", issue=issue, violations=violations)
