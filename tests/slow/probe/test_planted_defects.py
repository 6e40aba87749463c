"""`failsoft probe` on servers with planted defects: it finds each, blames no good tool, and calls no write unasked."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.zygote import PYTHON

SERVERS = Path(__file__).parent / "servers"
WITHIN_S = 120


@dataclass(frozen=True)
class Planted:
    """What a server has: (rule, tool) to be found, those that are true as well, and tools not to be called."""

    program: list[str]
    found: frozenset[tuple[str, str]]
    true_too: frozenset[tuple[str, str]] = frozenset()
    uncalled: frozenset[str] = frozenset()
    options: list[str] = field(default_factory=list)


def pairs(rule: str, *tools: str) -> Iterable[tuple[str, str]]:
    return ((rule, tool) for tool in tools)


LEAKING = ("get_weather", "get_trains", "get_hotels", "get_flights", "get_fares")
PLANTED = {
    "fastmcp": Planted(
        [PYTHON, str(SERVERS / "fastmcp_shop.py")],
        found=frozenset(
            {
                ("field-not-named", "find_prices"),
                ("accepted-not-said", "find_sellers"),
                ("no-next-step", "get_order"),
                ("next-call-fails", "get_invoice"),
                ("misleading-advice", "search_offers"),
                ("accepted-in-silence", "search_reviews"),
                ("failure-as-success", "get_stock"),
                ("effect-not-said", "set_price"),
            }
        ),
        # Who does not name the field says neither what it accepts nor what to do, nor does who names what is not there.
        true_too=frozenset(
            {
                *pairs("accepted-not-said", "find_prices", "search_offers"),
                *pairs("no-next-step", "find_prices", "find_sellers", "get_invoice"),
            }
        ),
        uncalled=frozenset({"delete_item"}),
        options=["--include-writes", "--yes"],
    ),
    "mcpserver": Planted(
        [PYTHON, str(SERVERS / "mcpserver_shop.py")],
        found=frozenset(
            {
                ("leaks-stack", "get_weather"),
                ("leaks-path", "get_trains"),
                ("leaks-secret", "get_hotels"),
                ("leaks-address", "get_flights"),
                ("unstable-code", "get_fares"),
                *pairs("accepted-in-silence", "list_cities", *LEAKING),
            }
        ),
        # The texts of pydantic name the field and its type, and no call.
        true_too=frozenset({("leaks-path", "get_weather"), *pairs("no-next-step", *LEAKING)}),
        uncalled=frozenset({"get_wether", "clear_cache", "book_trip"}),
    ),
    "typescript": Planted(
        ["node", str(SERVERS / "library.cjs")],
        found=frozenset(
            {
                ("protocol-error", "count_loans"),
                ("schema-lies", "find_shelf"),
                ("too-large", "find_author"),
                ("crash", "read_abstract"),
                ("hang", "read_preface"),
            }
        ),
        # `get_loan` names a call that a reader is not allowed to make, or that does something else.
        true_too=frozenset(
            {
                ("misleading-advice", "get_loan"),
                ("no-next-step", "get_loan"),
                *pairs("next-call-fails", "get_loan", "find_author"),
            }
        ),
        uncalled=frozenset({"get_bok", "get_books", "remove_book"}),
    ),
    "go": Planted(
        ["archive"],
        found=frozenset(
            {
                ("leaks-stack", "get_box"),
                ("leaks-path", "find_box"),
                ("crash", "count_boxes"),
                *pairs("accepted-in-silence", "get_box", "find_box", "count_boxes"),
            }
        ),
        true_too=frozenset({("leaks-path", "get_box")}),
    ),
}


def probe(command: list[str], log: Path, *options: str) -> tuple[dict[str, Any], int, set[str]]:
    """Return the report, the exit code, and the tools that recorded a call."""
    words = [PYTHON, "-m", "failsoft", "probe", "--json", "--timeout", "1.5", *options, "--", *command, str(log)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.stdout.startswith("{"), done.stderr
    written = log.read_text().splitlines() if log.exists() else []
    return json.loads(done.stdout), done.returncode, {line.split()[0] for line in written}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the server in Go, which `scripts/fetch.sh more_go` brings the compiler for."""
    folder = Path(os.environ.get("MORE_GO", Path.home() / ".cache" / "failsoft-more-go"))
    if not (folder / "stamp").exists():
        pytest.skip("Go is not installed (scripts/fetch.sh more_go)")
    built = tmp_path_factory.mktemp("go")
    # Its standard library takes a minute to compile, once.
    settings = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GO111MODULE": "off", "GOCACHE": str(folder / "cache")}
    command = [str(folder / "go" / "bin" / "go"), "build", "-o", str(built / "archive"), str(SERVERS / "archive.go")]
    subprocess.run(command, check=True, env={**os.environ, **settings}, timeout=WITHIN_S)
    return str(built / "archive")


@pytest.mark.parametrize("name", PLANTED)
def test_the_probe_finds_each_planted_defect_blames_no_good_tool_and_calls_no_write_unasked(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    planted = PLANTED[name]
    program = planted.program
    if program[0] == "archive":
        program = [request.getfixturevalue("archive")]
    elif program[0] == "node":
        program = [*program, str(request.getfixturevalue("node").folder)]
    report, code, written = probe(program, tmp_path / "log", *planted.options)
    # The readers of the SDKs drop a line with a lone surrogate, and say little of a tool that they do not have.
    sdk = {(one["name"], one["tool"]) for one in report["findings"] if one["fault"] in ("control", "unknown_tool")}
    found = {(one["name"], one["tool"]) for one in report["findings"]}
    assert {
        "missed": planted.found - found,
        "false alarms": found - planted.found - planted.true_too - sdk,
        "called unasked": written & planted.uncalled,
        "exit code": code,
        "complete": report["complete"],
    } == {"missed": set(), "false alarms": set(), "called unasked": set(), "exit code": 1, "complete": True}
