"""Takes the pictures of a server's page for the documentation, in headless Chromium.

    python -m tests.slow.page.pictures    # writes docs/assets/page-*.png, and what they were taken of

A test fails if a file of the page has changed since. It needs what `scripts/audit_site.py` needs.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from failsoft import (
    AlreadyExists,
    BaseTool,
    Bulkhead,
    CircuitBreaker,
    NotFound,
    Retry,
    Runtime,
    Settings,
    Unavailable,
    asgi_app,
    operation,
)
from failsoft.metrics import PrometheusRecorder
from scripts.audit_site import browser

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "src/failsoft/server/page/assets"
PICTURES = ROOT / "docs/assets"
TAKEN_OF = PICTURES / "page-pictures.txt"
"""The hash of the files that the pictures show."""
DESKTOP, TABLET, PHONE = 1400, 820, 390
HEIGHT = 900


class Bookshop(BaseTool):
    """Books, and a warehouse that can be unreachable."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.is_down = False
        self.fails = 0

    @operation(
        read_only=True,
        recovery=[Retry(attempts=3, base_s=0.001), CircuitBreaker("warehouse", min_calls=8, open_s=300)],
    )
    async def find_book(self, title: str) -> dict[str, str]:
        """Return a book by its title."""
        self.fails -= 1
        if self.is_down or self.fails >= 0:
            raise Unavailable("The warehouse does not answer.")
        return {"title": title, "shelf": "B 3"}

    @operation(read_only=True, recovery=[Bulkhead(limit=8, dependency="reading room")])
    async def read_page(self, title: str, page: int = 1) -> str:
        """Return a page of a book."""
        return ["It was a dark and stormy night."][page - 1]

    @operation
    async def order_book(self, title: str, copies: int = 1) -> str:
        """Order a book from its publisher."""
        if copies > 10:
            raise NotFound(f"No publisher has {copies} copies.")
        if copies < 1:
            raise AlreadyExists("The order is there.")
        return "ordered"


def bookshop(**settings: Any) -> Bookshop:
    """Return the toolset in a runtime of its own."""
    return Bookshop(runtime=Runtime(settings=Settings(**settings), metrics=PrometheusRecorder()))


async def use(shop: Bookshop) -> None:
    """Call the tools as a morning does on which the warehouse is lost."""
    for at in range(60):
        shop.fails = 1 if at % 12 == 5 else 0
        await shop.find_book(title="Dune")
        await shop.read_page(title="Dune")
        if at % 4 == 0:
            await shop.order_book(title="Dune")
        if at % 20 == 7:
            await shop.find_book(titel="Dune")  # type: ignore[call-arg]  # as models do
            await shop.order_book(title="Dune", copies=40)
    shop.is_down = True
    for at in range(72):
        await shop.find_book(title="Emma")
        await shop.read_page(title="Emma", page=1 + (at % 24 == 3))


class Served:
    """A running server."""

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.url, self._loop = url, loop

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the event loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=60)


@contextmanager
def served(app: Starlette) -> Iterator[Served]:
    """Serve an app on loopback, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        begun, found = threading.Event(), []

        async def serve() -> None:
            found.append(asyncio.get_running_loop())
            asyncio.get_running_loop().call_soon(begun.set)
            await server.serve(sockets=[listener])

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        begun.wait(timeout=30)
        try:
            yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}/", found[0])
        finally:
            server.should_exit = True
            thread.join(timeout=30)


def hash_of_page() -> str:
    """Return the hash of the files that decide how the page looks."""
    found = hashlib.sha256()
    for file in sorted(ASSETS.iterdir()):
        if file.suffix != ".txt":
            found.update(f"{file.name}\n".encode() + file.read_bytes())
    return found.hexdigest()


def main() -> None:
    """Take the pictures of a server that has run for a while."""
    shop = bookshop(admin_token="the token of an operator")
    with served(asgi_app(shop, name="bookshop", version="1.4.2")) as server, browser() as chromium:
        server.run(use(shop))
        for width, scheme in ((DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")):
            view = {"width": width, "height": HEIGHT}
            context = chromium.new_context(viewport=view, color_scheme=scheme, timezone_id="UTC", locale="en-GB")
            tab = context.new_page()
            tab.goto(server.url)
            tab.wait_for_selector("#catalogue .tools li")
            tab.wait_for_selector("#errors .legend li")
            tab.screenshot(path=PICTURES / f"page-{width}-{scheme}.png")
            context.close()
    TAKEN_OF.write_text(f"{hash_of_page()}\n")


if __name__ == "__main__":
    main()
