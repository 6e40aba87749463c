"""`failsoft monitoring`: Write files for Prometheus, Alertmanager and Grafana."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml

from failsoft.cli.screen import Screen
from failsoft.framework.settings import Settings
from failsoft.metrics.dashboards import dashboards
from failsoft.metrics.rules import alertmanager_file, rule_file


class Format(StrEnum):
    """What to write."""

    rules = "rules"
    grafana = "grafana"
    alertmanager = "alertmanager"


def export(
    *,
    output: Annotated[Format | None, typer.Option("--format", "-f", help="Write this alone; by default all.")] = None,
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
    chosen = list(Format) if output is None and out is not None else [output or Format.rules]
    files: dict[str, str] = {}
    if Format.rules in chosen:
        files["failsoft.rules.yml"] = _yaml(
            rule_file(objective=objective or Settings.load().objective, docs_url=docs_url)
        )
    if Format.grafana in chosen:
        boards = dashboards() if out is not None else {"dashboards": list(dashboards().values())}
        files |= {f"{name}.json": json.dumps(found, indent=2) for name, found in boards.items()}
    if Format.alertmanager in chosen:
        files["alertmanager.yml"] = _yaml(alertmanager_file())
    if out is None:
        Screen().text("\n".join(files.values()).rstrip("\n"))
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (out / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        Screen().text(str(out / name))


def _yaml(tree: Mapping[str, object]) -> str:
    return "# Written by `failsoft monitoring export`.\n" + yaml.safe_dump(tree, sort_keys=False, width=1_000)
