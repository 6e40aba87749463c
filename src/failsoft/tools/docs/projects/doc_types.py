"""The document types of a project: which page is of which type, and the schema of its front matter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.framework.validation.json_schema_faults import violations_from_jsonschema
from failsoft.framework.validation.linear_patterns import is_linear, with_linear_patterns
from failsoft.tools.docs.projects.config import DocTypeConfig

__all__ = ["DEFAULT_TYPE", "DocType", "DocTypes", "glob_pattern"]

DEFAULT_TYPE = "document"
_GLOB_PARTS = re.compile(r"(?:\*\*/)+|/\*\*$|\*\*+|\*[^*?/]+(?=[^/]*\*)|\*|\?|[^*?/]+|/")
_GLOB_WORDS = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_CROSSINGS_AT_MOST = 4
"""`**` in one glob: each multiplies the time of a comparison by the length of the path."""


class DocType(NamedTuple):
    """One type.

    Args:
        name: As front matter and filters name it.
        paths: The globs of its pages.
        schema: The JSON Schema of its front matter, or None.
        validator: A validator of `jsonschema` for it, or None.
    """

    name: str
    paths: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    validator: Any = None

    def faults(self, front_matter: Mapping[str, Any]) -> list[Violation]:
        """Return every fault of the front matter against the schema."""
        return [] if self.validator is None else violations_from_jsonschema(self.validator, front_matter)


class DocTypes:
    """The types of a project, in the order of its configuration; empty where any type goes."""

    def __init__(self, types: Sequence[DocType] = ()) -> None:
        self.types = tuple(types)
        self.names = tuple(item.name for item in self.types)
        self._by_name = {item.name: item for item in self.types}
        self._patterns = [(glob_pattern(glob), item.name) for item in self.types for glob in item.paths]

    @classmethod
    def from_config(cls, items: Sequence[DocTypeConfig], schemas: Mapping[str, Any]) -> DocTypes:
        """Return the types of a configuration.

        Args:
            items: As configured.
            schemas: The JSON Schemas by type name, read from their files.

        Raises:
            CONFIG_ERROR: A schema is not a valid JSON Schema.
        """
        return cls([_doc_type(item, schemas.get(item.name)) for item in items])

    def find(self, name: str) -> DocType | None:
        """Return the type of this name, or None."""
        return self._by_name.get(name)

    def type_of(self, path: str, own: str) -> str:
        """Return the type of a page: the one that its front matter names, else by its path, else `document`."""
        if own:
            return own
        return next((name for pattern, name in self._patterns if pattern.fullmatch(path)), DEFAULT_TYPE)


def glob_pattern(glob: str) -> re.Pattern[str]:
    """Return the regular expression of a glob: `*` and `?` stay within a name, `**` crosses folders.

    A path without wildcards is a page or a folder with everything below it.

    Raises:
        CONFIG_ERROR: It has too many `**`.
    """
    bare = glob.removeprefix("./").strip("/")
    if not set(bare) & set("*?"):
        return re.compile(f"{re.escape(bare)}(?:/.*)?", re.DOTALL)
    parts = _GLOB_PARTS.findall(bare)
    if sum(part.count("**") > 0 for part in parts) > _CROSSINGS_AT_MOST:
        raise ConfigurationError(issue=f'the glob "{bounded(glob)}" has more than {_CROSSINGS_AT_MOST} "**"')
    return re.compile("".join(map(_glob_word, parts)), re.DOTALL)


def _glob_word(part: str) -> str:
    if part.startswith("**"):
        return _GLOB_WORDS["**/" if part.endswith("/") else "**"]
    if part[0] == "*" and len(part) > 1:  # the first place of what follows will do if there is another `*` in the name
        return f"(?>[^/]*?{re.escape(part[1:])})"
    return _GLOB_WORDS.get(part) or re.escape(part)


def _doc_type(item: DocTypeConfig, schema: Any) -> DocType:
    if schema is None:
        return DocType(item.name, item.paths)
    from jsonschema import SchemaError  # noqa: PLC0415 - 30 ms that only projects with schemas pay for
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415 - the same
    from referencing import Registry  # noqa: PLC0415 - comes with jsonschema

    if not isinstance(schema, dict):
        raise ConfigurationError(issue=f'the schema of the document type "{item.name}" is no JSON object')
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        issue = f'the schema of the document type "{item.name}" is not valid JSON Schema: {error.message}'
        raise ConfigurationError(issue=issue) from error
    slow = next((text for text in _patterns(schema) if not is_linear(text)), None)
    if slow is not None:
        said = f"the pattern {bounded(slow)!r}, which is invalid or has look-around or back-references"
        raise ConfigurationError(issue=f'the schema of the document type "{item.name}" has {said}')
    kind = with_linear_patterns(kind)
    registry: Registry[Any] = Registry()  # without it jsonschema would fetch a remote reference from the network
    return DocType(item.name, item.paths, schema, kind(schema, registry=registry, format_checker=kind.FORMAT_CHECKER))


def _patterns(schema: Any) -> Iterator[str]:
    """Yield every pattern of a schema: the values of `pattern`, the names in `patternProperties`."""
    if isinstance(schema, Mapping):
        own = schema.get("pattern")
        named = schema.get("patternProperties")
        yield from [own] if isinstance(own, str) else ()
        yield from named if isinstance(named, Mapping) else ()
    for item in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from _patterns(item)
