"""The anchors of all headings of real documentation sites are those of GitHub's slugger."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.doors import anchors, read_front_matter
from tests.programs.node import Node
from tests.thorough import THOROUGH

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


MANY = 200
"""Of a site with more pages, a third are read; with `HYPOTHESIS_PROFILE=thorough`, all of them."""


def read_pages(site: str) -> dict[str, str]:
    """Return the bodies of a site's pages, by the names of the site and of the file."""
    folder = PACKAGES / site / SITES[site]
    paths = sorted(path for path in folder.rglob("*.md*") if path.suffix in {".md", ".mdx"})
    read = paths if THOROUGH or len(paths) <= MANY else paths[::3]
    assert read, folder
    return {
        f"{site}: {path.relative_to(folder)}": read_front_matter(path.read_text(encoding="utf-8")).body for path in read
    }


def test_every_heading_of_the_sites_has_the_anchor_of_github(tmp_path: Path) -> None:
    """In one Node, which takes longer to start than to read most of the sites."""
    if not (PACKAGES / "stamp").exists() or shutil.which("node") is None:
        pytest.skip("there is no node, or the documentation sites were not fetched (scripts/fetch.sh docs_sites)")
    pages = {name: body for site in SITES for name, body in read_pages(site).items()}
    (tmp_path / "pages.json").write_text(json.dumps(pages), encoding="utf-8")

    wanted = Node(PACKAGES).script("github_anchors.mjs", str(tmp_path / "pages.json"))
    found = {name: anchors(body) for name, body in pages.items()}

    assert {name: (found[name], wanted[name]) for name in pages if found[name] != wanted[name]} == {}
    print(f"{sum(map(len, wanted.values())):,} headings of {len(pages):,} pages")  # noqa: T201 - the figure
