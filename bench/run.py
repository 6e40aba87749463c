"""Runs every benchmark, each in a process of its own, and prints one table.

    python bench/run.py                   all of them, ten to fifteen minutes
    python bench/run.py --quick           shows that they work, a minute
    python bench/run.py call_path scrape  these two
    python bench/run.py --keep            writes the ratios to bench/baseline.json too

FastMCP is the peer in two of them, and seven libraries for resilience are in one: `pip install -r
bench/requirements.txt`, or they are left out. The server and the relay of `proxy` are installed by
`scripts/foreign_servers.sh`, or it is skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from baseline import keep
from measure import Figure, show

BENCHMARKS = (
    *("call_path", "recovery_success", "through_mcp", "proxy", "import_time", "start_up", "stdio"),
    *("encoding", "scrape", "docs_search", "edit", "audit", "scale"),
)


def run(name: str, flags: list[str]) -> list[Figure]:
    """Return the figures of one benchmark; what it prints besides goes through."""
    done = subprocess.run(  # noqa: S603 - our own scripts
        [sys.executable, str(Path(__file__).with_name(f"{name}.py")), "--json", *flags],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    *remarks, found = done.stdout.splitlines()
    print(*remarks, sep="\n", end="\n" if remarks else "")
    return [Figure(**one) for one in json.loads(found)["figures"]]


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; without one, all")
    parser.add_argument("--quick", action="store_true", help="a few short turns: shows that they run, not how fast")
    parser.add_argument("--rounds", help="turns of each contender, in place of each benchmark's own number")
    parser.add_argument("--keep", action="store_true", help="write the ratios to bench/baseline.json")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    flags = [*(["--quick"] if given.quick else []), *(["--rounds", given.rounds] if given.rounds else [])]
    figures = [one for name in given.names or BENCHMARKS for one in run(name, flags)]
    if given.keep:
        keep("ratios", {f"{one.name}, {one.unit}": round(one.value, 3) for one in figures if one.is_ratio})
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    show(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}", figures)


if __name__ == "__main__":
    main()
