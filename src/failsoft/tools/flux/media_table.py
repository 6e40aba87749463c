"""Tables of media that a caller names."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

from failsoft.framework.text import bounded
from failsoft.tools.flux.input_files import InvalidInputFile

_HEADERS = frozenset({"compound", "compounds", "compound_id", "id", "metabolite", "exchange"})
_ROWS_AT_MOST = 1_000
_FULL_ROW = 3


def read_table(path: str, data: bytes) -> tuple[list[str], dict[str, list[float]]]:
    """Return the compounds of a table, and the bounds of those rows that have them.

    The columns are `compound`, `lower`, `upper`, or `compound`, `uptake`; separated by commas, semicolons or tabs. A
    header line and lines that begin with `#` are skipped.

    Raises:
        INVALID_INPUT_FILE: A row has no compound, or bounds that are not numbers; with the lines.
    """
    text = data.decode("utf-8-sig", errors="replace")
    separator = max("\t;,", key=text.count)
    compounds: list[str] = []
    bounds: dict[str, list[float]] = {}
    faults: list[dict[str, Any]] = []
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator), start=1):
        cells = [cell.strip() for cell in row]
        is_header = not compounds and cells and cells[0].casefold() in _HEADERS
        if not any(cells) or cells[0].startswith("#") or is_header:
            continue
        name, values = cells[0], [cell for cell in cells[1:_FULL_ROW] if cell]
        numbers = [_number(value) for value in values]
        if not name or None in numbers:
            why = "the first column is empty" if not name else "a bound is not a number"
            faults.append({"line": number, "id": bounded(name, 100), "message": why})
            continue
        compounds.append(name)
        known = [value for value in numbers if value is not None]
        if len(known) == 1:
            bounds[name] = [-abs(known[0]), 1_000.0]
        elif known:
            bounds[name] = known
    if (not compounds and not faults) or len(compounds) > _ROWS_AT_MOST:
        faults.append({"line": 1, "message": f"the table has {len(compounds)} rows; 1 to {_ROWS_AT_MOST} are possible"})
    if faults:
        said = f"is not a valid table: line {faults[0]['line']}: {faults[0]['message']}"
        raise InvalidInputFile.found(path, "table", said, faults)
    return compounds, bounds


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
