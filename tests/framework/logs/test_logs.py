"""One line for each call that is worth one: complete, redacted, and never at the price of the answer."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from loguru import logger

from failsoft import (
    BaseTool,
    CallContext,
    ConfigurationError,
    DocumentNotFound,
    Runtime,
    Settings,
    ToolResponse,
    Unavailable,
    configure_logging,
    operation,
)
from tests.doors import CallScope, NullMetrics, RecoveryReceipt, log_recovery

SCOPE = CallScope(request_id="r-1", session_id="s-1", principal="ada")


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def find(self, path: str) -> str:
        """Find."""
        raise DocumentNotFound(path=path, details={"api_key": "hunter2", "content": "chapter one", "tried": 3})

    @operation(read_only=True)
    async def crash(self) -> str:
        """Crash."""
        token = "hunter2"
        raise RuntimeError(f"{{braces}} password={token} " + "x" * 5_000)

    @operation(read_only=True)
    async def reach(self) -> str:
        """Reach."""
        cause = ConnectionRefusedError("connect to redis://:hunter2@cache failed")
        raise Unavailable(operator_hint="start the cache") from cause

    @operation(read_only=True)
    async def work(self, call: CallContext, how: str = "well") -> str:
        """Work."""
        if how == "warn":
            call.warn("stock is {low}")
        if how == "recover":
            call.tell(receipt=RecoveryReceipt("alternate_path", "Found it at a/b.md", 2, {"path": "a/b.md"}))
        if how == "try":
            call.error = DocumentNotFound(path="a")
            log_recovery(call, "retry", "failed")
        return "done"


@pytest.fixture(autouse=True)
def _loguru_as_it_was() -> Iterator[None]:
    yield
    logger.remove()
    logger.disable("failsoft")
    for name in ("failsoft_test_library",):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True


def shop(**settings: Any) -> Shop:
    return Shop(runtime=Runtime(settings=Settings(**settings), metrics=NullMetrics()))


def answer(name: str, params: dict[str, Any] | None = None, **given: Any) -> ToolResponse[Any]:
    """Return the answer to one call, made as a transport makes it."""

    async def call() -> ToolResponse[Any]:
        return await shop(**given).operations[name].call(params or {}, SCOPE)

    return asyncio.run(call())


def logged(name: str, params: dict[str, Any] | None = None, *, level: str = "DEBUG", **settings: Any) -> list[Any]:
    """Return the lines that a call leaves."""
    stream = io.StringIO()
    configure_logging(level, json_lines=True, stream=stream)
    answer(name, params, **settings)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_foreseen_failure_leaves_one_warning_with_every_field() -> None:
    (line,) = logged("find", {"path": "a.md"}, service_name="shop", environment="staging")
    assert list(line)[:6] == ["timestamp", "level", "service", "environment", "logger", "message"]
    assert line.pop("timestamp").endswith("Z")
    assert line.pop("duration_ms") > 0
    assert len(line.pop("error_id")) == 16
    assert "a.md" in line.pop("message")
    assert line == {
        "level": "WARNING",
        "service": "shop",
        "environment": "staging",
        "logger": "failsoft.framework.logs.logs",
        "event": "call_failed",
        "tool": "shop",
        "operation": "find",
        "request_id": "r-1",
        "session_id": "s-1",
        "user": "ada",
        "code": "DOC_NOT_FOUND",
        "category": "not_found",
        "error_type": "not_found_error",
        "numeric_code": -32001,
        "effect": "none",
        "recoverable": True,
        "recovered": False,
        "details": {"path": "a.md", "api_key": "<redacted>", "content": "<withheld>", "tried": 3},
    }


@pytest.mark.parametrize(
    ("principal", "shown"),
    [
        ("token:ben", "token:ben"),
        ("token:longer-name-17", "token:longer-name-17"),
        ("oauth:https://issuer.example ada", "oauth:https://issuer.example ada"),
        ("token:ghp_" + "a1B2" * 9, "token:<redacted>"),
    ],
)
def test_a_line_names_the_caller_and_no_token(principal: str, shown: str) -> None:
    stream = io.StringIO()
    configure_logging("DEBUG", json_lines=True, stream=stream)
    asyncio.run(shop().operations["find"].call({"path": "a.md"}, CallScope(principal=principal)))
    assert json.loads(stream.getvalue())["user"] == shown


def test_the_next_step_stays_out_of_the_log() -> None:
    """The corrected call quotes the arguments; so would the log of a tool that writes what it is given."""
    seen = answer("find", {"Path": "private words.md"})
    assert seen.error is not None
    assert seen.error.next_step is not None
    assert "private words" in str(seen.error.next_step.to_dict())
    (line,) = logged("find", {"Path": "private words.md"})
    assert (line["code"], line["violations"]) == ("INVALID_PARAM", ["path: missing", "Path: unexpected"])
    assert "private words" not in json.dumps(line)


def test_a_crash_leaves_one_error_with_its_stack_and_without_secrets() -> None:
    (line,) = logged("crash")
    assert (line["level"], line["code"], line["recoverable"]) == ("ERROR", "UNKNOWN_ERROR", False)
    assert "RuntimeError" in line["stack_trace"]
    assert "in crash" in line["stack_trace"]
    assert "hunter2" not in json.dumps(line)
    assert len(line["stack_trace"]) <= 20_020


def test_a_foreseen_failure_names_its_cause_and_the_operators_hint_without_a_stack() -> None:
    *tried, line = logged("reach")
    assert {(other["level"], other["strategy"]) for other in tried} == {("INFO", "retry")}
    assert (line["level"], line["operator_hint"]) == ("WARNING", "start the cache")
    assert line["cause"] == "ConnectionRefusedError: connect to redis://:<redacted>@cache failed"
    assert "stack_trace" not in line


def test_refused_arguments_are_named_and_not_repeated() -> None:
    (line,) = logged("find", {"path": 7, "secret_plan": "hunter2"})
    assert line["code"] == "INVALID_PARAM"
    assert line["violations"] == ["path: type", "secret_plan: unexpected"]
    assert "hunter2" not in json.dumps(line)


@pytest.mark.parametrize(
    ("how", "level", "event"),
    [
        ("well", "DEBUG", "call_succeeded"),
        ("warn", "WARNING", "call_warned"),
        ("recover", "INFO", "call_recovered"),
    ],
)
def test_a_call_that_was_answered_leaves_one_line_by_how_it_went(how: str, level: str, event: str) -> None:
    (line,) = logged("work", {"how": how})
    assert (line["level"], line["event"], line["operation"], line["user"]) == (level, event, "work", "ada")


def test_a_recovered_call_says_what_was_done() -> None:
    (line,) = logged("work", {"how": "recover"})
    assert (line["recovered"], line["strategy"], line["degraded"]) == (True, "alternate_path", False)


def test_every_recovered_call_leaves_a_line_at_info() -> None:
    stream = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=stream)

    async def calls() -> None:
        for _ in range(3):
            await shop().operations["work"].call({"how": "recover"}, SCOPE)

    asyncio.run(calls())
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["level"] for line in lines if line["event"] == "call_recovered"] == ["INFO"] * 3


def test_warnings_are_logged_with_their_braces() -> None:
    (line,) = logged("work", {"how": "warn"})
    assert line["warnings"] == ["stock is {low}"]


def test_a_slow_call_leaves_a_warning() -> None:
    (line,) = logged("work", slow_call_s=1e-9)
    assert (line["level"], line["event"]) == ("WARNING", "call_slow")


def test_a_recovery_attempt_is_logged_at_info() -> None:
    tried, _ = logged("work", {"how": "try"})
    assert (tried["level"], tried["event"], tried["strategy"], tried["result"], tried["code"]) == (
        "INFO",
        "recovery_tried",
        "retry",
        "failed",
        "DOC_NOT_FOUND",
    )


def test_plain_success_is_silent_at_info() -> None:
    assert logged("work", level="INFO") == []


@pytest.mark.parametrize(
    ("least", "levels"),
    [
        ("DEBUG", ["DEBUG", "WARNING", "ERROR"]),
        ("INFO", ["WARNING", "ERROR"]),
        ("WARNING", ["WARNING", "ERROR"]),
        ("ERROR", ["ERROR"]),
        ("CRITICAL", []),
    ],
)
def test_each_sink_gets_the_lines_of_its_level(least: str, levels: list[str]) -> None:
    records: list[Any] = []
    logger.remove()
    logger.enable("failsoft.framework")
    for _ in range(2):  # loguru remembers which modules are enabled
        records.clear()
        logger.add(lambda message: records.append(message.record["level"].name), level=least)
        for name, params in (("work", {}), ("find", {"path": "a"}), ("crash", {})):
            answer(name, params)
        assert records == levels
        logger.remove()
        answer("find", {"path": "a"})
    assert records == levels


def test_the_library_is_silent_until_it_is_enabled(capsys: pytest.CaptureFixture[str]) -> None:
    logger.remove()
    stream = io.StringIO()
    logger.add(stream, level=0)
    logger.disable("failsoft")
    answer("crash")
    assert stream.getvalue() == ""
    logger.enable("failsoft")
    answer("crash")
    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue() != ""
    assert capsys.readouterr().out == ""


def test_facts_reach_an_applications_own_sink_redacted() -> None:
    records: list[Any] = []
    logger.remove()
    logger.add(lambda message: records.append(message.record["extra"]), level=0)
    logger.enable("failsoft")
    answer("find", {"path": "a"})
    (extra,) = records
    assert (extra["code"], extra["user"], extra["details"]["api_key"]) == ("DOC_NOT_FOUND", "ada", "<redacted>")


def test_a_sink_that_raises_does_not_cost_the_answer() -> None:
    def broken(message: Any) -> None:
        raise OSError(message)

    logger.remove()
    logger.add(broken, level=0, catch=False)
    logger.enable("failsoft")
    assert answer("work").success
    assert not answer("crash").success


def test_anything_else_that_is_logged_is_redacted_too() -> None:
    stream = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=stream)
    extra: dict[str, Any] = {"token": "hunter2", "level": "mine", "odd": object(), "number": float("nan")}
    error = ValueError("password=hunter2")
    logger.bind(**extra).opt(exception=error).error("Authorization: Bearer hunter2hunter2 {}\nnext")
    (line,) = stream.getvalue().splitlines()
    assert "hunter2" not in line
    seen = json.loads(line)
    assert (seen["token"], seen["extra_level"], seen["odd"], seen["number"]) == (
        "<redacted>",
        "mine",
        "<object>",
        None,
    )
    assert "ValueError" in seen["stack_trace"]


def test_text_for_people_is_one_line_without_control_characters() -> None:
    stream = io.StringIO()
    configure_logging("DEBUG", json_lines=False, stream=stream)
    answer("find", {"path": "a\n\x1b[31mb"})
    (line,) = stream.getvalue().splitlines()
    assert "code=DOC_NOT_FOUND" in line
    assert "\x1b" not in line


FORGED = "2026-01-01T00:00:00.000Z CRITICAL forged"


def test_text_of_a_caller_can_forge_neither_a_line_nor_a_fact() -> None:
    stream = io.StringIO()
    configure_logging("DEBUG", json_lines=False, stream=stream)
    text = f'a\n{FORGED}\r\x1b[2J\x9b2J\u2028{FORGED}" code=FORGED level="'
    answer("find", {"path": text})
    logger.bind(**{f"a\n{FORGED}\x1b": text}).opt(exception=ValueError(text)).error(text)
    written = stream.getvalue()
    assert not [line for line in written.split("\n") if line.startswith(FORGED)]
    assert {character for character in written if not character.isprintable()} == {"\n"}
    facts = re.sub(r'"(?:[^"\\]|\\.)*"', "", "\n".join(re.findall(r"  (?:tool=|\").*", written)))
    assert "FORGED" not in facts


def test_no_character_of_a_json_line_breaks_hides_or_reorders_it() -> None:
    stream = io.StringIO()
    configure_logging("DEBUG", json_lines=True, stream=stream)
    logger.bind(seen=(text := f"ü\x9b2J\u2028{FORGED}\u202e\x85"), **{"a\x9b": 1}).info("Done")
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()
    assert json.loads(line)["seen"] == text
    assert "ü" in line


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "latin-1"])
def test_lines_are_json_in_any_encoding_of_the_stream(encoding: str) -> None:
    raw = io.BytesIO()
    configure_logging("DEBUG", json_lines=True, stream=io.TextIOWrapper(raw, encoding=encoding))
    answer("find", {"path": "日本\ud800"})
    assert json.loads(raw.getvalue().decode(encoding))["details"]["path"] == "日本\ufffd"


def test_configuring_twice_does_not_write_twice() -> None:
    configure_logging("DEBUG", stream=io.StringIO())
    assert len(logged("work")) == 1


def test_the_level_and_the_form_come_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_LOG_LEVEL", "error")
    monkeypatch.setenv("FAILSOFT_LOG_JSON", "false")
    stream = io.StringIO()
    configure_logging(stream=stream)
    answer("find", {"path": "a"})
    assert stream.getvalue() == ""
    answer("crash")
    assert not stream.getvalue().startswith("{")


def test_standard_output_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        configure_logging(stream=sys.stdout)


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        configure_logging("LOUD")


def test_records_of_the_standard_library_can_be_taken_over() -> None:
    stream = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=stream, intercept=("failsoft_test_library",))
    library = logging.getLogger("failsoft_test_library")
    library.debug("too quiet")
    library.warning("a {brace} and %s", "token=hunter2")
    logging.getLogger("failsoft_test_library.part").info("from below")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["logger"], line["level"], line["message"]) for line in lines] == [
        ("failsoft_test_library", "WARNING", "a {brace} and token=<redacted>"),
        ("failsoft_test_library.part", "INFO", "from below"),
    ]


def test_a_sink_of_the_applications_own_gets_the_stack_as_text_without_values() -> None:
    records: list[Any] = []
    text = io.StringIO()
    logger.remove()
    logger.add(lambda message: records.append(message.record), level="ERROR")
    logger.add(text, level="ERROR")
    logger.enable("failsoft")
    answer("crash")
    (record,) = records
    assert record["exception"] is None
    assert "RuntimeError" in record["extra"]["stack_trace"]
    assert f'{__file__}", line ' in record["extra"]["stack_trace"]
    assert "in crash" in record["extra"]["stack_trace"]
    assert record["extra"]["operation"] == "crash"
    assert record["extra"]["error_id"]
    assert "hunter2" not in text.getvalue() + str(record)


@pytest.mark.parametrize(("enabled", "lines"), [("before", 1), ("after", 1), ("", 0)])
def test_logs_that_an_application_enables_stay_enabled(enabled: str, lines: int) -> None:
    """After the import as well, although loguru loads only with what logs."""
    enable = "from loguru import logger\nlogger.enable('failsoft')\n"
    program = (
        (enable if enabled == "before" else "")
        + "import failsoft\n"
        + (enable if enabled == "after" else "")
        + "from tests.doors import reports_module as r\nr.report_mistake('wrong')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert len(done.stderr.splitlines()) == lines


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "is_json"), [(io.StringIO, True), (_Terminal, False)])
def test_lines_are_text_on_a_terminal_and_json_elsewhere(
    stream: type[io.StringIO], is_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    target = stream()
    configure_logging("WARNING", stream=target)
    answer("find", {"path": "a"})
    line = target.getvalue()
    assert line.startswith("{") is is_json
    assert ("\x1b[33mWARNING" in line) is not is_json
