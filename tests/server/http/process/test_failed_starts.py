"""A system that starts no process: a fault of the moment, which neither ends the server by itself nor goes unlogged."""

from __future__ import annotations

import errno
import os
import socket
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from failsoft import ToolError
from tests.doors import Supervisor


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE])
def test_workers_that_the_system_does_not_start_have_not_started(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_process: SpawnProcess) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(SpawnProcess, "start", start)
    settings = SimpleNamespace(shutdown_grace_s=1.0, worker_stall_s=30.0, recovery_file=None)
    runtime = SimpleNamespace(events=SimpleNamespace(publish=print), settings=settings)
    assembly: Any = SimpleNamespace(settings=settings, tools=[SimpleNamespace(runtime=runtime)])
    factory: Any = print
    with socket.socket() as listener, pytest.raises(ToolError) as found:
        Supervisor(factory, listener, assembly, tmp_path, workers=2, on_ready=lambda: None).run()
    assert found.value.code == "INIT_ERROR"
