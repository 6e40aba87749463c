"""The filter by document type, held against the types that occur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.runtime import Runtime
from failsoft.framework.text import bounded
from failsoft.framework.violations import Violation
from failsoft.tools.docs.documents import DEFAULT_TYPE
from failsoft.tools.docs.index import DocumentIndex
from failsoft.tools.docs.lookup import document_types

__all__ = ["known_type", "known_types"]

_ALLOWED_AT_MOST = 20


class Indexed(Protocol):
    """A toolset with an index of documents."""

    index: DocumentIndex

    @property
    def runtime(self) -> Runtime:
        """What its calls run in."""


async def known_type(docs: Indexed, doc_type: str | None) -> None:
    """Refuse a type that no document has.

    Raises:
        INVALID_PARAM: With the types that occur, and the closest one.
    """
    if doc_type is not None:
        await _require(docs, [("doc_type", doc_type)])


async def known_types(docs: Indexed, doc_types: Sequence[str] | None) -> None:
    """Refuse types that no document has, all of them at once.

    Raises:
        INVALID_PARAM: With the types that occur, and the closest one to each.
    """
    if doc_types is not None:
        await _require(docs, [(f"doc_types.{place}", kind) for place, kind in enumerate(doc_types)])


async def _require(docs: Indexed, given: Sequence[tuple[str, str]]) -> None:
    # In a thread: the question may bring the index up to date, which reads the disk.
    known = await docs.runtime.threads.run(lambda: docs.index.ask(document_types)) or [DEFAULT_TYPE]
    violations = [
        Violation(
            path=path,
            reason="reference",
            message="expected the type of some document",
            expected="type of some document",
            allowed=tuple(known[:_ALLOWED_AT_MOST]),
            suggestion=closest_name(kind, known),
            received=bounded(kind, 80),
        )
        for path, kind in given
        if kind not in known
    ]
    if violations:
        raise InvalidParameter.from_violations(violations)
