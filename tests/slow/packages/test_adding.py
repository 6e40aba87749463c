"""A third-party package adds one of each kind of part: each is one class or function, and an entry point."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.project.test_adding import failsoft, look


def test_a_setting(installed: Path) -> None:
    assert look(installed, 9, FAILSOFT_ACME_SHELVES="9")["data"] == "shelf 9"
    ran = failsoft(installed, "call", "look", "shelf=1", "--toolset", "acme", FAILSOFT_ACME_SHELVES="many")
    assert ran.returncode == 3
    assert "FAILSOFT_ACME_SHELVES" in ran.stderr


def test_a_strategy(installed: Path) -> None:
    answer = look(installed, 9, "look_near")
    assert answer["data"] == "shelf 3"
    assert answer["metadata"]["recovery"]["strategy"] == "nearest"
    assert answer["metadata"]["recovery"]["changed"] == {"shelf": 3}


def test_a_normaliser(installed: Path) -> None:
    assert look(installed, 0)["error"]["code"] == "UNAVAILABLE"


def test_doctor_lists_the_toolset_with_its_settings(installed: Path) -> None:
    ran = failsoft(installed, "doctor", "--json", FAILSOFT_ACME_SHELVES="9")
    (row,) = [row for row in json.loads(ran.stdout)["toolsets"] if row["name"] == "acme"]
    assert row["package"] == "acme"
    assert [(item["variable"], item["value"]) for item in row["settings"]] == [("FAILSOFT_ACME_SHELVES", 9)]


@pytest.mark.parametrize(
    ("point", "reason"),
    [("serve = acme:shelves", "there is a command"), ("gone = acme:gone", "gone"), ("odd = acme:Acme", "odd")],
)
def test_a_command_that_cannot_be_used_leaves_the_others_alone(
    installed: Path, tmp_path: Path, point: str, reason: str
) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[failsoft.commands]\n{point}\n")
    ran = failsoft(installed, "shelves", PYTHONPATH=f"{installed}{os.pathsep}{tmp_path}")
    assert (ran.returncode, ran.stdout) == (0, "1 2 3\n")
    assert ran.stderr.count("left out") == 1
    assert reason in ran.stderr
