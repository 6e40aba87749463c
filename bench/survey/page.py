"""The page of the survey and its plot, from what is kept of the reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from servers import SERVERS, Surveyed

__all__ = ["write"]

HERE = Path(__file__).resolve().parent
PAGE = "how-servers-fail"
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "survey", "font.size": 9}


def write(found: Mapping[str, Any], folder: Path) -> None:
    """Write `how-servers-fail.md` and `how-servers-fail.svg` into a folder, of the servers that were probed."""
    servers = [server for server in SERVERS if server.name in found]
    _draw({server.name: found[server.name] for server in servers}, folder / f"{PAGE}.svg")
    words = (HERE / "page.md").read_text()
    rules = Counter(rule for server in servers for rule in {rule for rule, _ in found[server.name]["findings"]})
    behind = Counter(rule for server in servers for rule in {rule for rule, _ in _behind(found[server.name])})
    parts = {
        "DATES": _dates(found[server.name]["probed"] for server in servers),
        "SERVERS": str(len(servers)),
        "TABLE": "\n".join(_rows(servers, found)),
        "RULES": "\n".join(_rules(rules, behind)),
        "COUNTS": _counts(servers, found),
        "JUDGED": _judged(),
    }
    for name, text in parts.items():
        words = words.replace(f"{{{name}}}", text)
    (folder / f"{PAGE}.md").write_text(words)


def _behind(one: Mapping[str, Any]) -> list[list[str]]:
    return one["proxy"]["findings"] if one["proxy"] else []


def _dates(days: Iterable[str]) -> str:
    first, *rest = sorted(set(days))
    return f"from {first} to {rest[-1]}" if rest else f"on {first}"


def _rows(servers: Iterable[Surveyed], found: Mapping[str, Any]) -> Iterable[str]:
    heads = ("server", "package", "version", "tools, called", "faults", "recovered", "proxied", "findings", "proxied")
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for server in servers:
        one = found[server.name]
        proxy = one["proxy"] or {"recoverability": None, "findings": []}
        yield (
            f"| {server.name} ({server.language}) | {server.package} ({server.registry}) | {server.version} "
            f"| {one['tools']}, {one['called']} | {one['faults']} | {_percent(one['recoverability'])} "
            f"| {_percent(proxy['recoverability'])} | {len(one['findings'])} | {len(proxy['findings'])} |"
        )


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * ratio:.0f} %"


def _rules(bare: Counter[str], behind: Counter[str]) -> Iterable[str]:
    yield "| rule | servers | behind the proxy |"
    yield "|---|---|---|"
    for rule, count in sorted(bare.items(), key=lambda one: (-one[1], one[0])):
        yield f"| [{rule}](../reference/rules/{rule}.md) | {count} | {behind[rule]} |"


def _counts(servers: Iterable[Surveyed], found: Mapping[str, Any]) -> str:
    all_of = [found[server.name] for server in servers]
    bare, behind = sum(len(one["findings"]) for one in all_of), sum(len(_behind(one)) for one in all_of)
    called, tools = sum(one["called"] for one in all_of), sum(one["tools"] for one in all_of)
    return (
        f"{called} of {tools} tools say that they only read and were called. The probe has {bare} findings\n"
        f"(a rule and a tool) on the servers as they are, and {behind} behind the proxy."
    )


def _judged() -> str:
    judged = json.loads((HERE / "judged.json").read_text())
    false = sum(1 for one in judged if one["verdict"] == "false")
    share = 100 * false / len(judged)
    return (
        f"All {len(judged)} findings on the servers as they are were read by hand: {len(judged) - false} are right,\n"
        f"{false} are false alarms ({share:.1f} %)."
    )


def _draw(found: Mapping[str, Any], file: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only the plot needs it
    from matplotlib import pyplot as plt  # noqa: PLC0415 - as above

    mpl.rcParams.update(STYLE)
    rated = {name: one for name, one in found.items() if one["recoverability"] is not None}
    order = sorted(rated, key=lambda name: (rated[name]["recoverability"], name))
    figure, axes = plt.subplots(figsize=(7.2, 0.4 + 0.26 * len(order)), layout="constrained")
    bare = [100 * rated[name]["recoverability"] for name in order]
    behind = [100 * ((rated[name]["proxy"] or {}).get("recoverability") or 0) for name in order]
    axes.hlines(range(len(order)), bare, behind, color="0.75", linewidth=1.5, zorder=1)
    axes.plot(bare, range(len(order)), "o", ms=5, label="as it is")
    axes.plot(behind, range(len(order)), "o", ms=5, label="behind the proxy")
    axes.set(xlabel="faults repaired within two calls (%)", xlim=(-2, 102), yticks=range(len(order)), yticklabels=order)
    axes.legend(fontsize=8, loc="lower right")
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")
