"""A workspace full of ways out, and everything around it that must not be reached.

What lies outside holds a word that occurs nowhere else, in its contents and in its names, and looks as if it had not
been read for years: the operating system records the next read.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CANARY", "INSIDE", "LONG_AGO_NS", "Trap"]

CANARY = "c4n4ry-7f3b"
INSIDE = "inside\n"
LONG_AGO_NS = 1_000_000_000
"""When everything outside was read for the last time."""


@dataclass(frozen=True)
class Trap:
    """Served is `folder/served`, worked in is `folder/served/project`; all else in `folder` is outside."""

    folder: Path
    descriptors: list[int] = field(default_factory=list)

    @property
    def served(self) -> Path:
        return self.folder / "served"

    @property
    def project(self) -> Path:
        return self.served / "project"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def audit(self) -> Path:
        return self.project / "audit-log.jsonl"

    @property
    def settings(self) -> Path:
        return self.project / "recovery.toml"

    @property
    def strange(self) -> tuple[Path, ...]:
        """The folders that must stay as they are: elsewhere, and beside the workspace in what is served."""
        twins = ("neighbor", "project-twin", "projec", "PROJECT", "project ", "project.md")
        return (self.outside, *(self.served / name for name in twins))

    def set(self) -> None:
        """Put everything there."""
        (self.folder / "state").mkdir()  # where the toolset keeps its locks
        for name in ("src", "src/deep", "guide"):
            (self.project / name).mkdir(parents=True)
        for name in ("a.md", "src/app.py", "src/deep/b.md", "guide/intro.md"):
            (self.project / name).write_text(INSIDE)
        self.settings.write_text("")
        for folder in self.strange:
            (folder / "folder" / f"{CANARY}-deep").mkdir(parents=True)
            for name in ("secret.md", "a.md", "folder/secret.md", f"{CANARY}.md", f"folder/{CANARY}.md"):
                (folder / name).write_text(f"{CANARY}\n")
        self.descriptors.append(os.open(self.outside / "secret.md", os.O_RDONLY))
        self.descriptors.append(os.open(self.outside, os.O_RDONLY))
        self._lay_links()
        self._lay_names()
        self._lay_devices()
        for path in self._everything():
            if not path.is_symlink():
                os.utime(path, ns=(LONG_AGO_NS, path.stat().st_mtime_ns))

    def clear(self) -> None:
        """Close what was opened."""
        for descriptor in self.descriptors:
            os.close(descriptor)

    def state(self) -> dict[str, object]:
        """Return what can be seen of what lies outside without reading it, and when it was last read."""
        seen: dict[str, object] = {}
        for path in self._everything():
            facts = path.lstat()
            seen[str(path)] = (facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_nlink)
            if stat.S_ISREG(facts.st_mode):
                seen[f"last read: {path}"] = facts.st_atime_ns
        seen["served"] = sorted(path.name for path in self.served.iterdir())
        seen["folder"] = sorted(path.name for path in self.folder.iterdir())
        return seen

    def _everything(self) -> Iterator[Path]:
        for folder in self.strange:
            yield folder
            yield from sorted(folder.rglob("*"))

    def links(self) -> dict[str, str]:
        """Return the links of the workspace that lead out, in circles, or to what is off limits, by their names."""
        outside, served = str(self.outside), str(self.served)
        file, folder = self.descriptors
        up = "../" * len(self.project.parts)
        return {
            "relative": "../../outside",
            "relative-file": "../../outside/secret.md",
            "absolute": outside,
            "absolute-file": f"{outside}/secret.md",
            "slashes": f"//{outside}//./",
            "root": "/",
            "up": "..",
            "far-up": "../" * 40,
            "by-etc": f"{up}etc",
            "by-passwd": "/etc/passwd",
            "within-and-out": "src/../../../outside",
            "out-and-in": "../project/src",
            "out-and-in-absolute": f"{outside}/../served/project/src",
            "neighbor": "../neighbor",
            "twin": f"{served}/project-twin",
            "chain-1": "chain-2",
            "chain-2": "src/../chain-3",
            "chain-3": f"{self.project}/chain-4",
            "chain-4": outside,
            "src/back": "../relative",
            "src/deep/back": "../back/folder",
            "loop": "loop",
            "loop-a": "loop-b",
            "loop-b": f"{self.project}/loop-a",
            "growing": "growing/growing",
            "dangling": f"{outside}/new.md",
            "dangling-folder": f"{outside}/new/deeper",
            "proc-root": f"/proc/self/root{outside}",
            "proc-cwd": "/proc/self/cwd",
            "proc-environ": "/proc/self/environ",
            "proc-mem": "/proc/self/mem",
            "proc-fd": f"/proc/self/fd/{file}",
            "proc-fd-folder": f"/proc/self/fd/{folder}",
            "dev-fd": f"/dev/fd/{file}",
            "dev-stdin": "/dev/stdin",
            "dev-zero": "/dev/zero",
            "log": "audit-log.jsonl",
            "log-absolute": str(self.audit),
            "log-head": "src/../audit-log.jsonl.head",
            "settings": "recovery.toml",
        }

    def names(self) -> dict[str, Path]:
        """Return the second names, hard links, that files from outside or off limits have in the workspace."""
        return {
            "hard.md": self.outside / "secret.md",
            "src/hard.md": self.outside / "folder/secret.md",
            "hard-neighbor.md": self.served / "neighbor/secret.md",
            "hard-settings.toml": self.settings,
        }

    def devices(self) -> dict[str, int]:
        """Return what is no file, by its name: the kinds of the operating system."""
        return {"pipe": stat.S_IFIFO, "socket": stat.S_IFSOCK, "null": stat.S_IFCHR, "disk": stat.S_IFBLK}

    def _lay_links(self) -> None:
        for name, target in self.links().items():
            (self.project / name).symlink_to(target)

    def _lay_names(self) -> None:
        for name, file in self.names().items():
            os.link(file, self.project / name)

    def _lay_devices(self) -> None:
        os.mkfifo(self.project / "pipe")
        with _within(self.project), socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")  # the address of a socket has to be short
        for name in ("null", "disk"):
            with suppress(PermissionError):  # only root makes devices
                os.mknod(self.project / name, self.devices()[name] | 0o666, os.makedev(1, 3))


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
