"""A folder's names in pages, and names near a missing one."""

from __future__ import annotations

from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site


def test_a_cursor_leads_to_the_names_after_the_first_thousand(site: Site, tool: Workspace) -> None:
    names = [f"file{number:04}.txt" for number in range(1_005)]
    for name in names:
        (site.project / name).touch()
    site.begin(tool)
    found: list[str] = []
    page = site.call(tool, "list_files")["data"]
    for _ in range(20):
        found += [entry["name"] for entry in page["entries"]]
        if not page.get("next_cursor"):
            break
        page = site.call(tool, "list_files", {"cursor": page["next_cursor"]})["data"]

    assert found == names


def test_near_names_are_looked_for_in_the_whole_folder(site: Site, tool: Workspace) -> None:
    for name in (*(f"file{number:04}.txt" for number in range(600)), "zebra.txt"):
        (site.project / name).touch()
    site.begin(tool)
    answer = site.call(tool, "read_file", {"path": "zebr.txt"})

    assert answer["error_code"] == "FILE_NOT_FOUND"
    assert "zebra.txt" in answer.get("suggestions", ())
