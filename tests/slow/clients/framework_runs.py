"""Agents of real frameworks, each in an environment of its own, and servers for them over HTTP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.ports import reserved_ports

__all__ = ["served", "shown_to_models"]

ENVIRONMENTS = {
    "pydantic_ai": ("agent_frameworks", "agents"),
    "openai_agents": ("agent_frameworks", "agents"),
    "langchain": ("agent_frameworks", "langchain"),
    "llama_index": ("more_agents", "llama_index"),
    "google_adk": ("more_agents", "adk"),
    "strands": ("more_agents", "strands"),
    "crewai": ("more_agents", "crewai"),
    "claude_agent": ("more_agents", "claude"),
}
"""The part of scripts/fetch.sh that installs each framework, and its environment there."""
QUIET = {"OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true", "NO_GCE_CHECK": "true"}


def shown_to_models(
    framework: str, urls: dict[str, str], turns: list[list[dict[str, Any]]], home: Path
) -> dict[str, list[dict[str, Any]]]:
    """Return what the framework's model is given by each server for the calls, as agent_client.py prints it.

    The agent has an empty home folder and nothing of this environment, so neither settings nor credentials.
    """
    part, name = ENVIRONMENTS[framework.removesuffix("_text")]
    folder = Path(os.environ.get(part.upper(), Path.home() / ".cache" / f"failsoft-{part.replace('_', '-')}"))
    if not (folder / "stamp").exists():
        pytest.skip(f"the agent framework is not installed (scripts/fetch.sh {part})")
    script = Path(__file__).with_name("agent_client.py")
    command = [str(folder / name / "bin" / "python"), str(script), framework, json.dumps(urls), json.dumps(turns)]
    environment = {"PATH": os.defpath, "HOME": str(home), **QUIET}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment, cwd=home)
    assert done.returncode == 0, done.stderr[-3_000:]
    shown: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return shown


@contextmanager
def served(
    commands: dict[str, list[str]], folder: Path, settings: dict[str, dict[str, str]] | None = None
) -> Iterator[dict[str, str]]:
    """Yield the addresses of the servers by name, all of them listening; `PORT` in a command is its port."""
    running = []
    with ExitStack() as stack:
        ports = stack.enter_context(reserved_ports(len(commands)))
        for port, (name, words) in zip(ports, commands.items(), strict=True):
            command = [str(port) if word == "PORT" else word for word in words]
            log = folder / f"{port}.log"
            with log.open("wb") as errors:
                own = (settings or {}).get(name, {})
                environment = {**os.environ, "FAILSOFT_REPEATS": "off", **own}  # every client makes the same calls
                process = subprocess.Popen(command, stdout=errors, stderr=errors, env=environment)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
            running.append((process, port, log))
        for process, port, log in running:
            _await_listening(process, port, log)
        yield {name: f"http://127.0.0.1:{port}/mcp" for name, port in zip(commands, ports, strict=True)}


def _await_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        time.sleep(0.05)
    pytest.fail(f"the server does not listen: {log.read_text()}")
