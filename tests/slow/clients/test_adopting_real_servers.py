"""Adopting a server of others never says less: over 300 failing calls of twelve servers, bare and adopted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.laws.adopting.facts import facts_of, missing
from tests.laws.adopting.real_calls import CALLS
from tests.laws.adopting.real_servers import SERVERS, Outcome, outcomes, website

pytestmark = pytest.mark.anyio

REFUSED = ("INVALID_PARAM", "JSON-RPC -32602")
WELL_KNOWN = re.compile(
    r"ENOENT|EACCES|EEXIST|\bnot found\b|does not exist|already exists|access denied|permission denied"
    r"|outside (?:the )?allowed|timed out|rate limit|status code (?:401|403|404|409|429)\b",
    re.IGNORECASE,
)


def servers() -> list[Any]:
    """Return the servers, and how each is adopted: in its process, if it can be, and behind the proxy."""
    rows = [(name, "adopted") for name in SERVERS] + [(name, "proxied") for name in SERVERS if SERVERS[name].adapter]
    return [pytest.param(*row, id=", ".join(row)) for row in rows]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with website() as address:
        yield address


@pytest.fixture(scope="module")
def kept() -> dict[tuple[str, str, int], list[Outcome]]:
    """Return what the servers have answered, so that each is asked once."""
    return {}


@pytest.fixture
def ask(foreign: Path, kept: dict[Any, list[Outcome]], url: str, tmp_path_factory: Any) -> Any:
    """Return the function that gives the outcomes of a server: both are asked in a folder of the same path."""
    work = tmp_path_factory.getbasetemp() / "shop"

    async def asked(name: str, how: str, run: int = 0) -> list[Outcome]:
        if not SERVERS[name].is_installed(foreign):
            pytest.skip(f"{SERVERS[name].program} is not installed (scripts/fetch.sh foreign_servers)")
        if (name, how, run) not in kept:
            kept[name, how, run] = await outcomes(name, foreign, work, url, how)
        return kept[name, how, run]

    return asked


def is_refused(outcome: Outcome) -> bool:
    """Return whether failsoft itself refused the call, so that the server was not asked."""
    return outcome.code in REFUSED and ("was refused" in outcome.text or "UNKNOWN_TOOL" in outcome.text)


def test_the_calls_are_enough():
    assert sum(map(len, CALLS.values())) >= 300
    assert len({server.program for server in SERVERS.values()}) >= 10


@pytest.mark.parametrize(("name", "how"), servers())
async def test_no_fact_that_the_bare_server_gave_is_missing(name, how, ask):
    first, again, adopted = await ask(name, "bare"), await ask(name, "bare", 1), await ask(name, how)
    lost = {}
    for bare, same, found in zip(first, again, adopted, strict=True):
        if not bare.failed:
            continue
        facts = facts_of(bare.everything) & facts_of(same.everything)  # not the time of the day, nor a made-up name
        if is_refused(found):
            facts = frozenset(need.casefold() for need in bare.call.needs)
        if gone := missing(facts, found.everything) or ([] if found.failed else ["the failure"]):
            lost[f"{bare.call.tool} {bare.call.arguments}"] = (gone, bare.text, found.text)
    assert lost == {}


@pytest.mark.parametrize(("name", "how"), servers())
async def test_a_failure_has_the_category_that_a_user_expects(name, how, ask):
    told = {}
    for bare, found in zip(await ask(name, "bare"), await ask(name, how), strict=True):
        accepted = set(bare.call.category.split("|"))
        if not WELL_KNOWN.search(bare.text):
            accepted.add("upstream_error")  # what the text says is for a reader to understand
        if found.code == "UNKNOWN_ERROR":
            accepted.add("internal")  # in the server's process it shows that its author did not foresee the exception
        if bare.failed and found.category and found.category not in accepted:
            told[f"{bare.call.tool} {bare.call.arguments}"] = (found.category, accepted, bare.text)
    assert told == {}
