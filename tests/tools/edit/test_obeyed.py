"""Edits against a plain reference, and every next step obeyed: no other file is written, and nothing is done twice."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.tools.edit.desk import Desk, change

TEXTS = {
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "bom.txt": b"\xef\xbb\xbfone\ntwo\nthree\n",
    "endless.txt": b"one\ntwo\nthree",
    "huge.txt": b"one\n" + b"x" * 300_000 + b"two\nthree\n",
    "mixed.txt": b"one\r\ntwo\nthree\n",
}
OLD = st.text("ab\n", min_size=1, max_size=3)
EDITS = st.lists(st.tuples(OLD, st.text("ab\n", max_size=3), st.booleans()), min_size=1, max_size=4)


def reference(text: str, edits: list[tuple[str, str, bool]]) -> str | None:
    """Return the edited text as anyone would write it down; None if an edit is refused."""
    if len({old for old, _, _ in edits}) < len(edits):
        return None
    for old, new, replace_all in edits:
        places = [place for place in range(len(text)) if text.startswith(old, place)]
        if not places or (len(places) > 1 and not replace_all):
            return None
        text = text.replace(old, new)
    return text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text("ab\n", max_size=12), edits=EDITS)
def test_edits_do_what_a_plain_reference_does(desk: Desk, text: str, edits: list[tuple[str, str, bool]]) -> None:
    file = desk.file(content=text)
    answer = desk.edit(file, *[change(old, new, replace_all=every) for old, new, every in edits])
    expected = reference(text, edits)
    assert answer["success"] is (expected is not None)
    assert file.read_text() == (text if expected is None else expected)
    if answer.get("error_code") == "MATCH_NOT_FOUND" and "line" in answer["context"]:
        assert answer["context"]["line"] >= 1


FAULTY: dict[str, dict[str, Any]] = {
    "a relative path": {"file_path": "{name}"},
    "a relative path below": {"file_path": "./{name}"},
    "a misspelt path": {"file_path": "{root}/x{name}"},
    "a misspelt path in a dry run": {"file_path": "{root}/x{name}", "dry_run": True},
    "a path with parents": {"file_path": "{root}/sub/../{name}"},
    "one edit": {"edits": change("two", "two\ntwo")},
    "a text": {"edits": '[{"old_string": "two", "new_string": "two\\ntwo"}]'},
    "another hash": {"expected_hash": "0" * 64},
    "another hash with a backup": {"expected_hash": "0" * 64, "backup": True},
    "a missing text": {"edits": [change("four", "4")]},
    "an ambiguous text": {"edits": [change("o", "0")]},
    "a repeated text": {"edits": [change("two", "2"), change("two", "3")]},
    "an empty text": {"edits": [change("", "3")]},
    "no edits": {"edits": []},
    "a flag as text": {"dry_run": "true"},
    "another name": {"edits": [{"oldString": "two", "newString": "two\ntwo"}]},
    "an unknown argument": {"count": 1},
}


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("fault", FAULTY)
def test_whoever_obeys_every_next_step_writes_no_other_file_and_nothing_twice(
    desk: Desk, fault: str, several: bool
) -> None:
    for name, content in TEXTS.items():
        shutil.rmtree(desk.root)
        desk.root.mkdir()
        for other, text in TEXTS.items():
            desk.file(other, text)
        obey(desk, desk.root / name, FAULTY[fault], several=several)
        for other, text in TEXTS.items():
            if other != name:
                assert (desk.root / other).read_bytes() == text
        assert (desk.root / name).read_bytes().count(b"two") <= content.count(b"two") + 1
        assert sorted(path.name for path in desk.root.iterdir()) == sorted(TEXTS)


def obey(desk: Desk, file: Path, faulty: dict[str, Any], *, several: bool) -> None:
    """Call with faulty arguments, then make every call that an answer leads to."""
    params: dict[str, Any] = {"file_path": str(file), "edits": [change("two", "two\ntwo")], **faulty}
    if isinstance(params["file_path"], str):
        params["file_path"] = params["file_path"].format(root=desk.root, name=file.name)
    tool = "multi_edit"
    if several:
        of_call = {name: params.pop(name) for name in ("dry_run", "backup", "count") if name in params}
        tool, params = "multi_edit_files", {"files": [params], **of_call}
    for _ in range(5):
        answer = desk.call(tool, params)
        step = answer.get("next_step")
        if step is None:
            return
        assert not answer["success"]
        tool, params = step["tool"], step["arguments"]
    pytest.fail("the next steps go round in circles")
