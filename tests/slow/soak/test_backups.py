"""Backups that are made while a server runs, and what is there after they were put back."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2

from tests.programs.redis import RedisServer
from tests.server.http.process.ledger import ROOT, Serving, call
from tests.server.processes import BOUND_S

EXAMPLES = ROOT / "docs/examples"
USUAL = {"state": "/var/lib/library", "log": "/var/log/library"}


def run(script: str, argument: Path, places: dict[str, str], **environment: str) -> None:
    """Run a script of the page, with other places and this Python."""
    text = (EXAMPLES / script).read_text()
    for usual, place in places.items():
        assert usual in text
        text = text.replace(usual, place)
    text = text.replace("/opt/library/.venv/bin/python", sys.executable)
    command = ["sh", "-c", text, script, str(argument)]
    ran = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


async def made(url: str, *keys: str) -> list[Any]:
    """Write a line with each key, and make a call that fails."""
    async with httpx2.AsyncClient(base_url=url, timeout=BOUND_S) as client:
        answers = [await call(client, "book", {"text": key}, key) for key in keys]
        await call(client, "book", {"txet": ""})
    return [answer["data"] for answer in answers]


def test_a_backup_that_is_put_back_has_keys_and_an_audit_log_that_verifies(tmp_path: Path) -> None:
    ledger, copy = tmp_path / "ledger", tmp_path / "copy"
    folders = {usual: str(tmp_path / name) for name, usual in USUAL.items()}
    for folder in folders.values():
        Path(folder).mkdir()
    unit = (EXAMPLES / "failsoft.service").read_text()
    settings = dict(re.findall(r"^Environment=(\w+)=(/var/.*|sqlite:.*)$", unit, re.MULTILINE))
    for name, value in settings.items():
        for usual, folder in folders.items():
            settings[name] = settings[name].replace(usual, folder)
        assert settings[name] != value

    def serve_and_call(*keys: str, then: Any = None) -> None:
        server = Serving("--port", "0", LEDGER=str(ledger), **settings)
        try:
            url = server.url()
            assert asyncio.run(made(url, *keys)) == [*keys]
            if then is not None:
                then()
                asyncio.run(made(url, "after"))
            server.send(signal.SIGTERM)
            assert server.wait() == 0
        finally:
            server.close()

    serve_and_call("before", then=lambda: run("backup.sh", copy, folders))
    for folder in folders.values():
        shutil.rmtree(folder)
        Path(folder).mkdir()
    run("restore.sh", copy, folders)
    serve_and_call("before")
    assert ledger.read_text().splitlines() == ["before", "after"]
    verify = [sys.executable, "-m", "failsoft", "audit", "verify"]
    verified = subprocess.run(verify, env=os.environ | settings, capture_output=True, text=True, check=False)
    assert verified.stdout.startswith("OK: 2 entries in 1 file"), verified


def test_a_copy_of_the_append_only_files_has_what_redis_had(tmp_path: Path) -> None:
    own = RedisServer("--appendonly", "yes")
    try:
        assert own.ask(b"SET key value") == b"+OK\r\n"
        client = tmp_path / "redis-cli"
        client.write_text(f'#!/bin/sh\nexec {shutil.which("redis-cli")} -s {own.socket} "$@"\n')
        client.chmod(0o755)
        places = {"/var/lib/redis": str(own.socket.parent)}
        run("redis-backup.sh", tmp_path / "appendonlydir", places, PATH=f"{tmp_path}:{os.environ['PATH']}")
        assert own.ask(b"CONFIG GET auto-aof-rewrite-percentage").endswith(b"100\r\n")
    finally:
        own.close()
    restored = RedisServer("--appendonly", "yes", "--dir", str(tmp_path))
    try:
        assert restored.ask(b"GET key") == b"$5\r\nvalue\r\n"
    finally:
        restored.close()
