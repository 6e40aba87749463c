"""The deployment files of the docs, checked by the programs that read them."""

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


def _checked(*command: str) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


@pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="needs nginx and openssl")
def test_nginx_accepts_its_configuration(root: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    subject = ("-subj", "/CN=tools.example.org", "-keyout", str(key), "-out", str(certificate))
    _checked("openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", *subject)
    shown = (root / "docs/examples/nginx.conf").read_text()
    shown = shown.replace("/etc/ssl/certs/tools.example.org.pem", str(certificate))
    shown = shown.replace("/etc/ssl/private/tools.example.org.key", str(key))
    configuration = tmp_path / "nginx.conf"
    places = f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}"
    configuration.write_text(f"{places} http {{ access_log off; {shown} }}")
    assert "test is successful" in _checked("nginx", "-t", "-p", str(tmp_path), "-c", str(configuration))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(root: Path, tmp_path: Path) -> None:
    shown = (root / "docs/examples/failsoft.service").read_text()
    unit = tmp_path / "library.service"
    unit.write_text(shown.replace("/opt/library/.venv/bin/failsoft", sys.executable))
    assert _checked("systemd-analyze", "verify", "--man=no", str(unit)) == ""


def test_the_command_of_the_unit_and_of_the_container_is_understood(root: Path) -> None:
    """Both name options that `failsoft serve` has."""
    unit = (root / "docs/examples/failsoft.service").read_text()
    container = (root / "docs/examples/Containerfile").read_text().replace('", "', " ")
    listed = (root / "docs/reference/cli.md").read_text().split("## `failsoft serve`")[1].split("\n## ")[0]
    for text in (unit, container):
        command = next(line for line in text.splitlines() if "failsoft serve" in line)
        used = [word.strip('"]') for word in command.split() if word.startswith("--")]
        assert used
        assert [option for option in used if f"`{option}`" not in listed] == []


CAN_CONFINE = (
    sys.platform == "linux" and os.geteuid() == 0 and bool(shutil.which("unshare")) and bool(shutil.which("setpriv"))
)
CONFINED = """
mount -o remount,ro,bind / && mount -t tmpfs tmpfs "$STATE" && chmod 777 "$STATE" || exit 99
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all,+dac_read_search \\
    --inh-caps=-all,+dac_read_search --ambient-caps=+dac_read_search -- "$@"
"""
"""Reading everything is left, since the interpreter of the tests may be in a folder of root's; an image has its own."""


@pytest.mark.skipif(not CAN_CONFINE, reason="needs root, unshare and setpriv")
def test_the_command_of_the_container_runs_unprivileged_on_a_read_only_root(root: Path, tmp_path: Path) -> None:
    """What `podman run --read-only` does to the container, with the machine's own root in place of an image."""
    container = (root / "docs/examples/Containerfile").read_text()
    assert "USER 10001\n" in container
    state = tmp_path / "state"
    state.mkdir()
    shutil.copy(root / "docs/examples/library.py", tmp_path)
    (line,) = [line for line in container.splitlines() if line.startswith("CMD ")]
    command = [sys.executable, "-m", *json.loads(line.removeprefix("CMD ")), "--port", "0"]
    (settings,) = [line.removeprefix("ENV ") for line in container.splitlines() if line.startswith("ENV ")]
    chosen = dict(pair.split("=", 1) for pair in settings.replace("/var/lib/library", str(state)).split())
    chosen |= {
        "FAILSOFT_AUTH_TOKEN": "t0ken-of-the-library",
        "FAILSOFT_ALLOWED_HOSTS": "127.0.0.1",
    }  # `podman run -e`, on the page
    environment = {**os.environ, **chosen, "STATE": str(state), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        ["unshare", "-m", "sh", "-c", CONFINED, "sh", *command],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            seen = ""
            while (found := re.search(r"http://[^/\s]+:(\d+)/mcp", seen)) is None and (
                line := process.stderr.readline()
            ):
                seen += line
            if found is None and process.wait(60) == 99:
                pytest.skip("this machine does not let its root remount the root")
            assert found is not None, seen
            status = Path(f"/proc/{process.pid}/status").read_text()
            assert "Uid:\t10001\t10001\t10001\t10001" in status
            assert "NoNewPrivs:\t1" in status
            response = httpx2.get(f"http://127.0.0.1:{found[1]}/readyz", timeout=60)
            assert response.status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
