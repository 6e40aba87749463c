"""The document types of a project: which page is of which type, and the schema of its front matter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from failsoft.framework.arguments.json_schema import JsonSchema
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.tools.docs.projects.config import DocTypeConfig

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
    """

    name: str
    paths: tuple[str, ...] = ()
    schema: JsonSchema | None = None

    def faults(self, front_matter: Mapping[str, Any]) -> list[Violation]:
        """Return every fault of the front matter against the schema."""
        return [] if self.schema is None else self.schema.violations(front_matter)


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
    try:
        return DocType(item.name, item.paths, JsonSchema(f'the document type "{item.name}"', schema))
    except TypeError as error:
        raise ConfigurationError(issue=str(error)) from error
