"""Data files for building models, from carveme and PyFBA, which are read but never imported."""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Literal, TypeAlias

from failsoft.framework.errors import Public, Unsupported, Words
from failsoft.framework.safe.author_reports import logger

Route: TypeAlias = Literal["homology", "template", "modelseedpy"]
"""How a model is built: from proteins alone, from their functions, or by ModelSEEDpy."""


@dataclass(frozen=True, slots=True)
class TemplateNames:
    """The name of a template in each data set; empty where it is missing.

    Args:
        universe: The universe of carveme.
        tables: The folder of the reactions in PyFBA.
    """

    universe: str = ""
    tables: str = ""


TEMPLATES: dict[str, TemplateNames] = {
    "GramNegative": TemplateNames("gramneg", "GramNegative"),
    "GramPositive": TemplateNames("grampos", "GramPositive"),
    "Core": TemplateNames("", "Core"),
    "Bacteria": TemplateNames("bacteria", "Microbial"),
    "Archaea": TemplateNames("archaea", ""),
    "Cyanobacteria": TemplateNames("cyanobacteria", ""),
}
"""Every template that a caller may name; seed 002 names the first three."""

_CARVEME = "carveme/data/generated/"
_PYFBA = "PyFBA/Biochemistry/ModelSEEDDatabase/"
_NEEDED = {
    "carveme": (_CARVEME + "bigg_proteins.dmnd", _CARVEME + "bigg_gprs.csv.gz", _CARVEME + "universe_gramneg.xml.gz"),
    "pyfba": (_PYFBA + "Biochemistry/reactions.json", _PYFBA + "Annotations/Roles.tsv"),
}
_TAKEN = {
    "carveme": (_CARVEME,),
    "pyfba": (_PYFBA, "PyFBA/metabolism/biomass.py"),
}
"""The files that are extracted from an archive."""
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz")


class TemplateData:
    """Finds the data sets on first use, and unpacks archives into the user's cache.

    Args:
        sources: Folders, wheels and sdists; a folder may hold such archives. What is installed comes after them.
        cache: Where archives are unpacked; by default in the user's cache folder.
    """

    def __init__(self, sources: Sequence[str | Path] = (), *, cache: Path | None = None) -> None:
        self._sources = tuple(Path(source).expanduser() for source in sources)
        self._cache = cache
        self._found: dict[str, Path | None] = {}
        self._lock = threading.Lock()

    @property
    def carveme(self) -> Path | None:
        """The folder of carveme's generated data: universes, proteins and their reactions."""
        root = self._root("carveme")
        return None if root is None else root / _CARVEME

    @property
    def pyfba(self) -> Path | None:
        """The folder `PyFBA`: ModelSEED's reactions, compounds, roles, complexes and templates."""
        root = self._root("pyfba")
        return None if root is None else root / "PyFBA"

    def loaded(self, route: Route) -> tuple[str, ...]:
        """Return the templates that a route can use; for ModelSEEDpy, all that exist."""
        if route == "modelseedpy":
            return tuple(TEMPLATES)
        has_data = (self.carveme if route == "homology" else self.pyfba) is not None
        return tuple(
            name
            for name, template in TEMPLATES.items()
            if has_data and (template.universe if route == "homology" else template.tables)
        )

    def _root(self, package: str) -> Path | None:
        with self._lock:
            if package not in self._found:
                self._found[package] = next(self._roots(package), None)
            return self._found[package]

    def _roots(self, package: str) -> Iterator[Path]:
        """Yield the folders that hold a package with all that is needed of it."""
        for source in self._sources:
            for candidate in _candidates(source, package):
                root = self._unpacked(candidate, package) if candidate.is_file() else candidate
                if root is not None and _is_complete(root, package):
                    yield root
        try:
            installed = Path(str(importlib.metadata.distribution(package).locate_file("")))
        except importlib.metadata.PackageNotFoundError:
            return
        if _is_complete(installed, package):
            yield installed

    def _unpacked(self, archive: Path, package: str) -> Path | None:
        """Return the folder with the archive's files, unpacked now or before."""
        try:
            facts = archive.stat()
            key = hashlib.sha256(f"{archive.resolve()}\n{facts.st_size}\n{facts.st_mtime_ns}".encode()).hexdigest()
            folder = self._cache_folder() / f"{package}-{key[:16]}"
            if not folder.is_dir():
                _unpack(archive, package, folder)
        except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
            logger.opt(exception=error).warning("An archive with data for building models cannot be unpacked")
            return None
        return folder

    def _cache_folder(self) -> Path:
        if self._cache is None:
            from platformdirs import user_cache_path  # noqa: PLC0415 - not needed where the folder is given

            self._cache = user_cache_path("failsoft")
        folder = self._cache / "flux-templates"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def _candidates(source: Path, package: str) -> Iterator[Path]:
    """Yield the paths at which a source may hold the package: itself, a folder in it, an archive in it."""
    yield source
    if source.is_dir():
        named = sorted(entry for entry in source.iterdir() if entry.name.lower().startswith(package))
        yield from (entry for entry in named if entry.is_dir() or entry.name.endswith(_ARCHIVES))


def _is_complete(root: Path, package: str) -> bool:
    return all((root / name).is_file() for name in _NEEDED[package])


def _unpack(archive: Path, package: str, folder: Path) -> None:
    """Unpack the needed files into a folder, atomically."""
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="unpacking-"))
    try:
        is_tar = archive.name.endswith((".tar.gz", ".tgz"))
        (_unpack_tar if is_tar else _unpack_zip)(archive, package, scratch)
        try:
            scratch.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unpack_tar(archive: Path, package: str, target: Path) -> None:
    with tarfile.open(archive, "r:gz") as packed:
        for member in packed:
            name = _taken(member.name, package)
            source = packed.extractfile(member) if name and member.isfile() else None
            if source is not None:
                with source:
                    _write(target / name, source)


def _unpack_zip(archive: Path, package: str, target: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            name = _taken(member.filename, package)
            if name and not member.is_dir():
                with packed.open(member) as source:
                    _write(target / name, source)


def _taken(name: str, package: str) -> str:
    """Return the target of a file in an archive, empty to skip it; an sdist has an outer folder."""
    parts = PurePosixPath(name).parts
    candidates = ("/".join(parts), "/".join(parts[1:]))
    return next((bare for bare in candidates if bare.startswith(_TAKEN[package]) and ".." not in parts), "")


def _write(target: Path, source: IO[bytes]) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with target.open("wb") as file:
        shutil.copyfileobj(source, file)


class TemplateNotLoaded(Unsupported):
    """The data that a template or a universe of reactions is made of are not on this server.

    Raised when: a template is known by name, and its tables, or the program that searches them, are not installed.
    Caller: use one of `loaded_templates`; without any, use `load_model`, or report it to the user.
    Operator: install the data that the log names, or set FAILSOFT_FLUX_TEMPLATES to a folder, wheel or sdist.
    """

    requested_template: Public[str]
    missing: Public[tuple[Words, ...]] = ()
    loaded_templates: Public[tuple[str, ...]] = ()
    retry = "after_fix"
    code = "TEMPLATE_NOT_LOADED"
    message = "The template '{requested_template}' is not loaded; this server lacks {missing}."
    hints = (
        "Use a template that is loaded: {loaded_templates}",
        "Use load_model for a model that needs no template",
        "The person who runs this server has to install what is missing",
    )
