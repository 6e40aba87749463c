"""What the surveyed servers work on: files, a repository, databases and a workbook, made afresh for each run."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path

__all__ = ["fill"]

MENU = "# Menu\n\n- tea: 3\n- coffee: 4\n- cocoa: 5\n"
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: local, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: local, context: {cluster: local, user: local}}]
current-context: local
users: [{name: local, user: {}}]
"""
OFFICE = """
import docx, duckdb, kglite, openpyxl

duckdb.connect("shop.duckdb").execute("CREATE TABLE items AS SELECT 'tea' AS name, 3 AS price")
graph = kglite.KnowledgeGraph()
graph.cypher("CREATE (:Drink {name: 'tea'})")
graph.save("shop.kgl")
report = docx.Document()
report.add_heading("Report")
report.add_paragraph("Tea sold well.")
report.save("files/report.docx")
book = openpyxl.Workbook()
book.active.append(["tea", 3])
book.save("files/prices.xlsx")
"""
AUTHOR = {"GIT_AUTHOR_DATE": "2026-01-01T12:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T12:00:00Z"}


def fill(folder: Path, python: Path) -> None:
    """Write all of it below a folder that is empty; `python` has the libraries of `OFFICE`."""
    files = folder / "files"
    (files / "guide").mkdir(parents=True)
    (files / "menu.md").write_text(MENU)
    (files / "guide" / "intro.md").write_text("# Introduction\n\nOpen from eight.\n")
    (folder / "papers").mkdir()
    (folder / "kubeconfig.yaml").write_text(KUBECONFIG)
    entity = {"type": "entity", "name": "tea", "entityType": "drink", "observations": ["hot"]}
    (folder / "memory.jsonl").write_text(json.dumps(entity) + "\n")
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
        shop.execute("INSERT INTO items (name) VALUES ('tea')")
    shop.close()
    subprocess.run([python, "-c", OFFICE], cwd=folder, check=True)  # noqa: S603 - our own text
    _repository(folder / "repository")


def _repository(folder: Path) -> None:
    folder.mkdir()
    (folder / "menu.md").write_text(MENU)
    someone = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*someone, "commit", "-q", "-m", "Add the menu"]):
        command = ["git", *words]
        subprocess.run(command, cwd=folder, env={**os.environ, **AUTHOR}, check=True)  # noqa: S603 - our own words
