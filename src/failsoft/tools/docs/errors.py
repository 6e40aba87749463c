"""The errors of the docs toolset (seed 003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from failsoft.framework.errors import (
    InvalidArgument,
    PreconditionFailed,
    Public,
    Unavailable,
    Unsupported,
)
from failsoft.framework.errors.violations import Violation, clause

_ERRORS_AT_MOST = 50
_SPELT_OUT = 3


def _located(fault: Violation) -> str:
    text = clause(fault).rstrip(".")
    return text if f"(line {fault.line})" in text else f"line {fault.line}: {text}"


class ProjectNotActivated(PreconditionFailed):
    """No documentation project is active for the call.

    Raised when: `project` is left out on a server without a root, or names a project that was not activated.
    Caller: call `activate_project` with the path of the project's config.json, and pass the `project` that it returns.
    Operator: serve a folder with `--root` to give callers a project from the start.
    """

    code = "PROJECT_NOT_ACTIVATED"
    message = "No project is active; call `activate_project` with the path of your project's config.json."


class ExternalDocsNotConfigured(PreconditionFailed):
    """The project has no external documentation.

    Raised when: external documentation is searched, and the project's config.json has no `external_docs`.
    Caller: search the project's own documents instead.
    Operator: add `external_docs` with the path of a documentation folder to the project's config.json.
    """

    code = "EXTERNAL_DOCS_NOT_CONFIGURED"
    message = "The project has no external documentation: its config.json has no `external_docs`."
    hints = ("Search the project's own documents instead",)


class ExternalDocsNotPromotable(Unsupported):
    """External documentation has no promotion level.

    Raised when: a promotion names a document in one of the project's external folders.
    Caller: promote a document of the project; `list_documents` has their paths.
    """

    path: Public[str] = ""
    code = "EXTERNAL_DOCS_NOT_PROMOTABLE"
    message = "{path} is external documentation, which cannot be promoted; only the project's documents can."


class InvalidDocType(InvalidArgument):
    """The project has no such document type.

    Raised when: an argument names a document type that the project does not declare.
    Caller: use one of the types that the answer lists.
    Operator: add the type to `doc_types` of the project's config.json if it is missing there.
    """

    doc_type: Public[str] = ""
    valid_doc_types: Public[tuple[str, ...]] = ()
    code = "INVALID_DOC_TYPE"
    message = 'No document type "{doc_type}".'


class SchemaValidationFailed(InvalidArgument):
    """The front matter of a document is broken or does not fit the schema of its type.

    Raised when: `validate_document` finds faults in it, or `promote_document` cannot write the level into front matter
    that cannot be read.
    Caller: correct every field that `violations` lists, at the line given there.
    """

    path: Public[str] = ""
    errors: Public[tuple[str, ...]] = ()
    code = "SCHEMA_VALIDATION_FAILED"
    message = "The front matter of {path} is not valid."

    @classmethod
    def from_faults(cls, path: str, faults: Sequence[Violation]) -> Self:
        """Return the error for these faults; its message spells out three of them."""
        errors = tuple(map(_located, faults[:_ERRORS_AT_MOST]))
        count, named = len(faults), "; ".join(errors[:_SPELT_OUT])
        more = f"; {count - _SPELT_OUT} more" if count > _SPELT_OUT else ""
        message = f'The front matter of "{path}" has {count} error{"" if count == 1 else "s"}: {named}{more}.'
        return cls(path=path, message=message, errors=errors, violations=faults)


class EmbeddingServiceError(Unavailable):
    """The embedding service, which turns text into vectors, failed.

    Raised when: the service does not answer, or not with vectors of the expected number and length; or neither a
    service nor a model (extra `semantic`) is there.
    Caller: nothing to do: searches use lexical search, and say so, until the service is back.
    Operator: check that the service of `FAILSOFT_DOCS_EMBEDDING_URL` runs and has `FAILSOFT_DOCS_EMBEDDING_MODEL`.
    """

    reason: Public[str] = "unknown"
    code = "EMBEDDING_SERVICE_ERROR"
    message = "The embedding service failed: {reason}."
    retry = "after_delay"
