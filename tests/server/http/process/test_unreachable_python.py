"""Workers need an interpreter that the user of the server may execute."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing import spawn
from pathlib import Path

import pytest

from failsoft import ConfigurationError, serve
from tests.server.served_tools import Polite


@pytest.fixture
def interpreter(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Make a file with a mode the interpreter of new processes."""
    before = spawn.get_executable()

    def use(mode: int) -> Path:
        file = tmp_path / "python"
        file.touch(mode)
        multiprocessing.set_executable(str(file))
        return file

    yield use
    multiprocessing.set_executable(before)


def test_workers_that_cannot_be_executed_are_refused_with_the_reason(interpreter: Callable[[int], Path]) -> None:
    file = interpreter(0o600)
    with pytest.raises(ConfigurationError, match="may not execute") as refused:
        serve(Polite, transport="http", port=0, workers=2)
    assert str(file) in refused.value.message
