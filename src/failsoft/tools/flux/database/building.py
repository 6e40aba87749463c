"""The schema of the database file, and filling it from the tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from failsoft.tools.database_files import FileKind
from failsoft.tools.flux.database.bigg import CORRECTED
from failsoft.tools.flux.database.entries import Aliases, Compound, Metabolite, Reaction
from failsoft.tools.flux.database.tables import Tables

SCHEMA_VERSION = 3
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
