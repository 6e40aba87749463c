"""Length-prefixed pickle messages between the server and its workers, over a private socket pair."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any, Final

LENGTH: Final = struct.Struct("<Q")


def pack(message: Any) -> bytes:
    """Return a message as it is sent."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes | bytearray) -> Any:
    """Return what was packed; the length has been read before."""
    return pickle.loads(body)  # noqa: S301 - from a child process, over a private socket pair


def receive(sender: socket.socket) -> Any:
    """Return the next message of a blocking socket.

    Raises:
        EOFError: The other side is gone.
    """
    (length,) = LENGTH.unpack(_exactly(sender, LENGTH.size))
    return unpack(_exactly(sender, length))


def _exactly(sender: socket.socket, size: int) -> bytearray:
    held = bytearray(size)
    view = memoryview(held)
    while view:
        read = sender.recv_into(view)
        if not read:
            raise EOFError
        view = view[read:]
    return held
