"""A stored outcome under changed code: converted to the new result type, or refused, and never run again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from failsoft.errors import BadOutput
from tests.doors import META_KEY, ForeignScope, ForeignTool, ForeignTools, Result, read_outcome
from tests.framework.recording import quiet_runtime
from tests.recovery.idempotency import changing_shop
from tests.recovery.idempotency.changing_shop import called
from tests.recovery.idempotency.processes import shared

LOST = [None, "IDEMPOTENCY_OUTCOME_UNKNOWN"]
RECEIPT = {"number": 7, "day": "2026-01-19"}
CASES: list[tuple[str, str, Any]] = [
    ("receipt", "receipt", [RECEIPT, None]),
    ("receipt", "longer", [{**RECEIPT, "note": ""}, None]),
    ("receipt", "shorter", [{"number": 7}, None]),
    ("receipt", "plain", [RECEIPT, None]),
    ("receipt", "untyped", [RECEIPT, None]),
    ("receipt", "renamed", LOST),
    ("receipt", "text", LOST),
    ("number", "number", [7, None]),
    ("number", "text", LOST),
    ("number", "moment", LOST),
    ("number", "truth", LOST),
    ("text", "number", LOST),
    ("blocks", "number", LOST),
]


def without_digest(folder: Path) -> None:
    """Make the outcome in the store one of a version that stored no digest."""
    store = sqlite3.connect(folder / "state.sqlite")
    for key, text in store.execute("SELECT key, value FROM record WHERE value LIKE '%outcome%'").fetchall():
        tree = json.loads(text)
        outcome = json.loads(tree["outcome"])
        assert outcome.pop("schema")
        changed = json.dumps({**tree, "outcome": json.dumps(outcome)})
        store.execute("UPDATE record SET value = ? WHERE key = ?", (changed, key))
    store.commit()
    store.close()


@pytest.mark.parametrize("has_digest", [True, False], ids=["digest", "no digest"])
@pytest.mark.parametrize(("before", "after", "expected"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_an_outcome_under_a_changed_result_type_is_converted_or_refused(
    tmp_path: Path, before: str, after: str, expected: Any, has_digest: bool
) -> None:
    assert asyncio.run(called(tmp_path, before))[1] is None
    if not has_digest:
        without_digest(tmp_path)
    assert asyncio.run(called(tmp_path, after)) == expected
    assert (tmp_path / "runs").read_text().count("run") == 1


def test_an_outcome_of_another_process_is_converted(tmp_path: Path) -> None:
    answers = []
    for kind in ("receipt", "longer", "text"):
        program = [sys.executable, changing_shop.__file__, str(tmp_path), kind]
        answers.append(json.loads(subprocess.run(program, check=True, capture_output=True, text=True).stdout))
    assert answers == [[RECEIPT, None], [{**RECEIPT, "note": ""}, None], LOST]
    assert (tmp_path / "runs").read_text().count("run") == 1


COUNT = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
TEXT = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
FOREIGN: list[tuple[Any, Any, bool]] = [
    (COUNT, COUNT, True),
    (COUNT, {**COUNT, "title": "Count"}, True),
    (COUNT, None, True),
    (None, COUNT, True),
    (COUNT, TEXT, False),
    (None, TEXT, False),
    (COUNT, {"type": "object", "$ref": "#/nowhere"}, False),
]


@pytest.mark.parametrize(("before", "after", "is_replayed"), FOREIGN)
def test_the_outcome_of_a_foreign_tool_is_held_to_the_schema_that_its_server_lists_now(
    before: Any, after: Any, is_replayed: bool
) -> None:
    runs = []

    async def run(arguments: Any, call: Any) -> Any:
        runs.append(arguments)
        return {"content": [], "structuredContent": {"result": 7}, "_meta": {"shop/receipt": "r-1"}}

    async def main() -> list[Any]:
        tools = ForeignTools("shop", identity="shop", runtime=quiet_runtime(state=shared()))
        answers = []
        for schema in (before, after):
            operation = tools.put(ForeignTool(name="count", input_schema={"type": "object"}, output_schema=schema))
            answers.append(await operation.call({}, ForeignScope(meta={META_KEY: "k1"}, run=run)))
        return answers

    first, second = asyncio.run(main())
    assert first.success
    assert second.data == (first.data if is_replayed else None)
    assert (second.error is None or second.error.code) == (is_replayed or LOST[1])
    assert len(runs) == 1


@pytest.mark.parametrize("is_first_foreign", [True, False])
def test_the_outcome_of_a_tool_that_was_adopted_since_or_no_longer_is_is_refused(is_first_foreign: bool) -> None:
    own, foreign = Result(dict[str, Any]), ForeignTools("shop", identity="shop", runtime=quiet_runtime())
    adopted = foreign.put(ForeignTool(name="count", input_schema={"type": "object"})).result
    kept, now = (adopted, own) if is_first_foreign else (own, adopted)
    value = '{"whole": {"content": []}}' if is_first_foreign else '{"data": {"content": []}}'
    facts = '"attempts": 1, "warnings": [], "documents_processed": null, "receipt": null'
    with pytest.raises(BadOutput):
        read_outcome(f'{{"value": {value}, "schema": "{now.digest}", {facts}}}', now)
    assert read_outcome(f'{{"value": {value}, "schema": "{kept.digest}", {facts}}}', kept).value == {"content": []}
