"""What the server process loads, and what keeps it from starting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from failsoft import ConfigurationError
from failsoft.tools.flux import Flux
from tests.doors import FluxSettings
from tests.programs.flux import IN_FLUX
from tests.zygote import PYTHON

pytestmark = IN_FLUX

HEAVY = {"cobra", "optlang", "swiglpk", "numpy", "pandas", "sympy"}
IN_THE_SERVER = f"""
import asyncio, sys
from failsoft.tools.flux import Flux

async def main():
    sys.executable = sys.argv[1]
    tool = Flux()
    model = await tool.load_model(name="textbook")
    answer = await tool.run_fba(model_id=model.data["model_id"], media_id="media_x")
    assert answer.error.code == "MEDIA_NOT_FOUND", answer
    await tool.shutdown()

asyncio.run(main())
print(sorted({HEAVY!r} & set(sys.modules)))
"""


def loaded_in_the_server(python: str, python_of_workers: str) -> str:
    """Return what a server has loaded after calls that workers answer."""
    command = [python, "-W", "error", "-c", IN_THE_SERVER, python_of_workers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_server_process_never_loads_cobra(flux_python: str) -> None:
    assert loaded_in_the_server(PYTHON, flux_python) == "[]\n"
    code = "import sys; print('cobra' in sys.modules)"
    assert subprocess.run([flux_python, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


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
