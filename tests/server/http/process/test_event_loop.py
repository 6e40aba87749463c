"""The server runs on uvloop where that is installed, and on asyncio's own loop where it is not."""

from __future__ import annotations

import sys

import pytest

from tests.doors import config_for


async def app(_scope: object, _receive: object, _send: object) -> None: ...


def loop_module() -> str:
    make = config_for(app).get_loop_factory()
    assert make is not None
    loop = make()
    loop.close()
    return type(loop).__module__.partition(".")[0]


def test_uvloop_is_used_where_it_is_installed() -> None:
    pytest.importorskip("uvloop", reason="there is no uvloop for this interpreter or system")
    assert loop_module() == "uvloop"


def test_asyncio_s_loop_is_used_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_module() == "asyncio"
