"""The document types of a project: which page is of which type, filters by type and level, front matter validated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from failsoft.framework.arguments.json_schema import JsonSchema
from failsoft.framework.call.call import Call
from failsoft.framework.errors import ConfigurationError, InvalidParameter
from failsoft.framework.errors.corrections import closest_name, slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, file_name, quoted
from failsoft.tools.docs.config import DocTypeConfig
from failsoft.tools.docs.documents.document import ParsedDocument, decoded, parse_document
from failsoft.tools.docs.documents.front_matter import line_of
from failsoft.tools.docs.errors import InvalidDocType, SchemaValidationFailed
from failsoft.tools.docs.reading import AskedDocument
from failsoft.tools.docs.signatures import ListedDocType, ValidatedDocument

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

    def is_undeclared(self, name: str) -> bool:
        """Return whether a type of front matter counts as none: others are declared, and it is not."""
        return bool(self.types) and name not in self._by_name

    def type_of(self, path: str, own: str) -> str:
        """Return the type of a page: that of its front matter if it is declared, else by its path, else `document`.

        Where no types are declared, every type of front matter counts.
        """
        if own and not self.is_undeclared(own):
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


_ALLOWED_AT_MOST = 20


def listed_types(types: DocTypes, counts: Mapping[str, int]) -> list[ListedDocType]:
    """Return the configured types and those that occur besides, with the number of their documents."""
    listed = [
        ListedDocType(
            name=item.name,
            documents=counts.get(item.name, 0),
            paths=list(item.paths),
            has_schema=item.schema is not None,
        )
        for item in types.types
    ]
    others = [name for name in counts if name not in types.names]
    return listed + [ListedDocType(name=name, documents=counts[name], paths=[], has_schema=False) for name in others]


def require_types(types: DocTypes, counts: Mapping[str, int], given: Sequence[tuple[str, str]]) -> None:
    """Refuse types that the project does not have, all of them at once.

    Args:
        types: The configured types.
        counts: The types that occur.
        given: Where a type was given, as a violation's path, and the type.

    Raises:
        INVALID_DOC_TYPE: With the valid types, and the closest one to each.
    """
    known = tuple(dict.fromkeys((*types.names, *counts))) or (DEFAULT_TYPE,)
    unknown = [(path, kind) for path, kind in given if kind not in known]
    if not unknown:
        return
    listed, first = known[:_ALLOWED_AT_MOST], unknown[0][1]
    raise InvalidDocType(
        message=f"No document type {quoted(first, 80)}; types: {', '.join([file_name(name) for name in listed])}.",
        doc_type=bounded(first, 80),
        valid_doc_types=listed,
        violations=[
            Violation(
                path=path,
                reason="reference",
                message=f"Invalid doc-type: {file_name(bounded(kind, 80))}",
                expected="document type of the project",
                allowed=listed,
                suggestion=closest_name(kind, known),
                received=bounded(kind, 80),
            )
            for path, kind in unknown
        ],
    )


def known_level(levels: Sequence[str], level: str) -> None:
    """Refuse a promotion level that the project does not have.

    Raises:
        INVALID_PARAM: With the levels, and the closest one.
    """
    if level in levels:
        return
    fault = Violation(
        path="level",
        reason="enum",
        message=f"expected one of {', '.join([file_name(one) for one in levels])}",
        expected="promotion level of the project",
        allowed=tuple(levels),
        suggestion=slip_of(level, levels),
        received=bounded(level, 80),
        is_standard=True,
    )
    raise InvalidParameter.from_violations([fault])


def validate(call: Call, types: DocTypes, item: AskedDocument) -> ValidatedDocument:
    """Return what a valid document is, with a warning if the project does not declare the type that it names.

    Raises:
        SCHEMA_VALIDATION_FAILED: Its front matter is broken or does not fit; all faults with their lines.
    """
    data = item.root.read(item.names)
    text = decoded(item.path, data)
    document = parse_document("/".join(item.names), data)
    if document.front.warning:
        fault = Violation(path="", reason="format", message=document.front.warning, line=document.front.fault_line)
        raise SchemaValidationFailed.from_faults(item.path, [fault])
    name = types.type_of(document.path, document.own_type)
    doc_type = types.find(name)
    if document.own_type and types.is_undeclared(document.own_type):
        line = line_of(document.front, text, _type_field(document))
        call.warn(f"{not_declared(document.own_type)} Line {line}; checked as {file_name(name)}.")
    faults = [] if doc_type is None else doc_type.faults(document.front_matter)
    if faults:
        raise SchemaValidationFailed.from_faults(
            item.path, [replace(f, line=line_of(document.front, text, f.path)) for f in faults]
        )
    has_schema = doc_type is not None and doc_type.schema is not None
    return ValidatedDocument(path=item.path, doc_type=name, valid=True, has_schema=has_schema)


def not_declared(doc_type: str, pages: int | None = None) -> str:
    """Return the warning for a type that front matter names and the project does not declare."""
    where = "" if pages is None else f" ({pages} page{'' if pages == 1 else 's'})"
    return f"Type {quoted(doc_type, 80)} is not in `doc_types` of config.json{where}; the page's path decides."


def _type_field(document: ParsedDocument) -> str:
    return "doc_type" if document.front_matter.get("doc_type") == document.own_type else "type"
