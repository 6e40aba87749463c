"""Calls of toolsets that write, while another process changes the same files and folders, and what must hold."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from failsoft.tools.docs import Docs
from tests.doors import DocsSettings
from tests.tools.docs.reader import Reader
from tests.tools.edit.desk import Desk, change
from tests.tools.files.swapping import EXCHANGE_FOLDER, MOVE_LINK, swapping
from tests.tools.workspace.site import Site

CANARY = "outside-canary"

_FILE = """
import random, stat, time
os.chdir(os.path.join(tree, "place"))
text = open("a.md").read()

def put(way):
    number[0] += 1
    name = f"../new-{number[0]}"
    if way == "link":
        os.symlink(os.path.join(outside, "a.md"), name)
    elif way == "hard_link":
        os.link(os.path.join(outside, "a.md"), name)
    elif way == "pipe":
        os.mkfifo(name)
    elif way == "device":
        os.mknod(name, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    elif way == "folder":
        os.mkdir(name)
        try:
            os.unlink("a.md")
        except OSError:
            pass
    else:
        with open(name, "w") as file:
            file.write(text)
    try:
        os.rename(name, "a.md")
    except OSError:
        os.rmdir(name) if way == "folder" else os.unlink(name)

number = [0]
print("ready", flush=True)
while True:
    put(WAY)
    swapped()
    if WAY == "folder":
        try:
            os.rmdir("a.md")
        except OSError:
            pass
    put("file")
    time.sleep(random.choice((0, 0, 0.001, 0.01)))
"""
_IN_PLACE = """
import random, time
os.chdir(os.path.join(tree, "place"))
text = open("a.md").read()
print("ready", flush=True)
number = 0
while True:
    number += 1
    try:
        if WAY == "truncate":
            os.truncate("a.md", number % 5)
            with open("a.md", "w") as file:
                file.write(text)
        elif WAY == "append":
            with open("a.md", "a") as file:
                file.write("more\\n" if number % 50 else "")
            if number % 50 == 0:
                os.truncate("a.md", len(text))
    except OSError:
        pass
    swapped()
    time.sleep(random.choice((0, 0, 0.001, 0.01)))
"""
_KEPT = """
import time
os.chdir(os.path.join(tree, "place"))
number = 0

def is_kept():
    if WAY == "mode":
        return os.stat("a.md").st_mode & 0o777 == mode
    with open("a.md") as file:
        return f"foreign {number}-" in file.read()

print("ready", flush=True)
while True:
    number += 1
    mode = (0o600, 0o644)[number % 2]
    if WAY == "mode":
        os.chmod("a.md", mode)
    else:
        with open("../new", "w") as file:
            file.write(f"foreign {number}-\\nEND\\n")
        os.rename("../new", "a.md")
    swapped()
    for _ in range(200):
        tries = 0
        while not is_kept() and tries < 100:  # ours may be there until it is taken back
            tries += 1
            time.sleep(0.01)
        if tries == 100:
            with open("../../lost", "a.md") as file:
                file.write(f"{number}\\n")
            break
"""
"""It looks whether what it did is still there: edits are made to it, and never without it."""
SCRIPTS = {
    **{way: f"WAY = {way!r}\n{_FILE}" for way in ("link", "hard_link", "pipe", "device", "folder", "file")},
    **{way: f"WAY = {way!r}\n{_IN_PLACE}" for way in ("truncate", "append")},
    **{way: f"WAY = {way!r}\n{_KEPT}" for way in ("replace", "mode")},
    "parent": EXCHANGE_FOLDER,
    "parent_link": MOVE_LINK,
}
"""What the other process does: to the file `a.md` of the folder `place`, or to the folder."""

Call: TypeAlias = Callable[[str], dict[str, Any]]
"""Changes `a.md`, writes the token into the text, and returns the answer."""


def made(folder: Path) -> Path:
    """Return a tree with `place/a.md` and `place/b.md`, and files of these names outside."""
    for place, text in ((folder / "tree/place", "text"), (folder / "outside", CANARY)):
        place.mkdir(parents=True)
        for name in ("a.md", "b.md"):
            (place / name).write_text(f"{text}\nEND\n")
    return folder / "tree"


def race(tree: Path, way: str, rounds: int, call: Call) -> Counter[str | None]:
    """Call so often, and return how often each code was the answer."""
    outside = tree.parent / "outside"
    before = {file.name: file.read_bytes() for file in outside.iterdir()}
    codes: Counter[str | None] = Counter()
    with swapping(SCRIPTS[way], tree):
        for turn in range(rounds):
            token = f"ours-{turn}-"
            answer = call(token)
            codes[answer.get("error_code")] += 1
            assert CANARY not in json.dumps(answer)
            if answer.get("effect") == "none":
                assert token not in _text_of(tree / "place/b.md"), answer
    assert {file.name: file.read_bytes() for file in outside.iterdir()} == before
    assert not (tree.parent / "lost").exists(), f"lost: {(tree.parent / 'lost').read_text().split()}"
    return codes


@contextmanager
def edits(tree: Path) -> Iterator[Call]:
    """Yield `multi_edit` and `multi_edit_files` by turns."""
    desk = Desk(tree, tree.parent / "state")
    tool = desk.tool()
    turns = itertools.count()

    def call(token: str) -> dict[str, Any]:
        several = [change("END", f"{token}END")]
        turn, place = next(turns), tree / "place"
        if turn % 2:
            both = (place / "a.md", several), (place / "b.md", several)
            return desk.edit_files(*both, tool=tool, include_content=True)
        return desk.edit(place / "a.md", *several, tool=tool, include_content=True, backup=turn % 8 == 0)

    yield call


@contextmanager
def writes(tree: Path) -> Iterator[Call]:
    """Yield `write_file` and `apply_patch` by turns, after `read_file`."""
    site = Site(tree)
    tool = site.tool()
    site.allow(tool, root=tree)
    turns = itertools.count()

    def call(token: str) -> dict[str, Any]:
        session_id = site.begin(tool, root=tree)
        params = {"path": "place/a.md", "session_id": session_id}
        found = site.call(tool, "read_file", params)
        if "data" not in found:
            return found
        content, expected = found["data"]["content"], found["data"]["sha256"]
        if next(turns) % 2 or not content.endswith("\nEND\n"):
            content = content.replace("END", f"{token}END")
            return site.call(tool, "write_file", {**params, "content": content, "expected_hash": expected})
        count = content.count("\n")
        patch = f"@@ -{count},1 +{count},1 @@\n-END\n+{token}END\n"
        return site.call(tool, "apply_patch", {**params, "patch": patch, "expected_hash": expected})

    yield call


@contextmanager
def promotions(tree: Path) -> Iterator[Call]:
    """Yield `promote_document`, after `get_documentation`."""
    own = DocsSettings(hard_links=False)
    docs = Docs(tree, settings=own, cache_dir=tree.parent / "cache", state_folder=tree.parent / "state")
    reader = Reader(docs)
    levels = itertools.cycle(["important", "critical"])

    def call(_: str) -> dict[str, Any]:
        found = reader.ask("get_documentation", path="place/a.md")
        assert CANARY not in json.dumps(found)
        answer = reader.ask("promote_document", path="place/a.md", level=next(levels))
        error = answer.get("error") or {}
        return {**answer, "error_code": error.get("code"), "effect": error.get("effect")}

    try:
        yield call
    finally:
        asyncio.run(docs.shutdown())


CALLS = {"edit": edits, "workspace": writes, "docs": promotions}


def _text_of(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
