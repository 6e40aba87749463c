"""What the contract's tests share: runtimes with settings of their own, and documents in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from failsoft import RecoveryManager, Runtime, Settings

__all__ = ["runtime", "write_documents"]


def runtime(*, recovery: RecoveryManager | None = None, middleware: Any = (), **settings: Any) -> Runtime:
    """Return a runtime with these settings, and the default recovery unless another is given."""
    return Runtime(settings=Settings(**settings), recovery=recovery, middleware=middleware)


def write_documents(folder: Path, documents: dict[str, str]) -> Path:
    """Write documents by their path, and return the folder."""
    for path, text in documents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder
