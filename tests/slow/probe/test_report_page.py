"""The reports of a probe: the page in headless Chromium loads nothing, and hostile texts stay text everywhere."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from scripts import audit_site
from tests.probe.test_probe import HERE, SCHEMA
from tests.zygote import PYTHON

HOSTILE = HERE / "hostile_texts.py"
VIEWS = [(width, scheme) for width in (audit_site.DESKTOP, audit_site.PHONE) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the reports about a server with hostile names and texts, bare and behind the proxy."""
    folder = tmp_path_factory.mktemp("reports")
    options = ["--html", "report.html", "--junit", "report.xml", "--json", "--compare", "--timeout", "5"]
    command = [PYTHON, "-m", "failsoft", "probe", *options, "--", sys.executable, str(HOSTILE)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    (folder / "report.json").write_text(ended.stdout)
    return folder


def test_the_page_loads_nothing_runs_nothing_and_is_accessible(folder: Path, chromium: Any) -> None:
    context = chromium.new_context(bypass_csp=False)
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((folder / "report.html").as_uri())
    assert [url for url in asked if not url.startswith("file:")] == []
    assert tab.evaluate("document.querySelectorAll('script, img, iframe, link, a').length") == 0
    assert tab.evaluate("window.wasRun === undefined")
    assert "<script>" in tab.inner_text("body")
    assert "default-src 'none'" in (folder / "report.html").read_text()
    audited = chromium.new_context(bypass_csp=True).new_page()  # axe is a script
    audited.goto((folder / "report.html").as_uri())
    assert [*audit_site.findings_in(audited, VIEWS)] == []


def test_hostile_texts_are_text_in_every_report(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    assert report["proxy"]["target"] != {}
    root = ET.parse(folder / "report.xml").getroot()  # noqa: S314 - our own file
    assert len(root.findall(".//testcase")) == len(report["tools"])
    for name in ("report.html", "report.xml", "report.json"):
        text = (folder / name).read_text()
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_an_interrupt_ends_it_with_a_report_of_what_there_is(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "failsoft", "probe", "--json", "--rate", "3", "--"]
    running = subprocess.Popen(
        [*command, sys.executable, str(HERE / "planted.py"), str(tmp_path / "calls")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    until = time.monotonic() + 60
    while not (tmp_path / "calls").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert json.loads(out)["complete"] is False
    assert json.loads(out)["calls"] > 0
