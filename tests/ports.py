"""TCP ports for servers that cannot choose one themselves, or that have to come back at the same address."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["reserved_ports"]


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Yield ports of 127.0.0.1 that the kernel gives to no other process meanwhile.

    A bound socket that does not listen keeps a port from being chosen for others; a server may listen there
    nevertheless, as both set SO_REUSEADDR.
    """
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
        yield [int(one.getsockname()[1]) for one in held]
