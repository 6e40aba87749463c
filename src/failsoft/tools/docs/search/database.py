"""`PostgresDatabase`: access to PostgreSQL, retried and circuit-broken."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import CircuitOpen, DatabaseError
from failsoft.framework.plugins import missing_extra
from failsoft.recovery.strategies.circuit_breaker import CircuitBreaker
from failsoft.recovery.strategies.retry import Retry
from failsoft.tools.docs.search.tables import IndexStore

T = TypeVar("T")


class PostgresDatabase:
    """The database that keeps the indexes of a toolset.

    Args:
        url: Its address.
        runtime: The surroundings of the calls.

    Raises:
        CONFIG_ERROR: The extra `postgres` is not installed.
    """

    def __init__(self, url: str, runtime: Runtime) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise missing_extra(extra="postgres", what="FAILSOFT_DOCS_DATABASE_URL", package="psycopg")
        self._url = url
        self._work = _Work(runtime=runtime)

    def open(self, root: Path, language: str, fingerprint: str) -> IndexStore:
        """Return the store of the index of this root, ready for use.

        Raises:
            DATABASE_ERROR: The database cannot be reached.
        """
        from failsoft.tools.docs.search.postgres_store import PostgresStore  # noqa: PLC0415 - imports the extra

        store = PostgresStore(self._url, root, language, fingerprint)
        store.create()
        return store

    async def run(self, call: Call, work: Callable[[], T]) -> T:
        """Return the result of work with the database, which runs in a thread.

        Raises:
            DATABASE_ERROR: The database fails, or its breaker is open.
        """
        done: list[T] = []
        response = await self._work.execute_with_error_handling("query", {}, handler=lambda: done.append(work()))
        if response.error is None:
            return done[-1]
        error = response.error.exception
        if isinstance(error, CircuitOpen):
            call.is_retried_below = True  # the wait is left to the caller
            message = "The database of the search index failed repeatedly and is given time to recover."
            raise DatabaseError(message=message, retry_after_seconds=error.retry_after_seconds) from error
        raise error


class _Work(BaseTool):
    """Work with the database, as an operation of its own: with retry, breaker and metrics."""

    name = "docs_database"

    @operation(
        read_only=True,
        recovery=[
            Retry(attempts=3, base_s=0.05, cap_s=0.5),
            CircuitBreaker("docs_database", open_s=2, max_open_s=30),
        ],
    )
    def query(self) -> None:
        """Run a query of the index."""
