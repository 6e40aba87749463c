"""The docs toolset: projects of Markdown documents."""

from failsoft.tools.docs.errors import (
    EmbeddingServiceError,
    ExternalDocsNotConfigured,
    ExternalDocsNotPromotable,
    InvalidDocType,
    ProjectNotActivated,
    SchemaValidationFailed,
)
from failsoft.tools.docs.search.query import PlainWords
from failsoft.tools.docs.signatures import (
    ActivatedProject,
    DocTypeList,
    Documentation,
    DocumentList,
    DocumentText,
    ExternalHit,
    ExternalResults,
    ListedDocType,
    ListedDocument,
    PromotedDocument,
    SearchHit,
    SearchResults,
    ValidatedDocument,
)
from failsoft.tools.docs.toolset import Docs

__all__ = [
    "ActivatedProject",
    "DocTypeList",
    "Docs",
    "DocumentList",
    "DocumentText",
    "Documentation",
    "EmbeddingServiceError",
    "ExternalDocsNotConfigured",
    "ExternalDocsNotPromotable",
    "ExternalHit",
    "ExternalResults",
    "InvalidDocType",
    "ListedDocType",
    "ListedDocument",
    "PlainWords",
    "ProjectNotActivated",
    "PromotedDocument",
    "SchemaValidationFailed",
    "SearchHit",
    "SearchResults",
    "ValidatedDocument",
]
