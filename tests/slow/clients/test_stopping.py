"""How clients stop a server over stdio: they close its input, wait a little, and send SIGTERM."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.server.processes import Served
from tests.server.test_stdio import HELLO, Wire, call

CLIENTS_WAIT_S = 1.5
"""How long a client waits for a server to end, before it does the next thing."""
SOON_S = 6
"""What works takes a fraction of it."""


@pytest.fixture
def server() -> Iterator[Served]:
    started = Served("stdio", "tools=polite", FAILSOFT_SHUTDOWN_GRACE_S="60")
    yield started
    started.close()


def has_ended(server: Served, within_s: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        server.process.wait(within_s)
    return server.process.poll() is not None


def test_a_server_whose_input_has_ended_and_that_is_signalled_ends_with_its_last_answer(server: Served) -> None:
    wire = Wire(server)
    wire.send(*HELLO, call(1, "count_when_let_go", path=server.gate), call(2, "witness", event="counting"))
    wire.result(2)
    wire.end()
    if has_ended(server, CLIENTS_WAIT_S):
        raise RuntimeError(server.errors)
    server.send(signal.SIGTERM)
    if has_ended(server, CLIENTS_WAIT_S):
        raise RuntimeError(server.errors)
    server.open_gate()
    if wire.result(1)["data"] != 3:
        raise RuntimeError(server.errors)
    assert has_ended(server, SOON_S)
    assert server.wait() == 0
