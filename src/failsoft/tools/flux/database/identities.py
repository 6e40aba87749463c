"""Which ids of ModelSEED, BiGG and KEGG name the same metabolite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any


class Identities:
    """Look-ups between the ids of one metabolite, over a connection to the database. All answers may be empty."""

    def __init__(self, connection: sqlite3.Connection | None) -> None:
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def compounds_of(self, bigg: str) -> tuple[str, ...]:
        """Return the ModelSEED ids of a BiGG id, the usual one first."""
        rows = self._rows("SELECT compounds FROM metabolites WHERE id = ?", bigg)
        return tuple(json.loads(rows[0][0])) if rows else ()

    def is_known(self, bigg: str) -> bool:
        """Return whether this is a BiGG id that the database has."""
        return bool(self._rows("SELECT 1 FROM metabolites WHERE id = ?", bigg))

    def bigg_of(self, compound: str) -> tuple[str, ...]:
        """Return the BiGG ids of a ModelSEED id."""
        aliases = self._facts(compound).get("aliases", {})
        return tuple(aliases.get("BiGG", ()))

    def linked_to(self, compound: str) -> tuple[str, ...]:
        """Return the ModelSEED ids that were merged with this one, on either side."""
        return tuple(self._facts(compound).get("linked", ()))

    def aliased(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ModelSEED ids of compounds that have one of these ids in another database, such as KEGG."""
        found: list[str] = []
        for name in names:
            rows = self._rows("SELECT number FROM compounds_labels WHERE label = ? AND kind = 1 ORDER BY number", name)
            found += [f"cpd{number:05}" for (number,) in rows]
        return tuple(dict.fromkeys(found))

    def _facts(self, compound: str) -> dict[str, Any]:
        rows = self._rows("SELECT facts FROM compounds WHERE number = ?", int(compound[3:]))
        facts: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return facts

    def _rows(self, statement: str, value: str | int) -> list[Any]:
        return [] if self._connection is None else self._connection.execute(statement, (value,)).fetchall()
