"""The tables of ModelSEED: found in a folder or an installed distribution, and read; else COBRApy's models.

`dnngior` carries the tables. It is never imported, and cannot be a dependency: its requirements conflict with current
versions of COBRApy.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final, NamedTuple

from failsoft.tools.flux.database.entries import COMPOUNDS, REACTIONS, Aliases, AnyKind, Compound, Entries, Reaction
from failsoft.tools.flux.database.shipped import entries_of, metabolites_of, read_models, shipped_files

SHIPPED: Final = "the models that COBRApy ships"
"""The name of the tables where no others are installed."""
_DISTRIBUTION: Final = "dnngior"
_ENDINGS: Final = (".tsv", ".tsv.gz", ".tsv.tar.gz")
_LOOKED_AT_AT_MOST = 50_000
"""Files of a folder that are examined, in case the setting names the root of the disk."""
_NOTHING: Final = frozenset({"", "null"})
_SOURCES: Final = frozenset({"Name", "BiGG", "KEGG", "MetaCyc", "ChEBI", "MetaNetX"})
"""Sources whose aliases are kept. The others are single models and mirrors of MetaCyc, which would double the size."""
_COLUMNS: Final = frozenset({*Compound._fields, *Reaction._fields, "linked_compound", "linked_reaction"})
"""The columns that are read, about half of the text."""
Row = Mapping[str, str]


class TablesError(Exception):
    """No tables were found, or none in them; the message says what was expected, and may contain paths."""


class Tables(NamedTuple):
    """Tables that were found, not yet read.

    Args:
        name: The name of the source in messages to callers.
        key: Identifies this source and, after a dash, its version.
        read: Returns what is in them; raises anything if the files are not what their names say.
    """

    name: str
    key: str
    read: Callable[[], Entries]


def find_tables(folder: Path | None) -> Tables:
    """Return the tables to use.

    Args:
        folder: A folder that holds them; without one, what is installed.

    Raises:
        TablesError: None were found.
    """
    found = _pair(_files_in(_installed() if folder is None else folder.expanduser().absolute()))
    if found is not None:
        return found
    if folder is not None:
        msg = f"{folder} is not a folder with compounds.tsv and reactions.tsv in it"
        raise TablesError(msg)
    models = shipped_files()
    if not models:
        msg = f"neither {_DISTRIBUTION} is installed, which has the tables, nor COBRApy, whose models have some ids"
        raise TablesError(msg)
    return Tables(SHIPPED, _stamp(models), lambda: entries_of(read_models()))


def _installed() -> Path | None:
    try:
        return Path(str(distribution(_DISTRIBUTION).locate_file(_DISTRIBUTION)))
    except PackageNotFoundError:
        return None


def _files_in(folder: Path | None) -> Iterator[Path]:
    seen = 0
    for where, _, names in os.walk(folder) if folder is not None else ():
        seen += len(names) + 1
        yield from (Path(where, name) for name in names)
        if seen > _LOOKED_AT_AT_MOST:
            return


def _pair(files: Iterable[Path]) -> Tables | None:
    """Return the tables among these files: two of the same ending, side by side."""
    found = {path for path in files if path.name.startswith((COMPOUNDS.many, REACTIONS.many))}
    for ending in _ENDINGS:
        for compounds in sorted(path for path in found if path.name == f"{COMPOUNDS.many}{ending}"):
            reactions = compounds.with_name(f"{REACTIONS.many}{ending}")
            if reactions in found:
                return Tables("compounds.tsv", _stamp((compounds, reactions)), partial(_read, compounds, reactions))
    return None


def _read(compounds: Path, reactions: Path) -> Entries:
    return Entries(
        [_compound(row) for row in _rows(compounds, COMPOUNDS)],
        [_reaction(row) for row in _rows(reactions, REACTIONS)],
        metabolites_of(read_models()),
    )


def _rows(file: Path, kind: AnyKind) -> Iterator[Row]:
    """Yield the rows of a table that have an id.

    Raises:
        TablesError: None has.
    """
    # Not the csv module: names have quotation marks in them, and no field has a tab or a line end.
    lines = iter(_text(file).split("\n"))
    names = next(lines).rstrip("\r").split("\t")
    wanted = [(name, index) for index, name in enumerate(names) if name in _COLUMNS]
    is_empty = True
    for line in lines:
        cells = line.rstrip("\r").split("\t")
        if len(cells) == len(names):
            row = {name: cells[index] for name, index in wanted}
            if kind.is_id(row.get("id", "")):
                is_empty = False
                yield row
    if is_empty:
        msg = f"{file} has no row with an id of ModelSEED"
        raise TablesError(msg)


def _text(file: Path) -> str:
    data = file.read_bytes()
    if file.name.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            member = next(item for item in archive if item.isfile() and item.name.endswith(".tsv"))
            opened = archive.extractfile(member)
            data = opened.read() if opened is not None else b""
    elif file.name.endswith(".gz"):
        data = gzip.decompress(data)
    return data.decode("utf-8")


def _compound(row: Row) -> Compound:
    charge, mass = _number(row, "charge", 10_000), _number(row, "mass", 10_000_000)
    return Compound(
        id=row["id"],
        name=_field(row, "name") or row["id"],
        abbreviation=_field(row, "abbreviation"),
        formula=_field(row, "formula"),
        charge=None if charge is None else int(charge),
        mass=mass or None,
        is_obsolete=row.get("is_obsolete") == "1",
        linked=_parts(_field(row, "linked_compound"), ";"),
        aliases=_aliases(row),
    )


def _reaction(row: Row) -> Reaction:
    return Reaction(
        id=row["id"],
        name=_field(row, "name") or row["id"],
        abbreviation=_field(row, "abbreviation"),
        equation=_field(row, "equation"),
        definition=_field(row, "definition"),
        reversibility=_field(row, "reversibility") or "?",
        is_transport=row.get("is_transport") == "1",
        ec_numbers=_parts(_field(row, "ec_numbers"), "|"),
        is_obsolete=row.get("is_obsolete") == "1",
        linked=_parts(_field(row, "linked_reaction"), ";"),
        aliases=_aliases(row),
        pathways=_pathways(row),
    )


def _field(row: Row, name: str) -> str:
    value = row.get(name, "")
    return "" if value in _NOTHING else value.strip()


def _number(row: Row, name: str, unknown: float) -> float | None:
    """Return a number below that which means that it is unknown."""
    try:
        number = float(_field(row, name))
    except ValueError:
        return None
    return number if abs(number) < unknown else None


def _pathways(row: Row) -> tuple[str, ...]:
    """Return the names of pathways without their sources: `KEGG: one; two|MetaCyc: three`."""
    listed = _field(row, "pathways").split("|")
    return tuple([name for item in listed for name in _parts(item.partition(": ")[2], "; ")])


def _aliases(row: Row) -> Aliases:
    """Return names and ids by source, as `Name: one; two|KEGG: three` has them."""
    items = (item.partition(": ") for item in _field(row, "aliases").split("|"))
    found = {source: tuple(dict.fromkeys(_parts(names, "; "))) for source, _, names in items if source in _SOURCES}
    return {source: names for source, names in found.items() if names}


def _parts(text: str, separator: str) -> tuple[str, ...]:
    return tuple([part for item in text.split(separator) if (part := item.strip()) not in _NOTHING])


def _stamp(files: Iterable[Path]) -> str:
    """Return a key for these files, followed by a stamp that changes when one of them is replaced."""
    places, states = [], []
    for file in files:
        status = file.stat()
        places.append(os.path.realpath(file))
        states.append(f"{status.st_size}|{status.st_mtime_ns}")
    return f"{_digest(places)}-{_digest(states)}"


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode(errors="surrogateescape")).hexdigest()[:16]
