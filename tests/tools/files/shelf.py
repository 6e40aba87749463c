"""A folder with a few files that are changed together, and what may be seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.doors import Files, GiveUp, Roots, Written, never

OLD, NEW = "old ", "new "
LIMIT = 10_000_000


@dataclass(frozen=True)
class Shelf:
    """Two files to replace, one of them with a backup, and one to make."""

    folder: Path
    times: int = 2_000

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def path(self, name: str) -> str:
        return str(self.root / name)

    def data(self, name: str, word: str) -> bytes:
        return (word + name).encode() * self.times

    def set_up(self) -> Files:
        """Put the old files there, as an editor does, and nothing else."""
        self.root.mkdir(parents=True, exist_ok=True)
        for file in self.root.iterdir():
            if file.name not in {"a", "b"}:
                file.unlink()
        for name in ("a", "b"):
            (self.folder / "fresh").write_bytes(self.data(name, OLD))
            (self.folder / "fresh").rename(self.root / name)
        return self.files()

    def files(self) -> Files:
        return Files(Roots([self.root]), state_folder=self.state)

    def change(self, files: Files, *, give_up: GiveUp = never) -> list[Written]:
        """Change all three together."""
        paths = [self.path(name) for name in ("a", "b", "c")]
        with files.transaction(paths, give_up=give_up, wait_s=0) as work:
            for name in ("a", "b"):
                work.read(self.path(name), bytes_at_most=LIMIT)
                work.replace(self.path(name), self.data(name, NEW), backup=name == "a")
            work.create(self.path("c"), self.data("c", NEW))
            return work.commit()

    def change_one(self, files: Files) -> list[Written]:
        """Change one, with a backup."""
        with files.transaction([self.path("a")], wait_s=0) as work:
            work.read(self.path("a"), bytes_at_most=LIMIT)
            work.replace(self.path("a"), self.data("a", NEW), backup=True)
            return work.commit()

    def seen(self) -> dict[str, bytes]:
        """Return every file that is there, the hidden ones, too."""
        return {file.name: file.read_bytes() for file in self.root.iterdir()}

    def journals(self) -> list[str]:
        folder = self.state / "journals"
        return sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []

    @property
    def before(self) -> dict[str, bytes]:
        return {name: self.data(name, OLD) for name in ("a", "b")}

    @property
    def after(self) -> dict[str, bytes]:
        return {name: self.data(name, NEW) for name in ("a", "b", "c")} | {"a.bak": self.data("a", OLD)}

    @property
    def after_one(self) -> dict[str, bytes]:
        return {"a": self.data("a", NEW), "a.bak": self.data("a", OLD), "b": self.data("b", OLD)}
