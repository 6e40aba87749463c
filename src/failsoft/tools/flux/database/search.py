"""Search by name: exact labels first, then labels that begin with the words, then those that hold them somewhere."""

from __future__ import annotations

import sqlite3
from typing import Literal, NamedTuple, TypeAlias

from rapidfuzz import fuzz, process

from failsoft.framework.text import printable
from failsoft.tools.flux.database.building import NAME, folded

__all__ = ["Found", "Kind", "alike", "search"]

Kind: TypeAlias = Literal["compounds", "reactions"]
_TRIGRAM = 3
_QUERY_AT_MOST = 300
"""Characters of a query that count; no label that anybody searches for is longer."""
_WORDS_AT_MOST = 12
_LAST = "\U0010ffff"
_NEAR_AT_MOST = 300
"""Labels that share parts with a misspelt one and are compared with it in full."""
_PARTS_AT_MOST = 12
"""Parts of a misspelt name that are looked for: each may occur thousands of times."""
_ALIKE_ABOVE = 65.0


class Found(NamedTuple):
    """What a search found.

    Args:
        matches: Number and the label that matched, best first.
        total: How many there are in all.
    """

    matches: list[tuple[int, str]]
    total: int


def search(connection: sqlite3.Connection, kind: Kind, query: str, limit: int) -> Found:
    """Return the entries with a label that holds every word of the query.

    A formula or an id of another database has to be given in full. Entries that are in use come before obsolete ones,
    short labels before long ones.
    """
    wanted = _wanted(query)
    words = wanted.split(" ")[:_WORDS_AT_MOST]
    found = _search(connection, kind, wanted, words, limit)
    if not found.total:
        loose = [part for word in words for part in _parts(word)]
        if loose != words:
            found = _search(connection, kind, wanted, loose[:_WORDS_AT_MOST], limit)
    return found


def alike(connection: sqlite3.Connection, kind: Kind, query: str, limit: int = 3) -> list[str]:
    """Return names that are spelled like the query, for one that found nothing."""
    wanted = _wanted(query)
    parts = [wanted[start : start + _TRIGRAM] for start in range(max(0, len(wanted) - _TRIGRAM + 1))]
    parts = parts[:: 1 + len(parts) // _PARTS_AT_MOST]
    if not parts:
        return []
    rows = connection.execute(
        f"SELECT l.label FROM {kind}_search s JOIN {kind}_labels l ON l.id = s.rowid"  # noqa: S608 - a word of ours
        f" WHERE {kind}_search MATCH ? ORDER BY s.rank LIMIT ?",
        (" OR ".join(map(_quoted, parts)), _NEAR_AT_MOST),
    )
    labels = {folded(label): label for (label,) in rows}
    close = process.extract(wanted, list(labels), scorer=fuzz.ratio, score_cutoff=_ALIKE_ABOVE, limit=limit)
    return [labels[key] for key, _, _ in close]


def _wanted(query: str) -> str:
    """Return the query as labels are compared, without what SQLite cannot be given: nulls and halves of characters."""
    return folded(printable(query[:_QUERY_AT_MOST]))


def _search(connection: sqlite3.Connection, kind: Kind, wanted: str, words: list[str], limit: int) -> Found:
    long = [word for word in words if len(word) >= _TRIGRAM]
    short = [word for word in words if 0 < len(word) < _TRIGRAM]
    if long:
        held = f"{kind}_search s JOIN {kind}_labels l ON l.id = s.rowid WHERE {kind}_search MATCH :match"
    else:  # too short for the index by parts: labels that begin so
        held = f"{kind}_labels l WHERE l.label >= :wanted AND l.label < :after AND l.kind = :name"
    held += "".join(f" AND instr(lower(l.label), :short{place})" for place in range(len(short)))
    # The score is the rank of the match and, within it, the length of the label; the label is that of the best score.
    rows = connection.execute(
        f"""
        WITH hits (number, score, label) AS (
            SELECT number, is_obsolete * 100000 + (kind <> :name) * 10000, label FROM {kind}_labels
                WHERE label = :wanted
            UNION ALL
            SELECT l.number, l.is_obsolete * 100000 + 20000 + (l.label < :wanted OR l.label >= :after) * 10000
                + min(length(l.label), 9999), l.label FROM {held}
        )
        SELECT number, label, count(*) OVER () FROM (
            SELECT number, min(score) AS score, label FROM hits GROUP BY number
        ) ORDER BY score, number LIMIT :limit
        """,  # noqa: S608 - words of ours; what the caller wrote is bound
        {
            "wanted": wanted,
            "after": wanted + _LAST,
            "match": " ".join(map(_quoted, long)),
            "name": NAME,
            "limit": limit,
            **{f"short{place}": word for place, word in enumerate(short)},
        },
    ).fetchall()
    return Found([(number, label) for number, label, _ in rows], rows[0][2] if rows else 0)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _parts(word: str) -> list[str]:
    """Return the pieces of a word between its signs: `d_glucose` is `d` and `glucose`."""
    return "".join(character if character.isalnum() else " " for character in word).split()
