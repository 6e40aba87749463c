"""A docs toolset over pages that a test writes, asked as a client asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failsoft.tools.docs import Docs
from tests.contract.surroundings import write_documents

__all__ = ["Reader", "reading"]


@dataclass(frozen=True)
class Reader:
    """A client of a docs toolset."""

    docs: Docs

    @property
    def folder(self) -> Path:
        """The served folder."""
        return self.docs.roots[0]

    def ask(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a call."""
        return asyncio.run(self.docs.execute_with_error_handling(operation, arguments)).to_dict()

    def data(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the data of a call that has to succeed."""
        answer = self.ask(operation, **arguments)
        assert answer["success"], answer
        data: dict[str, Any] = answer["data"]
        return data

    def read(self, path: str) -> dict[str, Any]:
        """Return a document that has to be there."""
        (document,) = self.data("get_documentation", path=path)["documents"]
        found: dict[str, Any] = document
        return found

    def error(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the error of a call that has to fail."""
        answer = self.ask(operation, **arguments)
        assert not answer["success"], answer
        error: dict[str, Any] = answer["error"]
        return error


@contextmanager
def reading(folder: Path, pages: Mapping[str, str], **more: Any) -> Iterator[Reader]:
    """Yield a client of a toolset over a folder below this one, which has these pages."""
    served = write_documents(folder / "docs", dict(pages))
    served.mkdir(parents=True, exist_ok=True)
    docs = Docs(served, cache_dir=folder / "cache", state_folder=folder / "state", **more)
    try:
        yield Reader(docs)
    finally:
        asyncio.run(docs.shutdown())
