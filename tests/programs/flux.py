"""The flux toolset's workers: forks of a process that has COBRApy loaded, and one set of them a session.

A worker by itself takes two seconds to load COBRApy; that start is left to `tests/slow/cold`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.zygote import python_with

if TYPE_CHECKING:
    from tests.doors import Workers
    from tests.tools.flux.lab import Lab

__all__ = ["ALL_CASES", "IN_FLUX", "flux_lab", "flux_python", "flux_workers", "sampled"]

IN_FLUX = [
    pytest.mark.xdist_group("flux"),
    pytest.mark.skipif(find_spec("cobra") is None, reason="the extra 'flux' is not installed"),
]
"""Marks the tests that use COBRApy or the workers of the session."""
ALL_CASES = os.environ.get("FLUX_ALL_CASES") == "1"
"""`FLUX_ALL_CASES=1 pytest -m slow tests/slow/genomes` judges every case, not a sample; that takes ten minutes."""


def sampled(cases: Iterable[str], at_most: int) -> list[str]:
    """Return some of the cases, the same ones every time, unless all are asked for."""
    every = list(cases)
    return every if ALL_CASES else random.Random(29).sample(every, min(at_most, len(every)))  # noqa: S311 - cases


@pytest.fixture(scope="session")
def flux_python() -> Iterator[str]:
    """A Python that has COBRApy loaded when it starts; from now on the workers of this process are its forks, too."""
    from tests.doors import fork_server_module  # noqa: PLC0415 - for these tests alone

    python = python_with("tests.programs.flux_warm")
    subprocess.run([python, "-c", ""], check=True)  # it has loaded: the first call does not wait for that
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server_module, "sys", SimpleNamespace(executable=python, path=sys.path))
        yield python


@pytest.fixture(scope="session")
def flux_workers(flux_python: str) -> Iterator[Workers]:
    """Two workers: what they keep in memory is no secret between tests."""
    from tests.doors import FluxSettings, Workers  # noqa: PLC0415 - for these tests alone

    made = Workers(FluxSettings(workers=2))
    yield made
    made.close()


@pytest.fixture(scope="session")
def flux_lab(flux_workers: Workers) -> Lab:
    """Toolsets with those workers."""
    from tests.tools.flux.lab import Lab  # noqa: PLC0415 - for these tests alone

    return Lab(flux_workers)
