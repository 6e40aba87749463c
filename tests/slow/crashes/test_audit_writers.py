"""Writers of one audit log, killed many times."""

from __future__ import annotations

from pathlib import Path

from tests.framework.audit.test_killed_writers import hold
from tests.thorough import THOROUGH


def test_what_was_acknowledged_survives_every_kill_and_what_was_dropped_is_said(tmp_path: Path) -> None:
    hold(tmp_path, 1_000 if THOROUGH else 30)
