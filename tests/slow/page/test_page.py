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


FINDINGS = """async () => {
    const ago = (seconds) => new Date(Date.now() - 1000 * seconds).toISOString();
    const call = (code, category, seconds) => (
        {tool: "shop", operation: "sell", code, category, outcome: "error", timestamp: ago(seconds)});
    const sign = (metric, label) => ({metric, label, count: 20, first: ago(9), last: ago(1)});
    const row = {tool: "shop", operation: "sell", calls: {ok: 10}, rate_per_s: 5, p50_ms: 3, in_flight: 0};
    const well = {
        phase: "ready", store: {kind: "redis", available: true}, audit: {ok: true}, reload: {ok: true}, recent: [],
        dependencies: [], errors: [], workers: [], operations: [row], objective: {target: 0.99, burn_5m: 0}};
    const [{findings}, {Pace}] = await Promise.all([import("./page/headline.js"), import("./page/pace.js")]);
    const slow = new Pace();
    for (let at = 0; at < 6; at++) slow.add({operations: [{...row, in_flight: 4}]}, Date.now() / 1000 - 5 + at);
    const burning = {objective: {target: 0.99, burn_5m: 20}};
    const open = [{name: "bank", circuit: "open", since: ago(1), retry_at: ago(-3)}];
    const replaced = {workers: [{pid: 7, restarts: 1, started: ago(3)}]};
    const cases = {
        well: [{}],
        down: [{dependencies: open, recent: [call("UNAVAILABLE", "unavailable", 4)], ...burning}, ago(30)],
        over: [{recent: [call("UNAVAILABLE", "unavailable", 15)], ...burning}, ago(30)],
        flaps: [{dependencies: open, signs: [sign("mcp_circuit_transitions_total", "bank")]}],
        slow: [{}, null, null, slow],
        crashes: [{recent: [call("UNKNOWN_ERROR", "internal", 1)]}],
        crashed: [{recent: [call("UNKNOWN_ERROR", "internal", 15)]}],
        killed: [{...replaced, signs: [{...sign("mcp_worker_restarts_total", "exited"), count: 1}]}],
        stalled: [{...replaced, signs: [{...sign("mcp_worker_restarts_total", "stalled"), count: 1}]}],
        silent: [{}, null, null, slow, Date.now() - 5000],
        store: [{store: {kind: "redis", available: false, fault: "lost", since: ago(4)}}],
        audit: [{audit: {ok: false, since: ago(4)}}],
        reload: [{reload: {ok: false, error: "line 1", since: ago(4)}}],
        quota: [{store: {...well.store, quota_used: 0.9}}],
        refused: [{signs: [sign("mcp_http_refused_total", "421")]}],
        tokens: [{signs: [sign("mcp_http_refused_total", "401")]}],
        overload: [{recent: [call("OVERLOADED", "overloaded", 1)]}],
        lost: [{recent: [call("IDEMPOTENCY_OUTCOME_UNKNOWN", "conflict", 4)]}],
        repeats: [{signs: [sign("mcp_repeated_failures_total", "NOT_FOUND")]}],
        drains: [{phase: "draining"}],
    };
    const age = (since) => (since ? Math.floor((Date.now() - Date.parse(since)) / 1000) : null);
    return Object.fromEntries(Object.entries(cases).map(([name, [change, ...more]]) => {
        const [worst] = findings({...well, ...change}, ...more);
        return [name, worst ? [worst.tone, age(worst.since), worst.incident ?? null] : null];
    }));
}"""


def test_the_headline_names_each_fault_since_when_and_its_incident_and_that_it_is_over(
    tab: Any, server: Served
) -> None:
    tab.goto(server.url)
    assert tab.evaluate(FINDINGS) == {
        "well": None,
        "down": ["bad", 4, "A dependency is down"],
        "over": ["note", None, "Callers suffer"],
        "flaps": ["bad", 9, "A dependency flaps"],
        "slow": ["warn", 5, "A dependency is slow"],
        "crashes": ["bad", 1, "A handler crashes"],
        "crashed": ["note", None, "A handler crashes"],
        "killed": ["warn", None, "A worker was killed"],
        "stalled": ["warn", None, "A worker stalls"],
        "silent": ["bad", 5, "A replica is down"],
        "store": ["bad", 4, "The state store cannot be used"],
        "audit": ["bad", 4, "The audit log cannot be written"],
        "reload": ["warn", 4, "The recovery file has a mistake"],
        "quota": ["warn", None, "A quota is nearly used up"],
        "refused": ["warn", 9, "Requests are refused"],
        "tokens": ["warn", 9, "A flood of 401"],
        "overload": ["bad", 1, "Threads are used up"],
        "lost": ["bad", 4, "A keyed write was lost"],
        "repeats": ["note", 9, "A client repeats a failing call"],
        "drains": ["warn", None, None],
    }


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
