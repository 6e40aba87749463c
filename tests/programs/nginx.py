"""nginx, if it is installed, with the settings that the page about deployment shows."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

__all__ = ["HOST", "nginx", "page_configuration", "serving_page"]

PAGE = Path(__file__).parents[2] / "docs/how-to/deploy.md"
HOST = "tools.example.org"
"""The name that the page's nginx serves."""
PATIENCE_S = 60.0
PORTS = (8321, 8322)
"""Where the page's replicas listen."""


@pytest.fixture(scope="session")
def nginx() -> str:
    """Return the path of the program."""
    found = shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    if found is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed (Debian: nginx, openssl)")
    return found


def page_configuration(folder: Path, port: int, replicas: Sequence[int]) -> Path:
    """Write the settings of the page to a file and return it: only ports and paths are others."""
    shown = re.search(r"^```nginx\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert shown is not None
    text = shown[1].replace("listen 443 ", f"listen 127.0.0.1:{port} ")
    text = re.sub(r"/etc/ssl/\w+/[\w.]+\.(pem|key)", rf"{folder}/\1", text)
    for usual, own in zip(PORTS, replicas, strict=True):
        assert f"127.0.0.1:{usual}" in text
        text = text.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{own}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in kinds)
    file = folder / "nginx.conf"
    http = f"access_log off; {temporary}{text}"
    file.write_text(f"daemon off; master_process off; pid {folder}/pid; events {{}} http {{ {http} }}")
    made = ("-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={HOST}")
    kept = ("-keyout", str(folder / "key"), "-out", str(folder / "pem"))
    subprocess.run(["openssl", "req", "-x509", *made, *kept], check=True, capture_output=True)
    return file


@contextmanager
def serving_page(program: str, folder: Path, port: int, replicas: Sequence[int]) -> Iterator[ssl.SSLContext]:
    """Run nginx as the page says, and yield what a client needs to trust it."""
    file = page_configuration(folder, port, replicas)
    process = subprocess.Popen([program, "-p", str(folder), "-c", str(file), "-e", str(folder / "error.log")])
    try:
        _wait_until_it_listens(port)
        trusting = ssl.create_default_context(cafile=str(folder / "pem"))
        trusting.check_hostname = False  # the client connects to an address
        yield trusting
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _wait_until_it_listens(port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE_S):
            return
        time.sleep(0.01)
    pytest.fail("nginx does not listen")
