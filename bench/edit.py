"""The edit toolset on one file of 1 MB with 50 edits, against the least that any program has to do for it.

That is: read the file, `str.replace` 50 times, write it anew and fsync it. A whole call also validates its arguments,
takes the file's lock, proves every match unique, hashes, keeps mode and owner, syncs the folder and counts itself.
"""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import Contender, Figure, benchmark, figure, interleave, ms, ratios

from failsoft import Runtime, Settings
from failsoft.metrics import PrometheusRecorder
from failsoft.tools.edit import Edit

EDITS = 50
BYTES = 1_000_000
SEVERAL = 20


def grown(size: int) -> str:
    """Return a text of that many bytes, its lines all different."""
    chance = random.Random(20_260_206)  # noqa: S311 - the same text for everybody
    lines, length = [], 0
    while length < size:
        lines.append(f"{len(lines):06} " + "word " * chance.randint(2, 20) + "\n")
        length += len(lines[-1])
    return "".join(lines)[:size]


class Contest:
    """One file, and who edits it: forth and back, so that each turn finds the same."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.text = grown(BYTES)
        lines = self.text.splitlines(keepends=True)
        chosen = [lines[number * (len(lines) // EDITS)] for number in range(EDITS)]
        self.pairs = [(line, line.upper()) for line in chosen]
        self.tool = Edit(
            self.root, runtime=Runtime(settings=Settings(), metrics=PrometheusRecorder()), state_folder=folder / "state"
        )
        for name in ("plain", "tool", *(f"{number}.txt" for number in range(SEVERAL))):
            (self.root / name).write_text(self.text if "." not in name else self.text[:5_000])
        self.turn = {"plain": False, "tool": False, "several": False}

    def flipped(self, name: str) -> Sequence[tuple[str, str]]:
        """Return the edits of the next turn, which are those of the last one the other way round."""
        self.turn[name] = not self.turn[name]
        return self.pairs if self.turn[name] else [(new, old) for old, new in self.pairs]

    async def plain(self, times: int) -> None:
        """Do the least, safely."""
        path = self.root / "plain"
        for _ in range(times):
            text = path.read_bytes().decode()
            for old, new in self.flipped("plain"):
                text = text.replace(old, new)
            fresh = self.root / "plain.new"
            with fresh.open("wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            fresh.rename(path)

    async def call(self, times: int) -> None:
        """Call `multi_edit`."""
        for _ in range(times):
            edits = [{"old_string": old, "new_string": new} for old, new in self.flipped("tool")]
            given = {"file_path": str(self.root / "tool"), "edits": edits}
            response = await self.tool.execute_with_error_handling("multi_edit", given)
            if not response.success:
                raise SystemExit(response.to_dict()["message"])

    async def several(self, times: int) -> None:
        """Call `multi_edit_files` on small files."""
        for _ in range(times):
            ((old, new), *_) = self.flipped("several")
            edits = [{"old_string": old, "new_string": new}]
            files = [{"file_path": str(self.root / f"{number}.txt"), "edits": edits} for number in range(SEVERAL)]
            response = await self.tool.execute_with_error_handling("multi_edit_files", {"files": files})
            if not response.success:
                raise SystemExit(response.to_dict()["message"])


@benchmark("The edit toolset on 1 MB", rounds=(40, 3))
async def measure(given: Any) -> list[Figure]:
    """Return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        contest = Contest(Path(folder))
        contenders: dict[str, Contender] = {"plain": contest.plain, "call": contest.call, "several": contest.several}
        seconds = await interleave(contenders, rounds=given.rounds, times=2)
        same = (contest.root / "plain").read_bytes() == (contest.root / "tool").read_bytes()
        if not same or hashlib.sha256((contest.root / "tool").read_bytes()).hexdigest() != digest(contest.text):
            msg = "the two did not write the same"
            raise SystemExit(msg)
    return [
        figure("read, 50 x str.replace, write, fsync", ms(seconds["plain"]), "ms"),
        figure("multi_edit, 50 edits of 1 MB", ms(seconds["call"]), "ms"),
        figure("multi_edit", ratios(seconds["call"], seconds["plain"]), "of the least", goal="<= 3"),
        figure(f"multi_edit_files, {SEVERAL} files of 5 KB", ms(seconds["several"]), "ms"),
    ]


def digest(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
