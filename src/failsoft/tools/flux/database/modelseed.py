"""The tables of ModelSEED, as tab-separated text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from failsoft.tools.flux.database.entries import COMPOUND_ID, REACTION_ID, Aliases, Compound, Reaction

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
