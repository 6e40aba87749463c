"""A project made to do harm is activated, or refused, at a cost in proportion to its size."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.docs import Docs
from tests.doors import UNFINISHED, DocsSettings, index_module, refresh_module


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base" / "docs").mkdir(parents=True)
    configure(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def docs(base: Path) -> Iterator[Docs]:
    made = Docs(base, cache_dir=base.parent / "cache", state_folder=base.parent / "state")
    yield made
    made.projects.close()


def configure(base: Path, **config: Any) -> None:
    (base / "config.json").write_text(json.dumps({"name": "x", "docs_root": "docs", **config}))


def answered(docs: Docs) -> Any:
    async def call() -> Any:
        return (await docs.operations["activate_project"].call({"config_path": "config.json"})).to_dict()

    return asyncio.run(call())


def activated(docs: Docs) -> Any:
    """Return the number of documents, or the code of the failure."""
    answer = answered(docs)
    return answer["error"]["code"] if "error" in answer else answer["data"]["documents"]


def names(folder: Path) -> None:
    for name in (b"a\nb.md", b"\xff\xfe.md", b"\x1b[31m.md", b"\xed\xa0\x80.md", "\u202e.md".encode(), b"-.md"):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text("# A page\n")  # noqa: PTH118 - bytes


def loops(folder: Path) -> None:
    (folder / "inner").mkdir()
    for number in range(200):
        (folder / f"self{number}").symlink_to(".")
        (folder / f"circle{number}.md").symlink_to(f"circle{number}.md")
        (folder / "inner" / f"up{number}").symlink_to("../..")
    (folder / "inner" / "page.md").write_text("# A page\n")


def deep(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d" * 20, dir_fd=opened)
        inner = os.open("d" * 20, os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = inner
        os.close(os.open("page.md", os.O_WRONLY | os.O_CREAT, dir_fd=opened))
    os.close(opened)


def no_files(folder: Path) -> None:
    os.mkfifo(folder / "fifo.md")
    (folder / "folder.md").mkdir()
    (folder / "zero.md").symlink_to("/dev/zero")
    with (folder / "sparse.md").open("wb") as file:
        file.truncate(2_000_000_000)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "s.md"))


def one_line(folder: Path) -> None:
    with (folder / "line.md").open("w") as file:
        file.write("word " * 1_000_000)


@pytest.mark.parametrize("harm", [names, loops, deep, no_files, one_line])
def test_a_hostile_tree_is_activated(base: Path, docs: Docs, harm: Callable[[Path], None]) -> None:
    harm(base / "docs")
    begun = time.process_time()
    tracemalloc.start()
    count = activated(docs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(count, int)
    assert peak < 30_000_000
    assert time.process_time() - begun < 5


def test_large_pages_are_not_in_memory_together(base: Path, docs: Docs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_REFRESH_S", 60.0)
    for number in range(40):
        (base / "docs" / f"{number}.md").write_text("a" * 1_500_000)
    tracemalloc.start()
    assert activated(docs) == 40
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000


def test_what_is_too_much_to_index_in_one_call_is_indexed_by_the_next(
    base: Path, docs: Docs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        (base / "docs" / f"{number}.md").write_text("a" * 1_500_000)
    monkeypatch.setattr(index_module, "_REFRESH_S", 0.0)  # five pages of this size are written together
    monkeypatch.setattr(refresh_module, "_TICK_NS", 0)  # or pages that were just written would be read twice
    read: list[Any] = []
    load = refresh_module.load_document

    def noted(*given: Any) -> Any:
        read.append(given)
        return load(*given)

    monkeypatch.setattr(refresh_module, "load_document", noted)
    answers = [answered(docs) for _ in range(4)]
    assert [answer["data"]["documents"] for answer in answers] == [5, 10, 12, 12]
    assert [answer.get("metadata", {}).get("warnings", []) for answer in answers] == [
        [UNFINISHED],
        [UNFINISHED],
        [],
        [],
    ]
    assert len(read) == 12


@pytest.mark.parametrize("made", [Path.touch, Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_a_tree_of_too_many_names_is_refused_before_a_page_is_read(
    base: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[Path], object]
) -> None:
    for number in range(30):
        made(base / "docs" / f"{number}.md")
    opened: list[Any] = []
    monkeypatch.setattr(refresh_module, "load_document", lambda *given: opened.append(given))
    small = Docs(base, cache_dir=base.parent / "cache", settings=DocsSettings(max_entries=29))
    answer = answered(small)
    small.projects.close()
    assert answer["error"]["code"] == "CONFIG_ERROR"
    assert "more than 29 documents, folders and links" in answer["error"]["message"]
    assert opened == []


def a_fifo(file: Path) -> None:
    os.mkfifo(file)


def a_device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def a_folder(file: Path) -> None:
    file.mkdir()


def a_sparse_file(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(2_000_000_000)


@pytest.mark.parametrize("made", [a_fifo, a_device, a_folder, a_sparse_file])
def test_a_configuration_that_is_no_regular_file_of_usual_size_is_refused(
    base: Path, docs: Docs, made: Callable[[Path], None]
) -> None:
    (base / "config.json").unlink()
    made(base / "config.json")
    assert activated(docs) in {"PERMISSION_DENIED", "DOC_LOAD_ERROR", "INVALID_PARAM"}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 900_000,
        '{"name": ' + "9" * 900_000 + "}",
        json.dumps({f"k{number}": 1 for number in range(50_000)}),
        json.dumps({"name": "x", "docs_root": "docs", "doc_types": [{"nam": number} for number in range(50_000)]}),
        '{"name": "x", "docs_root": "\\ud800"}',
        json.dumps({"name": "x", "docs_root": "a\0b"}),
        json.dumps({"name": "x", "docs_root": "a/" * 400}),
        json.dumps({"name": "x", "docs_root": "docs", "external_docs": "a\0b"}),
    ],
    ids=range(8),
)
def test_a_hostile_configuration_is_refused(base: Path, docs: Docs, text: str) -> None:
    (base / "config.json").write_text(text)
    begun = time.process_time()
    assert activated(docs) in {"CONFIG_ERROR", "PERMISSION_DENIED"}
    assert time.process_time() - begun < 5


def test_faulty_configurations_are_not_all_read_for_a_suggestion(base: Path, docs: Docs) -> None:
    (base / "config.json").unlink()
    faulty = json.dumps({f"k{number}": 1 for number in range(30_000)})
    for number in range(200):
        (base / f"other{number}").mkdir()
        (base / f"other{number}" / "config.json").write_text(faulty)
    begun = time.process_time()
    assert activated(docs) == "INVALID_PARAM"
    assert time.process_time() - begun < 1
