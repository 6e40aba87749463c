"""Audits a built site: every link and anchor in it, and every page in headless Chromium with axe-core.

    mkdocs build --strict -d site && python scripts/audit_site.py site
    python scripts/audit_site.py site --pages reference/errors/not_found/ --pictures pictures

Each page is opened at the width of a desktop and of a phone, in the light and the dark scheme. It needs
Debian's `chromium`, `playwright` (the group `dev`) and axe-core (`scripts/fetch.sh site_audit`).
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

_FETCHED = Path(os.environ.get("SITE_AUDIT") or Path.home() / ".cache" / "failsoft-site-audit")
AXE = _FETCHED / "node_modules" / "axe-core" / "axe.min.js"

DESKTOP, PHONE = 1400, 390
VIEWS = tuple((width, scheme) for width in (DESKTOP, PHONE) for scheme in ("light", "dark"))
_AS_ROOT = ["--no-sandbox", "--disable-dev-shm-usage"]  # in a container, whose shared memory is small
_SCHEMES = {"light": "default", "dark": "slate"}
_AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
    ({id, help, nodes}) => `${id}: ${help}: ${nodes.length} times, first ${nodes[0].target.join(" ")}`)"""
_TOO_WIDE = "document.documentElement.scrollWidth > innerWidth"


class _Page(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        self.links += [found[name] for name in ("href", "src") if name in found and tag != "base"]
        if found.get("http-equiv") == "refresh":
            self.links.append(found["content"].partition("url=")[2])


def broken_links(site: Path) -> list[str]:
    """Return the links within the site that lead to no file or to no anchor, each with its page."""
    pages = {path: _Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        address = f"/{path.relative_to(site).as_posix()}"
        for link in sorted({*page.links}):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target, anchor = urldefrag(urljoin(address, link))
            place = site / unquote(target).lstrip("/")
            place = place / "index.html" if place.is_dir() else place
            if not place.exists() or (anchor and place in pages and unquote(anchor) not in pages[place].ids):
                broken.append(f"{address}: {link}")
    return broken


def addresses(site: Path) -> list[str]:
    """Return the address of each page, redirects apart, relative to the site."""
    found = [path for path in sorted(site.rglob("index.html")) if 'http-equiv="refresh"' not in path.read_text()[:600]]
    return [path.parent.relative_to(site).as_posix().replace(".", "") + "/" for path in found]


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site on loopback; the value is its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@contextmanager
def browser() -> Iterator[Any]:
    """Start Debian's Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_AS_ROOT)
        try:
            yield started
        finally:
            started.close()


def findings(tab: Any, views: Sequence[tuple[int, str]] = VIEWS) -> Iterator[str]:
    """Yield what axe finds on the opened page of the site in each view, and whether it is wider than its window."""
    return findings_in(tab, views, ready=lambda scheme: f"body[data-md-color-scheme={_SCHEMES[scheme]}]")


def findings_in(
    tab: Any, views: Sequence[tuple[int, str]] = VIEWS, *, ready: Callable[[str], str] = lambda _: "body"
) -> Iterator[str]:
    """Yield the same of any opened page, once an element of this selector is there."""
    tab.evaluate(AXE.read_text())
    for width, scheme in views:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.wait_for_selector(ready(scheme))
        found = [*tab.evaluate(_AXE), *(["wider than the window"] if tab.evaluate(_TOO_WIDE) else [])]
        yield from (f"{width} px, {scheme}: {each}" for each in found)


def main() -> int:
    """Print the findings; exit with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="the folder of the built site")
    parser.add_argument("--pages", nargs="+", help="addresses within the site; all pages without it")
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of each page in each view")
    options = parser.parse_args()
    count = 0
    for link in broken_links(options.site):
        count += 1
        print(f"broken link on {link}", flush=True)
    pages = options.pages or addresses(options.site)
    with served(options.site) as base, browser() as chromium:
        for page in pages:
            tab = chromium.new_page()
            tab.goto(base + page.lstrip("/"), wait_until="networkidle")
            for finding in findings(tab):
                count += 1
                print(f"/{page}: {finding}", flush=True)
            for width, scheme in VIEWS if options.pictures else ():
                tab.set_viewport_size({"width": width, "height": 900})
                tab.emulate_media(color_scheme=scheme)
                name = page.strip("/").replace("/", "-") or "home"
                tab.screenshot(path=options.pictures / f"{name}-{width}-{scheme}.png")
            tab.close()
    print(f"{count} findings on {len(pages)} pages, {len(VIEWS)} views each")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
