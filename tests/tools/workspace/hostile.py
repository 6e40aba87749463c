"""Paths that try to get out of a workspace, by families. Most are combined from what has worked somewhere before."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from itertools import product

from tests.tools.docs.hostile_paths import MISSING, REFUSED
from tests.tools.workspace.trap import Trap

__all__ = ["hostile_paths"]

DOTS = (
    "%2e%2e",
    "%2E%2e",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "%u002e%u002e",
    "\\x2e\\x2e",
    "&#46;&#46;",
    "\uff0e\uff0e",
    "\u2024\u2024",
    "\u2025",
    ".\u200d.",
    "..\u200b",
    "..%00",
    "....",
    ". .",
    ".. ",
)
"""What may be taken for `..` after decoding, normalizing or trimming once too often."""
SLASHES = ("/", "%2f", "%252f", "%c0%af", "%5c", "\\", "\u2215", "\u2044", "\uff0f", "\u29f8", "//", "/./")
"""The same for the slash."""
TARGETS = ("outside/secret.md", "neighbor/secret.md", "etc/passwd")


def hostile_paths(trap: Trap) -> dict[str, list[str]]:
    """Return every hostile path once, by family."""
    known: set[str] = set()
    found: dict[str, list[str]] = {}
    for family, paths in (
        ("up and out", _traversal(trap)),
        ("look-alikes of up and out", _look_alikes()),
        ("control characters", _control_characters()),
        ("absolute", _absolute(trap)),
        ("beside the workspace", _twins(trap)),
        ("links", _links(trap)),
        ("second names", _second_names(trap)),
        ("no files", _no_files(trap)),
        ("off limits", _off_limits(trap)),
        ("too long", _too_long(trap)),
        ("other languages", iter((*REFUSED, *MISSING))),
    ):
        found[family] = [path for path in dict.fromkeys(paths) if path not in known]
        known.update(found[family])
    return found


def _traversal(trap: Trap) -> Iterator[str]:
    """`..` in all positions and numbers, whether or not what is before it exists, relative and absolute."""
    for before, count, target in product(("", "./", "src/", "gone/", "a.md/", ".//src/"), (1, 2, 3, 12), TARGETS):
        yield f"{before}{'../' * count}{target}"
    for path in ("..", "../", "../.", "src/..", "src/../..", "../project/a.md", "src/../src/app.py", "relative/.."):
        yield path
        yield f"{trap.project}/{path}"
    for target in TARGETS:
        yield f"{trap.project}/../../{target}"
        yield f"{trap.served}/./project/../../{target}"


def _look_alikes() -> Iterator[str]:
    for dots, slash in product(DOTS, SLASHES):
        yield f"{dots}{slash}{dots}{slash}outside{slash}secret.md"


def _control_characters() -> Iterator[str]:
    for number in (*range(0x20), *range(0x7F, 0xA0)):
        yield f"a.md{chr(number)}/../../../outside/secret.md"
    for character in "\0\n\r\t\x1b\x7f\x85":
        yield f"{character}/../../outside/secret.md"
        yield f"..{character}/..{character}/outside/secret.md"
        yield f"relative{character}/secret.md"
        yield f"a.md{character}.png"


def _absolute(trap: Trap) -> Iterator[str]:
    file, folder = trap.descriptors
    for target in (f"{trap.outside}/secret.md", str(trap.outside), f"{trap.served}/neighbor/secret.md"):
        for spelling in ("{}", "/{}", "//{}", "/.{}", "{}/", "{}/.", "{}//", "file://{}", "{}\0", " {}", "{} "):
            yield spelling.format(target)
        for way in ("/proc/self/root", "/proc/thread-self/root", f"/proc/{os.getpid()}/root", "/proc/1/root"):
            yield f"{way}{target}"
    for number in (0, 1, 2, file, folder):
        yield f"/dev/fd/{number}"
        yield f"/proc/self/fd/{number}"
    yield f"/proc/self/fd/{folder}/secret.md"
    yield from (
        "/",
        "//",
        "/.",
        str(trap.folder),
        str(trap.served),
        str(trap.folder / "state"),
        f"{trap.folder}/state/locks",
    )
    yield from ("/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/self/maps", "/proc/self/cwd/a.md")
    yield from ("/dev/null", "/dev/zero", "/dev/stdin", "/dev/mem", "/sys/kernel/notes", "~/.ssh/id_rsa", "~root/a")


def _twins(trap: Trap) -> Iterator[str]:
    """Names that begin as the workspace's does, or that another file system would take for it."""
    for folder in (*trap.strange, trap.served / "gone"):
        yield from (f"{folder}/{name}" for name in ("secret.md", "folder/secret.md", "new.md", "folder", ""))
    yield from (f"{str(trap.project).upper()}/a.md", f"{trap.served}/Project/a.md", f"{trap.project}\0/a.md")


def _links(trap: Trap) -> Iterator[str]:
    for link in trap.links():
        for rest in ("", "/", "/secret.md", "/folder/secret.md", "/new.md", "/new/deeper/new.md"):
            yield f"{link}{rest}"
        yield f"{trap.project}/{link}"
        yield f"./{link}//secret.md"


def _second_names(trap: Trap) -> Iterator[str]:
    for name in trap.names():
        yield from (name, f"./{name}", f"{trap.project}/{name}", f"{name}/", f"{name}/.")


def _no_files(trap: Trap) -> Iterator[str]:
    for name in trap.devices():
        yield from (name, f"{name}/", f"{name}/a.md", f"{trap.project}/{name}")


def _off_limits(trap: Trap) -> Iterator[str]:
    """The audit log, what is put aside of it, and the server's settings, by all names that a file system may know."""
    for name in (trap.audit.name, trap.settings.name):
        spellings = (name, name.upper(), name.title(), name.swapcase(), unicodedata.normalize("NFD", name))
        for spelling, rest in product(spellings, ("", ".head", ".1", ".000000000001", ".bak", ".head.new", "/", "/x")):
            yield f"{spelling}{rest}"
        yield from (f"{trap.project}/{name}", f"src/back/../{name}", f"./{name}", f".//{name}", f"out-and-in/../{name}")


def _too_long(trap: Trap) -> Iterator[str]:
    for length in (255, 256, 4_080, 4_095, 4_096, 5_000, 70_000):
        yield "n" * length
        yield f"relative/{'n' * length}"
    for depth in (33, 500, 2_040, 2_050):
        yield "d/" * depth + "a.md"
        yield "./" * depth + "relative/secret.md"
        yield "../" * depth + "etc/passwd"
        yield f"{trap.outside}{'/.' * depth}/secret.md"
