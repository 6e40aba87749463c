"""A third-party package adds one of each kind of part: each is one class or function, and an entry point."""

from __future__ import annotations

import json
from pathlib import Path

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
