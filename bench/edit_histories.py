"""The edit toolset on real edits: every file of two releases has to come out byte for byte, every broken call refused.

Takes the wheels of some packages from the package index (a few minutes the first time). Each case is edited by one
call of the toolset, a fifth of them as CRLF, a fifth with a byte order mark; then it is broken in ten ways, and each
broken call has to be answered with the code that a simple program of a few lines expects.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from histories import FEW, MANY, Case, cases
from measure import Figure, benchmark, figure

from failsoft import Runtime, Settings
from failsoft.metrics import PrometheusRecorder
from failsoft.tools.edit import Edit

Broken = tuple[str, str | None, dict[str, Any]]
"""How a call is broken, the code that is expected (None: it is none), and the arguments that differ."""


def expected(text: str, edits: list[tuple[str, str]]) -> str | None:
    """Return the code that these edits deserve, by the simplest program there is."""
    if len({old for old, _ in edits}) < len(edits):
        return "DUPLICATE_OLD_STRING"
    for old, new in edits:
        if not old:
            return "EMPTY_OLD_STRING"
        first = text.find(old)
        if first < 0:
            return "MATCH_NOT_FOUND"
        if text.find(old, first + 1) >= 0:
            return "AMBIGUOUS_MATCH"
        text = text[:first] + new + text[first + len(old) :]
    return None


def broken(case: Case, other: Case) -> Iterator[Broken]:
    """Yield the ways to break a case: as a hasty caller does, or one whose file has changed."""
    edits = list(case.edits)
    last_old, last_new = edits[-1]

    def last(old: str) -> list[tuple[str, str]]:
        return [*edits[:-1], (old, last_new)]

    def wrong(name: str, changed: list[tuple[str, str]]) -> Broken:
        return name, expected(case.before, changed), {"edits": as_edits(changed)}

    middle = len(last_old) // 2
    yield wrong("whitespace", last(last_old.replace(" ", "  ", 1) if " " in last_old else f" {last_old} "))
    yield wrong("typo", last(f"{last_old[:middle]}\u00a7{last_old[middle:]}"))
    yield wrong("ambiguous", last(_repeated(case.after)))
    yield wrong("other file", list(other.edits))
    yield wrong("wrong order", edits[::-1])
    yield wrong("twice in one call", [*edits, edits[0]])
    yield wrong("empty", [*edits, ("", "x")])
    yield "stale base", "HASH_MISMATCH", {"expected_hash": digest(case.after.encode())}
    yield "relative path", "RELATIVE_PATH", {"file_path": case.name}
    yield "nothing to do", "EMPTY_EDITS", {"edits": []}


def _repeated(text: str) -> str:
    """Return the longest line that occurs more than once, or a letter that does."""
    counted = Counter(text.splitlines(keepends=True))
    lines = [line for line, count in counted.items() if count > 1 and line.strip()]
    return max(lines, key=len) if lines else max(text or "x", key=text.count)


def as_edits(edits: list[tuple[str, str]]) -> list[dict[str, str]]:
    """Return edits as a caller sends them."""
    return [{"old_string": old, "new_string": new} for old, new in edits]


def digest(data: bytes) -> str:
    """Return the hash that `expected_hash` takes."""
    return hashlib.sha256(data).hexdigest()


class Trial:
    """All cases, one after another, on one file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "edited" / "file"
        self.file.parent.mkdir()
        runtime = Runtime(settings=Settings(default_timeout_s=0), metrics=PrometheusRecorder())
        self.tool = Edit(self.file.parent, runtime=runtime, state_folder=folder / "state")
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def call(self, edits: Any, **more: Any) -> dict[str, Any]:
        """Return the answer of one call."""
        given = {"file_path": str(self.file), "edits": edits, **more}
        return (await self.tool.execute_with_error_handling("multi_edit", given)).to_dict()

    async def run(self, number: int, case: Case, other: Case) -> None:
        """Edit one case, send it again, and break it."""
        await self.exact(number, case)
        await self.again(case)
        for name, code, changed in broken(case, other):
            if code is None:
                self.counts[f"{name}: happens to be in order"] += 1
                continue
            self.file.write_bytes(case.before.encode())
            given = {"edits": as_edits(list(case.edits)), **changed}
            answer = await self.call(given.pop("edits"), **given)
            self.counts["broken calls"] += 1
            is_right = answer.get("error_code") == code and answer["effect"] == "none"
            self.hold(f"{case.name}: {name}: {answer.get('error_code')} for {code}", is_right=is_right)
            self.hold(f"{case.name}: {name} wrote", is_right=self.file.read_bytes() == case.before.encode())
        await self.undecodable(case)

    async def exact(self, number: int, case: Case) -> None:
        """Edit the file as it is, as CRLF throughout, or with a byte order mark."""
        crlf, mark = number % 5 == 1 and "\r" not in case.before + case.after, number % 5 == 3
        before, after = (text.replace("\n", "\r\n") if crlf else text for text in (case.before, case.after))
        data, wanted = (b"\xef\xbb\xbf" * mark + text.encode() for text in (before, after))
        self.file.write_bytes(data)
        answer = await self.call(as_edits(list(case.edits)), expected_hash=digest(data))
        self.counts["cases"] += 1
        self.counts["edits"] += len(case.edits)
        right = self.file.read_bytes() == wanted and answer.get("sha256") == digest(wanted)
        self.hold(f"{case.name}: {answer.get('error_code')}", is_right=right)

    async def again(self, case: Case) -> None:
        """Send a batch twice: with the hash it is refused, without it some are applied twice."""
        self.file.write_bytes(case.before.encode())
        edits = as_edits(list(case.edits))
        await self.call(edits, expected_hash=digest(case.before.encode()))
        refused = await self.call(edits, expected_hash=digest(case.before.encode()))
        self.hold(f"{case.name}: twice", is_right=refused.get("error_code") == "HASH_MISMATCH")
        twice = await self.call(edits)
        self.counts["applied twice without the hash"] += twice["success"]

    async def undecodable(self, case: Case) -> None:
        """Send the edits for a file that is not UTF-8."""
        self.file.write_bytes(case.before.encode() + b"\xff")
        answer = await self.call(as_edits(list(case.edits)))
        self.counts["broken calls"] += 1
        self.hold(f"{case.name}: not UTF-8", is_right=answer.get("error_code") == "INVALID_ENCODING")

    def hold(self, what: str, *, is_right: bool) -> None:
        """Note what came out wrong."""
        if not is_right:
            self.wrong.append(what)


@benchmark("Real edits", pairs=(MANY, FEW))
async def measure(given: Any) -> list[Figure]:
    """Return the figures, and print what came out wrong."""
    found = list(cases(given.pairs))
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder))
        for number, case in enumerate(found):
            await trial.run(number, case, found[number - 1])
    print(*trial.wrong[:20], sep="\n", end="\n" if trial.wrong else "")
    counts = trial.counts
    return [
        figure("cases", [counts["cases"]], "files", goal=">= 5000"),
        figure("edits in them", [counts["edits"]], "edits"),
        figure("broken calls", [counts["broken calls"]], "calls"),
        figure("answered wrongly", [len(trial.wrong)], "calls", goal="<= 0"),
        figure("applied twice without the hash", [100 * counts["applied twice without the hash"] / len(found)], "%"),
    ]
