"""Another process swaps a folder for a way out while sessions read, list and write: nothing out there is met."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.tools.files.swapping import (
    EXCHANGE_FOLDER,
    MOVE_LINK,
    SWAP_FILE,
    Swapper,
    made_tree,
    outside,
    swapping,
)
from tests.tools.workspace.site import Site
from tests.tools.workspace.trap import CANARY

BOUND_S = 120
CHANGED = "inside, by us"
WAYS = {
    "folder": (EXCHANGE_FOLDER, False),
    "file": (SWAP_FILE, True),
    "link": (MOVE_LINK, False),
}
"""Each with whether files may have several names: for one that is swapped by a link the other process keeps two."""


class Racer:
    """Calls in a workspace that changes under its hands, and what they found."""

    def __init__(self, site: Site, tool: Workspace) -> None:
        self.site = site
        self.tool = tool
        self.calls = 0
        self.codes: Counter[str | None] = Counter()
        self.read: set[str] = set()
        self.listed: set[str] = set()
        self.session = self.begin()

    def begin(self) -> str:
        return self.site.begin(self.tool, root=self.site.root)

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        self.calls += 1
        answer = self.site.call(self.tool, operation, {**params, "session_id": self.session})
        code = answer.get("error_code")
        self.codes[code] += 1
        assert CANARY not in json.dumps(answer)
        if code in {"INVARIANT_VIOLATION", "SESSION_LOCKED"}:  # what was written was swapped at once
            self.session = self.begin()
        data: dict[str, Any] = answer.get("data", {})
        return data

    def turn(self, number: int) -> None:
        """Read, list, make a file in a new folder, replace one."""
        found = self.call("read_file", path="place/file")
        listed = self.call("list_files", path="place")
        self.listed.update(entry["name"] for entry in listed.get("entries", ()))
        self.call("write_file", path=f"place/new-{number}/made", content="made")
        if found:
            self.read.add(found["content"])
            expected = hashlib.sha256(found["content"].encode()).hexdigest()
            self.call("write_file", path="place/file", content=CHANGED, expected_hash=expected)

    def race(self, swapper: Swapper, swaps: int, calls: int) -> None:
        """Go on until there were enough swaps and calls, and calls of both outcomes."""
        until = time.monotonic() + BOUND_S
        number = 0
        while swapper.swaps < swaps or self.calls < calls or not (self.read and len(self.codes) > 1):
            assert swapper.process.poll() is None
            if time.monotonic() > until:
                pytest.fail(f"not enough after {BOUND_S} s: {swapper.swaps} swaps, {self.codes}")
            self.turn(number)
            number += 1


def race_in_a_workspace(folder: Path, way: str, swaps: int, calls: int) -> None:
    """Hold what was read, listed and written in a race to what lies in the workspace."""
    script, several_names = WAYS[way]
    tree = made_tree(folder, inside="inside", outside=CANARY)
    (tree.parent / "outside" / f"{CANARY}.md").touch()
    site = Site(tree)
    tool = site.tool(workspace_hard_links=several_names)
    site.allow(tool, root=tree)
    racer = Racer(site, tool)

    with swapping(script, tree) as swapper:
        racer.race(swapper, swaps, calls)

    assert racer.read <= {"inside", CHANGED}
    assert "UNKNOWN_TOOL_FAILURE" not in racer.codes
    assert not [name for name in racer.listed if CANARY in name]
    assert outside(tree) == {"file": CANARY, f"{CANARY}.md": ""}
    assert CANARY not in (tree / "audit-log.jsonl").read_text()


def test_nothing_outside_is_read_listed_or_written(tmp_path: Path) -> None:
    race_in_a_workspace(tmp_path, "folder", swaps=100, calls=40)
