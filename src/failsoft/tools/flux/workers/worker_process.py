"""The worker process: runs tasks from its socket, one at a time, and sends their results."""

from __future__ import annotations

import contextlib
import importlib
import resource
import socket
import sys
import traceback
from collections.abc import Callable
from functools import cache
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.tools.flux.workers.messages import pack, receive
from failsoft.tools.flux.workers.progress import begin


def serve(server: socket.socket) -> None:
    """Run the tasks that come, until the server is gone."""
    while True:
        try:
            task, arguments, limit_s = receive(server)
        except (EOFError, ConnectionError):
            return
        begin(lambda message: server.sendall(pack(message)), limit_s)
        answer = _answer(task, arguments)
        begin(None, None)
        try:
            server.sendall(answer)
        except ConnectionError:
            return


def _answer(task: str, arguments: tuple[Any, ...]) -> bytes:
    """Return what came of a task, packed: its value, the typed error that it raised, or a crash in words.

    Any other exception goes as text: the server, which has not loaded cobra, could not even read it.
    """
    try:
        return pack(("done", _function(task)(*arguments), _peak_bytes()))
    except ToolError as error:
        return pack(("failed", error, _peak_bytes()))
    except BaseException as error:  # noqa: BLE001 - a task must not end the worker without an answer
        with contextlib.suppress(Exception):
            traceback.clear_frames(error.__traceback__)
        return pack(("crashed", (type(error).__name__, str(error), traceback.format_exc()), _peak_bytes()))


@cache
def _function(task: str) -> Callable[..., Any]:
    module, _, name = task.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _peak_bytes() -> int:
    """Return the most memory that this process ever had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
