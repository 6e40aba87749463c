"""Compares the instructions of the call path with the kept ones, and fails if one has grown by more than a tenth.

    python bench/run.py baseline          compares; where nothing can be compared, it says so and passes
    python bench/run.py baseline --keep   counts, and writes the counts to bench/baseline.json

Figures are kept for each build of the interpreter and each version of pydantic, because the counts differ between them.
The ratios of other benchmarks in that file depend on the machine, so nothing checks them.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic
import pydantic_core
from measure import Figure, benchmark

__all__ = ["FILE", "GROWTH_AT_MOST", "environment", "grown", "keep", "kept"]

FILE = Path(__file__).with_name("baseline.json")
GROWTH_AT_MOST = 0.10
"""How much more than its kept count a call may take."""
TIMES = 20


def environment() -> str:
    """Return what the counts depend on: the build of the interpreter, and pydantic."""
    build = f"{platform.python_implementation()} {platform.python_version()} ({platform.python_compiler()})"
    libraries = f"pydantic {pydantic.VERSION}, pydantic-core {pydantic_core.__version__}"
    return f"{build}, {platform.machine()}, {libraries}"


def kept(section: str) -> dict[str, float] | None:
    """Return the figures of this environment; None if there are none."""
    figures: dict[str, float] | None = _read().get(environment(), {}).get(section)
    return figures


def keep(section: str, figures: Mapping[str, float]) -> None:
    """Write figures of this environment in place of those of the same name."""
    everything = _read()
    own = everything.setdefault(environment(), {}).setdefault(section, {})
    own.update(figures)
    FILE.write_text(json.dumps(everything, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _read() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def grown(counted: Mapping[str, float], before: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Return the comparison, a line for each count, and the names of those that have grown by more than is allowed.

    A count that is not kept yet is listed and passes.
    """
    lines, too_much = [], []
    for name, count in counted.items():
        if name not in before:
            lines.append(f"{name}: {count:,.0f}, not kept yet")
            continue
        verdict = ""
        if count > before[name] * (1 + GROWTH_AT_MOST):
            too_much.append(name)
            verdict = "  <- too much"
        lines.append(f"{name}: {before[name]:,.0f} -> {count:,.0f} ({count / before[name] - 1:+.1%}){verdict}")
    return lines, too_much


@benchmark("Instructions")
def measure(given: Any) -> list[Figure]:
    """Count, then compare or keep; there are no figures but those that are printed."""
    before = kept("instructions")
    if shutil.which("valgrind") is None:
        return sys.exit("Valgrind is not installed.") if given.keep else _nothing("Valgrind is not installed")
    if before is None and not given.keep:
        return _nothing(f"no counts are kept for {environment()}")
    from instructions import count  # noqa: PLC0415 - loads failsoft, which the comparison does not need

    counted = {name: round(number) for name, number in count(TIMES).items()}
    if given.keep:
        keep("instructions", counted)
    lines, too_much = grown(counted, before or {})
    print(environment(), *lines, sep="\n")
    if too_much and not given.keep:
        sys.exit(f"More than {GROWTH_AT_MOST:.0%} more instructions: {', '.join(too_much)}")
    return []


def _nothing(reason: str) -> list[Figure]:
    print(f"Nothing is compared: {reason}.")
    return []
