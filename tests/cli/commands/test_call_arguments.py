"""Arguments of `failsoft call`, and what it advises when they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.doors import ExitCode


def test_one_object_for_a_list_of_objects_is_read_as_an_object(inside: Run, folder: Path) -> None:
    edit = '{"old_string": "everything", "new_string": "all"}'
    file = folder / "docs" / "intro.mdx"
    ran = inside(
        *("call", "multi_edit", "--toolset", "edit", "--root", str(folder)),
        *(f"file_path={file}", f"edits={edit}", "dry_run=true"),
    )

    assert ran.json.get("edits_applied") == 1


@pytest.mark.parametrize("sent", ["x", "[1]"])
def test_the_advice_for_unreadable_json_is_the_same_operation(inside: Run, sent: str) -> None:
    ran = inside("call", "get_book", "--app", "library:Library", "--json", sent)
    assert ran.code == ExitCode.USAGE
    (advice,) = [line for line in ran.err.splitlines() if "next:" in line]

    assert "get_book" in advice
