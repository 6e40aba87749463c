"""A toolset that serves folders may name what lies in them, and no other place of the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, NotFound
from failsoft.tools.docs import Docs
from failsoft.tools.edit import Edit
from tests.doors import PATH


def docs(root: Path, aside: Path) -> BaseTool:
    return Docs(root, cache_dir=aside)


def edit(root: Path, aside: Path) -> BaseTool:
    return Edit(root, state_folder=aside)


EDITS = [{"old_string": "a", "new_string": "b"}]


@pytest.mark.parametrize(
    ("make", "name", "arguments"),
    [(docs, "list_documents", {}), (edit, "multi_edit", {"file_path": "/a.md", "edits": EDITS})],
)
def test_paths_in_the_served_folder_are_disclosed_in_production(
    make: Callable[[Path, Path], BaseTool], name: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    root = (tmp_path / "root").resolve()
    root.mkdir()

    def fail(**_: Any) -> None:
        raise NotFound(message=f"There is no '{root / 'a.md'}' beside '{tmp_path / 'b.md'}'.")

    tool = make(root, tmp_path / "aside")
    answer = asyncio.run(tool.execute_with_error_handling(name, arguments, fail))
    assert answer.error is not None
    assert answer.error.code == "NOT_FOUND"
    assert f"'{root / 'a.md'}' beside '{PATH}'" in answer.error.message
