"""The application's side of logging: one redacting sink, and the bridge from the standard library."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from loguru import logger

from failsoft.framework._log_facts import stack_of
from failsoft.framework._log_outlet import LogOutlet, at_once, may_wait
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.json_safe import json_safe
from failsoft.framework.redaction import redact, redact_text
from failsoft.framework.settings import Settings
from failsoft.framework.text import printable

__all__ = ["add_sink"]

_MESSAGE_AT_MOST = 4_000
_LAST_LINES_S = 1.0
"""How long the last lines may wait for a reader, in seconds."""
Line: TypeAlias = dict[str, Any]


def add_sink(level: str | None, *, json_lines: bool | None, stream: Any, intercept: tuple[str, ...]) -> int:
    """Replace loguru's sinks by ours and return its id; see `failsoft.framework.logs.configure_logging`."""
    settings = Settings.load()
    target = sys.stderr if stream is None else stream
    _refuse_standard_output(target)
    least = _level_number(level or settings.log_level)
    render = _as_json(target) if (settings.log_json if json_lines is None else json_lines) else _as_text
    service = {"service": settings.service_name, "environment": settings.environment}

    logger.remove()
    # A format that is a function keeps loguru from adding its own account of the exception, which is not redacted.
    sink = logger.add(
        _Sink(target, render, service),
        level=least,
        format=lambda _: "{message}",
        catch=True,
        backtrace=False,
        diagnose=False,
    )
    logger.enable("failsoft")
    for name in intercept:
        _take_over(name, least)
    return sink


class _Sink:
    """Writes records as lines, directly or, where writing may have to wait for a reader, through an outlet."""

    def __init__(self, stream: Any, render: Callable[[Line], str], service: Mapping[str, str]) -> None:
        self._stream = stream
        self._render = render
        self._service = service
        self._outlet: LogOutlet | None = None
        descriptor = may_wait(stream)
        if descriptor is not None:
            stream.flush()  # what was written before us stays before us
            self._outlet = LogOutlet(descriptor, at_once(descriptor), account=self._account)

    def write(self, message: Any) -> None:
        """Write one record; loguru calls this."""
        text = self._render(_line(message.record, self._service)) + "\n"
        if self._outlet is not None:
            self._outlet.write(self._encoded(text))
        else:
            self._stream.write(text)
            self._stream.flush()

    def stop(self) -> None:
        """Write what is still kept, as far as somebody reads it; loguru calls this at the end of the process too."""
        if self._outlet is not None:
            self._outlet.close(_LAST_LINES_S)

    def _account(self, lost: int) -> bytes:
        line: Line = {
            "timestamp": _moment(datetime.now(UTC)),
            "level": "WARNING",
            **self._service,
            "logger": __name__,
            "message": "Lines of this log were lost: nobody read them in time",
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
    """Return a record as one flat object, redacted; the first keys are always there and always in this order."""
    line: Line = {
        "timestamp": _moment(record["time"]),
        "level": record["level"].name,
        **service,
        "logger": record["name"],
        "message": redact_text(printable(record["message"][:_MESSAGE_AT_MOST])),
    }
    extra = redact(json_safe(record["extra"], max_items=_MESSAGE_AT_MOST))
    for name, value in extra.items():
        line[name if name not in line or name in service else f"extra_{name}"] = value
    exception = record["exception"]
    if exception is not None and exception.value is not None:
        line["stack_trace"] = stack_of(exception.value)
    return line


def _moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_json(stream: Any) -> Callable[[Line], str]:
    """Return the writer of JSON lines; beyond UTF-8 streams everything is escaped, so that the line stays JSON."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    encoder = json.JSONEncoder(ensure_ascii=encoding != "utf8", allow_nan=False, separators=(",", ":"))
    return lambda line: encoder.encode(json_safe(line))


def _as_text(line: Line) -> str:
    """Return a line for people: when, how bad, what, and the facts; the stack on lines of its own."""
    shown = {"timestamp", "level", "service", "environment", "logger", "message", "event", "stack_trace"}
    facts = " ".join(f"{name}={_fact(value)}" for name, value in line.items() if name not in shown)
    stack = f"\n{line['stack_trace'].rstrip()}" if "stack_trace" in line else ""
    return f"{line['timestamp']} {line['level']:<8} {line['message']}  {facts}".rstrip() + stack


def _fact(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return printable(text if " " not in text or not isinstance(value, str) else f'"{text}"')


class _Bridge(logging.Handler):
    """Hands records of the standard library to loguru under their own names."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        try:
            level: str | int = logger.level(record.levelname).name
        except ValueError:
            level = record.levelno

        def rename(entry: Any) -> None:
            entry["name"] = record.name

        # No keywords: a message of somebody else's may hold braces, which loguru would then try to fill in.
        logger.patch(rename).opt(exception=record.exc_info).log(level, record.getMessage())


def _take_over(name: str, least: int) -> None:
    target, bridge = logging.getLogger(name), _Bridge()
    target.handlers[:] = [bridge]
    target.setLevel(least)
    target.propagate = False
    if target is logging.getLogger():
        logging.lastResort = bridge  # for loggers that pass nothing on to the root and have nowhere else to go
        logging.captureWarnings(capture=True)
