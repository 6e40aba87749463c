"""`failsoft monitoring`: Write files for Prometheus, Alertmanager and Grafana."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml

from failsoft.cli.screen import Screen
from failsoft.framework.errors import AlreadyExists
from failsoft.framework.files import read_regular
from failsoft.framework.settings import Settings
from failsoft.framework.text import bounded
from failsoft.metrics.dashboards import dashboards
from failsoft.metrics.rules import alertmanager_file, rule_file

_FIRST_LINE = "# Written by `failsoft monitoring export`.\n"
_BYTES_AT_MOST = 4_000_000


class MonitoringFormat(StrEnum):
    """What to write."""

    rules = "rules"
    grafana = "grafana"
    alertmanager = "alertmanager"


def export(
    *,
    output: Annotated[
        MonitoringFormat | None, typer.Option("--format", "-f", help="Write this alone; by default all.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder; by default standard output.")] = None,
    objective: Annotated[
        float | None,
        typer.Option(min=0, max=0.99999, help="The share of calls that should work; by default FAILSOFT_OBJECTIVE."),
    ] = None,
    docs_url: Annotated[str, typer.Option(help="The address of this documentation, for `runbook_url`.")] = "",
) -> None:
    """Write alert rules for Prometheus, dashboards for Grafana, and an example for Alertmanager.

    Standard output takes one format, by default the rules; the dashboards are a list there.

    Examples:
      failsoft monitoring export --out monitoring
      failsoft monitoring export > /etc/prometheus/rules/failsoft.yml
      failsoft monitoring export --format grafana --out /var/lib/grafana/dashboards
    """
    chosen = list(MonitoringFormat) if output is None and out is not None else [output or MonitoringFormat.rules]
    files: dict[str, str] = {}
    if MonitoringFormat.rules in chosen and not docs_url:
        typer.echo(
            "Without --docs-url (the address of this documentation) the links in `runbook_url` are relative.", err=True
        )
    if MonitoringFormat.rules in chosen:
        files["failsoft.rules.yml"] = _yaml(
            rule_file(objective=objective or Settings.load().objective, docs_url=docs_url)
        )
    if MonitoringFormat.grafana in chosen:
        boards = dashboards() if out is not None else {"dashboards": list(dashboards().values())}
        files |= {f"{name}.json": json.dumps(found, indent=2) for name, found in boards.items()}
    if MonitoringFormat.alertmanager in chosen:
        files["alertmanager.yml"] = _yaml(alertmanager_file())
    if out is None:
        Screen().text("\n".join(files.values()).rstrip("\n"))
        return
    out.mkdir(parents=True, exist_ok=True)
    for name in files:
        _check_place(out / name)
    for name, text in files.items():
        (out / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        Screen().text(str(out / name))


def _check_place(path: Path) -> None:
    """Refuse to write over what this command has not written.

    Raises:
        ALREADY_EXISTS: There is a link, something else than a file, or another file.
    """
    own = {".json": b'"uid": "failsoft-', ".yml": _FIRST_LINE.encode()}[path.suffix]
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode) or own not in read_regular(path, _BYTES_AT_MOST):
            message = f"'{bounded(str(path))}' was not written by this command; nothing was written."
            raise AlreadyExists(message=message, operator_hint="choose another folder with --out")


def _yaml(tree: Mapping[str, object]) -> str:
    return _FIRST_LINE + yaml.safe_dump(tree, sort_keys=False, width=1_000)
