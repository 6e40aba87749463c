"""Compounds and reactions: as records, as rows of the database, and the schema of its tables."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from rapidfuzz import process
from rapidfuzz.distance import OSA

from failsoft.framework.text import printable
from failsoft.tools.database_files import FileKind

SCHEMA_VERSION: Final = 4
"""Increase it with every change of the content: it is part of the file name, so older files are ignored."""
FILE_KIND: Final = FileKind(0x66736462, SCHEMA_VERSION)
"""`fsdb` in ASCII."""
NAME, REFERENCE = 0, 1
"""Kinds of label: names, which are searched by their parts, and formulas and ids elsewhere, which are not."""

_SCHEMA = """
CREATE TABLE facts (name TEXT NOT NULL, compounds INTEGER NOT NULL, reactions INTEGER NOT NULL);
CREATE TABLE metabolites (id TEXT PRIMARY KEY, name TEXT NOT NULL, formula TEXT NOT NULL, charge INTEGER,
    compounds TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pathways (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE);
CREATE TABLE pathway_reactions (pathway INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (pathway, number))
    WITHOUT ROWID;
"""
"""`metabolites` by BiGG id: `compounds` are the ModelSEED ids as JSON, the usual one first."""
_ENTRIES = """
CREATE TABLE {kind} (number INTEGER PRIMARY KEY, name TEXT NOT NULL, is_obsolete INTEGER NOT NULL, facts TEXT NOT NULL);
CREATE TABLE {kind}_labels (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL, kind INTEGER NOT NULL, is_obsolete INTEGER NOT NULL,
    label TEXT NOT NULL COLLATE NOCASE
);
CREATE VIRTUAL TABLE {kind}_search USING fts5 (label, content = '{kind}_labels', content_rowid = 'id',
    tokenize = 'trigram');
"""
_ELEMENT: Final = re.compile(r"([A-Z][a-z]?)([0-9]*)")
_SEPARATORS: Final = re.compile(r"[\W_]+")
"""What ids of other sources have in other places: `pyr[c]` is `pyr_c`."""
_SIMILAR_AT_MOST = 5
_SHORT = 6
"""Characters up to which one slip makes an id a similar one; above, two."""
_BEGINNING_AT_LEAST = 3
"""Characters from which on a text counts as the beginning of an id."""
_DIGITS = 5
_COMPARED_AT_MOST = 100

_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
Aliases = Mapping[str, Sequence[str]]
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
    linked: Sequence[str]
    aliases: Aliases

    @property
    def references(self) -> Sequence[str]:
        """What it is found by besides names and ids, if given in full."""
        return (self.formula,)


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
    ec_numbers: Sequence[str]
    is_obsolete: bool
    linked: Sequence[str]
    aliases: Aliases
    pathways: Sequence[str] = ()

    @property
    def references(self) -> Sequence[str]:
        """What it is found by besides names, ids and pathways, if given in full."""
        return self.ec_numbers


class Metabolite(NamedTuple):
    """A metabolite by its BiGG id.

    Args:
        compounds: ModelSEED ids of the same metabolite, the usual one first; none where ModelSEED has no such compound.
        is_certain: Whether these ids hold even where the tables say otherwise.
    """

    id: str
    name: str
    formula: str
    charge: int | None
    compounds: Sequence[str]
    is_certain: bool


class Entries(NamedTuple):
    """What a database is filled with; `metabolites` are those of published models."""

    compounds: Sequence[Compound]
    reactions: Sequence[Reaction]
    metabolites: Sequence[Metabolite]


E = TypeVar("E", bound=Compound | Reaction)
E_co = TypeVar("E_co", bound=Compound | Reaction, covariant=True)


@dataclass(frozen=True, slots=True)
class Kind(Generic[E_co]):
    """Compounds or reactions.

    Args:
        one: What one of them is called.
        prefix: The letters of their ids, which five digits follow.
        entry: The class of their records.
    """

    one: str
    prefix: str
    entry: type[E_co]

    @property
    def many(self) -> str:
        """What several are called; also the name of their table."""
        return f"{self.one}s"

    def is_id(self, text: str) -> bool:
        """Return whether a text has the form of an id; there may be no entry of it."""
        digits = text[len(self.prefix) :]
        return len(digits) == _DIGITS and text.startswith(self.prefix) and digits.isascii() and digits.isdigit()

    def number_of(self, entry_id: str) -> int:
        """Return the number in an id, which is the key of its row."""
        return int(entry_id[len(self.prefix) :])

    def id_of(self, number: int) -> str:
        """Return the id of a number."""
        return f"{self.prefix}{number:0{_DIGITS}}"


AnyKind = Kind[Compound | Reaction]
COMPOUNDS: Final = Kind("compound", "cpd", Compound)
REACTIONS: Final = Kind("reaction", "rxn", Reaction)


def elements(formula: str) -> dict[str, int]:
    """Return how many atoms of each element a formula has.

    >>> elements("C6H12O6")
    {'C': 6, 'H': 12, 'O': 6}
    """
    counted: dict[str, int] = {}
    for element, count in _ELEMENT.findall(formula):
        counted[element] = counted.get(element, 0) + int(count or 1)
    return counted


def folded(text: str) -> str:
    """Return a text as labels are compared: without case, runs of spaces as one."""
    return " ".join(text.casefold().split())


def similar_ids(wanted: str, known: Iterable[str]) -> list[str]:
    """Return ids that differ from one by a slip or two, or begin with it, at most five, the closest first.

    >>> similar_ids("PKG", ["PGK", "PGI", "PKGtex"])
    ['PGK', 'PKGtex']
    >>> similar_ids("pyr[c]", ["pyr_c", "glc__D_c"]), similar_ids("PFKA", ["pfkA"])
    (['pyr_c'], ['pfkA'])
    """
    ids = list(known)
    plain = _SEPARATORS.sub("", wanted.casefold()[:_COMPARED_AT_MOST])
    slips = 1 if len(plain) <= _SHORT else 2
    lowered = [_SEPARATORS.sub("", item.casefold()) for item in ids]
    found = process.extract(plain, lowered, scorer=OSA.distance, limit=_SIMILAR_AT_MOST, score_cutoff=slips)
    is_beginning = len(plain) >= _BEGINNING_AT_LEAST
    begun = [place for place, item in enumerate(lowered) if is_beginning and item.startswith(plain)]
    same = [place for _, slips, place in found if not slips]
    close = same or dict.fromkeys([*(place for _, _, place in found), *begun])
    return [ids[place] for place in close][:_SIMILAR_AT_MOST]


def fill(connection: sqlite3.Connection, name: str, entries: Entries) -> None:
    """Fill an empty database with the entries of the tables of this name.

    Raises:
        sqlite3.Error: It cannot be written.
    """
    tables = _SCHEMA + "".join(_ENTRIES.format(kind=kind.many) for kind in (COMPOUNDS, REACTIONS))
    connection.executescript(tables)
    connection.execute("BEGIN")
    rows = _metabolite_rows(entries.compounds, entries.metabolites)
    connection.executemany("INSERT INTO metabolites VALUES (?, ?, ?, ?, ?)", rows)
    _insert(connection, COMPOUNDS, entries.compounds)
    _insert(connection, REACTIONS, entries.reactions)
    _insert_pathways(connection, entries.reactions)
    counts = len(entries.compounds), len(entries.reactions)
    connection.execute("INSERT INTO facts VALUES (?, ?, ?)", (name, *counts))
    connection.execute("COMMIT")
    # Written last: a file without these marks is incomplete.
    connection.executescript(FILE_KIND.marks())


def entry_of(connection: sqlite3.Connection, kind: Kind[E], entry_id: str) -> E | None:
    """Return the entry of an id; None if there is none, or if it has not the form of an id."""
    if not kind.is_id(entry_id):
        return None
    number = kind.number_of(entry_id)
    statement = f"SELECT name, is_obsolete, facts FROM {kind.many} WHERE number = ?"  # noqa: S608 - a word of ours
    row = connection.execute(statement, (number,)).fetchone()
    if row is None:
        return None
    name, is_obsolete, facts = row
    return kind.entry(id=entry_id, name=name, is_obsolete=bool(is_obsolete), **json.loads(facts))


def compound_by_any_id(connection: sqlite3.Connection, given: str) -> Compound | None:
    """Return the compound of a ModelSEED or BiGG id.

    A BiGG id without a compound in ModelSEED gives one with the BiGG id as its id.
    """
    if COMPOUNDS.is_id(given):
        return entry_of(connection, COMPOUNDS, given)
    statement = "SELECT name, formula, charge, compounds FROM metabolites WHERE id = ?"
    row = connection.execute(statement, (printable(given),)).fetchone()
    if row is None:
        return None
    name, formula, charge, compounds = row
    known = (entry_of(connection, COMPOUNDS, item) for item in json.loads(compounds))
    bare = Compound(
        given, name or given, given, formula, charge, None, is_obsolete=False, linked=(), aliases={"BiGG": (given,)}
    )
    return next((item for item in known if item is not None), bare)


def _insert(connection: sqlite3.Connection, kind: Kind[E], entries: Iterable[E]) -> None:
    for entry in entries:
        facts = entry._asdict()
        columns = kind.number_of(facts.pop("id")), facts.pop("name"), facts.pop("is_obsolete"), _as_json(facts)
        connection.execute(f"INSERT OR IGNORE INTO {kind.many} VALUES (?, ?, ?, ?)", columns)  # noqa: S608 - two words of ours
        own: dict[str, tuple[int, str]] = {}
        for label_kind, label in _labels(entry):
            if label:
                own.setdefault(folded(label), (label_kind, " ".join(label.split())))
        connection.executemany(
            f"INSERT INTO {kind.many}_labels (number, kind, is_obsolete, label) VALUES (?, ?, ?, ?)",  # noqa: S608 - as above
            [(columns[0], label_kind, entry.is_obsolete, label) for label_kind, label in own.values()],
        )
    connection.execute(f"CREATE INDEX {kind.many}_labeled ON {kind.many}_labels (label)")
    connection.execute(
        f"INSERT INTO {kind.many}_search (rowid, label) SELECT id, label FROM {kind.many}_labels WHERE kind = ?",  # noqa: S608 - as above
        (NAME,),
    )


def _labels(entry: Compound | Reaction) -> Iterator[tuple[int, str]]:
    yield NAME, entry.name
    yield NAME, entry.abbreviation
    for source, names in entry.aliases.items():
        for alias in names:
            yield NAME if source == "Name" else REFERENCE, alias
    for reference in entry.references:
        yield REFERENCE, reference


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
        if ordered and not (own is not None and own.is_certain):
            annotated = [item for item in annotated if item in ordered]
        facts = own or listed[bigg][0]
        yield bigg, facts.name, facts.formula, facts.charge, _as_json(list(dict.fromkeys([*annotated, *ordered])))


def _insert_pathways(connection: sqlite3.Connection, reactions: Iterable[Reaction]) -> None:
    ids: dict[str, int] = {}
    members = {
        (ids.setdefault(label, len(ids)), REACTIONS.number_of(entry.id))
        for entry in reactions
        for label in entry.pathways
    }
    connection.executemany("INSERT INTO pathways VALUES (?, ?)", [(number, label) for label, number in ids.items()])
    connection.executemany("INSERT INTO pathway_reactions VALUES (?, ?)", sorted(members))
