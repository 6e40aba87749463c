"""The command of the container, run as a container runtime does."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

ROOT = Path(__file__).resolve().parents[3]

CAN_CONFINE = (
    sys.platform == "linux" and os.geteuid() == 0 and bool(shutil.which("unshare")) and bool(shutil.which("setpriv"))
)
DROPPED = """
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all,+dac_read_search \\
    --inh-caps=-all,+dac_read_search --ambient-caps=+dac_read_search -- "$@"
"""
"""Reading everything is left, since the interpreter of the tests may be in a folder of root's; an image has its own."""
CONFINED = f"""
mount -o remount,ro,bind / || exit 99
for folder in "$STATE" "$LOGS"; do mount -t tmpfs tmpfs "$folder" && chmod 777 "$folder" || exit 99; done
{DROPPED}
"""


def address_of(process: subprocess.Popen[str]) -> str:
    """Return where a confined server listens, once it does; skip the test where the machine does not confine."""
    assert process.stderr is not None
    seen = ""
    while (found := re.search(r"http://[^/\s]+:(\d+)/mcp", seen)) is None and (line := process.stderr.readline()):
        seen += line
    if found is None and process.wait(60) == 99:
        pytest.skip("this machine does not let its root mount")
    assert found is not None, seen
    return f"http://127.0.0.1:{found[1]}"


@pytest.mark.skipif(not CAN_CONFINE, reason="needs root, unshare and setpriv")
def test_the_command_of_the_container_runs_unprivileged_on_a_read_only_root(tmp_path: Path) -> None:
    """What `podman run --read-only` does to the container, with the machine's own root in place of an image."""
    container = (ROOT / "docs/examples/Containerfile").read_text()
    assert "USER 10001\n" in container
    folders = {"STATE": tmp_path / "state", "LOGS": tmp_path / "logs"}
    for folder in folders.values():
        folder.mkdir()
    shutil.copy(ROOT / "docs/examples/library.py", tmp_path)
    (line,) = [line for line in container.splitlines() if line.startswith("CMD ")]
    command = [sys.executable, "-m", *json.loads(line.removeprefix("CMD ")), "--port", "0"]
    settings = " ".join(re.findall(r"^ENV ((?:.*\\\n)*.*)$", container, re.MULTILINE)).replace("\\\n", " ")
    for usual, name in (("/var/lib/library", "STATE"), ("/var/log/library", "LOGS")):
        assert usual in settings
        settings = settings.replace(usual, str(folders[name]))
    chosen = dict(pair.split("=", 1) for pair in settings.split())
    chosen |= {
        "FAILSOFT_AUTH_TOKEN": "t0ken-of-the-library",
        "FAILSOFT_ALLOWED_HOSTS": "127.0.0.1",
    }  # `podman run -e`, on the page
    environment = {
        **os.environ,
        **chosen,
        **{name: str(folder) for name, folder in folders.items()},
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with subprocess.Popen(
        ["unshare", "-m", "sh", "-c", CONFINED, "sh", *command],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            url = address_of(process)
            status = Path(f"/proc/{process.pid}/status").read_text()
            assert "Uid:\t10001\t10001\t10001\t10001" in status
            assert "NoNewPrivs:\t1" in status
            response = httpx2.get(f"{url}/readyz", timeout=60)
            assert response.status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
