"""Rules of third parties: a server loads them before it takes a call."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.processes import Served

RULES = """
import sys

sys.stderr.write("rules loaded\\n")
sys.stderr.flush()


def from_exception(exc):
    return None
"""


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_rules_of_third_parties_are_loaded_before_the_first_call(
    served: Callable[..., Served], tmp_path: Path, transport: str
) -> None:
    (tmp_path / "acme.py").write_text(RULES)
    (tmp_path / "acme-1.0.dist-info").mkdir()
    (tmp_path / "acme-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    entries = "[failsoft.normalizers]\nacme = acme:from_exception\n"
    (tmp_path / "acme-1.0.dist-info" / "entry_points.txt").write_text(entries)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    server = served(transport, "tools=announced", PYTHONPATH=path)
    server.wait_for("started")
    assert server.errors[:2] == ["rules loaded", "started"]
