"""A start collects rarely, and a server that runs collects as usual."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
usual = gc.get_threshold()
from tests.doors import collect_rarely, freeze_loaded
collect_rarely()
assert gc.get_threshold()[0] > 10 * usual[0]
freeze_loaded()
assert gc.get_threshold() == usual
assert gc.get_freeze_count() > 0
"""


def test_what_is_loaded_is_frozen_and_collecting_goes_on_as_usual() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
