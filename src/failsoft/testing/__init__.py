"""Testing kit: a clock that jumps instead of waiting, scripted faults and answers, events, captured calls, a client.

The pytest plugin of failsoft provides fixtures for them. Nothing here needs pytest.
"""

from __future__ import annotations

from failsoft.framework.safe.author_reports import Report, watch_reports
from failsoft.replay import Replayed
from failsoft.testing.clock import InstantClock, InstantLoop
from failsoft.testing.kit import (
    CapturedEvents,
    connected,
    fails_with,
    fresh_runtime,
    http_error,
    replayed,
    without_recovery,
)
from failsoft.testing.scripts import AnswerScript, Delay, FaultScript, Hang

__all__ = [
    "AnswerScript",
    "CapturedEvents",
    "Delay",
    "FaultScript",
    "Hang",
    "InstantClock",
    "InstantLoop",
    "Replayed",
    "Report",
    "connected",
    "fails_with",
    "fresh_runtime",
    "http_error",
    "replayed",
    "watch_reports",
    "without_recovery",
]
