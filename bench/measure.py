"""Interleaved rounds, medians and ratios: what every benchmark here measures and prints with.

A shared machine drifts by more than the differences looked for, so contenders take turns in one run (A B C, B C A,
...), a ratio is taken inside each round, and the median of those ratios is what is printed. The quartiles beside it
are the noise: where they are wide, run again.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

__all__ = ["Contender", "Figure", "Rounds", "figure", "interleave", "options", "report", "show"]

Contender = Callable[[int], Awaitable[object]]
"""`async def contender(times)`: does its work that many times."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number and the goal it is held against; nothing asserts it.

    Args:
        name: What was measured.
        value: The median.
        low: The lower quartile.
        high: The upper quartile.
        unit: What the three are counted in.
        goal: The goal in words (`<= 2.5`), or nothing.
        note: What a reader needs to know about it.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    goal: str = ""
    note: str = ""

    @property
    def is_ratio(self) -> bool:
        """Whether it compares two contenders, and so says something on another machine too."""
        return self.unit in {"yardsticks", "times"} or self.unit.startswith("of ")

    @property
    def verdict(self) -> str:
        """`met` or `missed`, by the median; nothing without a goal."""
        if not self.goal:
            return ""
        sign, _, limit = self.goal.partition(" ")
        met = self.value <= float(limit) if sign == "<=" else self.value >= float(limit)
        return "met" if met else "missed"


Rounds = Mapping[str, Sequence[float]]
"""Contender -> seconds for one piece of work, one entry a round."""


async def interleave(
    contenders: Mapping[str, Contender],
    *,
    rounds: int,
    times: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Rounds:
    """Return the seconds that one piece of work took each contender, round by round.

    Args:
        contenders: What takes turns.
        rounds: How many turns each gets; one more is run first and thrown away.
        times: How often each does its work in one turn.
        clock: `time.process_time` for work that never waits: other programs on the machine do not show in it.
    """
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.freeze()  # what is loaded by now is not looked through again: a collection then costs what the calls left
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            began = clock()
            await contenders[name](times)
            if number:
                seconds[name].append((clock() - began) / times)
    gc.unfreeze()
    return seconds


def figure(name: str, values: Sequence[float], unit: str, *, goal: str = "", note: str = "") -> Figure:
    """Return the median of these values as a figure, with its quartiles."""
    if len(values) == 1:
        return Figure(name, values[0], values[0], values[0], unit, goal, note)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return Figure(name, middle, low, high, unit, goal, note)


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print the figures as one table."""
    rows = [("", "median", "quartiles", "unit", "goal", "", "")]
    rows += [
        (one.name, f"{one.value:.3g}", f"{one.low:.3g} .. {one.high:.3g}", one.unit, one.goal, one.verdict, one.note)
        for one in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{title}\n{'-' * len(title)}")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def report(given: argparse.Namespace, title: str, figures: Sequence[Figure]) -> None:
    """Print the figures as the command line asks for them."""
    if given.json:
        print(json.dumps({"title": title, "figures": [asdict(one) for one in figures]}))
    else:
        show(title, figures)


def options(description: str, *, rounds: int, quick: int) -> argparse.Namespace:
    """Return the command line's `rounds`, `quick` and `json`.

    Args:
        description: What the benchmark measures.
        rounds: How many rounds by default.
        quick: How many with `--quick`, which only shows that the benchmark works.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--rounds", type=int, help=f"turns of each contender (default: {rounds})")
    parser.add_argument("--quick", action="store_true", help="a few short turns: shows that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    given.rounds = given.rounds or (quick if given.quick else rounds)
    return given
