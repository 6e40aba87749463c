"""The settings of a fleet, and what a worker refuses; `tests/slow/jobs` has the fleet itself."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from failsoft import ConfigurationError, Runtime, Settings
from tests.doors import assemble_server
from tests.jobs.test_jobs import Desk
from tests.zygote import PYTHON

FLEET = "temporal://127.0.0.1:7233/default"
OTHERS = ("temporal://host/default", "temporal://host:7233", "celery://host:1/x", f"{FLEET}/more")


@pytest.mark.parametrize("url", OTHERS)
def test_an_address_of_another_form_is_refused_at_start_up(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("FAILSOFT_FLEET_URL", url)
    with pytest.raises(ConfigurationError) as refused:
        Settings.load()
    assert "FAILSOFT_FLEET_URL" in refused.value.message


def _refusal() -> Any:
    with pytest.raises(ConfigurationError) as refused:
        assemble_server([Desk(runtime=Runtime(settings=Settings(fleet_url=FLEET)))])
    return refused.value


def test_a_fleet_needs_a_store_that_others_see_and_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "FAILSOFT_STATE_URL" in _refusal().resolution
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path}/state.sqlite")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert _refusal().details == {"extra": "temporal"}


def _worker(app: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [PYTHON, "-m", "failsoft", "worker", "--app", app]
    given = {**os.environ, "FAILSOFT_STATE_URL": f"sqlite:{folder}/state.sqlite", **environment}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=60, check=False)


def test_a_worker_without_an_engine_or_without_jobs_does_not_start(tmp_path: Path) -> None:
    refused = _worker("tests.jobs.works:Works", tmp_path)
    assert (refused.returncode, "FAILSOFT_FLEET_URL" in refused.stderr) == (3, True)
    if importlib.util.find_spec("temporalio"):
        unreached = _worker("tests.jobs.works:Works", tmp_path, FAILSOFT_FLEET_URL="temporal://127.0.0.1:1/default")
        assert (unreached.returncode, unreached.stderr.partition(":")[0]) == (4, "UNAVAILABLE")
