"""The anchors of all headings of real documentation sites are those of GitHub's slugger."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.doors import anchors, read_front_matter
from tests.programs.node import Node

PACKAGES = Path(os.environ.get("DOCS_SITES", Path.home() / ".cache" / "failsoft-docs-sites"))
SITES = {
    "ai": "package/docs",
    "next": "package/dist/docs",
    "npm": "package/docs",
    "mastra": "package/.docs",
    "fastify": "package/docs",
    "markdownlint": "package/doc",
    "undici": "package/docs",
}
"""By the folders of the packages. The last three came after the scanner; only `fastify` had wrong anchors then, two."""


@pytest.mark.parametrize("site", SITES)
def test_every_heading_of_a_site_has_the_anchor_of_github(site: str, tmp_path: Path) -> None:
    if not (PACKAGES / "stamp").exists() or shutil.which("node") is None:
        pytest.skip("there is no node, or the documentation sites were not fetched (scripts/fetch.sh docs_sites)")
    folder = PACKAGES / site / SITES[site]
    pages = {
        str(path.relative_to(folder)): read_front_matter(path.read_text(encoding="utf-8")).body
        for path in sorted(folder.rglob("*.md*"))
        if path.suffix in {".md", ".mdx"}
    }
    (tmp_path / "pages.json").write_text(json.dumps(pages), encoding="utf-8")

    wanted = Node(PACKAGES).script("github_anchors.mjs", str(tmp_path / "pages.json"))
    found = {page: anchors(text) for page, text in pages.items()}

    assert {page: (found[page], wanted[page]) for page in pages if found[page] != wanted[page]} == {}
    print(f"{site}: {sum(map(len, wanted.values())):,} headings of {len(pages):,} pages")  # noqa: T201 - the figure
