"""The command of the systemd unit, under what the unit forbids: read-only files, no privileges, few system calls."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.http.process.ledger import call
from tests.slow.cold.test_container import CAN_CONFINE, DROPPED, ROOT, address_of

CONFINED = f"""
mount -t proc -o hidepid=invisible proc /proc || exit 99
mount -o remount,ro,bind / || exit 99
for folder in "$STATE" "$LOGS" "$TMPDIR"; do mount -t tmpfs tmpfs "$folder" && chmod 777 "$folder" || exit 99; done
{DROPPED}
"""


async def _asked(url: str) -> Any:
    async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
        return await call(client, "get_book", {"title": "Duna"})


def _metrics_of_both(url: str) -> str:
    """Return the metrics once both workers serve."""
    until = time.monotonic() + 60
    while "\nmcp_workers 2.0\n" not in (metrics := httpx2.get(f"{url}/metrics", timeout=60).text):
        assert time.monotonic() < until, metrics
        time.sleep(0.05)
    return metrics


@pytest.mark.skipif(
    not (CAN_CONFINE and shutil.which("systemd-analyze") and find_library("seccomp")),
    reason="needs root, unshare, setpriv, systemd-analyze and libseccomp",
)
def test_the_unit_forbids_nothing_that_the_server_needs(tmp_path: Path) -> None:
    """With this machine's root in place of the service's: a call, its audit entry, the state and the metrics."""
    unit = ROOT / "docs/examples/failsoft.service"
    text = unit.read_text()
    folders = {name: tmp_path / name.lower() for name in ("STATE", "LOGS", "TMPDIR")}
    for folder in folders.values():
        folder.mkdir()
    shutil.copy(ROOT / "docs/examples/library.py", tmp_path)
    for usual, name in (("/var/lib/library", "STATE"), ("/var/log/library", "LOGS")):
        assert f"{usual}" in text
        text = text.replace(usual, str(folders[name]))
    environment = {**os.environ, **{name: str(folder) for name, folder in folders.items()}}
    environment |= dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))
    (words,) = re.findall(r"^ExecStart=\S+/failsoft (.*)$", text, re.MULTILINE)
    served = [sys.executable, "-m", "failsoft", *shlex.split(words.replace("%i", "0"))]
    command = [sys.executable, str(Path(__file__).with_name("confined.py")), str(unit), *served]
    with subprocess.Popen(
        ["unshare", "-m", "sh", "-c", CONFINED, "sh", *command],
        cwd=tmp_path,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            url = address_of(process)
            status = Path(f"/proc/{process.pid}/status").read_text()
            assert re.findall(r"^(?:NoNewPrivs|Seccomp):\t(\d)$", status, re.MULTILINE) == ["1", "2"]
            answer = asyncio.run(_asked(url))
            assert answer["error"]["code"] == "BOOK_NOT_FOUND"
            inside = Path(f"/proc/{process.pid}/root")
            assert '"BOOK_NOT_FOUND"' in (inside / folders["LOGS"].relative_to("/") / "audit.jsonl").read_text()
            assert (inside / folders["STATE"].relative_to("/") / "state.db").exists()
            metrics = _metrics_of_both(url)
            assert re.search(r"^mcp_audit_failures_total 0\.0$", metrics, re.MULTILINE)
            assert len(re.findall(r"^process_start_time_seconds\{.*\} 1", metrics, re.MULTILINE)) == 2
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
