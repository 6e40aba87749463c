"""What a failed edit shows of the text that its caller sent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from failsoft import Runtime, Settings
from failsoft.tools.edit import Edit


def test_the_preview_of_an_edit_is_what_was_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "client.py"
    file.write_text("def send(self):\n    cookie = self.jar\n")
    sent = "    cookie = self.jar\n    return"
    edit = Edit(runtime=Runtime(settings=Settings()))
    answer = asyncio.run(edit.multi_edit(file_path=str(file), edits=[{"old_string": sent, "new_string": "pass"}]))
    assert answer.to_dict()["edit_status"][0]["old_string_preview"] == sent
