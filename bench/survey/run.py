"""Probes twenty public servers bare and behind the proxy, and writes `docs/explanation/how-servers-fail.md`.

    scripts/fetch.sh more_surveyed
    pip install -r bench/requirements.txt      # for the plot
    python bench/survey/run.py                 # all of them, in about half an hour
    python bench/survey/run.py filesystem git  # these two, beside what is kept of the others
    python bench/survey/run.py --page          # only the page and the plot, from what is kept

The servers run in a network namespace of their own (`unshare`, Linux), which has nothing but loopback, with a home
folder and data that are thrown away. Only tools that say they only read are called. `found.json` keeps the summary of
each report, and `--reports FOLDER` the reports themselves.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from data import fill
from page import write
from servers import SERVERS, Surveyed

HERE = Path(__file__).resolve().parent
FOUND = HERE / "found.json"
FOLDER = Path(os.environ.get("MORE_SURVEYED", Path.home() / ".cache" / "failsoft-more-surveyed"))
ISOLATED = ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
OPTIONS = ["--json", "--compare", "--seed", "0", "--max-calls", "400", "--max-seconds", "120", "--timeout", "10"]
WITHIN_S = 600
AT_ONCE = 2
KEPT = ("target", "complete", "calls", "faults", "repaired", "recoverability", "advice", "misled_calls", "misled")


def probed(server: Surveyed, reports: Path | None) -> dict[str, Any] | None:
    """Return the summary of a server's report, or None if there is none."""
    # Always the same paths, since they are in the calls and answers of the report.
    work = Path(tempfile.gettempdir()) / "failsoft-survey" / server.name.replace(" ", "-")
    shutil.rmtree(work, ignore_errors=True)
    data, home = work / "data", work / "home"
    home.mkdir(parents=True)
    fill(data, FOLDER / "two" / "bin" / "python")
    rate = ["--rate", str(server.calls_a_second)] if server.calls_a_second else []
    command = [sys.executable, "-m", "failsoft", "probe", *OPTIONS, *rate, "--", *server.command(FOLDER, data)]
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run(  # noqa: S603 - the servers of the list
        [*ISOLATED, *command],
        capture_output=True, text=True, timeout=WITHIN_S, check=False, cwd=data / "files", env=environment,
    )  # fmt: skip
    if reports:
        (reports / f"{server.name}.json").write_text(done.stdout)
        (reports / f"{server.name}.log").write_text(done.stderr)
    if not done.stdout.startswith("{"):
        print(f"{server.name}: exit code {done.returncode}, {done.stderr[-300:]}", file=sys.stderr)
        return None
    report = json.loads(done.stdout)
    behind = report.get("proxy")
    both = [len(one["findings"]) for one in (report, behind) if one]
    print(f"{server.name}: {both} findings, bare and behind the proxy")
    return {**summary(report), "proxy": summary(behind) if behind else None}


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a report: its counts, and (rule, tool) of each finding."""
    return {
        **{name: report[name] for name in KEPT},
        "tools": len(report["tools"]),
        "called": sum(1 for tool in report["tools"] if tool["called"]),
        "findings": sorted([one["name"], one["tool"]] for one in report["findings"]),
    }


def main(words: Sequence[str]) -> int:
    """Probe, keep and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="servers; by default all")
    parser.add_argument("--page", action="store_true", help="probe nothing; write the page from what is kept")
    parser.add_argument("--reports", type=Path, help="a folder for the whole reports")
    given = parser.parse_args(words)
    kept: dict[str, Any] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    if not given.page:
        if given.reports:
            given.reports.mkdir(parents=True, exist_ok=True)
        wanted = [server for server in SERVERS if not given.names or server.name in given.names]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for server, found in zip(wanted, pool.map(lambda one: probed(one, given.reports), wanted), strict=True):
                if found:
                    kept[server.name] = {"probed": dt.datetime.now(dt.UTC).date().isoformat(), **found}
                    FOUND.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    write(kept, HERE.parents[1] / "docs" / "explanation")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
