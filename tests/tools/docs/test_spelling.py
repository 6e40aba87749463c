"""A wire format spells the name of a field in one way, in successes and in failures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.docs import Docs
from tests.contract.surroundings import runtime, write_documents

FORMATS = ("tool_response", "edit_envelope", "system_error", "coded_error", "problem", "error_response")


def names_in(value: Any) -> set[str]:
    """Return the names of all fields."""
    if isinstance(value, dict):
        return set(value) | {name for one in value.values() for name in names_in(one)}
    return {name for one in value for name in names_in(one)} if isinstance(value, list) else set()


@pytest.mark.parametrize(
    "name",
    FORMATS,
)
def test_a_document_type_has_one_name_in_a_format(tmp_path: Path, name: str) -> None:
    folder = write_documents(tmp_path / "docs", {"a.md": "---\ntype: guide\n---\n# A\n"})
    docs = Docs(folder, runtime=runtime(wire_format=name, detail="full"), cache_dir=tmp_path / "cache")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_documents", {}),
        ("search_documents", {"query": "a", "doc_types": ["x"]}),
    ]
    answers = [asyncio.run(docs.execute_with_error_handling(*call)).encode() for call in calls]
    asyncio.run(docs.shutdown())
    assert [answer.is_error for answer in answers] == [False, True]
    names = {one for answer in answers for one in names_in(answer.structured)}

    assert len(names & {"doc_type", "docType"}) == 1
