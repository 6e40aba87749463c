"""Search in the external documentation of a project."""

from __future__ import annotations

from failsoft.framework.errors import NextStep
from failsoft.tools.docs.errors import ExternalDocsNotConfigured
from failsoft.tools.docs.projects.project import EXTERNAL_PREFIX, Project
from failsoft.tools.docs.results import ExternalHit, ExternalResults
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.ranking import search
from failsoft.tools.docs.search.tables import Scope


def search_external(project: Project, query: Query, text: str, limit: int) -> ExternalResults:
    """Return the best matches of all external folders together.

    Raises:
        EXTERNAL_DOCS_NOT_CONFIGURED: The project has none.
    """
    if not project.external:
        raise ExternalDocsNotConfigured(next_step=NextStep("search_documents", {"query": text}))
    results: list[ExternalHit] = []
    total = 0
    for folder in project.external:
        found = folder.index.ask(lambda connection: search(connection, query, Scope(limit=limit)))
        total += found["total"]
        results += [
            ExternalHit(
                path=f"{EXTERNAL_PREFIX}{folder.name}/{hit['path']}",
                title=hit["title"],
                source=folder.name,
                score=hit["score"],
                snippet=hit["snippet"],
            )
            for hit in found["results"]
        ]
    results.sort(key=lambda hit: (-hit["score"], hit["path"]))
    return ExternalResults(results=results[:limit], total=total)
