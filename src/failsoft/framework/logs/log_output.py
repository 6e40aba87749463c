"""The log of an application: every record as one redacted line, JSON or for people, written without blocking.

A line for people has the time, level, message and facts, in color on a terminal, and the traceback below.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from textwrap import indent
from types import SimpleNamespace
from typing import Any, TypeAlias

from loguru import logger  # noqa: TID251 - adds and removes sinks

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.logs.log_writer import LogWriter, may_wait
from failsoft.framework.safe.author_reports import stack_as_text, tell
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.principals import redact_principal
from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tracebacks import stack_of
from failsoft.framework.settings import Settings
from failsoft.framework.text import json_on_one_line, printable

Line: TypeAlias = dict[str, Any]
_MESSAGE_AT_MOST = 4_000
_LAST_LINES_S = 1.0
"""Time to write buffered lines at exit, in seconds."""
_NOT_REPEATED = frozenset(("timestamp", "level", "service", "environment", "logger", "message", "event", "stack_trace"))
_COLORS = {"DEBUG": "36", "INFO": "32", "SUCCESS": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_DIM, _BOLD = "2", "1"
_logs_json = False
_YES = frozenset(("1", "true", "t", "yes", "y", "on"))
_WORD = re.compile(r"[^\s\"={}\[\]]+")


def add_sink(level: str | None, *, json_lines: bool | None, stream: Any, intercept: tuple[str, ...]) -> int:
    """Replace loguru's sinks by this one and return its id; see `configure_logging`."""
    settings = Settings.load()
    target = sys.stderr if stream is None else stream
    _refuse_standard_output(target)
    least = _level_number(level or settings.log_level)
    is_json = _is_json(target, settings.log_json if json_lines is None else json_lines)
    render = _as_json(target) if is_json else text_renderer(colors=_shows_colors(target))
    service = _service(settings)

    logger.remove()
    # With a function as the format loguru does not append its own traceback, which is not redacted.
    sink = logger.add(
        _Sink(target, render, service),
        level=least,
        format=lambda _: "{message}",
        catch=True,
        backtrace=False,
        diagnose=False,
    )
    logger.enable("failsoft")
    global _logs_json  # noqa: PLW0603 - one log in a process, as loguru has one logger
    _logs_json = is_json
    for name in intercept:
        _take_over(name, least)
    return sink


def announce(message: str, **facts: Any) -> None:
    """Write a line to standard error whatever the level of the log: a record where logs are JSON, else the message."""
    if _is_json(sys.stderr, _settings().log_json):
        message = record_of("INFO", message, **facts)
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def wants_json() -> bool:
    """Return whether the settings ask for JSON lines, on a terminal too."""
    return bool(_settings().log_json)


def logs_json() -> bool:
    """Return whether the log that this process has set up is in JSON."""
    return _logs_json


def record_of(level: str, message: str, **facts: Any) -> str:
    """Return a line as the JSON log of this process has it."""
    told = {"level": SimpleNamespace(name=level), "time": datetime.now(UTC), "name": "failsoft", "message": message}
    return _as_json(sys.stderr)(_line({**told, "extra": facts, "exception": None}, _service(_settings())))


def _settings() -> Settings:
    """Return the settings; where one cannot be used, their defaults, and the form of lines that is asked for."""
    try:
        return Settings.load()
    except ConfigurationError:
        return Settings.model_construct(log_json=os.environ.get("FAILSOFT_LOG_JSON", "").lower() in _YES or None)


def _service(settings: Settings) -> dict[str, str]:
    return {"service": settings.service_name, "environment": settings.environment}


def _is_json(stream: Any, wanted: bool | None) -> bool:  # noqa: FBT001 - a setting
    return not _is_terminal(stream) if wanted is None else wanted


class _Sink:
    """Writes records as lines, through a `LogWriter` if writes may block."""

    def __init__(self, stream: Any, render: Callable[[Line], str], service: Mapping[str, str]) -> None:
        self._stream = stream
        self._render = render
        self._service = service
        self._writer: LogWriter | None = None
        descriptor = may_wait(stream)
        if descriptor is not None:
            stream.flush()  # keeps earlier output in order
            self._writer = LogWriter(descriptor, account=self._account)

    def write(self, message: Any) -> None:
        """Write one record; loguru calls this."""
        text = self._render(_line(message.record, self._service)) + "\n"
        if self._writer is not None:
            self._writer.write(self._encoded(text))
        else:
            self._stream.write(text)
            self._stream.flush()

    def stop(self) -> None:
        """Write buffered lines within the time limit; loguru calls this, at process exit too."""
        if self._writer is not None:
            self._writer.close(_LAST_LINES_S)

    def _account(self, lost: int) -> bytes:
        line: Line = {
            "timestamp": _moment(datetime.now(UTC)),
            "level": "WARNING",
            **self._service,
            "logger": __name__,
            "message": "Log lines were dropped because the reader was too slow",
            "event": "log_lines_lost",
            "lines_lost": lost,
        }
        return self._encoded(self._render(line) + "\n")

    def _encoded(self, text: str) -> bytes:
        return text.encode(getattr(self._stream, "encoding", None) or "utf-8", errors="backslashreplace")


def _refuse_standard_output(stream: Any) -> None:
    try:
        is_standard_output = stream is sys.stdout or stream.fileno() == 1
    except (AttributeError, OSError, ValueError):
        is_standard_output = False
    if is_standard_output:
        raise ConfigurationError(
            issue="logs cannot go to standard output, which belongs to the protocol under stdio",
            resolution="log to standard error, or to a file of your own",
        )


def _level_number(level: str) -> int:
    try:
        return logger.level(level.upper()).no
    except ValueError:
        known = "TRACE, DEBUG, INFO, SUCCESS, WARNING, ERROR, CRITICAL"
    raise ConfigurationError(issue=f"there is no such log level; the levels are {known}")


def _line(record: Mapping[str, Any], service: Mapping[str, str]) -> Line:
    """Return a record as one flat, redacted object; the first keys are always present, in this order."""
    line: Line = {
        "timestamp": _moment(record["time"]),
        "level": record["level"].name,
        **service,
        "logger": record["name"],
        "message": redact_text(printable(record["message"][:_MESSAGE_AT_MOST])),
    }
    extra = redact(json_safe(record["extra"], max_items=_MESSAGE_AT_MOST))
    if "user" in extra and (record["name"] or "").startswith("failsoft."):
        extra["user"] = redact_principal(printable(str(record["extra"]["user"])))
    for name, value in extra.items():
        line[name if name not in line or name in service else f"extra_{name}"] = value
    exception = record["exception"]
    if exception is not None and exception.value is not None and "stack_trace" not in line:
        line["stack_trace"] = stack_of(exception.value)
    return line


def _moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_json(stream: Any) -> Callable[[Line], str]:
    """Return the renderer of JSON lines; escapes to ASCII unless the stream is UTF-8."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    encoder = json.JSONEncoder(ensure_ascii=encoding != "utf8", allow_nan=False, separators=(",", ":"))
    return lambda line: json_on_one_line(encoder.encode(json_safe(line)))


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _shows_colors(stream: Any) -> bool:
    return _is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_renderer(*, colors: bool) -> Callable[[Mapping[str, Any]], str]:
    """Return the function that renders a record as a line for people.

    Args:
        colors: Use ANSI colors, and the time of day without the date.
    """
    return _colored if colors else _plain


def _plain(line: Mapping[str, Any]) -> str:
    return f"{line['timestamp']} {line['level']:<8} {line['message']}  {_facts(line)}".rstrip() + _stack(line)


def _colored(line: Mapping[str, Any]) -> str:
    time = _in(_DIM, line["timestamp"][11:23])
    level = _in(_COLORS.get(line["level"], _DIM), f"{line['level']:<8}")
    facts = _facts(line)
    return f"{time} {level} {_in(_BOLD, line['message'])}" + (f"  {_in(_DIM, facts)}" if facts else "") + _stack(line)


def _in(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def _facts(line: Mapping[str, Any]) -> str:
    return " ".join(f"{as_fact(name)}={as_fact(value)}" for name, value in line.items() if name not in _NOT_REPEATED)


def as_fact(value: Any) -> str:
    """Return a name or value as a word if it is one, otherwise as JSON, so that it cannot look like another fact."""
    is_word = isinstance(value, str) and _WORD.fullmatch(value) is not None
    return printable(value if is_word else json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _stack(line: Mapping[str, Any]) -> str:
    """Return the stack below the line, indented: the text of an exception may look like a line of the log."""
    stack = line.get("stack_trace")
    return f"\n{indent(stack.rstrip(), '  ')}" if isinstance(stack, str) else ""


class _Bridge(logging.Handler):
    """Forwards records of the standard library to loguru under their own logger names."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        try:
            level: str | int = logger.level(record.levelname).name
        except ValueError:
            level = record.levelno

        def rename(entry: Any) -> None:
            entry["name"] = record.name

        # No keywords: with any, loguru formats the message, which may contain braces.
        told = logger.patch(stack_as_text).patch(rename).opt(exception=record.exc_info)
        tell(lambda: told.log(level, record.getMessage()))


def _take_over(name: str, least: int) -> None:
    target, bridge = logging.getLogger(name), _Bridge()
    target.handlers[:] = [bridge]
    target.setLevel(least)
    target.propagate = False
    if target is logging.getLogger():
        logging.lastResort = bridge  # for loggers that do not propagate and have no handler
        logging.captureWarnings(capture=True)
