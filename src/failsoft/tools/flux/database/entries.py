"""Compounds and reactions as records, independent of their source, and as rows of the database."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from failsoft.tools.database_files import FileKind

COMPOUND_ID = re.compile(r"cpd[0-9]{5}")
REACTION_ID = re.compile(r"rxn[0-9]{5}")
_ELEMENT = re.compile(r"([A-Z][a-z]?)([0-9]*)")

CORRECTED: Final = {
    "14glucan": ("cpd11735", "cpd21754"),
    "arab__L": ("cpd00224", "cpd19109", "cpd27351"),
    "but": ("cpd00211",),
    "cbi": ("cpd03422",),
    "cbl1": ("cpd00635",),
    "cd2": ("cpd01012",),
    "dca": ("cpd01107",),
    "ddca": ("cpd01741",),
    "f6p": ("cpd00072", "cpd19035"),
    "feenter": ("cpd03726",),
    "feoxam": ("cpd04761",),
    "fuc__L": ("cpd00751",),
    "glc__D": ("cpd00027", "cpd26821"),
    "glcr": ("cpd00609", "cpd00571"),
    "gln__L": ("cpd00053", "cpd00253"),
    "glu__L": ("cpd00023",),
    "hacolipa": ("cpd15482",),
    "hdcea": ("cpd05274", "cpd15237"),
    "lac__D": ("cpd00221",),
    "mal__L": ("cpd00130",),
    "melib": ("cpd03198",),
    "metsox_R__L": ("cpd15497", "cpd14720"),
    "metsox_S__L": ("cpd01914", "cpd14721", "cpd15498"),
    "ni2": ("cpd00244",),
    "no": ("cpd00418",),
    "o2": ("cpd00007",),
    "o2s": ("cpd00532",),
    "pheme": ("cpd00028",),
    "ppa": ("cpd00141",),
    "r5p": ("cpd00101", "cpd19028"),
    "ttdca": ("cpd03847",),
    "ttdcea": ("cpd15298",),
    "xylu__D": ("cpd00259",),
    "xylu__L": ("cpd00261",),
}
"""ModelSEED ids by BiGG id, the usual one first. They replace the annotations of the models that COBRApy ships, which
take oxygen for superoxide, D-xylulose for L-xylulose, and name no id for some fatty acids."""

Aliases = Mapping[str, tuple[str, ...]]
"""Names and ids elsewhere, by the source that they come from; `Name` are synonyms."""


class Compound(NamedTuple):
    """A compound.

    Args:
        formula: Empty if unknown.
        charge: None if unknown.
        linked: Ids of the compounds that an obsolete one was merged with.
    """

    id: str
    name: str
    abbreviation: str
    formula: str
    charge: int | None
    mass: float | None
    is_obsolete: bool
    linked: tuple[str, ...]
    aliases: Aliases


class Metabolite(NamedTuple):
    """A metabolite by its BiGG id.

    Args:
        compounds: ModelSEED ids of the same metabolite, the usual one first; none where ModelSEED has no such compound.
    """

    id: str
    name: str
    formula: str
    charge: int | None
    compounds: tuple[str, ...]


class Reaction(NamedTuple):
    """A reaction.

    Args:
        equation: In ids: `(1) cpd00001[0] + (1) cpd00012[0] <=> (2) cpd00009[0]`.
        definition: The same in names.
        reversibility: Its direction, estimated from energies: `>`, `<`, `=` both, `?` unknown.
        linked: Ids of the reactions that an obsolete one was merged with.
        pathways: As the source names them: `PWY-7205 (CMP phosphorylation)`.
    """

    id: str
    name: str
    abbreviation: str
    equation: str
    definition: str
    reversibility: str
    is_transport: bool
    ec_numbers: tuple[str, ...]
    is_obsolete: bool
    linked: tuple[str, ...]
    aliases: Aliases
    pathways: tuple[str, ...] = ()


Entries: TypeAlias = tuple[Iterable[Compound], Iterable[Reaction], Iterable[Metabolite]]


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


def elements(formula: str) -> dict[str, int]:
    """Return how many atoms of each element a formula has.

    >>> elements("C6H12O6")
    {'C': 6, 'H': 12, 'O': 6}
    """
    counted: dict[str, int] = {}
    for element, count in _ELEMENT.findall(formula):
        counted[element] = counted.get(element, 0) + int(count or 1)
    return counted


SCHEMA_VERSION = 4
"""Increase it with every change of the content: it is part of the file name, so older files are ignored."""
_KIND = FileKind(0x66736462, SCHEMA_VERSION)
"""`fsdb` in ASCII."""

NAME, REFERENCE = 0, 1
"""Kinds of label: names, which are searched by their parts, and formulas and ids elsewhere, which are not."""

_ENTRIES = """
CREATE TABLE {kind} (number INTEGER PRIMARY KEY, name TEXT NOT NULL, is_obsolete INTEGER NOT NULL, facts TEXT NOT NULL);
CREATE TABLE {kind}_labels (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL, kind INTEGER NOT NULL, is_obsolete INTEGER NOT NULL,
    label TEXT NOT NULL COLLATE NOCASE
);
CREATE VIRTUAL TABLE {kind}_search USING fts5 (label, content = '{kind}_labels', content_rowid = 'id',
    tokenize = 'trigram');
"""
_METABOLITES = """
CREATE TABLE metabolites (id TEXT PRIMARY KEY, name TEXT NOT NULL, formula TEXT NOT NULL, charge INTEGER,
    compounds TEXT NOT NULL) WITHOUT ROWID;
"""
"""By BiGG id. `compounds` are the ModelSEED ids as JSON, the usual one first."""
_PATHWAYS = """
CREATE TABLE pathways (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE);
CREATE TABLE pathway_reactions (pathway INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (pathway, number))
    WITHOUT ROWID;
"""
_FACTS = "CREATE TABLE facts (name TEXT NOT NULL, compounds INTEGER NOT NULL, reactions INTEGER NOT NULL);"


_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def fill(connection: sqlite3.Connection, tables: Tables) -> None:
    """Fill an empty database from the tables.

    Raises:
        sqlite3.Error: It cannot be written.
        Exception: Anything, if the tables are not what they should be.
    """
    compounds, reactions, metabolites = tables.read()
    compounds = list(compounds)
    reactions = list(reactions)
    scheme = _FACTS + _METABOLITES + _PATHWAYS + _ENTRIES.format(kind="compounds") + _ENTRIES.format(kind="reactions")
    connection.executescript(scheme)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO metabolites VALUES (?, ?, ?, ?, ?)", _metabolite_rows(compounds, metabolites))
    counts = (
        _insert(connection, "compounds", map(_compound_row, compounds)),
        _insert(connection, "reactions", map(_reaction_row, reactions)),
    )
    _insert_pathways(connection, reactions)
    connection.execute("INSERT INTO facts VALUES (?, ?, ?)", (tables.name, *counts))
    connection.execute("COMMIT")
    # Written last: a file without these marks is incomplete.
    connection.executescript(_KIND.marks())


def recognize(connection: sqlite3.Connection) -> tuple[str, int, int]:
    """Return the name of the tables that a database was filled from, and how many compounds and reactions it has.

    Raises:
        ForeignFileError: It is none of ours.
    """
    _KIND.recognize(connection)
    facts: tuple[str, int, int] = connection.execute("SELECT * FROM facts").fetchone()
    return facts


def folded(text: str) -> str:
    """Return a text as labels are compared: without case, runs of spaces as one."""
    return " ".join(text.casefold().split())


Row = tuple[tuple[Any, ...], list[tuple[int, str]]]
"""The columns of an entry, and its labels with their kinds."""


def _compound_row(entry: Compound) -> Row:
    facts = {
        "abbreviation": entry.abbreviation,
        "formula": entry.formula,
        "charge": entry.charge,
        "mass": entry.mass,
        "linked": entry.linked,
        "aliases": dict(entry.aliases),
    }
    labels = [*_labels(entry.name, entry.abbreviation, entry.aliases), (REFERENCE, entry.formula)]
    return (int(entry.id[3:]), entry.name, entry.is_obsolete, _as_json(facts)), labels


def _metabolite_rows(compounds: Iterable[Compound], metabolites: Iterable[Metabolite]) -> Iterator[tuple[Any, ...]]:
    """Yield one row for each BiGG id that the tables or the published models have.

    A table may give several ids for one metabolite, or one for two stereoisomers; the models' annotations decide
    which comes first.
    """
    listed: dict[str, list[Compound]] = {}
    for compound in compounds:
        for bigg in compound.aliases.get("BiGG", ()):
            listed.setdefault(bigg, []).append(compound)
    known = {item.id: item for item in metabolites}
    for bigg in listed.keys() | known.keys():
        ordered = [item.id for item in sorted(listed.get(bigg, ()), key=lambda item: (item.is_obsolete, item.id))]
        own = known.get(bigg)
        annotated = own.compounds if own is not None else ()
        trusted = annotated if bigg in CORRECTED or not ordered else [item for item in annotated if item in ordered]
        ids = list(dict.fromkeys([*trusted, *ordered]))
        facts = own or listed[bigg][0]
        yield bigg, facts.name, facts.formula, facts.charge, _as_json(ids)


def _reaction_row(entry: Reaction) -> Row:
    facts = {
        "abbreviation": entry.abbreviation,
        "equation": entry.equation,
        "definition": entry.definition,
        "reversibility": entry.reversibility,
        "is_transport": entry.is_transport,
        "ec_numbers": entry.ec_numbers,
        "linked": entry.linked,
        "aliases": dict(entry.aliases),
        "pathways": entry.pathways,
    }
    numbers = [(REFERENCE, number) for number in entry.ec_numbers]
    labels = [*_labels(entry.name, entry.abbreviation, entry.aliases), *numbers]
    return (int(entry.id[3:]), entry.name, entry.is_obsolete, _as_json(facts)), labels


def _labels(name: str, abbreviation: str, aliases: Aliases) -> Iterator[tuple[int, str]]:
    yield NAME, name
    yield NAME, abbreviation
    for source, names in aliases.items():
        for alias in names:
            yield NAME if source == "Name" else REFERENCE, alias


def _insert_pathways(connection: sqlite3.Connection, reactions: Iterable[Reaction]) -> None:
    ids: dict[str, int] = {}
    members = {(ids.setdefault(label, len(ids)), int(entry.id[3:])) for entry in reactions for label in entry.pathways}
    connection.executemany("INSERT INTO pathways VALUES (?, ?)", [(number, label) for label, number in ids.items()])
    connection.executemany("INSERT INTO pathway_reactions VALUES (?, ?)", sorted(members))


def _insert(connection: sqlite3.Connection, kind: str, rows: Iterable[Row]) -> int:
    count = 0
    for columns, labels in rows:
        connection.execute(f"INSERT OR IGNORE INTO {kind} VALUES (?, ?, ?, ?)", columns)  # noqa: S608 - two words of ours
        own: dict[str, tuple[int, str]] = {}
        for label_kind, label in labels:
            if label:
                own.setdefault(folded(label), (label_kind, " ".join(label.split())))
        connection.executemany(
            f"INSERT INTO {kind}_labels (number, kind, is_obsolete, label) VALUES (?, ?, ?, ?)",  # noqa: S608 - as above
            [(columns[0], label_kind, columns[2], label) for label_kind, label in own.values()],
        )
        count += 1
    connection.execute(f"CREATE INDEX {kind}_labeled ON {kind}_labels (label)")
    connection.execute(
        f"INSERT INTO {kind}_search (rowid, label) SELECT id, label FROM {kind}_labels WHERE kind = ?",  # noqa: S608 - as above
        (NAME,),
    )
    return count
