"""`failsoft top`: how a running server is, live in a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

import typer

from failsoft.cli.errors import usage
from failsoft.cli.options import AsJson, Token
from failsoft.cli.remote import status_of
from failsoft.cli.screen import Screen
from failsoft.framework.errors import Unavailable
from failsoft.framework.text import bounded, printable

_EVERY_S = 2.0
_SHOWN = 12
"""Rows of a table: the first screen of a terminal."""
_LARGE = 100_000.0
"""From here on a number is shown as it is, and never in powers of ten."""
Table: TypeAlias = tuple[str, Sequence[str], list[list[str]]]


def top(
    url: Annotated[str, typer.Argument(metavar="URL", help="A running server, over HTTP.")],
    *,
    once: Annotated[bool, typer.Option("--once", help="Print it once, and end.")] = False,
    as_json: AsJson = False,
    token: Token = None,
) -> None:
    """Watch a running server in the terminal.

    Shows its objective, dependencies, operations, workers and last failures, over all workers, anew every two seconds
    until Ctrl-C. JSON is the document `/status.json`, where it all comes from.

    Examples:
      failsoft top http://127.0.0.1:8321
      failsoft top http://127.0.0.1:8321 --once --json
    """
    if as_json and not once:
        raise usage(
            message="--json prints it once, so that it goes with --once.", hint=f"failsoft top {url} --once --json"
        )
    if as_json:
        Screen().json(status_of(url, token=token))
        return
    found = _status(url, token)
    if once or not Screen().is_rich:
        _print(found)
    else:
        _follow(url, token, found)


def _status(url: str, token: str | None) -> dict[str, Any]:
    """Return the status of a server, which can be shown.

    Raises:
        UNAVAILABLE: It is that of another version, or something else answers there; see `status_of` for the others.
    """
    found = status_of(url, token=token)
    try:
        _head(found)
        for _ in _tables(found):
            pass
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        said = f"{bounded(url)} answers with a status that this version of failsoft does not read."
        raise Unavailable(message=said) from error
    return found


def _print(found: dict[str, Any]) -> None:
    screen = Screen()
    screen.text(_head(found))
    for title, columns, rows in _tables(found):
        screen.text()
        screen.rows(columns, rows, title=title)


def _follow(url: str, token: str | None, found: dict[str, Any]) -> None:
    from rich.console import Group  # noqa: PLC0415 - for a terminal
    from rich.live import Live  # noqa: PLC0415 - the same
    from rich.table import Table as Drawn  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    def drawn(found: dict[str, Any], lost: str = "") -> Group:
        parts: list[Any] = [Text(_head(found)), *([Text(lost, style="bold red")] if lost else [])]
        for title, columns, rows in _tables(found):
            table = Drawn(*columns, title=title, title_justify="left", expand=True)
            for row in rows:
                table.add_row(*map(Text, row))
            parts.append(table)
        return Group(*parts)

    with suppress(KeyboardInterrupt), Live(drawn(found), screen=True, auto_refresh=False) as live:
        lost = ""
        while True:
            live.update(drawn(found, lost), refresh=True)
            time.sleep(_EVERY_S)
            try:
                found, lost = _status(url, token), ""
            except Unavailable as failed:  # it may be started anew
                lost = lost or printable(f"As it was at {time.strftime('%H:%M:%S')}: {failed.message}")


def _head(found: dict[str, Any]) -> str:
    """Return what suffers first, and a line for each finding."""
    objective, headline = found["objective"], found["headline"]
    burn = f"error budget burns {objective['burn_5m']:g} times as fast as permitted (1 h: {objective['burn_1h']:g})"
    head = f"{found['name']} {found['version']} is {found['phase']}; {headline['callers']}; {burn}"
    return "\n".join(map(printable, (head, *map(_line, headline["findings"]))))


def _line(finding: dict[str, Any]) -> str:
    """Return a finding as a line: what is wrong, since when, and what to do."""
    since, last = finding.get("since"), finding.get("last")
    when = f" since {since}" if since else f", last at {last}" if last else ""
    return f"{finding['what']}{when}: {finding['todo']}"


def _tables(found: dict[str, Any]) -> Iterator[Table]:
    """Yield the tables that have rows, worst first."""
    failing = {(error["tool"], error["operation"]) for error in found["errors"] if error["count"]}
    dependencies = [
        _row(one, "name", "circuit", "since", "held_by", "retry_at", "budget") for one in found["dependencies"]
    ]
    operations = sorted(
        found["operations"],
        key=lambda one: ((one["tool"], one["operation"]) not in failing, -one["calls"]["error"], -one["rate_per_s"]),
    )
    tables: tuple[Table, ...] = (
        ("dependencies", ("name", "circuit", "since", "held by", "tried at", "retries left"), dependencies),
        (
            "operations",
            (
                *("operation", "calls/s", "ok", "recovered", "errors", "rejected"),
                *("p50 ms", "p95 ms", "in flight", "paused"),
            ),
            [_operation(one) for one in operations],
        ),
        (
            "last failures and recoveries",
            ("time", "operation", "code", "outcome", "effect", "ms", "error id"),
            [
                _row(one, "timestamp", "operation", "code", "outcome", "effect", "duration_ms", "error_id")
                for one in found["recent"]
            ],
        ),
        (
            "workers",
            ("pid", "phase", "restarts", "in flight", "loop lag s", "memory bytes", "threads"),
            [
                _row(one, "pid", "phase", "restarts", "in_flight", "loop_lag_s", "memory_bytes", "threads")
                for one in found["workers"]
            ],
        ),
    )
    yield from ((title, columns, rows[:_SHOWN]) for title, columns, rows in tables if rows)


def _operation(one: dict[str, Any]) -> list[str]:
    calls, paused = one["calls"], one.get("paused") or {}
    recovered = calls["recovered"] + calls["degraded"]
    facts = (one["operation"], one["rate_per_s"], calls["ok"], recovered, calls["error"], calls["rejected"])
    return _texts(*facts, one["p50_ms"], one["p95_ms"], one["in_flight"], paused.get("reason", ""))


def _row(facts: dict[str, Any], *names: str) -> list[str]:
    return _texts(*(facts.get(name, "") for name in names))


def _texts(*values: Any) -> list[str]:
    return ["-" if value in {None, ""} else printable(_text(value)) for value in values]


def _text(value: Any) -> str:
    return f"{round(value, 3):g}" if isinstance(value, float) and value < _LARGE else str(value)
