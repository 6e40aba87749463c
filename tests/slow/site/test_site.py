"""The built site in headless Chromium, over a sample of its pages; `scripts/audit_site.py` opens all of them.

`BUILT_SITE` names a folder with the site as it is built; without it, the site is built here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import audit_site
from scripts.audit_site import DESKTOP, PHONE

ROOT = Path(__file__).resolve().parents[3]
VIEWS = [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")]
SAMPLE = [
    "/",
    "tutorial/first-tool/",
    "how-to/troubleshoot/",
    "toolsets/edit/",
    "explanation/side-effects/",
    "reference/settings/",
    "reference/api/test/",
    "reference/errors/not_found/",
    "reference/strategies/retry/",
]
CHARACTERS = 88
NOT_IN_NAVIGATION = ("reference/errors/", "reference/rules/", "reference/strategies/")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site."""
    if built := os.environ.get("BUILT_SITE"):
        return Path(built)
    pytest.importorskip("material", reason="the group `dev` of pyproject.toml is not installed")
    folder = tmp_path_factory.mktemp("site")
    surroundings = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_URL": "https://docs.invalid/"}
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", folder]
    subprocess.run(build, cwd=ROOT, env=surroundings, check=True)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with audit_site.served(site) as base:
        yield base


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": DESKTOP, "height": 900}, color_scheme="light")
    yield context.new_page()
    context.close()


def test_every_link_and_anchor_of_the_site_leads_somewhere(site: Path) -> None:
    assert len(audit_site.addresses(site)) > 100
    assert audit_site.broken_links(site) == []


def test_only_the_page_of_the_specifications_names_their_documents(site: Path) -> None:
    named = [path.parent.name for path in site.rglob("*.html") if re.search(r"(?i)\bseeds? 00\d", path.read_text())]
    assert named == ["seeds"]


def test_axe_accepts_a_page_of_each_kind_in_both_schemes_and_on_a_phone(address: str, tab: Any) -> None:
    found = []
    for page in SAMPLE:
        tab.goto(address + page.lstrip("/"), wait_until="networkidle")
        found += [f"{page}: {finding}" for finding in audit_site.findings(tab, VIEWS)]
    assert found == []


def test_code_of_88_characters_fits_into_the_column(address: str, tab: Any) -> None:
    tab.goto(address + "how-to/wrap-an-http-api/")
    code = tab.locator("pre > code").first
    code.evaluate("(code, length) => { code.textContent = 'm'.repeat(length) }", CHARACTERS)
    assert code.evaluate("code => code.scrollWidth <= code.clientWidth")


def test_the_reader_switches_between_light_and_dark(address: str, tab: Any) -> None:
    tab.goto(address, wait_until="networkidle")
    schemes = []
    for _ in range(3):
        schemes.append(tab.evaluate("document.body.dataset.mdColorScheme"))
        tab.click("form[data-md-component=palette] label:not([hidden])")
    assert schemes == ["default", "default", "slate"]  # that of the system, light, dark


def test_the_search_finds_an_error_code(address: str, tab: Any) -> None:
    tab.goto(address, wait_until="networkidle")
    tab.get_by_role("textbox", name="Search").fill("DOC_NOT_FOUND")
    found = tab.get_by_role("dialog", name="Search").locator(".md-search-result__link", has_text="DOC_NOT_FOUND")
    assert "/reference/errors/not_found/#doc_not_found" in str(found.first.get_attribute("href"))


def test_programs_find_the_pages_in_the_sitemap_and_in_llms_txt(site: Path) -> None:
    sitemap, listed = ((site / name).read_text() for name in ("sitemap.xml", "llms.txt"))
    pages = [page for page in audit_site.addresses(site) if page != "/"]
    assert [page for page in pages if f"{page}</loc>" not in sitemap] == []
    in_navigation = [page for page in pages if not page.startswith(NOT_IN_NAVIGATION)]
    assert [page for page in in_navigation if f"/{page})" not in listed] == []
