"""The flux toolset from a cold start: its server, the fork server that loads COBRApy, and its workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.e2e.test_flux_stdio import (
    Server,
    test_a_server_that_ends_takes_its_workers_along_and_has_written_nothing_but_answers as assert_that_it_ends_whole,
)
from tests.programs.flux import IN_FLUX
from tests.tools.flux.test_set_up import loaded_in_the_server

pytestmark = IN_FLUX


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server(sys.executable)
    yield served
    served.close()


def test_a_server_that_ends_takes_its_workers_along_and_has_written_nothing_but_answers(server: Server) -> None:
    assert_that_it_ends_whole(server)


def test_the_server_process_never_loads_cobra() -> None:
    assert loaded_in_the_server(sys.executable, sys.executable) == "[]\n"
