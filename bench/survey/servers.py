"""The twenty servers of the survey: package, version, language, and how its own documentation starts it.

In a command, `DATA` is the folder that `data.py` fills, and the first word is a program of the folder that
`scripts/fetch.sh more_surveyed` makes. Each starts in `DATA/files`. Where the documentation asks for a credential, none
is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

__all__ = ["SERVERS", "Surveyed"]

NPM, TWO, ONE = "node_modules/.bin", "two/bin", "one/bin"
OFFICIAL = "@modelcontextprotocol"


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One public server.

    Args:
        name: Short, for the table.
        package: Name in its registry.
        version: The one that was probed.
        registry: npm or PyPI.
        language: What it is written in.
        where: The folder of its program, below that of `scripts/fetch.sh`.
        start: The program and its arguments.
        variables: What its documentation sets in the environment, for data on this machine.
        calls_a_second: The most that it takes, where it has a limit.
    """

    name: str
    package: str
    version: str
    registry: str
    language: str
    where: str
    start: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    calls_a_second: int | None = None

    def command(self, folder: Path, data: Path) -> list[str]:
        """Return the command that starts it, with `env` before it where it has variables."""
        first, *rest = (word.replace("DATA", str(data)) for word in self.start)
        set_first = [f"{name}={value.replace('DATA', str(data))}" for name, value in self.variables.items()]
        return [*(["env", *set_first] if set_first else []), str(folder / self.where / first), *rest]


def _npm(
    name: str, package: str, version: str, *start: str, language: str = "TypeScript", **variables: str
) -> Surveyed:
    return Surveyed(name, package, version, "npm", language, NPM, start, variables)


def _pypi(
    name: str, package: str, version: str, *start: str, where: str = TWO, language: str = "Python", **variables: str
) -> Surveyed:
    return Surveyed(name, package, version, "PyPI", language, where, start, variables)


SERVERS = (
    _npm("everything", f"{OFFICIAL}/server-everything", "2026.8.31", "mcp-server-everything"),
    _npm("filesystem", f"{OFFICIAL}/server-filesystem", "2026.8.31", "mcp-server-filesystem", "DATA/files"),
    _npm(
        *("memory", f"{OFFICIAL}/server-memory", "2026.8.31", "mcp-server-memory"), MEMORY_FILE_PATH="DATA/memory.jsonl"
    ),
    _npm(
        *("sequential-thinking", f"{OFFICIAL}/server-sequential-thinking", "2026.8.31"),
        "mcp-server-sequential-thinking",
    ),
    _npm("desktop-commander", "@wonderwhy-er/desktop-commander", "0.2.52", "desktop-commander"),
    _npm("git (cyanheads)", "@cyanheads/git-mcp-server", "2.15.3", "git-mcp-server", GIT_BASE_DIR="DATA/repository"),
    _npm(
        *("kubernetes", "kubernetes-mcp-server", "0.0.67", "kubernetes-mcp-server", "--read-only"),
        *("--kubeconfig", "DATA/kubeconfig.yaml"),
        language="Go",
    ),
    _npm("mongodb", "mongodb-mcp-server", "3.0.4", "mongodb-mcp-server", "--readOnly"),
    _npm("excel (negokaz)", "@negokaz/excel-mcp-server", "0.12.0", "excel-mcp-server", language="Go"),
    _pypi("git", "mcp-server-git", "2026.10.19", "mcp-server-git", "--repository", "DATA/repository"),
    _pypi("time", "mcp-server-time", "2026.10.19", "mcp-server-time", "--local-timezone=Europe/Rome"),
    _pypi("fetch", "mcp-server-fetch", "2026.10.24", "mcp-server-fetch"),
    _pypi("sqlite", "mcp-server-sqlite", "2025.4.25", "mcp-server-sqlite", "--db-path", "DATA/shop.db", where=ONE),
    _pypi("excel", "excel-mcp-server", "2.2.2", "excel-mcp-server", "stdio"),
    _pypi("word", "office-word-mcp-server", "1.1.11", "word_mcp_server"),
    _pypi(*("motherduck", "mcp-server-motherduck", "1.1.0", "mcp-server-motherduck", "--db-path", "DATA/shop.duckdb")),
    _pypi(*("arxiv", "arxiv-mcp-server", "0.8.2", "arxiv-mcp-server", "--storage-path", "DATA/papers"), where=ONE),
    _pypi("grafana", "mcp-grafana", "2.1.1", "mcp-grafana", language="Go", GRAFANA_URL="http://127.0.0.1:9"),
    _pypi("kglite", "kglite", "0.21.2", "kglite-mcp-server", "--graph", "DATA/shop.kgl", language="Rust"),
    replace(_pypi("eggcalc", "eggcalc", "1.1.11", "calc", "--mcp"), calls_a_second=8),
)
