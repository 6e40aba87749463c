"""Runs benchmarks, and prints one table of their figures.

    python bench/run.py                   those that are kept, in a quarter of an hour
    python bench/run.py --quick           shows that they work, in a minute
    python bench/run.py call_path scrape  these two
    python bench/run.py agents --help     what one of them measures, and its own options
    python bench/run.py --keep            writes the ratios to bench/baseline.json too
    python bench/run.py baseline          compares the instructions of the call path with the kept ones

Several run in a process of their own each. Peers are left out where they are not installed: `pip install -r
bench/requirements.txt`.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import itertools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from baseline import keep
from measure import Benchmark, Figure, add_arguments, show

__all__ = ["BENCHMARKS", "load"]

KEPT = (
    *("call_path", "recovery_success", "through_mcp", "proxy", "import_time", "start_up", "stdio"),
    *("encoding", "scrape", "docs_search", "edit", "audit", "scale"),
)
"""What runs where no name is given, and what `--keep` writes down."""
BY_NAME = (
    *("baseline", "captures", "instructions", "adapters", "keyed_calls", "flux", "edit_histories"),
    *("docs_questions", "docs_trees", "docs_dead_paths", "agents", "adversarial", "answers", "play", "outages"),
    *("jobs", "waiting", "fleet", "fleet_jobs", "hostile_upstreams", "page", "redaction", "rolling_restart"),
    *("store", "watching"),
)
BENCHMARKS = (*KEPT, *BY_NAME)
MODULES = {
    "agents": "agents.scores",
    "adversarial": "agents.adversarial.scores",
    "answers": "agents.answers.sizes",
    "play": "agents.play",
    "waiting": "agents.waiting",
    "outages": "outages.policies",
    "fleet": "outages.fleet",
}
"""Where the benchmark is not in the file of its name."""


def load(name: str) -> Benchmark:
    """Return a benchmark."""
    found: Benchmark = importlib.import_module(MODULES.get(name, name)).measure
    return found


def _about(name: str) -> str:
    """Return what its file says about a benchmark; importing all of them would take seconds."""
    file = Path(__file__).parent.joinpath(*MODULES.get(name, name).split(".")).with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for these names: one alone brings its own options."""
    listed = "".join(f"  {name:<16} {_about(name).splitlines()[0]}\n" for name in BENCHMARKS)
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\nbenchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of these; by default those that are kept")
    add_arguments(parser)
    if len(names) == 1:
        parser.description = _about(names[0])
        for option, settings in load(names[0]).own.items():
            parser.add_argument(option, **settings)
    return parser


def _in_a_process(name: str, flags: Sequence[str]) -> list[Figure]:
    """Return the figures of one benchmark; what it prints besides goes through."""
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, __file__, name, "--json", *flags], stdout=subprocess.PIPE, check=True, text=True
    )
    *remarks, found = done.stdout.splitlines()
    print(*remarks, sep="\n", end="\n" if remarks else "")
    return [Figure(**one) for one in json.loads(found)["figures"]]


def main() -> None:
    """Run what was asked for."""
    parser = _parser([*itertools.takewhile(BENCHMARKS.__contains__, sys.argv[1:])])
    given = parser.parse_args()
    names = given.names or KEPT
    if unknown := {*names} - {*BENCHMARKS}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if given.keep and (others := {*names} - {*KEPT, "baseline"}):
        parser.error(f"nothing is kept of {', '.join(sorted(others))}")
    if len(names) == 1:
        one = load(names[0])
        title, figures = one.title, one.figures(given)
        ratios = {f"{one.name}, {one.unit}": round(one.value, 3) for one in figures if one.is_ratio}
        if given.keep and ratios:
            keep("ratios", ratios)
    else:
        flags = [f"--{name}" for name in ("quick", "keep") if getattr(given, name)]
        flags += ["--rounds", str(given.rounds)] if given.rounds else []
        figures = [figure for name in names for figure in _in_a_process(name, flags)]
        load_now = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        title = f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load_now}"
    if given.json:
        print(json.dumps({"title": title, "figures": [asdict(one) for one in figures]}))
    elif figures:
        show(title, figures)


if __name__ == "__main__":
    main()
