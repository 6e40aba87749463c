"""Scripted agents that follow only the answers get their tasks done, with no wrong effect and no step that fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN_WITHIN_S = 300
OURS = ("failsoft, json text", "failsoft, lean text", "failsoft, structured")


def test_an_agent_that_follows_the_answers_completes_its_tasks() -> None:
    sets = ("wrapped", "shipped")
    chosen = [part for name in sets for part in ("--set", name)]
    command = [sys.executable, ROOT / "bench/agents/run.py", *chosen, "--quick", "--ours", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_WITHIN_S, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for score in (found[name][reader] for name in sets for reader in OURS):
        assert score["wrong_effects"] == 0
        assert score["completed"] >= 0.95 * score["tasks"], score["undone"]
        assert score["misled"] == []
