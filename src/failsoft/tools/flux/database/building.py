"""The database file: its schema, and how it is filled from the tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from failsoft.tools.flux.database.entries import Aliases, Compound, Reaction
from failsoft.tools.flux.database.tables import Tables

__all__ = ["NAME", "SCHEMA_VERSION", "ForeignFileError", "fill", "folded", "recognize"]

SCHEMA_VERSION = 2
"""To be raised with every change in what a file holds: its name has it, so that a file of before is not taken."""
_APPLICATION_ID = 0x66736462
"""`fsdb` in ASCII: tells our file from another program's."""

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
_FACTS = "CREATE TABLE facts (name TEXT NOT NULL, compounds INTEGER NOT NULL, reactions INTEGER NOT NULL);"


_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class ForeignFileError(sqlite3.DatabaseError):
    """The file is a database, but not one of ours, not of this version, or not complete."""


def fill(connection: sqlite3.Connection, tables: Tables) -> None:
    """Fill an empty database from the tables.

    Raises:
        sqlite3.Error: It cannot be written.
        Exception: Anything, if the tables are not what they should be.
    """
    compounds, reactions = tables.read()
    connection.executescript(_FACTS + _ENTRIES.format(kind="compounds") + _ENTRIES.format(kind="reactions"))
    connection.execute("BEGIN")
    counts = (
        _insert(connection, "compounds", map(_compound_row, compounds)),
        _insert(connection, "reactions", map(_reaction_row, reactions)),
    )
    connection.execute("INSERT INTO facts VALUES (?, ?, ?)", (tables.name, *counts))
    connection.execute("COMMIT")
    # Last: a file without these marks was not finished.
    connection.executescript(f"PRAGMA user_version = {SCHEMA_VERSION}; PRAGMA application_id = {_APPLICATION_ID};")


def recognize(connection: sqlite3.Connection) -> tuple[str, int, int]:
    """Return the name of the tables that a database was filled from, and how many compounds and reactions it has.

    Raises:
        ForeignFileError: It is none of ours.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (application, version) != (_APPLICATION_ID, SCHEMA_VERSION):
        msg = "the file is not a database of this version"
        raise ForeignFileError(msg)
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
