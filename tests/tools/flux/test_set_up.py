"""What the server process loads, and what keeps it from starting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from failsoft import ConfigurationError
from failsoft.tools.flux import Flux
from tests.doors import FluxSettings

HEAVY = {"cobra", "optlang", "swiglpk", "numpy", "pandas", "sympy"}
IN_THE_SERVER = f"""
import asyncio, sys
from tests.doors import FluxSettings
from failsoft.tools.flux import Flux

async def main():
    tool = Flux()
    model = await tool.load_model(name="textbook")
    answer = await tool.run_fba(model_id=model.data["model_id"], media_id="media_x")
    assert answer.error.code == "MEDIA_NOT_FOUND", answer
    await tool.shutdown()

asyncio.run(main())
print(sorted({HEAVY!r} & set(sys.modules)))
"""


def test_the_server_process_never_loads_cobra() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_THE_SERVER], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_without_cobra_the_toolset_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cobra", None)
    with pytest.raises(ConfigurationError) as refused:
        Flux()
    assert "failsoft[flux]" in refused.value.resolution


def test_a_model_that_cannot_be_loaded_in_advance_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigurationError) as refused:
        Flux(settings=FluxSettings(preload=("textbok",)))
    assert "textbok" in refused.value.message


def test_tables_that_are_not_there_are_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Flux(settings=FluxSettings(tables=tmp_path))
    assert "FAILSOFT_FLUX_TABLES" in refused.value.message
