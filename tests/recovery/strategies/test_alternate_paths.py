"""The same document under another path: served only if there is no doubt, suggested if there is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from failsoft import AlternatePaths, BaseTool, DocumentNotFound, NotFound, RecoveryManager, Unavailable, operation
from failsoft.recovery import Alternate, PathSource
from tests.doors import spelled_alternates
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


class Pages(BaseTool):
    """Pages in memory."""

    def __init__(self, *existing: str, strategy: AlternatePaths | None = None, metrics: Any = None) -> None:
        manager = RecoveryManager()
        manager.register(DocumentNotFound, strategy or AlternatePaths())
        super().__init__(runtime=quiet_runtime(recovery=manager, metrics=metrics))
        self.existing = set(existing)
        self.asked: list[str] = []
        self.missing: Any = DocumentNotFound

    def _open(self, path: str) -> str:
        self.asked.append(path)
        if path not in self.existing:
            raise self.missing(path=path) if self.missing is DocumentNotFound else self.missing
        return f"content of {path}"

    @operation(read_only=True)
    async def get(self, path: Annotated[str, Field(max_length=20)]) -> str:
        """Return a page."""
        return self._open(path)

    @operation(idempotent=True)
    async def delete(self, path: str) -> str:
        """Delete a page."""
        return self._open(path)

    @operation(read_only=True)
    async def other(self, name: str) -> str:
        """Return a page by another parameter."""
        return self._open(name)


class KnownPages(Pages):
    """Pages that know what leads where."""

    found: tuple[Alternate, ...] = ()

    def alternate_paths(self, path: str, call: object) -> list[Alternate]:
        assert isinstance(path, str)
        assert call is not None
        return list(self.found)


@pytest.mark.parametrize(
    ("asked", "existing", "served"),
    [
        ("a.md", ["a.mdx"], "a.mdx"),
        ("a.mdx", ["a.md"], "a.md"),
        ("guide", ["guide/index.md"], "guide/index.md"),
        ("guide/", ["guide/index.mdx"], "guide/index.mdx"),
        ("guide", ["guide/README.md"], "guide/README.md"),
        ("guide", ["guide.md"], "guide.md"),
        ("deep/a.md", ["deep/a.mdx", "deep/index.md"], "deep/a.mdx"),
    ],
)
async def test_one_certain_alternative_is_served_and_named(asked: str, existing: list[str], served: str) -> None:
    metrics = Recording()
    response = await Pages(*existing, metrics=metrics).get(path=asked)
    assert response.data == f"content of {served}"
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.strategy == "alternate_path"
    assert response.metadata.recovery.changed == {"path": served}
    assert not response.metadata.recovery.degraded
    assert metrics.of("finished") == ["recovered"]


async def test_several_alternatives_become_suggestions() -> None:
    response = await Pages("guide.md", "guide.mdx").get(path="guide")
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"
    assert [text for text in response.error.suggestions if "guide" in text] == [
        "Did you mean: guide.md?",
        "Did you mean: guide.mdx?",
    ]
    assert response.error.exception.path == "guide"  # type: ignore[attr-defined]


@pytest.mark.parametrize("asked", ["deep/a.md", "deep/a"])
async def test_the_index_of_the_folder_above_is_another_document(asked: str) -> None:
    response = await Pages("deep/index.md").get(path=asked)
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"
    served = await Pages("deep/index.md", strategy=AlternatePaths(folder_index=True)).get(path=asked)
    assert served.data == "content of deep/index.md"
    several = Pages("deep/index.md", "deep/README.md", strategy=AlternatePaths(folder_index=True))
    assert (await several.get(path=asked)).error is not None


async def test_the_seeds_rule_serves_the_index_when_it_is_switched_on() -> None:
    tool = KnownPages("deep/index.md", strategy=AlternatePaths(folder_index=True))
    tool.found = (Alternate("deep/index.md", "parent_index"),)
    response = await tool.get(path="deep/a.md")
    assert response.data == "content of deep/index.md"
    tool = KnownPages("deep/index.md")
    tool.found = (Alternate("deep/index.md", "parent_index"),)
    response = await tool.get(path="deep/a.md")
    assert response.error is not None
    assert "Did you mean: deep/index.md?" in response.error.suggestions
    assert tool.asked == ["deep/a.md"]


@pytest.mark.parametrize("rule", ["extension", "folder", "case", "alias"])
async def test_what_the_toolset_knows_is_asked_first(rule: Any) -> None:
    tool = KnownPages("Right.md")
    tool.found = (Alternate("Right.md", rule), Alternate("index.md", "parent_index"))
    assert isinstance(tool, PathSource)
    assert (await tool.get(path="wrong.md")).data == "content of Right.md"
    assert tool.asked == ["wrong.md", "Right.md"]


async def test_two_that_the_toolset_knows_are_not_served() -> None:
    tool = KnownPages("A.md", "a.MD")
    tool.found = (Alternate("A.md", "case"), Alternate("a.MD", "case"), Alternate("A.md", "alias"))
    response = await tool.get(path="a.md")
    assert response.error is not None
    assert response.error.suggestions[-2:] == ("Did you mean: A.md?", "Did you mean: a.MD?")
    assert tool.asked == ["a.md"]


async def test_a_change_is_never_made_elsewhere() -> None:
    tool = Pages("a.mdx")
    response = await tool.delete(path="a.md")
    assert response.error is not None
    assert tool.asked == ["a.md"]


async def test_another_parameter_can_hold_the_path() -> None:
    assert (await Pages("a.mdx", strategy=AlternatePaths("name")).other(name="a.md")).success
    assert not (await Pages("a.mdx").other(name="a.md")).success


async def test_a_candidate_that_cannot_be_asked_for_counts_as_missing() -> None:
    tool = Pages()
    response = await tool.get(path="x" * 18)
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"
    assert response.error.violations == ()


async def test_a_candidate_that_fails_otherwise_ends_the_search() -> None:
    tool = Pages()

    def open_it(path: str) -> str:
        if path == "a.md":
            raise DocumentNotFound(path=path)
        raise Unavailable(message="The disk is away.")

    tool._open = open_it  # type: ignore[method-assign]
    response = await tool.get(path="a.md")
    assert response.error is not None
    assert response.error.code == "UNAVAILABLE"
    tool._open = _missing  # type: ignore[method-assign]
    response = await tool.get(path="a.md")
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"


def _missing(path: str) -> str:
    if path == "a.md":
        raise DocumentNotFound(path=path)
    raise NotFound


@pytest.mark.parametrize("path", ["a.md", "a", "dir/a.mdx", "dir/", "/", "", ".", "a.txt", "..", "a/../b.md"])
def test_spelled_alternates_never_leave_the_place_nor_repeat_the_path(path: str) -> None:
    found = spelled_alternates(path)
    assert path not in [one.path for one in found]
    assert len({one.path for one in found}) == len(found) or path in {"", ".", "/", "dir/"}
    for one in found:
        assert one.is_same_document is (one.rule != "parent_index")


async def test_real_files_are_found(tmp_path: Path) -> None:
    """Seed 004: the file is `.mdx`, the request says `.md`."""
    (tmp_path / "file.mdx").write_text("content", encoding="utf-8")

    class Files(BaseTool):
        @operation(read_only=True)
        def read(self, path: str) -> dict[str, list[str]]:
            """Return the documents at the path."""
            try:
                return {"documents": [(tmp_path / path).read_text(encoding="utf-8")]}
            except FileNotFoundError:
                raise DocumentNotFound(path=path) from None

    manager = RecoveryManager.default()
    result = await Files(runtime=quiet_runtime(recovery=manager)).read(path="file.md")
    assert result.success
    assert result.data == {"documents": ["content"]}
