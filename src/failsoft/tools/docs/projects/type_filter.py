"""Filters by document type and level, checked against those that the project has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.corrections import closest_name, slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, file_name, quoted
from failsoft.tools.docs.errors import InvalidDocType
from failsoft.tools.docs.projects.doc_types import DEFAULT_TYPE, DocTypes
from failsoft.tools.docs.results import ListedDocType

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
    faults = [(kind, type_fault(path, kind, known)) for path, kind in given if kind not in known]
    if faults:
        raise invalid_type(faults[0][0], known, [fault for _, fault in faults])


def invalid_type(doc_type: str, known: Sequence[str], faults: Sequence[Violation]) -> InvalidDocType:
    """Return the error for types that do not exist."""
    listed = ", ".join([file_name(name) for name in known[:_ALLOWED_AT_MOST]])
    return InvalidDocType(
        message=f"No document type {quoted(doc_type, 80)}; types: {listed}.",
        doc_type=bounded(doc_type, 80),
        valid_doc_types=tuple(known[:_ALLOWED_AT_MOST]),
        violations=faults,
    )


def type_fault(path: str, doc_type: str, known: Sequence[str], line: int | None = None) -> Violation:
    """Return the violation of a type that does not exist."""
    return Violation(
        path=path,
        reason="reference",
        message=f"Invalid doc-type: {file_name(bounded(doc_type, 80))}",
        expected="document type of the project",
        allowed=tuple(known[:_ALLOWED_AT_MOST]),
        suggestion=closest_name(doc_type, known),
        received=bounded(doc_type, 80),
        line=line,
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
