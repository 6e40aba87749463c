"""`failsoft find`: one call in the logs, the audit log and the state store of a real server."""

from __future__ import annotations

import gzip
import json
import os
import signal
import tracemalloc
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp import Client

from tests.cli.serving import serving
from tests.doors import ExitCode, run

TRACE, REQUEST, KEY = "0af7651916cd43dd8448eb211c80319c", "req-4711", "order-4711"
SHOP = '''
from failsoft import BaseTool, NotFound, operation


class Shop(BaseTool):
    """A shop."""

    @operation
    async def pay(self, order: str) -> str:
        """Pay."""
        if order == "lost":
            raise NotFound("There is no such order.", effect="none")
        return "paid"
'''


class Night(NamedTuple):
    """What a server has left, and the error id of the call that failed."""

    log: Path
    audit: Path
    state: str
    error_id: str


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    folder = tmp_path_factory.mktemp("night")
    (folder / "shop.py").write_text(SHOP)
    night = Night(folder / "server.log", folder / "audit.jsonl", f"sqlite:{folder / 'state.sqlite'}", "")
    env = {
        "FAILSOFT_LOG_JSON": "true",
        "FAILSOFT_LOG_LEVEL": "DEBUG",
        "FAILSOFT_AUDIT_PATH": str(night.audit),
        "FAILSOFT_STATE_URL": night.state,
    }

    async def called(url: str) -> str:
        meta: dict[str, Any] = {"x-request-id": REQUEST, "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        async with Client(f"{url}/mcp") as client:
            failed = await client.call_tool("pay", {"order": "lost"}, meta=meta)
            await client.call_tool("pay", {"order": "o-1"}, meta={"dev.failsoft/idempotency-key": KEY})
        assert failed.meta is not None
        error_id: str = failed.meta["dev.failsoft/error"]["error_id"]
        return error_id

    with serving(folder, "--app", "shop:Shop", env=env) as (url, process):
        error_id = anyio.run(called, url)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        night.log.write_text("no JSON\n" + process.stderr.read())
    return night._replace(error_id=error_id)


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["find", *words, "--json"]) == 0
    story: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return story


@pytest.mark.parametrize("name", ["error id", "request id", "trace id"])
def test_the_story_of_a_failed_call(night: Night, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = {"error id": night.error_id, "request id": REQUEST, "trace id": TRACE}[name]
    story = found(capsys, wanted, "--log", str(night.log), "--audit", str(night.audit))
    assert {event["source"] for event in story} == {night.log.name, night.audit.name}
    assert {(event["error_id"], event["request_id"], event["trace_id"]) for event in story} == {
        (night.error_id, REQUEST, TRACE)
    }
    assert [event["timestamp"] for event in story] == sorted(event["timestamp"] for event in story)


def test_a_key_leads_to_its_record_and_to_its_calls(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    packed = night.log.with_suffix(".log.gz")
    packed.write_bytes(gzip.compress(night.log.read_bytes()))
    story = found(capsys, KEY, "--log", str(packed), "--state", night.state)
    assert [(event["source"], event.get("phase")) for event in story][-1] == ("state", "done")
    assert story[0]["event"] == "call_succeeded"
    assert KEY not in night.log.read_text()


def test_the_story_is_one_line_an_event(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["find", night.error_id, "--log", str(night.log)]) == 0
    line, trace = capsys.readouterr().out.splitlines()
    assert "code=NOT_FOUND" in line
    assert trace.endswith(f"failsoft find {TRACE}")


def test_the_story_of_a_crash_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "server.log"
    log.write_text(json.dumps({"message": "It failed.", "error_id": "86ef0b12", "place": "shop.py:12 in pay"}))
    assert run(["find", "86ef0b12", "--log", str(log)]) == 0
    assert 'place="shop.py:12 in pay"' in capsys.readouterr().out


def test_the_story_of_a_key_says_what_became_of_its_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(json.dumps({"request_id": REQUEST, "event": "idempotency", "verdict": "lost"}))
    assert run(["find", REQUEST, "--log", str(tmp_path / "log")]) == 0
    assert "event=idempotency verdict=lost" in capsys.readouterr().out


def test_a_pipe_is_read_as_a_file_is(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    receiver, sender = os.pipe()
    os.write(sender, night.log.read_bytes()[-60_000:])
    os.close(sender)
    story = found(capsys, night.error_id, "--log", f"/dev/fd/{receiver}")
    os.close(receiver)
    assert [(event["source"], event["error_id"]) for event in story] == [(str(receiver), night.error_id)]


def test_a_device_is_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["find", "ffffffffffffffff", "--log", "/dev/zero"]) == ExitCode.CONFIGURATION
    assert "/dev/zero" in capsys.readouterr().err


def test_a_line_without_end_is_read_in_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "log").open("wb") as file:
        file.truncate(50_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"request_id": "%s", "event": "idempotency"}\n' % REQUEST.encode())
    tracemalloc.start()
    assert run(["find", REQUEST, "--log", str(tmp_path / "log")]) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "event=idempotency" in capsys.readouterr().out
    assert peak < 20_000_000


def test_all_that_was_searched_is_named(
    night: Night, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAILSOFT_STATE_URL", night.state)
    assert run(["find", "ffffffffffffffff", "--log", str(night.log)]) == ExitCode.FAILED
    assert f"in {night.log}, {night.state.removeprefix('sqlite:')}." in capsys.readouterr().err


def test_what_is_not_there_is_said(
    night: Night, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # without the store of another test
    for words, code in (
        (["ffffffffffffffff", "--log", str(night.log)], ExitCode.FAILED),
        ([night.error_id, "--log", "nowhere.log"], ExitCode.FAILED),
        ([night.error_id, "--audit", "nowhere.jsonl"], ExitCode.FAILED),
        (["abc", "--log", str(night.log)], ExitCode.USAGE),
        ([night.error_id], ExitCode.CONFIGURATION),
    ):
        assert run(["find", *words]) == code
        assert capsys.readouterr().out == ""
    assert run(["explain", night.error_id]) == ExitCode.FAILED
    assert f"failsoft find {night.error_id}" in capsys.readouterr().err


def test_a_line_of_a_log_cannot_pass_for_another_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = f'{{"error_id":"{KEY}","deep":{"[" * 200_000}'
    line = {"error_id": KEY, "trace_id": "x;\x1b[1m rm", "tool": "a code=OK", "cause": {"a": "\x9b"}, "message": "x\ny"}
    (tmp_path / "log").write_text("\n".join([deep, json.dumps(line)]))
    assert run(["find", KEY, "--log", str(tmp_path / "log")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        rf'now log x y tool="a code=OK" cause={{"a":" "}} error_id={KEY} trace_id="x;\u001b[1m rm"',
        "the whole trace: failsoft find 'x; [1m rm'",
    ]


def test_what_a_compressed_log_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"error_id": KEY, "message": sha256(bytes([number])).hexdigest()}) for number in range(200)]
    (tmp_path / "log.gz").write_bytes(gzip.compress("\n".join(lines).encode())[:5_000])
    assert run(["find", KEY, "--log", str(tmp_path / "log.gz")]) == 0
    shown = capsys.readouterr()
    assert lines[0][-10:-2] in shown.out
    assert shown.err.splitlines()[0] == "log.gz is cut off: what came later is not searched"


def test_json_on_a_screen_has_no_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(json.dumps({"error_id": KEY, "tool": (tool := "ü\x9b2J\u202e")}))
    assert run(["find", KEY, "--log", str(tmp_path / "log"), "--json"]) == 0
    shown = capsys.readouterr().out
    assert json.loads(shown)[0]["tool"] == tool
    assert shown.replace("\n", "").isprintable()
