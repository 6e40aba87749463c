"""The page of a running server in headless Chromium; `PAGE_PICTURES` names a folder that keeps the pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    CallContext,
    CircuitBreaker,
    NotFound,
    Runtime,
    Settings,
    Unavailable,
    asgi_app,
    operation,
)
from failsoft.metrics import PrometheusRecorder
from scripts import audit_site
from tests.slow.page.pictures import DESKTOP, HEIGHT, PHONE, TABLET, Served, bookshop, served, use

READER, ADMIN = "the token of a reader", "the token of an operator"
VIEWS = [(width, scheme) for width in (DESKTOP, TABLET, PHONE) for scheme in ("light", "dark")]
HOSTILE = """<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"""
AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
    ({id, nodes}) => `${id}: ${nodes.length} times, first ${nodes[0].html} ${nodes[0].failureSummary}`)"""
WIDE = "document.documentElement.scrollWidth > innerWidth"


class Hostile(BaseTool):
    """Everything that can be named is markup."""

    @operation(read_only=True, recovery=[CircuitBreaker(HOSTILE)])
    async def look(self, text: str = HOSTILE) -> str:
        raise Unavailable(HOSTILE)

    @operation(effects=True)
    async def change(self, call: CallContext) -> str:
        await call.effect("ship", lambda: "done")
        raise NotFound(HOSTILE, suggestions=[HOSTILE])


Hostile.look.__doc__ = Hostile.change.__doc__ = HOSTILE


@pytest.fixture(scope="module")
def shop() -> Any:
    return bookshop(auth_token=READER, admin_token=ADMIN, environment="development")


@pytest.fixture(scope="module")
def server(shop: Any) -> Iterator[Served]:
    with served(asgi_app(shop, name="bookshop", version="1.4.2")) as running:
        running.run(use(shop))
        yield running


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": DESKTOP, "height": HEIGHT}, reduced_motion="reduce")
    opened = context.new_page()
    opened.set_default_timeout(15_000)
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    yield opened
    context.close()
    assert faults == []


def enter(tab: Any, url: str, token: str = READER) -> None:
    """Open the page with the token of a reader."""
    tab.goto(url)
    tab.get_by_label("Token").fill(token)
    tab.get_by_role("button", name="Open").click()
    tab.wait_for_selector("#catalogue .tools li")


def test_the_page_asks_for_the_token_and_keeps_it_in_memory_alone(tab: Any, server: Served) -> None:
    tab.goto(server.url)
    tab.get_by_label("Token").fill("another")
    assert tab.locator("#operations").count() == 0
    tab.get_by_role("button", name="Open").click()
    tab.get_by_text("The server does not take this token.").wait_for()
    enter(tab, server.url)
    assert tab.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert tab.url == server.url
    assert "find_book" in tab.inner_text("#operations")
    tab.reload()
    tab.get_by_label("Token").wait_for()


def test_axe_finds_nothing_and_the_page_fits_at_every_width_in_both_schemes(
    tab: Any, server: Served, tmp_path: Path
) -> None:
    enter(tab, server.url)
    tab.locator("#failures").get_by_role("button", name="UNAVAILABLE").first.click()
    tab.locator(".steps li").first.wait_for()
    tab.locator(".tools summary").first.click()
    tab.evaluate(audit_site.AXE.read_text())
    folder, found = Path(os.environ.get("PAGE_PICTURES") or tmp_path), []
    folder.mkdir(exist_ok=True)
    for width, scheme in VIEWS:
        tab.set_viewport_size({"width": width, "height": HEIGHT})
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if tab.evaluate(WIDE):
            found.append(f"{width} {scheme}: wider than the window")
        found += [f"{width} {scheme}: {one}" for one in tab.evaluate(AXE)]
        tab.screenshot(path=folder / f"page-{width}-{scheme}.png", full_page=True)
    assert found == []


def test_a_failing_call_shows_without_a_reload_and_the_headline_says_what_to_do(
    tab: Any, server: Served, shop: Any
) -> None:
    # Another clock than the server's.
    tab.add_init_script("const began = Date.now; Date.now = () => began() + 3_600_000")
    server.run(shop.read_page(title="Emma", page=2))  # one of a few seconds ago: later it is a crash that is over
    enter(tab, server.url)
    assert "read_page crashes" in tab.inner_text("#headline")
    sentence = tab.locator("#headline .sentence")
    assert "warehouse is down since" in sentence.inner_text()
    assert "of calls failed in the last 5 minutes" in sentence.inner_text()
    assert "A dependency is down" in tab.inner_text("#headline .incident")
    shown = tab.locator("#failures tbody tr", has_text="ALREADY_EXISTS")
    assert shown.count() == 0
    server.run(shop.order_book(title="Dune", copies=-1))
    shown.wait_for(timeout=5_000)
    shown.get_by_role("button").click()
    tab.locator(".steps", has_text="The call ended: error, ALREADY_EXISTS").wait_for()
    assert "failsoft find" in tab.inner_text(".steps")
    tab.get_by_role("button", name="What ALREADY_EXISTS means").click()
    assert "ALREADY_EXISTS" in tab.inner_text("dialog[open] h2")


CONNECTION = """async () => {
    const {ofTheConnection} = await import("./page/headline.js");
    const ago = (seconds) => Date.now() - 1000 * seconds;
    const cases = {
        well: [{phase: "ready"}, null, ago(3)],
        drains: [{phase: "draining"}, null, ago(5)],
        silent: [{phase: "ready"}, null, ago(5)],
        lost: [{phase: "ready"}, new Date(ago(7)).toISOString(), ago(9)],
    };
    const age = (since) => Math.floor((Date.now() - Date.parse(since)) / 1000);
    return Object.fromEntries(Object.entries(cases).map(([name, facts]) => {
        const found = ofTheConnection(...facts);
        return [name, found.map(({severity, since, incident}) => [severity, age(since), incident ?? null])];
    }));
}"""


SHOWN = """async () => {
    const {Headline} = await import("./page/headline.js");
    const headline = new Headline(document.createElement("p"));
    const now = new Date().toISOString();
    const slow = {key: "slow", severity: "warning", what: "bank is slow", since: now, incident: "A dependency is slow"};
    const over = {key: "over", severity: "note", what: "sell crashed", last: now, incident: "A handler crashes"};
    const findings = [slow, ...Array(8).fill(over)].map((one) => ({...one, todo: "repair it"}));
    const said = {callers: "nobody suffers", findings};
    headline.update({name: "shop", phase: "ready", operations: [], headline: said}, null);
    const text = (selector) => headline.element.querySelector(selector).textContent;
    return {
        tone: headline.element.dataset.tone, sentence: text(".sentence").trim(), incident: text(".incident"),
        title: document.title,
        others: [...headline.element.querySelectorAll(".others li")].map((one) => one.textContent),
    };
}"""


def test_the_page_itself_says_that_it_hears_nothing_of_its_server(tab: Any, server: Served) -> None:
    tab.goto(server.url)
    assert tab.evaluate(CONNECTION) == {
        "well": [],
        "drains": [],
        "silent": [["error", 5, "A replica is down"]],
        "lost": [["error", 7, None]],
    }


def test_what_is_over_or_lasts_is_shown_with_its_time_and_more_than_six_others_are_counted(
    tab: Any, server: Served
) -> None:
    tab.goto(server.url)
    shown = tab.evaluate(SHOWN)
    assert shown["tone"] == "warning"
    assert shown["sentence"].startswith("Warning: bank is slow since ")
    assert shown["sentence"].endswith("; nobody suffers. Repair it.")
    assert shown["incident"].endswith("A dependency is slow")
    assert len(shown["others"]) == 7
    assert shown["others"][0].startswith("sell crashed, last at ")
    assert shown["others"][0].endswith(" (A handler crashes)")
    assert shown["others"][-1] == "and 2 more"
    assert shown["title"] == "! bank is slow · shop"


def test_texts_of_others_stay_text(tab: Any) -> None:
    tools = Hostile(
        runtime=Runtime(settings=Settings(environment="development", admin_token=ADMIN), metrics=PrometheusRecorder())
    )
    with served(asgi_app(tools, name=HOSTILE, version=HOSTILE)) as server:
        for _ in range(12):
            server.run(tools.look())
            server.run(tools.change())
        tab.goto(server.url)
        tab.wait_for_selector("#catalogue .tools li")
        for code in ("UNAVAILABLE", "NOT_FOUND"):
            tab.locator("#failures").get_by_role("button", name=code).first.click()
            tab.locator(".steps", has_text=f"The call ended: error, {code}").wait_for()
        assert "The effect ship was carried out" in tab.inner_text(".steps")
        for summary in tab.locator(".tools summary").all():
            summary.click()
        tab.get_by_role("button", name="Call it").click()
        tab.locator(".answer pre", has_text="onerror").first.wait_for()
        text = tab.inner_text("body")
        assert text.count("<img src=x") > 5
        assert tab.evaluate("[document.images.length, window.hacked ?? null]") == [0, None]


def test_a_control_is_confirmed_and_its_token_is_forgotten_when_it_is_refused(tab: Any, server: Served) -> None:
    enter(tab, server.url)
    assert not tab.get_by_role("button", name="Pause order_book").is_visible()
    for token in ("another", ADMIN):
        tab.get_by_role("button", name="Controls…").click()
        tab.get_by_label("Admin token").fill(token)
        tab.get_by_role("button", name="Unlock").click()
        tab.get_by_role("button", name="Pause order_book").click()
        assert "UNAVAILABLE" in tab.inner_text("dialog[open]")
        tab.get_by_label("Reason, which callers are told").fill("Stocktaking")
        tab.locator("dialog[open]").get_by_role("button", name="Pause order_book").click()
        if token == ADMIN:
            break
        tab.locator("dialog[open] .failed", has_text="token").wait_for()
        tab.keyboard.press("Escape")
    paused = tab.get_by_role("button", name="Resume order_book")
    paused.wait_for()
    tab.locator("#headline .others", has_text="order_book is paused: Stocktaking").wait_for()
    paused.click()
    tab.get_by_role("button", name="Cancel").click()
    assert paused.is_visible()
    paused.click()
    tab.locator("dialog[open]").get_by_role("button", name="Resume order_book").click()
    tab.get_by_role("button", name="Pause order_book").wait_for()
    assert tab.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_the_page_is_used_with_the_keyboard_alone(tab: Any, server: Served) -> None:
    enter(tab, server.url)
    tab.evaluate("document.querySelector('.skip').focus()")
    assert tab.locator(".skip").bounding_box()["width"] > 100
    tab.keyboard.press("Enter")
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.matches('#failures button.code')"):
            break
    tab.keyboard.press("Enter")
    tab.locator(".steps li").first.wait_for()
    assert tab.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent.startsWith('What ')"):
            break
    tab.keyboard.press("Enter")
    tab.locator("dialog[open]").wait_for()
    tab.keyboard.press("Escape")
    assert tab.locator("dialog[open]").count() == 0


def test_a_tool_that_reads_is_tried_and_the_text_of_the_model_is_shown(tab: Any, server: Served) -> None:
    enter(tab, server.url)
    panel = tab.locator("#try")
    assert panel.locator("option").all_inner_texts() == ["find_book", "read_page"]
    panel.get_by_label("Tool").select_option("read_page")
    panel.locator("#try-field-title").fill("Emma")
    panel.locator("#try-field-page").fill("1")
    panel.get_by_role("button", name="Call it").click()
    panel.locator("pre", has_text="It was a dark and stormy night.").first.wait_for()


def test_a_tool_that_writes_now_is_not_tried(tab: Any, server: Served) -> None:
    sent: list[str] = []
    tab.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    tab.route("**/page/catalogue", _as_if_all_read)
    enter(tab, server.url)
    panel = tab.locator("#try")
    panel.get_by_label("Tool").select_option("order_book")
    panel.get_by_role("button", name="Call it").click()
    panel.locator("pre", has_text="does not only read").wait_for()
    assert sent == []


def _as_if_all_read(route: Any) -> None:
    """Answer with the catalogue of a server whose tools all read."""
    answer = route.fetch()
    found = answer.json()
    for tool in found["tools"]:
        tool["read_only"] = True
    route.fulfill(response=answer, json=found)


def test_the_page_says_that_its_server_drains_and_is_gone(tab: Any) -> None:
    app = asgi_app(bookshop(), name="bookshop")
    with served(app) as server:
        tab.goto(server.url)
        tab.locator("#headline", has_text="Nothing is wrong").wait_for()
        app.state.assembly.lifecycle.drain()
        tab.locator("#live[data-state=draining]").wait_for()
        tab.locator("#headline", has_text="The server is draining").wait_for()
    tab.locator("#headline", has_text="The server cannot be reached since").wait_for()
    assert "as it was then" in tab.inner_text("#headline .sentence")
