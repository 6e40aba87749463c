"""Search by name: exact labels first, then prefixes, then substrings."""

from __future__ import annotations

import re
import sqlite3
from typing import Final, NamedTuple

from rapidfuzz import fuzz, process

from failsoft.framework.text import printable
from failsoft.tools.flux.database.database import Database
from failsoft.tools.flux.database.entries import (
    COMPOUNDS,
    NAME,
    REACTIONS,
    AnyKind,
    Compound,
    Reaction,
    compound_by_any_id,
    entry_of,
    folded,
)

_LOOSE_ID: Final = re.compile(r"(?:ex_)?(cpd|rxn)[\s_:-]*0*([0-9]{1,5})(?:[_\[][a-z][0-9]?\]?)?")
_BIGG_ID: Final = re.compile(r"(?:[MR]_)?(?:EX_)?(.+?)(?:_[a-z][0-9]?|\[[a-z][0-9]?\]|\([a-z][0-9]?\))?")
_STEREO_OF_BIGG: Final = re.compile(r"(?<=[A-Za-z0-9])[-_](?=[DLRS]$)")
"""One separator where BiGG ids have two: `glc-D`."""
_EC: Final = re.compile(r"^ec[\s:]*(?=[0-9])")
_ENZYME: Final = re.compile(r"(ec[\s:]*)?[1-7](\.([0-9]{1,3}|-)){1,3}")
_TRIGRAM = 3
_QUERY_AT_MOST = 300
"""Characters of a query that count; labels are shorter."""
_WORDS_AT_MOST = 12
_LAST = "\U0010ffff"
_NEAR_AT_MOST = 300
"""Labels that share parts with a misspelt one and are compared with it in full."""
_PARTS_AT_MOST = 12
"""Parts of a misspelt name that are looked for: each may occur thousands of times."""
_ALIKE_ABOVE = 65.0
_STEREO = re.compile(r"^(?:[dlrs]|dl|alpha|beta)-")
_ALIKE_AT_MOST = 3


class Hits(NamedTuple):
    """What a search found.

    Args:
        entries: With the label that matched, best first.
        total: How many there are in all.
        alike: Names that are spelled like the query, where there are none.
    """

    entries: list[tuple[Compound | Reaction, str]]
    total: int
    alike: list[str]


def plain_id(kind: AnyKind, text: str) -> str | None:
    """Return the id of which a text is another spelling, or None: `CPD27` and `EX_cpd00027_e0` are `cpd00027`."""
    loose = _LOOSE_ID.fullmatch(_wanted(text))
    return kind.id_of(int(loose[2])) if loose is not None and loose[1] == kind.prefix else None


def _bigg_ids(text: str) -> list[str]:
    """Return the ids of BiGG that a text may mean, itself first: `EX_glc-D(e)` is `glc__D`."""
    given = text.strip()
    bare = _BIGG_ID.fullmatch(given)
    return [given, *([bare[1], _STEREO_OF_BIGG.sub("__", bare[1])] if bare is not None else [])]


def is_ec_number(query: str) -> bool:
    """Return whether a query is an EC number, also a partial one."""
    return _ENZYME.fullmatch(_wanted(query)) is not None


def find(database: Database, kind: AnyKind, query: str, limit: int) -> Hits:
    """Return the entries with a label that holds every word of the query.

    A formula, an EC number or an id has to be given in full; a reaction is also found by its pathways. Entries in use
    come before obsolete ones, short labels before long ones.

    Raises:
        DATABASE_NOT_LOADED: The database is not available.
    """

    def question(connection: sqlite3.Connection) -> Hits:
        matches, total = _matches(connection, kind, query, limit)
        if matches:
            found = ((entry_of(connection, kind, kind.id_of(number)), label) for number, label in matches)
            return Hits([(entry, label) for entry, label in found if entry is not None], total, [])
        # A metabolite that BiGG has and ModelSEED does not, or the BiGG id of an exchange or with a compartment.
        for bigg in _bigg_ids(query) if kind is COMPOUNDS else ():
            bare = compound_by_any_id(connection, bigg)
            if bare is not None:
                return Hits([(bare, query.strip())], 1, [])
        return Hits([], 0, _alike(connection, kind, query))

    return database.ask(question)


class _Found(NamedTuple):
    """The number and the matching label of each entry, best first, and how many there are in all."""

    matches: list[tuple[int, str]]
    total: int


def _matches(connection: sqlite3.Connection, kind: AnyKind, query: str, limit: int) -> _Found:
    wanted = _wanted(query)
    numbered = plain_id(kind, query)
    if numbered is not None:
        entry = entry_of(connection, kind, numbered)
        return _Found([(kind.number_of(numbered), entry.name)], 1) if entry is not None else _Found([], 0)
    if kind is REACTIONS:
        wanted = _EC.sub("", wanted)
    words = wanted.split(" ")[:_WORDS_AT_MOST]
    found = _search(connection, kind, wanted, words, limit)
    if not found.total:
        loose = [part for word in words for part in _parts(word)]
        if loose != words:
            found = _search(connection, kind, wanted, loose[:_WORDS_AT_MOST], limit)
    if not found.total and kind is REACTIONS:
        found = _in_pathways(connection, words, limit)
    return _usual_first(connection, query.strip(), found, limit) if kind is COMPOUNDS else found


def _usual_first(connection: sqlite3.Connection, bigg: str, found: _Found, limit: int) -> _Found:
    """Return the matches of a BiGG id with the usual compound first: several stereoisomers may list the same id."""
    statement = """
        SELECT c.number FROM metabolites m, json_each(m.compounds) e
            JOIN compounds c ON c.number = CAST(substr(e.value, 4) AS INTEGER) WHERE m.id = ? ORDER BY e.key
    """
    usual = [number for (number,) in connection.execute(statement, (printable(bigg),))]
    labels = dict(found.matches)
    rest = [(number, label) for number, label in found.matches if number not in usual]
    first = [(number, labels.get(number, bigg)) for number in usual]
    return _Found([*first, *rest][:limit], max(found.total, len(first) + len(rest)))


def _in_pathways(connection: sqlite3.Connection, words: list[str], limit: int) -> _Found:
    """Return the reactions of pathways whose name or id holds every word."""
    held = " AND ".join(f"instr(lower(p.label), :word{index})" for index in range(len(words)))
    rows = connection.execute(
        f"""
        SELECT r.number, min(p.label), count(*) OVER () FROM pathways p
            JOIN pathway_reactions m ON m.pathway = p.id JOIN reactions r ON r.number = m.number
            WHERE {held} GROUP BY r.number ORDER BY r.is_obsolete, min(length(p.label)), r.number LIMIT :limit
        """,  # noqa: S608 - fixed names; the query is bound
        {"limit": limit, **{f"word{index}": word for index, word in enumerate(words)}},
    ).fetchall()
    return _Found([(number, label) for number, label, _ in rows], rows[0][2] if rows else 0)


def _alike(connection: sqlite3.Connection, kind: AnyKind, query: str) -> list[str]:
    """Return names spelled like a query that found nothing."""
    wanted = _wanted(query)
    parts = [wanted[start : start + _TRIGRAM] for start in range(max(0, len(wanted) - _TRIGRAM + 1))]
    parts = parts[:: 1 + len(parts) // _PARTS_AT_MOST]
    if not parts:
        return []
    rows = connection.execute(
        f"SELECT l.label FROM {kind.many}_search s JOIN {kind.many}_labels l ON l.id = s.rowid"  # noqa: S608 - a fixed table name
        f" WHERE {kind.many}_search MATCH ? ORDER BY s.rank LIMIT ?",
        (" OR ".join(map(_quoted, parts)), _NEAR_AT_MOST),
    )
    labels = {folded(label): label for (label,) in rows}
    close = process.extract(
        wanted,
        list(labels),
        scorer=fuzz.ratio,
        processor=_without_stereo,
        score_cutoff=_ALIKE_ABOVE,
        limit=_ALIKE_AT_MOST,
    )
    return [labels[key] for key, _, _ in close]


def _without_stereo(name: str) -> str:
    """Return a folded name without the prefix for its stereoisomer, which most queries leave out: `d-glucose`."""
    return _STEREO.sub("", name)


def _wanted(query: str) -> str:
    """Return the query folded like labels, without the NUL characters and lone surrogates that SQLite rejects."""
    return folded(printable(query[:_QUERY_AT_MOST]))


def _search(connection: sqlite3.Connection, kind: AnyKind, wanted: str, words: list[str], limit: int) -> _Found:
    long = [word for word in words if len(word) >= _TRIGRAM]
    short = [word for word in words if 0 < len(word) < _TRIGRAM]
    if long:
        held = f"{kind.many}_search s JOIN {kind.many}_labels l ON l.id = s.rowid WHERE {kind.many}_search MATCH :match"
    else:  # too short for the trigram index: match the beginning of labels
        held = f"{kind.many}_labels l WHERE l.label >= :wanted AND l.label < :after AND l.kind = :name"
    held += "".join(f" AND instr(lower(l.label), :short{index})" for index in range(len(short)))
    # The score is the rank of the match and, within it, the length of the label; the label is that of the best score.
    rows = connection.execute(
        f"""
        WITH hits (number, score, label) AS (
            SELECT number, is_obsolete * 100000 + (kind <> :name) * 10000, label FROM {kind.many}_labels
                WHERE label = :wanted
            UNION ALL
            SELECT l.number, l.is_obsolete * 100000 + 20000 + (l.label < :wanted OR l.label >= :after) * 10000
                + min(length(l.label), 9999), l.label FROM {held}
        )
        SELECT number, label, count(*) OVER () FROM (
            SELECT number, min(score) AS score, label FROM hits GROUP BY number
        ) ORDER BY score, number LIMIT :limit
        """,  # noqa: S608 - fixed names; the query is bound
        {
            "wanted": wanted,
            "after": wanted + _LAST,
            "match": " ".join(map(_quoted, long)),
            "name": NAME,
            "limit": limit,
            **{f"short{index}": word for index, word in enumerate(short)},
        },
    ).fetchall()
    return _Found([(number, label) for number, label, _ in rows], rows[0][2] if rows else 0)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _parts(word: str) -> list[str]:
    """Return the pieces of a word between its signs: `d_glucose` is `d` and `glucose`."""
    return "".join(character if character.isalnum() else " " for character in word).split()
