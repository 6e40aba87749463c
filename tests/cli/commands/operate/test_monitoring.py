"""`failsoft monitoring export`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run


def test_all_files_are_written_to_a_folder(inside: Run, folder: Path) -> None:
    ran = inside("monitoring", "export", "--out", "monitoring", "--docs-url", "https://docs.example.org/")
    assert (ran.code, ran.err) == (0, "")
    names = ["failsoft.rules.yml", "failsoft-operators.json", "failsoft-authors.json", "alertmanager.yml"]
    assert ran.out.split() == [f"monitoring/{name}" for name in names]
    alerts = yaml.safe_load((folder / "monitoring" / names[0]).read_text())["groups"][1]["rules"]
    runbooks = {rule["annotations"]["runbook_url"] for rule in alerts}
    assert "https://docs.example.org/how-to/incidents/#a-dependency-is-down" in runbooks
    assert json.loads((folder / "monitoring" / names[1]).read_text())["uid"] == "failsoft-operators"


def test_standard_output_takes_one_of_them(inside: Run) -> None:
    ran = inside("monitoring", "export", "--objective", "0.999")
    assert "--docs-url" in ran.err
    rules = yaml.safe_load(ran.out)
    assert rules["groups"][1]["rules"][0]["expr"].startswith("job:mcp_failed_calls:ratio_rate5m > 0.0144 and ")
    assert rules["groups"][1]["rules"][0]["annotations"]["summary"].endswith("the objective allows 0.1%.")
    boards = inside("monitoring", "export", "--format", "grafana").json
    assert [board["uid"] for board in boards] == ["failsoft-operators", "failsoft-authors"]
    assert yaml.safe_load(inside("monitoring", "export", "-f", "alertmanager").out)["route"]["receiver"] == "chat"


@pytest.mark.parametrize("kind", ["other", "link", "folder", "pipe"])
def test_what_the_command_has_not_written_is_left_as_it_is(inside: Run, folder: Path, kind: str) -> None:
    place, victim = folder / "monitoring/alertmanager.yml", folder / "victim"
    place.parent.mkdir()
    victim.write_text("route: {receiver: mine}\n")
    if kind == "other":
        place.write_text(victim.read_text())
    elif kind == "link":
        place.symlink_to(victim)
    elif kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    ran = inside("monitoring", "export", "--out", "monitoring")
    assert (ran.code, ran.out) == (1, "")
    assert "alertmanager.yml" in ran.err
    assert [*place.parent.iterdir()] == [place]
    assert victim.read_text() == "route: {receiver: mine}\n"
    if kind == "other":
        assert place.read_text() == victim.read_text()


def test_what_it_has_written_is_written_anew(inside: Run, folder: Path) -> None:
    for objective in ("0.99", "0.999"):
        assert inside("monitoring", "export", "--out", "m", "--objective", objective).code == 0
    assert "0.0144" in (folder / "m/failsoft.rules.yml").read_text()
