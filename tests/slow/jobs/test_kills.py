"""Jobs whose server, processes and store are killed under load: each ends once, with its effect once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs.temporal import temporal_program

PROGRAM = Path(__file__).resolve().parents[3] / "bench" / "kill_jobs.py"


@pytest.mark.parametrize(("store", "engine"), [("sqlite", ""), ("redis", ""), ("redis", "temporal")])
def test_jobs_sent_twice_with_keys_end_once_through_kills(store: str, engine: str) -> None:
    if store == "redis" and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (Debian: redis-server)")
    command = [sys.executable, str(PROGRAM), "--jobs", "30", "--store", store, "--seed", "2"]
    if engine:  # its workers take seconds to start
        command += ["--temporal", temporal_program(), "--every", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["completed"], result["effects_twice"], result["lost"], result["ids_twice"]) == (30, 0, 0, 0)
    assert sum(result["kills"].values()) > 0
