"""Testing kit: a clock that jumps instead of waiting, scripted faults, captured events, and a client.

The pytest plugin of failsoft provides fixtures for them. Nothing here needs pytest.
"""

from __future__ import annotations

from failsoft.framework.safe.author_reports import Report, watch_reports
from failsoft.testing.capture import CapturedEvents
from failsoft.testing.client import connected
from failsoft.testing.clock import InstantClock, InstantLoop
from failsoft.testing.failures import fails_with, http_error
from failsoft.testing.faults import Delay, FaultScript, Hang
from failsoft.testing.runtime import fresh_runtime, without_recovery

__all__ = [
    "CapturedEvents",
    "Delay",
    "FaultScript",
    "Hang",
    "InstantClock",
    "InstantLoop",
    "Report",
    "connected",
    "fails_with",
    "fresh_runtime",
    "http_error",
    "watch_reports",
    "without_recovery",
]
