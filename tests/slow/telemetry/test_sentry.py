"""Defects, and nothing else, in a Sentry that receives envelopes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs.receivers import Receiver
from tests.server.processes import BOUND_S
from tests.slow.telemetry.test_otel import TILL, TRACE, TRACED, call, running
from tests.slow.telemetry.traced_tools import SECRET
from tests.zygote import PYTHON

TOOLS = Path(__file__).with_name("traced_tools.py")
LINE = next(number for number, line in enumerate(TOOLS.read_text().splitlines(), 1) if "raise RuntimeError" in line)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Receive events while the test runs."""
    with Receiver() as made:
        yield made
        made.shutdown()


def test_the_address_alone_sends_defects_and_no_expected_failure(receiver: Receiver) -> None:
    with running(*TILL, "--transport", "http", "--port", "0", SENTRY_DSN=receiver.dsn) as server:
        url = server.url()
        for _ in range(2):
            answer = call(url, "crash", {"password": SECRET}, TRACED)
        call(url, "crash", {"pass": 1}, {})
        call(url, "find", {"name": "a.md"}, {})
        call(url, "balance", {}, {})
        call(url, "no_such_tool", {}, {})
        server.process.terminate()
        assert server.wait() == 0, server.errors
    assert [event["fingerprint"] for event in receiver.events] == [["UNKNOWN_ERROR", "crash", f"{TOOLS}:{LINE}"]] * 2
    event = receiver.events[-1]
    assert event["tags"]["error_id"] == answer["result"]["_meta"]["dev.failsoft/error"]["error_id"]
    assert event["contexts"]["trace"]["trace_id"] == TRACE
    assert event["environment"] == "production"
    assert is_clean(event)


@pytest.mark.parametrize("kind", ["toolset", "adapter"])
def test_beside_the_integrations_of_an_application_a_defect_is_one_event(receiver: Receiver, kind: str) -> None:
    script = Path(__file__).with_name("reporting.py")
    environment = {**os.environ, "DSN": receiver.dsn, "FAILSOFT_ENVIRONMENT": "production"}
    subprocess.run([PYTHON, str(script), kind], env=environment, check=True, capture_output=True, timeout=BOUND_S)
    codes = [event.get("fingerprint", ["none", str(event)])[:2] for event in receiver.events]
    assert codes == [["UNKNOWN_ERROR", "crash"]] * 2
    assert all(map(is_clean, receiver.events))


def is_clean(event: dict[str, Any]) -> bool:
    """Return whether an event has neither a secret nor local variables."""
    frames = [frame for one in event["exception"]["values"] for frame in one["stacktrace"]["frames"]]
    return SECRET not in json.dumps(event) and bool(frames) and not any("vars" in frame for frame in frames)
