"""The page: its files, what headers protect it, and who is shown what."""

from __future__ import annotations

import gzip
import re
from importlib import resources
from pathlib import Path

import pytest

from failsoft import Settings, asgi_app
from failsoft.testing import fresh_runtime
from tests.server.http.test_app import opened
from tests.server.http.test_status import Shop
from tests.slow.page.pictures import PICTURES, TAKEN_OF, hash_of_page

pytestmark = pytest.mark.anyio
ASSETS = sorted(file.name for file in resources.files("failsoft.server.page").joinpath("assets").iterdir())
INCIDENTS = Path(__file__).parents[3] / "docs/how-to/incidents.md"
READER, ADMIN = "the token of a reader", "the token of an operator"
GUARDED = ("/events", "/page/catalogue", "/page/code/NOT_FOUND", "/page/story/0123456789abcdef")


def shop(**settings: object) -> Shop:
    """Return a toolset with these settings."""
    made = Shop(runtime=fresh_runtime(settings=Settings(**settings)))
    made.answers = []
    return made


async def test_the_page_is_protected_and_names_its_server_as_text() -> None:
    async with opened(asgi_app(shop(), name="<b>shop</b>")) as client:
        page = await client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = dict(part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert "&lt;b&gt;shop&lt;/b&gt;" in page.text
    assert "<b>shop" not in page.text
    assert "{{" not in page.text


async def test_every_file_of_the_page_is_served_small_and_once() -> None:
    async with opened(asgi_app(shop())) as client:
        page = await client.get("/")
        named = set(re.findall(r'(?:src|href)="page/([^"]+)"', page.text))
        assert named | {"page.html", "uplot-license.txt"} == {*ASSETS}
        size = len(gzip.compress(page.content))
        for name in ASSETS:
            answer = await client.get(f"/page/{name}")
            if name == "page.html":
                assert answer.status_code == 404
                continue
            assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip")
            assert answer.headers["x-content-type-options"] == "nosniff"
            size += int(answer.headers["content-length"])
            again = await client.get(f"/page/{name}", headers={"if-none-match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            listed = await client.get(f"/page/{name}", headers={"if-none-match": f'"other", {answer.headers["etag"]}'})
            assert listed.status_code == 304
        plain = await client.get("/page/page.js", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert (await client.get("/page/..%2froutes.py")).status_code == 404
    assert size < 150_000


def test_no_script_parses_text_as_markup_or_names_another_host() -> None:
    for file in resources.files("failsoft.server.page").joinpath("assets").iterdir():
        text = file.read_text()
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text) == []
        if not file.name.startswith("uplot"):
            assert re.findall(r"https?://|localStorage|sessionStorage|document\.cookie|EventSource", text) == []


def test_the_incidents_that_the_page_names_are_in_the_documentation() -> None:
    script = resources.files("failsoft.server.page").joinpath("assets/headline.js").read_text()
    named = set(re.findall(r'incident: "([^"]+)"', script))
    assert named
    assert named <= set(re.findall(r"^## (.+)$", INCIDENTS.read_text(), re.MULTILINE))


async def test_without_the_token_nothing_but_name_and_phase_is_shown() -> None:
    tools = shop(auth_token=READER, admin_token=ADMIN)
    async with opened(asgi_app(tools, name="shop")) as client:
        assert "price" not in (await client.get("/")).text
        for path in GUARDED:
            for headers in ({}, {"authorization": "Bearer wrong"}):
                answer = await client.get(path, headers=headers)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        for token in (READER, ADMIN):
            answer = await client.get("/page/catalogue", headers={"authorization": f"Bearer {token}"})
            assert [one["operation"] for one in answer.json()["tools"]] == ["price", "sell"]


@pytest.mark.parametrize("has_controls", [True, False])
async def test_the_page_offers_controls_only_where_there_are_any(has_controls: bool) -> None:
    async with opened(asgi_app(shop(**({"admin_token": ADMIN} if has_controls else {})))) as client:
        text = (await client.get("/")).text
    assert f'data-controls="{"yes" if has_controls else "no"}"' in text


async def test_the_catalogue_has_schemas_and_codes_have_their_page() -> None:
    async with opened(asgi_app(shop(environment="production"))) as client:
        found = (await client.get("/page/catalogue")).json()
        page = (await client.get("/page/code/circuit_open")).json()
        assert (await client.get("/page/code/NO_SUCH_CODE")).status_code == 404
    price = found["tools"][0]
    assert (found["environment"], price["read_only"]) == ("production", True)
    assert {"retry", "circuit_breaker"} <= {*price["recovery"]}
    assert list(price["schema"]["properties"]) == ["item"]
    assert "CIRCUIT_OPEN" in [one["code"] for one in found["codes"]]
    assert page["code"] == "CIRCUIT_OPEN"
    assert page["text"].startswith("# CIRCUIT_OPEN\n")


def test_the_pictures_in_the_documentation_show_the_page_as_it_is() -> None:
    """`python -m tests.slow.page.pictures` takes them anew."""
    assert TAKEN_OF.read_text().strip() == hash_of_page()
    assert {file.name for file in PICTURES.glob("page-*.png")} == {
        "page-1400-dark.png",
        "page-1400-light.png",
        "page-390-light.png",
    }
