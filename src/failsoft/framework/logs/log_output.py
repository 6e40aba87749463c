"""The log of an application: every record as one redacted line, JSON or for people, written without blocking.

A line for people has the time, level, message and facts, in color on a terminal, and the traceback below.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import selectors
import stat
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from textwrap import indent
from typing import Any, TypeAlias

from loguru import logger  # noqa: TID251 - adds and removes sinks

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.safe.author_reports import stack_as_text, tell
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.principals import redact_principal
from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tracebacks import stack_of
from failsoft.framework.settings import Settings
from failsoft.framework.text import printable

Line: TypeAlias = dict[str, Any]
_MESSAGE_AT_MOST = 4_000
_LAST_LINES_S = 1.0
"""Time to write buffered lines at exit, in seconds."""
_KEPT_BYTES = 1_000_000
"""Bytes of lines that wait to be written; more lines are lost."""
_NOT_REPEATED = frozenset(("timestamp", "level", "service", "environment", "logger", "message", "event", "stack_trace"))
_COLORS = {"DEBUG": "36", "INFO": "32", "SUCCESS": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_DIM, _BOLD = "2", "1"
_WORD = re.compile(r"[^\s\"={}\[\]]+")


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
    return " ".join(f"{_fact(name)}={_fact(value)}" for name, value in line.items() if name not in _NOT_REPEATED)


def _fact(value: Any) -> str:
    """Return a name or value as a word if it is one, otherwise as JSON, so that it cannot look like another fact."""
    is_word = isinstance(value, str) and _WORD.fullmatch(value) is not None
    return printable(value if is_word else json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _stack(line: Mapping[str, Any]) -> str:
    """Return the stack below the line, indented: the text of an exception may look like a line of the log."""
    stack = line.get("stack_trace")
    return f"\n{indent(stack.rstrip(), '  ')}" if isinstance(stack, str) else ""


class LogWriter:
    """Writes lines to a descriptor from a thread, so that no caller, such as an event loop, waits for the reader.

    Lines beyond the limit are dropped, and replaced by one line with their number.

    Args:
        descriptor: The descriptor; the caller has to close it.
        account: Returns the line that reports how many lines were lost.
        kept_bytes: The limit, in bytes.
    """

    def __init__(self, descriptor: int, *, account: Callable[[int], bytes], kept_bytes: int = _KEPT_BYTES) -> None:
        self._descriptor = os.dup(descriptor)  # the caller may close its own, and the number be reused
        self._account = account
        self._kept_bytes = kept_bytes
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._held = self._lost = 0
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Queue the line, or count it as lost; never blocks."""
        if self._pid != os.getpid():  # a fork has no threads, and the lines are its parent's
            self._begin()
        with self._lock:
            if self._is_closed:
                return
            if self._held + len(line) > self._kept_bytes:
                self._lost += 1
                return
            self._report_loss()
            self._put(line)

    def close(self, limit_s: float) -> None:
        """Write what is queued, for at most `limit_s` seconds, and accept no more lines."""
        if self._is_closed or self._pid != os.getpid():
            return
        with self._lock:
            self._report_loss()
            self._is_closed = True
            self._lines.put(None)
        if self._thread is None:
            os.close(self._descriptor)
        else:
            self._thread.join(limit_s)

    def _report_loss(self) -> None:
        lost, self._lost = self._lost, 0
        if lost:
            self._put(self._account(lost))

    def _put(self, line: bytes) -> None:
        self._held += len(line)
        self._lines.put(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="failsoft-log", daemon=True)
            self._thread.start()

    def _write_all(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                self._write_out(memoryview(line))
                with self._lock:
                    self._held -= len(line)
                    if self._lines.empty():
                        self._report_loss()
        except OSError:  # the reader has closed the pipe
            self._is_closed = True
        finally:
            os.close(self._descriptor)

    def _write_out(self, rest: memoryview) -> None:
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # the parent has set O_NONBLOCK on the descriptor
                with selectors.DefaultSelector() as selector:
                    selector.register(self._descriptor, selectors.EVENT_WRITE)
                    selector.select()


def may_wait(stream: Any) -> int | None:
    """Return the descriptor of a stream whose writes may block (pipe, socket, terminal); None for others."""
    try:
        descriptor: int = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None


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
