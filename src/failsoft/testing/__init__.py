"""What tests of tools need: time that does not have to be waited for, faults on order, events, and a client.

The pytest plugin that comes with failsoft has fixtures for them. Nothing here needs pytest.
"""

from __future__ import annotations

from failsoft.testing.capture import CapturedEvents
from failsoft.testing.client import connected
from failsoft.testing.clock import InstantClock, InstantLoop
from failsoft.testing.faults import Delay, FaultScript, Hang
from failsoft.testing.surroundings import fresh_runtime

__all__ = [
    "CapturedEvents",
    "Delay",
    "FaultScript",
    "Hang",
    "InstantClock",
    "InstantLoop",
    "connected",
    "fresh_runtime",
]
