"""The TypeScript client reads a real server's failures."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.programs.node import Node
from tests.zygote import PYTHON

PACKAGE = Path(__file__).parents[3] / "clients" / "typescript"
SERVER = """
import failsoft
from failsoft import BaseTool, NextStep, operation

class Shop(BaseTool):
    runs = 0

    @operation(read_only=True)
    async def price(self, item: str) -> float:
        '''Return a price.'''
        return 2.5

    @operation(read_only=True, recovery=[])
    async def busy(self) -> str:
        '''Be busy twice.'''
        Shop.runs += 1
        if Shop.runs < 3:
            raise failsoft.RateLimited(retry_after_seconds=0.05)
        return "done"

    @operation(read_only=True)
    async def order(self, item: str) -> str:
        '''Find nothing.'''
        raise failsoft.NotFound(message="There is no tea.", suggestions=["coffee"])

    @operation(read_only=True)
    async def gone(self) -> str:
        '''Find nothing.'''
        raise failsoft.NotFound(message="No shelf 3.", suggestions=["shelf-2"])

failsoft.serve(Shop)
"""
LOADER = """
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const require = createRequire(pathToFileURL(`${process.env.SDK_FOLDER}/package.json`));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const [command, ...args] = JSON.parse(process.env.FAILSOFT_SERVER);
const server = { command, args, env: process.env };
"""


@pytest.fixture
def run(node: Node, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs Node with the packages of the SDK and the command of a server."""
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    command = json.dumps([PYTHON, str(server)])
    return partial(node.node, env={"FAILSOFT_SERVER": command, "SDK_FOLDER": str(node.folder)})


def test_both_versions_of_the_sdk_read_a_real_servers_failures(run):
    done = run("--test", str(PACKAGE / "test" / "real_server.test.mjs"))
    assert done.returncode == 0, done.stdout[-3_000:]


def test_the_example_of_the_readme_runs(run, tmp_path):
    code = (PACKAGE / "README.md").read_text().split("```ts\n")[1].split("```")[0]
    code = code.replace('"failsoft-client"', json.dumps((PACKAGE / "src" / "index.ts").as_uri()))
    code = re.sub(r'import (\{.*\}) from "(@.*)";', r'const \1 = await load("\2");', code)
    code = code.replace('command: "failsoft", args: ["serve", "--app", "shop:Shop"]', "...server")
    example = tmp_path / "example.mts"
    example.write_text(LOADER + code)
    done = run(str(example))
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.splitlines() == ["[ 'coffee' ] undefined", "not_found none"]
