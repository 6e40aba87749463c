"""A real Prometheus that scrapes as the page about deployment says, every second."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.doors import rule_file
from tests.ports import reserved_ports
from tests.programs.no_orphan import NO_ORPHAN

__all__ = ["Prometheus", "scraping"]

CONFIGURATION = Path(__file__).parents[2] / "docs/examples/prometheus.yml"
PATIENCE_S = 60.0


class Prometheus:
    """Answers queries."""

    def __init__(self, url: str) -> None:
        self._client = httpx2.Client(base_url=url, timeout=PATIENCE_S)

    def ask(self, query: str) -> list[Any]:
        """Return what a query finds now."""
        answer = json.loads(self._client.get("/api/v1/query", params={"query": query}).text)
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])

    def scrapes(self) -> int:
        """Return how often the server was scraped, in vain or not."""
        found = self.ask("count_over_time(up[1h])")
        return int(found[0]["value"][1]) if found else 0

    def waits(self, scrapes: int) -> None:
        """Wait for so many scrapes more."""
        wanted, until = self.scrapes() + scrapes, time.monotonic() + PATIENCE_S
        while self.scrapes() < wanted:
            assert time.monotonic() < until
            time.sleep(0.05)

    def is_ready(self) -> bool:
        try:
            return self._client.get("/-/ready").status_code == 200
        except httpx2.TransportError:
            return False

    def close(self) -> None:
        self._client.close()


def at_once(rules: dict[str, Any]) -> dict[str, Any]:
    """Return rules whose alerts fire at once: how long they wait is tested by promtool, without waiting."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule.pop("for", None)
    return rules


@contextmanager
def scraping(folder: Path, port: int, token: str, *, alertmanager: int | None = None) -> Generator[Prometheus]:
    """Run one that scrapes the server at this port, and yield it once it has done so."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed (Debian: prometheus)")
    configuration = yaml.safe_load(CONFIGURATION.read_text())
    (job,) = configuration["scrape_configs"]
    (folder / "token").write_text(token)
    job |= {"scrape_interval": "1s", "scrape_timeout": "1s", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    job["authorization"]["credentials_file"] = str(folder / "token")
    (folder / "rules.yml").write_text(yaml.safe_dump(at_once(rule_file())))
    configuration |= {"global": {"evaluation_interval": "1s"}, "rule_files": [str(folder / "rules.yml")]}
    if alertmanager is not None:
        targets = [{"targets": [f"127.0.0.1:{alertmanager}"]}]
        configuration["alerting"] = {"alertmanagers": [{"static_configs": targets}]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    with reserved_ports(1) as (own,):
        command = [*NO_ORPHAN, program, f"--config.file={folder / 'prometheus.yml'}", "--log.level=error"]
        command += [f"--storage.tsdb.path={folder / 'prometheus'}", f"--web.listen-address=127.0.0.1:{own}"]
        process = subprocess.Popen(command)
        prometheus = Prometheus(f"http://127.0.0.1:{own}")
        try:
            until = time.monotonic() + PATIENCE_S
            while not prometheus.is_ready():
                assert time.monotonic() < until
                time.sleep(0.05)
            yield prometheus
        finally:
            prometheus.close()
            process.kill()
            process.wait(PATIENCE_S)
