"""The examples of the page about OAuth, against an authorization server that others wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.ports import reserved_ports
from tests.programs.no_orphan import NO_ORPHAN
from tests.programs.node import SCRIPTS, Node, node
from tests.slow.site.test_examples import EXAMPLES, prints_what_its_page_shows

__all__ = ["node"]

BROWSER = Path(__file__).with_name("browser.py")


@pytest.fixture(scope="module")
def surroundings(node: Node) -> Iterator[dict[str, str]]:
    """Start the authorization server and the example's server; yield what the client is told of both."""
    script = node.folder / f"{os.getpid()}-authorization_server.mjs"
    shutil.copy(SCRIPTS / "authorization_server.mjs", script)
    with reserved_ports(2) as (login, tools), ExitStack() as stack:
        stack.callback(script.unlink)
        resource = f"http://127.0.0.1:{tools}/mcp"
        facts = {"ISSUER": f"http://127.0.0.1:{login}", "RESOURCE": resource, "PORT": str(tools)}
        _start(stack, ["node", str(script), str(login), resource], "issues tokens", node.environment)
        serving = {**os.environ, "PYTHONUNBUFFERED": "1", **facts}
        _start(stack, [sys.executable, str(EXAMPLES / "oauth_server.py")], "http://", serving)
        secret = "of-a-server-that-lives-for-seconds"
        yield {**facts, "CLIENT_SECRET": secret, "BROWSER": f"{sys.executable} {BROWSER} %s"}


def _start(stack: ExitStack, command: list[str], ready: str, environment: dict[str, str]) -> None:
    process = stack.enter_context(
        subprocess.Popen(
            [*NO_ORPHAN, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    )
    stack.callback(process.terminate)
    assert process.stdout is not None
    said = ""
    while ready not in said:
        said = process.stdout.readline()
        assert said, "it ended before it was ready"


def test_a_person_and_a_machine_get_tokens_and_call(surroundings: dict[str, str], tmp_path: Path) -> None:
    prints_what_its_page_shows(EXAMPLES / "oauth_client.py", tmp_path, **surroundings)


@pytest.mark.parametrize(
    ("asked", "status", "error"),
    [
        ({"scope": "tools"}, 200, None),
        ({}, 403, "insufficient_scope"),
        ({"scope": "tools", "resource": "https://elsewhere.example/mcp"}, 401, "invalid_token"),
    ],
    ids=["ours", "without the scope", "for another server"],
)
def test_a_token_of_the_issuer_is_good_for_its_scope_and_its_server(
    asked: dict[str, str], status: int, error: str | None, surroundings: dict[str, str]
) -> None:
    form = {"grant_type": "client_credentials", "resource": surroundings["RESOURCE"], **asked}
    got = httpx2.post(f"{surroundings['ISSUER']}/token", data=form, auth=("machine", surroundings["CLIENT_SECRET"]))
    bearer = {"authorization": f"Bearer {got.json()['access_token']}"}
    answer = httpx2.get(surroundings["RESOURCE"].replace("/mcp", "/metrics"), headers=bearer)
    assert answer.status_code == status
    assert error is None or f'error="{error}"' in answer.headers["www-authenticate"]
