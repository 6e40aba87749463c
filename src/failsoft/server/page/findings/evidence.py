"""What a finding is, and what the rules read: the status, and what it does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from failsoft.framework.clock import utc_timestamp
from failsoft.metrics.board import CALLS_AT_MOST, LATE_S
from failsoft.metrics.rules import FAULTS
from failsoft.server.page.findings.pace import Key, Slow

RECENT_S = 300.0
"""How long ago something may be that is named, in seconds."""
QUIET_AT_MOST_S = 60.0
"""After which time without a sign something is over, in seconds."""
RECOVERED = {"recovered", "degraded"}
_QUIET_S, _QUIET_CALLS = 10.0, 5
_MANY = 10
Severity: TypeAlias = Literal["error", "warning", "note"]
Call: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HeadlineFinding:
    """Something that is wrong.

    Args:
        key: Tells findings apart; the same for as long as it lasts.
        severity: `error`: callers suffer, or data is at risk; `warning`: it can wait until the morning.
        what: What is wrong, as a sentence without a full stop.
        todo: What to do, as the rest of a sentence.
        since: Since when it lasts.
        last: When it was seen last, if it is over.
        incident: The heading in the page about incidents.
    """

    key: str
    severity: Severity
    what: str
    todo: str
    since: str | None = None
    last: str | None = None
    incident: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What findings are about beside the status.

    Args:
        failing: Since when store, audit log and recovery file fail, by name, over all workers.
        failing_since: The minute in which calls began to fail more often than the objective permits.
        signs: The counters of incidents that have risen lately, with `metric`, `label`, `count`, `first` and `last`.
        slow: The operations whose calls have become slow.
        blocking: The operations that keep event loops from running, by process id.
        ends: When workers ended that had to be replaced, oldest first, and why.
        quota_used: What the fullest caller has used of its quota, as a share.
    """

    failing: Mapping[str, str] = field(default_factory=dict)
    failing_since: str | None = None
    signs: Sequence[Mapping[str, Any]] = ()
    slow: Mapping[Key, Slow] = field(default_factory=dict)
    blocking: Mapping[int, str] = field(default_factory=dict)
    ends: Sequence[tuple[str, str]] = ()
    quota_used: float = 0.0

    def rising(self, metric: str) -> dict[str, Mapping[str, Any]]:
        """Return the signs of a metric by label."""
        return {sign["label"]: sign for sign in self.signs if sign["metric"] == metric}


class Reading:
    """A status as the rules read it.

    Args:
        status: The status, as `/status.json` shows it.
        evidence: What is known beside it.
    """

    def __init__(self, status: Mapping[str, Any], evidence: Evidence) -> None:
        self.status, self.evidence = status, evidence
        begin = ago(RECENT_S)
        self.lately: list[Call] = [call for call in status["recent"] if call["timestamp"] > begin]
        """The failed and recovered calls of the last minutes, newest first."""
        self.blocked = [one for one in status["workers"] if one["phase"] != "starting" and one["loop_lag_s"] > LATE_S]
        """The workers whose event loop is blocked."""
        self._rates = {(one["tool"], one["operation"]): one["rate_per_s"] for one in status["operations"]}
        paused = [one for one in status["operations"] if one.get("paused")]
        self._paused_since = {(one["tool"], one["operation"]): one["paused"]["since"] for one in paused}

    @property
    def failing_since(self) -> str | None:
        """The first failure of the minute in which calls began to fail; the minute if too many have come since."""
        minute, recent = self.evidence.failing_since, self.status["recent"]
        if minute is None or (len(recent) >= CALLS_AT_MOST and recent[-1]["timestamp"] >= minute):
            return minute
        faults = [call["timestamp"] for call in recent if call["timestamp"] >= minute and is_fault(call)]
        return faults[-1] if faults else minute

    def is_paused(self, call: Call) -> bool:
        """Return whether a call has failed because an operator has paused its operation, which is no fault."""
        since = self._paused_since.get((call["tool"], call["operation"]))
        return since is not None and call["code"] == "UNAVAILABLE" and call["timestamp"] >= since

    def is_over(self, calls: Sequence[Call]) -> bool:
        """Return whether such calls have stopped: five of each operation should have come since, or a minute is over.

        Args:
            calls: Some of `lately`, in its order.
        """
        last = {(call["tool"], call["operation"]): call["timestamp"] for call in reversed(calls)}
        return all(at < ago(_quiet_s(self._rates.get(operation, 0.0))) for operation, at in last.items())


def _quiet_s(rate_per_s: float) -> float:
    """Return after which time without a sign something is over of an operation with this rate, in seconds."""
    expected_s = _QUIET_CALLS / rate_per_s if rate_per_s > 0 else QUIET_AT_MOST_S
    return max(_QUIET_S, min(QUIET_AT_MOST_S, expected_s))


def is_fault(call: Call) -> bool:
    """Return whether a call failed by fault of the server."""
    return call["category"] in FAULTS and call["outcome"] not in RECOVERED


def lasts(sign: Mapping[str, Any]) -> bool:
    """Return whether a counter has risen much, and of late."""
    return bool(sign["count"] >= _MANY and sign["last"] > ago(QUIET_AT_MOST_S))


def ago(seconds: float) -> str:
    """Return the time so many seconds ago; such texts are in the order of their times."""
    return utc_timestamp(after_s=-seconds)


def share(ratio: float) -> str:
    """Return a ratio in percent."""
    percent = 100 * ratio
    return "< 0.1 %" if percent < 0.1 else f"{percent:.{1 if percent < 10 else 0}f} %"  # noqa: PLR2004 - its digits
