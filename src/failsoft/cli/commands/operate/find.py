"""`failsoft find`: what logs, audit logs and the state store have recorded of one call."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TextIO

import typer

from failsoft.cli.errors import unreadable, usage
from failsoft.cli.options import AsJson
from failsoft.cli.screen import Screen
from failsoft.cli.store import store_place, with_store
from failsoft.framework.audit.reading import entries as audit_entries, segments
from failsoft.framework.captures.folder import captures_folder
from failsoft.framework.captures.stored import read_capture
from failsoft.framework.errors import ConfigurationError, InvalidParameter, NotFound
from failsoft.framework.logs.log_output import as_fact
from failsoft.framework.settings import Settings
from failsoft.framework.state.backend import Backend, Record
from failsoft.framework.text import bounded, printable
from failsoft.recovery.idempotency.keys import ids_of_key, is_record_of
from failsoft.recovery.state.store import default_file

_IDS = ("error_id", "request_id", "trace_id", "idempotency_key")
"""The keys of log lines and audit entries that name a call; the last one is the name of its record."""
_SHOWN = (
    *("event", "verdict", "tool", "operation", "code", "effect"),
    *("about", "action", "by", "strategy", "result", "outcome", "duration_ms", "place", "cause"),
)
_LINE_AT_MOST = 1_000_000
"""Characters of a line that are read at once; no record of this framework is that long."""
_MATCHES_AT_MOST = 10_000
_SHORTEST_ID = 4


@dataclass(frozen=True, slots=True)
class _Event:
    """Something that was recorded about a call.

    Args:
        timestamp: When, ISO 8601 in UTC; empty if that is not known.
        source: The file, or `state`.
        facts: The line or entry.
    """

    timestamp: str
    source: str
    facts: dict[str, Any]

    @property
    def ids(self) -> dict[str, str]:
        """The ids of the call by name."""
        return {name: value for name in _IDS if isinstance(value := self.facts.get(name), str)}


def find(
    wanted: Annotated[
        str, typer.Argument(metavar="ID", help="An error id, request id, trace id, or idempotency key as it was sent.")
    ],
    *,
    log: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A log of JSON lines, plain or .gz; can be repeated.")
    ] = None,
    audit: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="An audit log; by default FAILSOFT_AUDIT_PATH. Can be repeated."),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The state store; by default FAILSOFT_STATE_URL, or else the file of `failsoft serve`."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what is recorded of one call, in order.

    It searches logs, audit logs and the state store. An error id is followed to the request that failed, and an
    idempotency key to every call with it. Logs are those of the server, one JSON object a line (FAILSOFT_LOG_JSON);
    others are skipped. Standard error says what was searched.

    Examples:
      failsoft find 6f1d2c0a9b3e4d57 --log server.log
      failsoft find order-4711 --log server.log --log server.log.1.gz --state redis://localhost
    """
    wanted = wanted.strip()
    if len(wanted) < _SHORTEST_ID:
        raise usage(message=f"'{wanted}' is too short for an id.", hint="failsoft find ERROR_ID --log FILE")
    settings = Settings.load()
    logs = log or []
    audits = audit or ([settings.audit_path] if settings.audit_path is not None else [])
    places = [str(path) for path in (*logs, *audits)]
    named = "" if settings.state_url is None else settings.state_url.get_secret_value()
    records: list[_Event] = []
    if state is not None or (named != "memory:" if named else default_file().exists()):
        records = _records(wanted, state)
        places.append(store_place(state))
    captured = _captured(wanted)
    if captured:
        places.append(str(captures_folder()))
    if not places:
        raise ConfigurationError(
            issue=f"nothing to search in was named, and the store of 'failsoft serve' is not at {default_file()}",
            resolution="name a log with --log, or an audit log with --audit",
        )
    with TemporaryDirectory() as folder:
        files = [_rereadable(path, Path(folder)) for path in logs]
        events = _story({wanted, *(event.facts["idempotency_key"] for event in records)}, files, audits)
    found = [*sorted([*events, *captured], key=lambda event: event.timestamp), *records]
    if not found:
        raise NotFound(
            message=f"Nothing is known of '{bounded(wanted)}' in {', '.join(places)}.",
            operator_hint="failsoft find ID --log FILE, with the log of each replica",
        )
    typer.echo(printable(f"searched: {', '.join(places)}"), err=True)
    screen = Screen()
    if as_json:
        screen.json([{"source": event.source, **event.facts} for event in found])
        return
    for line in (*map(_line, found), *_further(found, wanted)):
        screen.text(line)


def _further(found: Sequence[_Event], wanted: str) -> Iterator[str]:
    """Yield the commands that lead on: to the replay of a captured call, and to the whole trace."""
    for error_id in dict.fromkeys(event.ids["error_id"] for event in found if "error_id" in event.ids):
        if _captured(error_id):
            yield f"make the call again: failsoft replay {error_id}"
    traces = {event.ids["trace_id"] for event in found if "trace_id" in event.ids} - {wanted}
    for trace in sorted(traces):
        yield f"the whole trace: failsoft find {shlex.quote(printable(trace))}"


def _captured(wanted: str) -> list[_Event]:
    """Return what is captured of the call with this error id."""
    try:
        capture = read_capture(wanted)
    except InvalidParameter:
        return []
    about = capture.model_dump(include={"error_id", "tool", "operation", "code", "effect"})
    place = {"place": capture.origin} if capture.origin else {}
    return [
        _Event(capture.timestamp, "capture", {"timestamp": capture.timestamp, "event": "captured", **about, **place})
    ]


def _story(ids: set[str], logs: Sequence[Path], audits: Sequence[Path]) -> list[_Event]:
    """Return what is recorded under these ids, and under the requests that they lead to."""
    found = list(_matching(ids, logs, audits))
    requests = {event.ids["request_id"] for event in found if "request_id" in event.ids}
    if not requests <= ids:
        found = list(_matching(ids | requests, logs, audits))
    return found


def _matching(ids: set[str], logs: Sequence[Path], audits: Sequence[Path]) -> Iterator[_Event]:
    count = 0
    for path, facts in _recorded(ids, logs, audits):
        event = _Event(str(facts.get("timestamp", "")), path.name, facts)
        if not ids.isdisjoint(event.ids.values()):
            yield event
            count += 1
            if count == _MATCHES_AT_MOST:
                return


def _recorded(ids: set[str], logs: Sequence[Path], audits: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in logs:
        with _opened(path) as stream:
            for line in _lines(stream, path):
                if any(one in line for one in ids) and (facts := _parsed(line)) is not None:
                    yield path, facts
    for path in audits:
        if not path.is_file() and not segments(path):
            raise NotFound(message=f"There is no audit log at '{bounded(str(path))}'.")
        try:
            yield from ((path, entry) for entry in audit_entries(path))
        except OSError as error:
            raise unreadable(error) from None


def _rereadable(path: Path, folder: Path) -> Path:
    """Return a log that can be read twice: the content of a pipe is copied into a file."""
    if not path.is_fifo():
        if path.exists() and not path.is_file():
            raise ConfigurationError(issue=f"the log {bounded(str(path))} is neither a file nor a pipe")
        return path
    copy = folder / path.name
    with path.open("rb") as pipe, copy.open("wb") as file:
        shutil.copyfileobj(pipe, file)
    return copy


def _opened(path: Path) -> TextIO:
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "rt", encoding="utf-8", errors="replace")
        return path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise NotFound(message=f"There is no log at '{bounded(str(path))}'.") from None


def _lines(stream: TextIO, path: Path) -> Iterator[str]:
    try:
        while line := stream.readline(_LINE_AT_MOST):
            yield line
    except EOFError:
        typer.echo(f"{printable(path.name)} is cut off: what came later is not searched", err=True)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        facts = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def _records(wanted: str, url: str | None) -> list[_Event]:
    """Return the records of an idempotency key, whoever sent it; those of other kinds are not of one call."""
    ids = ids_of_key(wanted, Settings.load())

    async def work(store: Backend, _prefix: str) -> Sequence[Record]:
        return [item for item in await store.find("") if is_record_of(item.value, ids)]

    return [
        _Event(
            "",
            "state",
            {
                "event": "idempotency_key",
                "idempotency_key": record.key.rpartition("/")[2],
                "phase": record.value.get("phase"),
                "ends_in_s": round(record.expires_in_s),
            },
        )
        for record in with_store(work, url)
    ]


def _line(event: _Event) -> str:
    facts = event.facts
    said = [f"{name}={as_fact(facts[name])}" for name in (*_SHOWN, *_IDS) if facts.get(name) not in (None, "")]
    if event.source == "state":
        said += [f"phase={facts['phase']}", f"ends in {facts['ends_in_s']} s"]
    message = facts.get("message") or ""
    parts = [event.timestamp or "now", event.source, str(facts.get("level", "")), str(message), *said]
    return printable(" ".join(part for part in parts if part))
