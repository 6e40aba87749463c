"""The index: up to date, shared, and rebuilt when it is damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from failsoft import ConfigurationError, Overloaded, SearchError
from tests.doors import (
    BEHIND,
    REBUILT,
    STALE_S_AT_MOST,
    TEMPORARY,
    DocumentIndex,
    DocumentRoot,
    Scope,
    index_module,
    lookup_document as lookup,
    parse_query,
    refresh_module as refresh,
    search_pages as search,
)
from tests.thorough import examples
from tests.tools.docs.parts import Ticking, Write
from tests.zygote import PYTHON


@pytest.fixture(autouse=True)
def _documents(write: Write) -> None:
    write(
        {
            "guide/intro.md": "---\ntitle: Introduction\ntype: guide\naliases: /start\n---\nFirst steps with the tree.",
            "guide/retries.md": "# Retries\n\nA retry budget limits retries. The introduction is elsewhere.",
            "reference/errors.mdx": "---\ntype: reference\n---\n# Errors\n\nEvery error has a code and a retry.",
            "notes.md": "nothing but words",
        }
    )


def found(index: DocumentIndex, query: str, doc_types: list[str] | None = None, limit: int = 10) -> list[str]:
    results = index.ask(lambda connection: search(connection, parse_query(query), Scope(doc_types, limit=limit)))
    return [hit["path"] for hit in results["results"]]


def cache_file(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "cache/docs").glob("*.sqlite3")
    return file


def another(index: DocumentIndex, tmp_path: Path) -> DocumentIndex:
    return DocumentIndex(index._root, cache_dir=tmp_path / "cache", clock=Ticking(), database=index._database)


class TestAnswers:
    """What the index answers."""

    @pytest.fixture
    def index(self, either_index: DocumentIndex) -> DocumentIndex:
        return either_index

    def test_a_word_in_the_title_weighs_more_than_one_in_the_text(self, index: DocumentIndex) -> None:
        assert found(index, "introduction") == ["guide/intro.md", "guide/retries.md"]

    def test_a_word_of_the_path_is_found(self, index: DocumentIndex) -> None:
        assert found(index, "notes") == ["notes.md"]

    def test_hits_carry_title_type_snippet_and_score_and_the_total_counts_all(self, index: DocumentIndex) -> None:
        results = index.ask(lambda connection: search(connection, parse_query("retry"), Scope(limit=1)))

        assert (results["total"], results["matched"], len(results["results"])) == (2, "all_words", 1)
        hit = results["results"][0]
        assert (hit["path"], hit["title"], hit["doc_type"]) == ("guide/retries.md", "Retries", "document")
        assert "**retry** budget" in hit["snippet"]
        assert hit["score"] > 0

    def test_types_narrow_a_search(self, index: DocumentIndex) -> None:
        assert found(index, "retry", ["reference", "guide"]) == ["reference/errors.mdx"]

    def test_words_that_no_document_joins_are_searched_one_by_one(self, index: DocumentIndex) -> None:
        results = index.ask(lambda connection: search(connection, parse_query("budget code"), Scope()))

        assert results["matched"] == "any_word"
        assert {hit["path"] for hit in results["results"]} == {"guide/retries.md", "reference/errors.mdx"}

    def test_documents_are_listed_by_path_type_and_prefix(self, index: DocumentIndex) -> None:
        def listed(kind: str | None, prefix: str, limit: int) -> tuple[list[str], int]:
            documents, total, _ = index.ask(lambda connection: lookup.list_documents(connection, kind, prefix, limit))
            return [document["path"] for document in documents], total

        assert listed(None, "", 2) == (["guide/intro.md", "guide/retries.md"], 4)
        assert listed("reference", "", 10) == (["reference/errors.mdx"], 1)
        assert listed(None, "guide/", 10) == (["guide/intro.md", "guide/retries.md"], 2)
        assert listed(None, "guide/i", 10) == (["guide/intro.md"], 1)
        assert listed("reference", "guide", 10) == ([], 0)

    def test_types_are_those_that_occur_most_frequent_first(self, index: DocumentIndex) -> None:
        assert index.ask(lookup.document_types) == {"document": 2, "guide": 1, "reference": 1}

    def test_a_former_path_leads_to_its_claimant(self, index: DocumentIndex) -> None:
        assert index.ask(lambda connection: lookup.claimants(connection, "start.md")) == ["guide/intro.md"]

    def test_a_document_that_cannot_be_read_is_found_by_its_name(self, index: DocumentIndex, tree: Path) -> None:
        (tree / "binary.md").write_bytes(b"\xff\xfe")

        assert found(index, "binary") == ["binary.md"]

    @settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(max_size=60), st.sampled_from([None, ["guide"], ["no such type"]]))
    def test_any_query_has_an_answer_or_a_search_error(
        self, index: DocumentIndex, query: str, kinds: list[str] | None
    ) -> None:
        with suppress(SearchError):
            found(index, query, kinds)
        assert index.take_warnings() == []


class TestRefresh:
    """What changes on the disk changes in the index, and nothing is read twice."""

    @pytest.fixture
    def index(self, either_index: DocumentIndex) -> DocumentIndex:
        return either_index

    def test_new_changed_and_vanished_documents_are_noticed(
        self, index: DocumentIndex, tree: Path, write: Write
    ) -> None:
        assert found(index, "steps") == ["guide/intro.md"]
        write({"guide/intro.md": "# Introduction\n\nOther words.", "guide/new.md": "steps"})
        (tree / "notes.md").unlink()

        assert found(index, "steps") == ["guide/new.md"]
        assert found(index, "other") == ["guide/intro.md"]
        assert found(index, "nothing") == []
        assert index.ask(lambda connection: lookup.claimants(connection, "start")) == []

    def test_a_change_of_the_same_length_within_the_tick_of_the_clock_is_noticed(
        self, index: DocumentIndex, tree: Path, write: Write
    ) -> None:
        just_written = time.time_ns() + 10_000_000_001
        os.utime(tree / "notes.md", ns=(just_written, just_written))
        assert found(index, "words") == ["notes.md"]
        write({"notes.md": "nothing but birds"})
        os.utime(tree / "notes.md", ns=(just_written, just_written))

        assert found(index, "birds") == ["notes.md"]

    def test_what_has_not_changed_is_not_read_again(
        self, index: DocumentIndex, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refresh, "_TICK_NS", -1)  # nothing counts as written a moment ago
        found(index, "words")
        read: list[str] = []
        load = refresh.load_document
        monkeypatch.setattr(
            refresh, "load_document", lambda root, names: (read.append("/".join(names)), load(root, names))[1]
        )
        write({"guide/new.md": "new"})

        assert found(index, "new") == ["guide/new.md"]
        assert found(index, "words") == ["notes.md"]
        assert read == ["guide/new.md"]

    def test_the_tree_is_walked_for_a_twentieth_of_the_time_at_most(
        self, root: DocumentRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [0.0]
        walks = []
        walk = index_module.walk

        def slow(root: DocumentRoot) -> object:
            walks.append(now[0])
            now[0] += 0.125
            return walk(root)

        monkeypatch.setattr(index_module, "walk", slow)
        index = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=lambda: now[0])
        for _ in range(50):
            found(index, "words")
            now[0] += 0.125
        index.close()

        assert walks == [0.0, 2.625, 5.25]

    def test_an_answer_is_never_further_behind_than_the_bound(
        self, root: DocumentRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [0.0]
        walk = index_module.walk
        monkeypatch.setattr(index_module, "walk", lambda root: (now.__setitem__(0, now[0] + 60.0), walk(root))[1])
        index = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=lambda: now[0])
        found(index, "words")
        (root.root / "late.md").write_text("late")

        assert found(index, "late") == []
        now[0] += STALE_S_AT_MOST
        assert found(index, "late") == ["late.md"]
        index.close()

    def test_the_index_outlives_its_process(
        self, index: DocumentIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refresh, "_TICK_NS", -1)  # nothing counts as written a moment ago
        found(index, "words")
        index.close()
        read, load = list[DocumentRoot](), refresh.load_document  # that of an earlier test may be read meanwhile
        monkeypatch.setattr(refresh, "load_document", lambda root, names: (read.append(root), load(root, names))[1])
        later = another(index, tmp_path)

        assert found(later, "words") == ["notes.md"]
        assert (later.take_warnings(), index._root in read) == ([], False)
        later.close()

    def test_each_root_has_an_index_of_its_own(self, index: DocumentIndex, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other/notes.md").write_text("other words")
        other = DocumentIndex(DocumentRoot(tmp_path / "other"), cache_dir=tmp_path / "cache", clock=Ticking())

        assert (found(index, "nothing"), found(other, "nothing")) == (["notes.md"], [])
        other.close()

    def test_a_missing_root_is_a_configuration_error(self, tmp_path: Path) -> None:
        index = DocumentIndex(DocumentRoot(tmp_path / "nowhere"), cache_dir=tmp_path / "cache")

        with pytest.raises(ConfigurationError):
            index.ask(lookup.all_paths)
        index.close()


def overwrite(file: Path) -> None:
    file.write_bytes(b"this is no database " * 500)


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def scramble(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for place in range(4096, len(data), 7):
        data[place] ^= 0x5A
    file.write_bytes(data)


def make_empty(file: Path) -> None:
    os.truncate(file, 0)


def make_foreign(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE documents (something TEXT)")
    connection.close()


def make_older(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 0")
    connection.close()


def drop_a_table(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE aliases")
    connection.close()


def put_values_of_other_types(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'documents'").fetchone()[0]
        connection.execute("ALTER TABLE documents RENAME TO before")
        connection.execute(sql.removesuffix("STRICT"))
        connection.execute("INSERT INTO documents SELECT * FROM before")
        connection.execute("UPDATE documents SET title = x'ff00', changed_ns = 'x'")
    connection.close()


def put_a_view_without_end(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("ALTER TABLE documents RENAME TO before")
        connection.execute(
            "CREATE VIEW documents AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
            " SELECT before.* FROM before, c"
        )
    connection.close()


def put_a_trigger(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        moved = "UPDATE documents SET path = '../secret.md' WHERE id = NEW.id"
        connection.execute(f"CREATE TRIGGER moved AFTER INSERT ON documents BEGIN {moved}; END")
    connection.close()


def spoil_the_pages(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE pages_data SET block = x'00112233445566'")
    connection.close()


def put_a_title_of_megabytes(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE documents SET title = printf('%.*c', 40000000, 'x')")
    connection.close()


HOSTILE = [put_a_title_of_megabytes, put_values_of_other_types, put_a_view_without_end, put_a_trigger]
DAMAGES = [overwrite, truncate, scramble, make_foreign, make_older, drop_a_table, spoil_the_pages, *HOSTILE]


class TestDamage:
    """A damaged index is a cache that is built anew."""

    @pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
    def test_an_index_damaged_between_two_runs_is_built_anew_and_says_so(
        self, index: DocumentIndex, tmp_path: Path, damage: Callable[[Path], None]
    ) -> None:
        found(index, "words")
        index.close()
        damage(cache_file(tmp_path))
        later = another(index, tmp_path)

        assert found(later, "words") == ["notes.md"]
        assert later.ask(lambda connection: lookup.claimants(connection, "start")) == ["guide/intro.md"]
        assert later.take_warnings() == [REBUILT]
        assert found(later, "words") == ["notes.md"]
        assert later.take_warnings() == []
        later.close()

    @pytest.mark.parametrize(
        "damage",
        [drop_a_table, spoil_the_pages, make_older],
        ids=lambda damage: damage.__name__,
    )
    def test_an_index_damaged_while_it_is_open_is_built_anew(
        self, index: DocumentIndex, tmp_path: Path, damage: Callable[[Path], None]
    ) -> None:
        found(index, "words")
        damage(cache_file(tmp_path))

        assert found(index, "words") == ["notes.md"]
        assert index.ask(lambda connection: lookup.claimants(connection, "start")) == ["guide/intro.md"]

    def test_an_empty_file_is_no_damage(self, index: DocumentIndex, tmp_path: Path) -> None:
        found(index, "words")
        index.close()
        for file in (tmp_path / "cache/docs").iterdir():
            make_empty(file)
        later = another(index, tmp_path)

        assert found(later, "words") == ["notes.md"]
        assert later.take_warnings() == []
        later.close()

    def test_a_cache_that_is_deleted_while_it_is_open_comes_back(
        self, index: DocumentIndex, tmp_path: Path, write: Write
    ) -> None:
        found(index, "words")
        shutil.rmtree(tmp_path / "cache")
        write({"new.md": "new words"})

        assert found(index, "words") == ["new.md", "notes.md"]
        later = another(index, tmp_path)
        assert found(later, "words") == ["new.md", "notes.md"]
        later.close()

    def test_the_process_that_comes_second_does_not_discard_the_new_file(
        self, index: DocumentIndex, tmp_path: Path
    ) -> None:
        second = another(index, tmp_path)
        assert found(index, "words") == found(second, "words")
        drop_a_table(cache_file(tmp_path))

        index.ask(lambda connection: lookup.claimants(connection, "start"))
        mended = cache_file(tmp_path).stat().st_ino
        second.ask(lambda connection: lookup.claimants(connection, "start"))

        assert cache_file(tmp_path).stat().st_ino == mended
        second.close()


class TestMemory:
    """Where nothing can be kept, the index lives in memory, and says so once."""

    @pytest.mark.parametrize("obstacle", ["file", "folder", "lock"])
    def test_a_cache_that_cannot_be_used_is_replaced_by_memory(
        self, root: DocumentRoot, tmp_path: Path, obstacle: str
    ) -> None:
        probe = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=Ticking())
        found(probe, "words")
        probe.close()
        file = cache_file(tmp_path)
        for left in file.parent.iterdir():
            left.unlink()
        if obstacle == "file":
            shutil.rmtree(tmp_path / "cache")
            (tmp_path / "cache").write_text("a file where the folder should be")
        else:
            (file if obstacle == "folder" else Path(f"{file}.lock")).mkdir()
        index = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=Ticking())

        assert found(index, "words") == ["notes.md"]
        assert index.take_warnings() == [TEMPORARY]
        (root.root / "new.md").write_text("words")
        assert found(index, "words") == ["new.md", "notes.md"]
        assert index.take_warnings() == []
        index.close()

    def test_threads_take_turns_in_memory(self, root: DocumentRoot, tmp_path: Path) -> None:
        (tmp_path / "cache").write_text("a file where the folder should be")
        index = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=Ticking())
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda _: found(index, "words"), range(40)))

        assert answers == [["notes.md"]] * 40
        index.close()

    def test_a_full_disk_moves_the_index_into_a_temporary_folder(self, index: DocumentIndex) -> None:
        def fill(connection: sqlite3.Connection) -> str:
            if "failsoft-docs-" not in connection.execute("PRAGMA database_list").fetchone()[2]:
                connection.execute("PRAGMA max_page_count = 1")
                connection.execute("CREATE TABLE big AS SELECT zeroblob(1000000)")
            return "answered"

        assert index.ask(fill) == "answered"
        assert index.take_warnings() == [TEMPORARY]


CROWD = """
import sys
from pathlib import Path
from tests.doors import DocumentRoot
from tests.doors import DocumentIndex
from tests.doors import parse_query
from tests.doors import Scope, search_pages as search
index = DocumentIndex(DocumentRoot(Path(sys.argv[1])), cache_dir=Path(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
totals = set()
for turn in range(20):
    index._fresh_until = 0.0
    totals.add(index.ask(lambda connection: search(connection, parse_query("common"), Scope()))["total"])
print(sorted(totals), index.take_warnings(), flush=True)
index.close()
"""


class TestTogether:
    """Several threads and processes use one file."""

    def test_threads_share_an_index(self, index: DocumentIndex, write: Write) -> None:
        go = threading.Barrier(8)

        def ask(number: int) -> list[str]:
            go.wait(timeout=60)
            write({f"new/{number}.md": f"words {number}"})
            until = time.monotonic() + 30.0
            # Another thread may have walked the tree just before: its walk counts for as long as it took.
            while not (hits := found(index, f"words {number}")[:1]) and time.monotonic() < until:
                pass
            return hits

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, range(8)))

        assert answers == [[f"new/{number}.md"] for number in range(8)]

    def test_processes_build_one_index_together(self, tree: Path, tmp_path: Path, write: Write) -> None:
        write({f"many/{number}.md": f"# Page {number}\n\ncommon text {number}" for number in range(600)})
        crowd = [
            subprocess.Popen(
                [PYTHON, "-c", CROWD, tree, tmp_path / "cache"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(3)
        ]
        for process in crowd:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in crowd:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=120)[0] for process in crowd]

        assert answers == ["[600] []\n"] * 3
        assert [process.returncode for process in crowd] == [0, 0, 0]
        with sqlite3.connect(cache_file(tmp_path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("SELECT count(*) FROM documents").fetchone() == (604,)
            connection.execute("INSERT INTO pages (pages) VALUES ('integrity-check')")
        connection.close()

    def test_while_another_process_refreshes_the_last_state_is_served_with_a_warning(
        self, index: DocumentIndex, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(index_module, "_REFRESH_WAIT_S", 0.0)
        found(index, "words")
        assert index._store is not None
        lock = index._store.process_lock()
        assert lock is not None
        write({"new.md": "words"})

        with lock:
            assert found(index, "words") == ["notes.md"]
        assert index.take_warnings() == [BEHIND]
        assert found(index, "words") == ["new.md", "notes.md"]

    def test_an_index_that_stays_locked_is_overloaded(self, index: DocumentIndex) -> None:
        def locked(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA busy_timeout = 0")
            file = connection.execute("PRAGMA database_list").fetchone()[2]
            with closing(sqlite3.connect(file, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                connection.execute("BEGIN IMMEDIATE")

        with pytest.raises(Overloaded):
            index.ask(locked)
