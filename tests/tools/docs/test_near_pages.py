"""What a caller is told of a page that is not there: the page that was meant first, and nothing that was not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contract.surroundings import write_documents
from tests.tools.docs.reader import Reader, reading

GUIDE = {
    "index.md": "# Home\n",
    "guide/index.md": "# Guide\n",
    "guide/intro.md": "# Intro\n\n## Install\n\n## Usage\n",
    "guide/routing.md": "# Routing\n",
    "start.md": "# Start\n",
}


def suggested(reader: Reader, path: str) -> list[str]:
    """Return the paths that the failure for a missing page names, in order."""
    suggestions = reader.error("get_documentation", path=path).get("suggestions", [])
    return [
        one.removeprefix("Did you mean: ").removesuffix("?").strip('"')
        for one in suggestions
        if "Did you mean: " in one
    ]


def test_the_index_of_the_folder_is_suggested_last(tmp_path: Path) -> None:
    with reading(tmp_path, GUIDE) as reader:
        first = [suggested(reader, path)[0] for path in ("guide/inrto.md", "guide/intro.html", "guide/introduction.md")]

    assert first == ["guide/intro.md"] * 3


def test_the_next_step_of_a_slip_in_a_short_path_is_the_page(tmp_path: Path) -> None:
    with reading(tmp_path, GUIDE) as reader:
        step = reader.error("get_documentation", path="statr.md").get("next_step")

    assert step == {"tool": "get_documentation", "arguments": {"path": "start.md"}}


def test_the_next_step_of_a_missing_letter_leads_to_the_page(tmp_path: Path) -> None:
    with reading(tmp_path, {**GUIDE, "guide/routine.md": "# Daily work\n"}) as reader:
        step = reader.error("get_documentation", path="guide/routng.md").get("next_step")

    assert step == {"tool": "get_documentation", "arguments": {"path": "guide/routing.md"}}


def test_two_equally_near_pages_are_both_suggested(tmp_path: Path) -> None:
    with reading(tmp_path, {"x/cat.md": "# A\n", "x/car.md": "# B\n"}) as reader:
        assert sorted(suggested(reader, "x/cab.md")) == ["x/car.md", "x/cat.md"]


def test_two_equally_near_sections_are_no_next_step(tmp_path: Path) -> None:
    with reading(tmp_path, {"page.md": "# P\n\n## Cat\n\n## Car\n"}) as reader:
        step = reader.error("get_documentation", path="page.md#cab").get("next_step")

    assert step in (None, {"tool": "get_documentation", "arguments": {"path": "page.md"}})


def test_one_slip_in_an_anchor_leads_to_its_section(tmp_path: Path) -> None:
    with reading(tmp_path, GUIDE) as reader:
        step = reader.error("get_documentation", path="guide/intro.md#isntall").get("next_step")

    assert step == {"tool": "get_documentation", "arguments": {"path": "guide/intro.md#install"}}


def test_an_unrelated_anchor_suggests_no_section(tmp_path: Path) -> None:
    with reading(tmp_path, GUIDE) as reader:
        assert suggested(reader, "guide/intro.md#zebra") == []


@pytest.mark.parametrize("path", ["/guide/intro", "/guide/intro/", "/guide/intro/#install", "/docs/guide/intro.md"])
def test_a_path_with_a_slash_in_front_leads_to_its_page(tmp_path: Path, path: str) -> None:
    with reading(tmp_path, GUIDE) as reader:
        assert leads_to(reader, path) == "guide/intro.md"


@pytest.mark.parametrize("path", ["/Guide/Intro", "/docs/GUIDE/intro.md", "/guide/./INTRO"])
def test_a_path_with_slashes_and_case_of_its_own_is_offered_its_page(tmp_path: Path, path: str) -> None:
    with reading(tmp_path, GUIDE) as reader:
        (fault,) = reader.error("get_documentation", path=path)["violations"]

    assert fault["suggestion"] == "guide/intro.md"


def test_the_path_of_a_page_on_the_disk_leads_to_it(tmp_path: Path) -> None:
    with reading(tmp_path, GUIDE) as reader:
        assert leads_to(reader, str(reader.folder / "guide/intro.md")) == "guide/intro.md"


def test_a_prefix_with_a_slash_in_front_leads_to_the_list(tmp_path: Path) -> None:
    with reading(tmp_path, GUIDE) as reader:
        answer = reader.ask("list_documents", prefix="/guide/")
        step = {} if answer["success"] else answer["error"].get("next_step") or {}

    assert answer["success"] or step.get("arguments") == {"prefix": "guide/"}


def test_the_search_for_a_missing_page_leaves_out_its_ending(tmp_path: Path) -> None:
    with reading(tmp_path, GUIDE) as reader:
        step = reader.error("get_documentation", path="guide/deployment.txt")["next_step"]

    assert step == {"tool": "search_documents", "arguments": {"query": "deployment"}}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_missing_page_starts_git_at_most_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, log = write_documents(tmp_path / "docs", GUIDE), tmp_path / "started"
    run = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "pages"]):
        subprocess.run([*run, *command], check=True, capture_output=True)
    started = tmp_path / "bin" / "git"
    started.parent.mkdir()
    started.write_text(f'#!/bin/sh\necho started >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    started.chmod(0o755)
    monkeypatch.setenv("PATH", str(started.parent), prepend=":")
    with reading(tmp_path, {}) as reader:
        reader.error("get_documentation", path="guide/gone.md")  # reads the history, once for each commit
        log.write_text("")
        reader.error("get_documentation", path="guide/away.md")

    assert len(log.read_text().splitlines()) <= 1


def test_a_misspelt_external_page_leads_to_the_page(tmp_path: Path) -> None:
    with reading(tmp_path, {"own/a.md": "# A\n", "vendor/install.md": "# Install\n"}) as reader:
        (reader.folder / "config.json").write_text('{"name": "p", "docs_root": "own", "external_docs": "vendor"}')
        reader.data("activate_project", config_path="config.json")
        if reader.read("external:vendor/install.md")["title"] != "Install":
            raise RuntimeError

        assert "external:vendor/install.md" in suggested(reader, "external:vendor/instal.md")


def leads_to(reader: Reader, path: str) -> str | None:
    """Return the page that a path is answered with, or that its refusal names as the next call."""
    answer = reader.ask("get_documentation", path=path)
    if answer["success"]:
        found: str = answer["data"]["documents"][0]["path"]
    else:
        found = (answer["error"].get("next_step") or {}).get("arguments", {}).get("path", "")
    return found.partition("#")[0]
