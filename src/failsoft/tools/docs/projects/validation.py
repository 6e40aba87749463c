"""Validation of a document's front matter against the schema of its type."""

from __future__ import annotations

from dataclasses import replace

from failsoft.framework.errors.violations import Violation
from failsoft.tools.docs.documents.document import Document, decoded, parse_document
from failsoft.tools.docs.documents.front_matter import line_of
from failsoft.tools.docs.errors import SchemaValidationFailed
from failsoft.tools.docs.projects.project import Project
from failsoft.tools.docs.projects.type_filter import invalid_type, type_fault
from failsoft.tools.docs.reading import Asked
from failsoft.tools.docs.results import ValidatedDocument


def validate(project: Project, item: Asked) -> ValidatedDocument:
    """Return what a valid document is.

    Raises:
        SCHEMA_VALIDATION_FAILED: Its front matter is broken or does not fit; all faults with their lines.
        INVALID_DOC_TYPE: Its front matter names a type that the project does not have.
    """
    data = item.root.read(item.names)
    text = decoded(item.path, data)
    document = parse_document("/".join(item.names), data)
    if document.front.warning:
        fault = Violation(path="", reason="format", message=document.front.warning, line=document.front.fault_line)
        raise SchemaValidationFailed.from_faults(item.path, [fault])
    name = project.types.type_of(document.path, document.own_type)
    doc_type = project.types.find(name)
    if doc_type is None and project.types.types and document.own_type:
        known = project.types.names
        fault = type_fault("type", name, known, line_of(document.front, text, _type_field(document)))
        raise invalid_type(name, known, [fault])
    faults = [] if doc_type is None else doc_type.faults(document.front_matter)
    if faults:
        raise SchemaValidationFailed.from_faults(
            item.path, [replace(f, line=line_of(document.front, text, f.path)) for f in faults]
        )
    has_schema = doc_type is not None and doc_type.schema is not None
    return ValidatedDocument(path=item.path, doc_type=name, valid=True, has_schema=has_schema)


def _type_field(document: Document) -> str:
    return "doc_type" if document.front_matter.get("doc_type") == document.own_type else "type"
