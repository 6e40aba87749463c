"""Edits that people really made: two releases of a package, and for each file the edits that turn one into the other.

The wheels come from the package index through pip, once, into a cache folder outside the repository.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FEW", "MANY", "Case", "cases", "fetch"]

MANY = (
    ("django", "4.2", "5.0"),
    ("django", "5.0", "5.1"),
    ("sympy", "1.10", "1.12"),
    ("sympy", "1.12", "1.13.0"),
    ("ansible-core", "2.14.0", "2.16.0"),
    ("ansible-core", "2.16.0", "2.17.0"),
    ("sqlalchemy", "2.0.0", "2.0.36"),
    ("twisted", "23.10.0", "24.7.0"),
    ("networkx", "3.0", "3.2"),
    ("networkx", "3.2", "3.3"),
    ("setuptools", "69.0.0", "75.0.0"),
    ("pip", "23.0", "24.2"),
    ("sphinx", "7.2.0", "7.4.0"),
    ("fonttools", "4.40.0", "4.53.0"),
    ("botocore", "1.34.0", "1.34.40"),
)
FEW = (("click", "8.1.0", "8.1.7"), ("werkzeug", "3.0.0", "3.0.4"))
"""What `scripts/fetch.sh edit_releases` puts into the cache."""
_BYTES_AT_MOST = 400_000
_LINES_AT_MOST = 8_000
_EDITS_AT_MOST = 200


@dataclass(frozen=True, slots=True)
class Case:
    """One file of two releases, and the edits between them, each unique at its turn."""

    name: str
    before: str
    after: str
    edits: tuple[tuple[str, str], ...]


def fetch(package: str, version: str) -> Path:
    """Return the wheel of one release, from the cache or through pip."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "failsoft-bench" / "wheels"
    folder = cache / f"{package}-{version}"
    if not any(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        # A wheel of any platform would do: only its text is read.
        command += ["--only-binary", ":all:", "--dest", str(folder), f"{package}=={version}"]
        subprocess.run(command, check=True)  # noqa: S603 - names from the list above
    return next(folder.glob("*.whl"))


def cases(pairs: Sequence[tuple[str, str, str]]) -> Iterator[Case]:
    """Yield a case for each text file that differs between two releases."""
    for package, old, new in pairs:
        with zipfile.ZipFile(fetch(package, old)) as before, zipfile.ZipFile(fetch(package, new)) as after:
            for name in sorted(set(before.namelist()) & set(after.namelist())):
                if (case := _case(f"{package}/{name}", before.read(name), after.read(name))) is not None:
                    yield case


def _case(name: str, before: bytes, after: bytes) -> Case | None:
    if before == after or max(len(before), len(after)) > _BYTES_AT_MOST or name.endswith(("/RECORD", "/WHEEL")):
        return None
    try:
        old, new = before.decode(), after.decode()
    except UnicodeDecodeError:
        return None
    edits = list(_edits(old.splitlines(keepends=True), new.splitlines(keepends=True)))
    if not edits or len(edits) > _EDITS_AT_MOST or len({sought for sought, _ in edits}) < len(edits):
        return None
    return Case(name, old, new, tuple(edits))


def _edits(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the hunks from the top, each with as much of its surroundings as makes it unique where it is applied.

    `str.count` would not do: it overlooks places that overlap, and then the wrong one of two twins is replaced.
    """
    if max(len(old), len(new)) > _LINES_AT_MOST:
        return
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        text = "".join(new[:j1] + old[i1:])
        above, below = new[:j1], old[i2:]
        for around in range(len(above) + len(below) + 1):
            head, tail = above[max(0, len(above) - around) :], below[:around]
            sought = "".join([*head, *old[i1:i2], *tail])
            if sought and text.find(sought, text.find(sought) + 1) < 0:
                yield sought, "".join([*head, *new[j1:j2], *tail])
                break
