"""`failsoft call` asks the person at the terminal; without a terminal nobody is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doors import Answer, Question, asking_module, person_at_terminal
from tests.server.processes import Served
from tests.zygote import PYTHON

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
SHELF = '''
from failsoft import AskPerson, BaseTool, NotFound, operation


class Shelf(BaseTool):
    """Books."""

    @operation(confirm=True)
    async def remove(self, title: str) -> str:
        """Remove a book."""
        return title

    @operation(read_only=True, recovery=[AskPerson(ask=["title"])])
    async def find(self, title: str) -> str:
        """Find a book."""
        if title not in {"Emma", "Dune"}:
            raise NotFound(message=f"No book `{title}`.", suggestions=["Emma", "Dune"])
        return title
'''


SHELVED = ("--app", "shelf:Shelf")


def call(folder: Path, typed: str | None, *words: str, target: tuple[str, ...] = SHELVED) -> dict[str, Any]:
    """Return the answer to a call at a terminal on which something is typed; without one for None."""
    (folder / "shelf.py").write_text(SHELF)
    command = [PYTHON, "-m", "failsoft", "call", *words, *target]
    if typed is None:
        piped = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return json.loads(piped.stdout)  # type: ignore[no-any-return]
    ours, theirs = os.openpty()
    try:
        os.write(ours, b"y\n1\n")  # before there is a question
        with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
            shown = b""
            while not shown.endswith(b": ") and not shown.endswith(b"] "):
                shown += os.read(ours, 1_000)
            os.write(ours, typed.encode())
            answer, _ = process.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    return json.loads(answer)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("typed", "code"),
    [("y\n", None), ("n\n", "APPROVAL_REQUIRED"), ("\n", "APPROVAL_REQUIRED"), (None, "APPROVAL_REQUIRED")],
)
def test_a_call_that_needs_consent_asks(tmp_path: Path, typed: str | None, code: str | None) -> None:
    answer = call(tmp_path, typed, "remove", "title=Emma")
    assert (answer.get("error") or {}).get("code") == code


@pytest.mark.parametrize(
    ("words", "typed", "found"), [(["find"], "Dune\n", "Dune"), (["find", "title=Emm"], "1\n", "Emma")]
)
def test_an_argument_is_typed_or_chosen(tmp_path: Path, words: list[str], typed: str, found: str) -> None:
    assert call(tmp_path, typed, *words)["data"] == found


WEEK = {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}, "minItems": 1, "maxItems": 2}
SIZES = {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}


@pytest.mark.parametrize(
    ("field", "typed", "answer"),
    [
        ({"enum": ["Emma", "Dune"]}, ["3", "x", "2"], "Dune"),
        ({"enum": ["Emma", "Dune"]}, ["Emma"], "Emma"),
        ({"enum": ["Emma", "Dune"]}, ["0", "3", "-1"], None),
        ({"enum": ["e", "d"], "enumNames": ["Emma", "Dune"]}, ["2"], "d"),
        (SIZES, ["2"], "l"),
        (WEEK, ["1,2,3", "1, 3"], ["mon", "wed"]),
        (WEEK, ["2"], ["tue"]),
        ({**WEEK, "items": {"anyOf": SIZES["oneOf"]}}, ["4", "2,1"], ["l", "s"]),
        ({"type": "integer"}, ["five", "5"], 5),
        ({"type": "number"}, ["", "5"], None),
    ],
)
@pytest.mark.anyio
async def test_what_is_no_answer_is_asked_for_again_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], field: Any, typed: list[str], answer: Any
) -> None:
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    lines = iter([f"{line}\n" for line in typed])
    monkeypatch.setattr(sys.stdin, "readline", lambda: next(lines))
    monkeypatch.setattr(asking_module, "_forget_typed", list)
    ask = person_at_terminal()
    given = await ask(Question("Which?", {"properties": {"one": field}, "required": ["one"]}, "arguments"))
    assert given == (Answer("cancel") if answer is None else Answer("accept", {"one": answer}))


def test_a_server_asks_the_person_at_the_terminal_of_its_caller(tmp_path: Path) -> None:
    server = Served("http", "tools=asked")
    try:
        target = ("--url", server.wait_for("ready"))
        answers = [call(tmp_path, typed, "buy", "what=tea", target=target) for typed in ("y\n", "n\n", None)]
    finally:
        server.close()
    assert answers[0]["data"] == "tea"
    assert [answer["error"]["code"] for answer in answers[1:]] == ["APPROVAL_REQUIRED"] * 2
    assert ["did not allow" in answer["error"]["message"] for answer in answers[1:]] == [True, False]
