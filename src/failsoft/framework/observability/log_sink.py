"""Log sink of applications: redacting, text or JSON, with a bridge from the standard library's logging."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from loguru import logger  # noqa: TID251 - adds and removes sinks

from failsoft.framework.call.principals import redact_principal
from failsoft.framework.diagnostics.telling import stack_as_text, tell
from failsoft.framework.diagnostics.tracebacks import stack_of
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.observability.log_text import text_renderer
from failsoft.framework.observability.log_writer import LogWriter, may_wait
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact, redact_text
from failsoft.framework.services.settings import Settings
from failsoft.framework.text import printable

__all__ = ["add_sink"]

_MESSAGE_AT_MOST = 4_000
_LAST_LINES_S = 1.0
"""Time to write buffered lines at exit, in seconds."""
Line: TypeAlias = dict[str, Any]


def add_sink(level: str | None, *, json_lines: bool | None, stream: Any, intercept: tuple[str, ...]) -> int:
    """Replace loguru's sinks by this one and return its id; see `configure_logging`."""
    settings = Settings.load()
    target = sys.stderr if stream is None else stream
    _refuse_standard_output(target)
    least = _level_number(level or settings.log_level)
    wanted = settings.log_json if json_lines is None else json_lines
    is_text = _is_terminal(target) if wanted is None else not wanted
    render = text_renderer(colors=_shows_colors(target)) if is_text else _as_json(target)
    service = {"service": settings.service_name, "environment": settings.environment}

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
    for name in intercept:
        _take_over(name, least)
    return sink


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
    return lambda line: encoder.encode(json_safe(line))


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _shows_colors(stream: Any) -> bool:
    return _is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


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
