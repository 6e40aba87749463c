"""The database of compounds and reactions: built from any source, found again, repaired, and searched."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from failsoft.tools.flux import DatabaseNotLoaded
from tests.doors import (
    COMPOUNDS as COMPOUND,
    REACTIONS as REACTION,
    AnyKind,
    Database,
    TablesError,
    elements,
    find_entries,
    find_tables,
)
from tests.programs.flux import IN_FLUX
from tests.tools.flux.small_data import COMPOUNDS, REACTIONS, small_tables
from tests.zygote import PYTHON

pytestmark = IN_FLUX

PROGRAM = """
import sys
from pathlib import Path
from tests.doors import COMPOUNDS, Database, DatabaseNotLoaded, shipped_module
shipped_module.SHIPPED_MODELS = ("textbook",)  # the others take a second to read
"""


def printed(code: str, *arguments: str | Path) -> str:
    """Return what a program that uses the database prints."""
    command = [PYTHON, "-c", PROGRAM + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_tar_gz(name: str, text: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(text.encode())
        archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def folder(tmp_path: Path) -> Path:
    return small_tables(tmp_path / "tables" / "deep" / "within").parents[1]


def packed_folder(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    for kind, text in (("compounds", COMPOUNDS), ("reactions", REACTIONS)):
        (tmp_path / "tables" / f"{kind}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path / "tables"


def doubly_packed_folder(tmp_path: Path) -> Path:
    """A folder such as dnngior installs."""
    (tmp_path / "tables").mkdir()
    for kind, text in (("compounds", COMPOUNDS), ("reactions", REACTIONS)):
        (tmp_path / "tables" / f"{kind}.tsv.tar.gz").write_bytes(as_tar_gz(f"{kind}.tsv", text))
    return tmp_path / "tables"


@pytest.fixture
def small(tmp_path: Path) -> Database:
    return Database(small_tables(tmp_path / "tables"), cache_dir=tmp_path / "cache")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A small database that is searched only."""
    folder = tmp_path_factory.mktemp("searched")
    return Database(small_tables(folder / "tables"), cache_dir=folder / "cache")


@pytest.fixture(scope="module")
def shipped() -> Database:
    """The database of the models that COBRApy ships."""
    return Database()


# Where tables come from.


@pytest.mark.parametrize("make", [folder, packed_folder, doubly_packed_folder], ids=lambda make: make.__name__)
def test_tables_are_read_from_wherever_they_lie(make: Callable[[Path], Path], tmp_path: Path) -> None:
    database = Database(make(tmp_path), cache_dir=tmp_path / "cache")
    assert database.facts() == ("compounds.tsv", 9, 3)
    glucose = database.entry(COMPOUND, "cpd00027")
    assert glucose is not None
    assert (glucose.name, glucose.formula, glucose.charge, glucose.mass) == ("D-Glucose", "C6H12O6", 0, 180.0)
    assert glucose.aliases == {"Name": ["Glucose", "Dextrose"], "BiGG": ["glc__D"], "KEGG": ["C00031"]}


def test_a_folder_without_tables_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(TablesError):
        find_tables(tmp_path)


def test_an_unknown_name_finds_nothing(small: Database) -> None:
    odd = small.entry(COMPOUND, "cpd11927")
    assert odd is not None
    assert (odd.name, odd.formula, odd.charge, odd.mass, odd.aliases) == ('3"-odd', "", None, None, {})


def test_without_tables_the_models_of_cobrapy_are_read_and_cobrapy_is_not_imported(tmp_path: Path) -> None:
    code = "print(Database(cache_dir=Path(sys.argv[1])).facts()); assert 'cobra' not in sys.modules"
    assert "COBRApy" in printed(code, tmp_path)


def test_the_shipped_models_name_the_common_compounds(shipped: Database) -> None:
    names = {item: entry.name for item, entry in shipped.compounds(["cpd00001", "cpd00007", "cpd00002"]).items()}
    assert names == {"cpd00001": "H2O", "cpd00007": "O2", "cpd00002": "ATP"}
    kinase = shipped.entry(REACTION, "rxn00148")
    assert kinase is not None
    assert (kinase.name, kinase.ec_numbers, kinase.is_transport) == ("Pyruvate kinase", ["2.7.1.40"], False)
    assert kinase.equation.endswith("=> (1) cpd00002[c] + (1) cpd00020[c]")
    assert shipped.facts().total_compounds > 1_000


@pytest.mark.parametrize(
    ("query", "first"),
    [("water", "cpd00001"), ("oxygen", "cpd00007"), ("carbon dioxide", "cpd00011"), ("ammonia", "cpd00013")],
)
def test_the_shipped_models_are_searched_by_common_names(shipped: Database, query: str, first: str) -> None:
    assert found(shipped, query)[0] == first


def test_an_installed_distribution_is_found_and_not_imported(tmp_path: Path) -> None:
    tables = small_tables(tmp_path / "site" / "dnngior" / "files")
    (tables.parent / "__init__.py").write_text("raise RuntimeError")
    info = tmp_path / "site" / "dnngior-0.0.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dnngior\nVersion: 0.0.5\n")
    listed = [f"dnngior/files/{kind}.tsv,," for kind in ("compounds", "reactions")]
    (info / "RECORD").write_text("\n".join(["dnngior/__init__.py,,", *listed, "dnngior-0.0.5.dist-info/RECORD,,"]))
    code = "sys.path.insert(0, sys.argv[1]); print(Database(cache_dir=Path(sys.argv[2])).facts())"
    assert "total_compounds=9" in printed(code, tmp_path / "site", tmp_path / "cache")


# The file.


def files_in(cache: Path) -> list[Path]:
    return sorted(file for file in (cache / "flux").iterdir() if file.suffix != ".lock")


def test_the_file_is_built_once_and_found_again(small: Database, tmp_path: Path) -> None:
    small.facts()
    (file,) = files_in(tmp_path / "cache")
    before = file.stat()
    again = Database(tmp_path / "tables", cache_dir=tmp_path / "cache")
    assert list(again.compounds(["cpd00027", "cpd99999", "odd"])) == ["cpd00027"]
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_tables_that_changed_are_read_anew_and_the_old_file_goes(small: Database, tmp_path: Path) -> None:
    small.facts()
    small_tables(tmp_path / "tables", compounds=COMPOUNDS.replace("D-Glucose", "Renamed"))
    again = Database(tmp_path / "tables", cache_dir=tmp_path / "cache")
    glucose = again.entry(COMPOUND, "cpd00027")
    assert glucose is not None
    assert glucose.name == "Renamed"
    assert len(files_in(tmp_path / "cache")) == 1


def truncated(file: Path) -> None:
    with file.open("rb+") as opened:
        opened.truncate(file.stat().st_size // 2)


def overwritten(file: Path) -> None:
    file.write_bytes(b"no database at all" * 1_000)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def scribbled(file: Path) -> None:
    size = file.stat().st_size
    with file.open("rb+") as opened:
        opened.seek(4_096)
        opened.write(os.urandom(size - 4_096))


def unmarked(file: Path) -> None:
    """What a build that was interrupted would leave, if it wrote to the place itself."""
    with file.open("rb+") as opened:
        opened.seek(60)
        opened.write(bytes(12))


DAMAGE = [truncated, overwritten, emptied, scribbled, unmarked, Path.unlink]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("is_open", [False, True], ids=["at the start", "while it is in use"])
def test_a_damaged_file_is_built_anew(damage: Callable[[Path], None], is_open: bool, tmp_path: Path) -> None:
    tables = small_tables(tmp_path / "tables")
    first = Database(tables, cache_dir=tmp_path / "cache")
    first.facts()
    (file,) = files_in(tmp_path / "cache")
    if not is_open:
        first.close()
        first = Database(tables, cache_dir=tmp_path / "cache")
    else:
        first.close()  # idle connections would go on with what they have read
    damage(file)
    glucose = first.entry(COMPOUND, "cpd00027")
    assert glucose is not None
    assert glucose.name == "D-Glucose"
    assert find_entries(first, COMPOUND, "dextrose", 5).total == 1


def test_many_threads_that_ask_first_build_it_once(tmp_path: Path) -> None:
    database = Database(small_tables(tmp_path / "tables"), cache_dir=tmp_path / "cache")
    together = threading.Barrier(8)

    def ask(_: int) -> bool:
        together.wait(timeout=60)
        return database.entry(COMPOUND, "cpd00027") is not None

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert len(files_in(tmp_path / "cache")) == 1


def test_processes_that_ask_first_wait_for_one_another(tmp_path: Path) -> None:
    small_tables(tmp_path / "tables")
    code = "print(Database(Path(sys.argv[1]), cache_dir=Path(sys.argv[2])).entry(COMPOUNDS, 'cpd00027').name)"
    command = [PYTHON, "-c", PROGRAM + code, str(tmp_path / "tables"), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == ["D-Glucose"] * 3
    assert len(files_in(tmp_path / "cache")) == 1


def test_what_a_killed_builder_left_does_not_disturb(small: Database, tmp_path: Path) -> None:
    small.facts()
    (file,) = files_in(tmp_path / "cache")
    file.rename(file.with_suffix(".partial"))
    again = Database(tmp_path / "tables", cache_dir=tmp_path / "cache")
    assert again.facts().total_compounds == 9
    assert files_in(tmp_path / "cache") == [file]


# When it cannot be built.


def no_table(folder: Path) -> None:
    (folder / "compounds.tsv").write_text("nothing\tof the kind\n")


def not_utf8(folder: Path) -> None:
    (folder / "compounds.tsv").write_bytes(COMPOUNDS.encode() + b"cpd00100\t\xff\n")


def no_archive(folder: Path) -> None:
    for name in ("compounds", "reactions"):
        (folder / f"{name}.tsv").rename(folder / f"{name}.tsv.gz")


def gone(folder: Path) -> None:
    (folder / "reactions.tsv").unlink()


@pytest.mark.parametrize("spoil", [no_table, not_utf8, no_archive, gone], ids=lambda spoil: spoil.__name__)
def test_tables_that_cannot_be_read_are_database_not_loaded(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    tables = small_tables(tmp_path / "tables")
    spoil(tables)
    with pytest.raises(DatabaseNotLoaded) as caught:
        Database(tables, cache_dir=tmp_path / "cache").facts()
    assert str(tmp_path) not in caught.value.message
    assert not (tmp_path / "cache" / "flux").exists() or files_in(tmp_path / "cache") == []


def test_a_place_that_is_not_there_is_database_not_loaded_and_is_not_made_up_for(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotLoaded):
        Database(tmp_path / "nowhere", cache_dir=tmp_path / "cache").facts()


def test_a_cache_that_cannot_be_used_is_database_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(DatabaseNotLoaded) as caught:
        Database(small_tables(tmp_path / "tables"), cache_dir=tmp_path / "cache").facts()
    assert "tables" not in caught.value.reason


def test_a_failure_is_remembered_for_a_while(tmp_path: Path) -> None:
    database = Database(tmp_path / "tables", cache_dir=tmp_path / "cache")
    with pytest.raises(DatabaseNotLoaded):
        database.facts()
    small_tables(tmp_path / "tables")
    with pytest.raises(DatabaseNotLoaded):
        database.facts()
    assert Database(tmp_path / "tables", cache_dir=tmp_path / "cache").facts().total_reactions == 3


SMALL_DISK = """
import ctypes, subprocess
def mounted(*words):
    return subprocess.run(["mount", *words], stderr=subprocess.DEVNULL).returncode == 0
if ctypes.CDLL(None).unshare(0x20000) or not mounted("--make-rprivate", "/"):
    sys.exit("this user has no mounts of its own")
if not mounted("-t", "tmpfs", "-o", "size=16k", "none", sys.argv[2]):
    sys.exit("this user may not mount a small disk")
"""
"""It is mounted for the program alone, and goes with it."""


def test_a_full_disk_is_database_not_loaded_and_leaves_nothing(tmp_path: Path) -> None:
    code = """
try:
    Database(Path(sys.argv[1]), cache_dir=Path(sys.argv[2])).facts()
except DatabaseNotLoaded as error:
    print(error.reason, [file.name for file in Path(sys.argv[2], "flux").iterdir() if file.suffix != ".lock"])
"""
    (tmp_path / "small").mkdir()
    command = [PYTHON, "-c", PROGRAM + SMALL_DISK + code, str(small_tables(tmp_path / "tables"))]
    done = subprocess.run([*command, str(tmp_path / "small")], capture_output=True, text=True, timeout=120, check=False)
    if done.stderr.startswith("this user"):
        pytest.skip(done.stderr.strip())
    assert done.stdout == "there is no room on the disk to keep it []\n", done


# Look-ups and searches.


def found(database: Database, query: str, kind: AnyKind = COMPOUND, limit: int = 5) -> list[str]:
    return [entry.id for entry, _ in find_entries(database, kind, query, limit).entries]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("glucose", "cpd00027"),
        ("  D-GLUCOSE ", "cpd00027"),
        ("dextr", "cpd00027"),
        ("glcD", "cpd00027"),
        ("glc__D", "cpd00027"),
        ("C00031", "cpd00027"),
        ("C6H12O6", "cpd00027"),
        ("o2", "cpd00007"),
        ("water", "cpd00001"),
        ("oxide hydrogen", "cpd00001"),
        ("d_glucose", "cpd00027"),
        ("maltose", "cpd00179"),
    ],
)
def test_a_compound_is_found_by_name_part_formula_and_id_elsewhere(searched: Database, query: str, first: str) -> None:
    assert found(searched, query)[0] == first


def test_what_is_obsolete_comes_last(searched: Database) -> None:
    assert found(searched, "maltose") == ["cpd00179", "cpd01355"]


def test_no_query_breaks_the_search(small: Database, tmp_path: Path) -> None:
    small.facts()
    (file,) = files_in(tmp_path / "cache")
    before = file.stat()
    for query in ('"', "'", "a AND", "*", "(", "NEAR(", "%", "_", "\\", "ü", "x" * 10_000, "-"):
        for around in ("", "glucose", "\x00", "\ud800"):
            find_entries(small, COMPOUND, around + query + around, 5)
            find_entries(small, REACTION, around + query + around, 5)
        assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns), query


def test_a_search_that_finds_nothing_names_what_is_spelled_like_it(searched: Database) -> None:
    hits = find_entries(searched, COMPOUND, "glucoze", 5)
    assert (hits.entries, hits.total) == ([], 0)
    assert "Glucose" in hits.alike


def test_a_search_returns_no_more_than_asked_and_counts_all(searched: Database) -> None:
    hits = find_entries(searched, COMPOUND, "o", 1)
    assert len(hits.entries) == 1
    hits = find_entries(searched, REACTION, "phosphotransferase", 1)
    assert (len(hits.entries), hits.total) == (1, 2)


@pytest.mark.parametrize(
    ("query", "first"), [("hexokinase", "rxn00216"), ("2.7.1.40", "rxn00148"), ("kin", "rxn00216")]
)
def test_a_reaction_is_found_by_name_and_ec_number(searched: Database, query: str, first: str) -> None:
    assert found(searched, query, REACTION)[0] == first


def test_similar_ids_exist_and_are_of_the_same_kind(searched: Database) -> None:
    assert searched.similar(COMPOUND, "cpd00028")[0] == "cpd00027"
    assert searched.similar(REACTION, "rxn00149")[0] == "rxn00148"
    assert searched.similar(COMPOUND, "x" * 10_000) == []


def test_elements_are_counted() -> None:
    assert elements("C10H12N5O10P2") == {"C": 10, "H": 12, "N": 5, "O": 10, "P": 2}
    assert elements("NaCl") == {"Na": 1, "Cl": 1}
    assert elements("") == {}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("cpd00027", "cpd00027"),
        ("CPD27", "cpd00027"),
        ("glc__D", "cpd00027"),
        ("tartr__D", "cpd19018"),
        ("arab__L", "cpd00224"),
        ("colipap", "colipap"),
        ("C6H12O6", "cpd00027"),
    ],
)
def test_compounds_are_found_by_any_id(shipped: Database, query: str, first: str) -> None:
    assert found(shipped, query)[0] == first


@pytest.mark.parametrize("query", ["rxn00148", "EC 2.7.1.40", "EC:2.7.1.40", "2.7.1.40"])
def test_reactions_are_found_by_id_and_ec_number(shipped: Database, query: str) -> None:
    assert found(shipped, query, REACTION)[0] == "rxn00148"


def test_reactions_are_found_by_the_pathways_of_published_models(shipped: Database) -> None:
    found = find_entries(shipped, REACTION, "citric acid cycle", 50)
    assert {label for _, label in found.entries} == {"Citric Acid Cycle"}
    assert found.total > 5
