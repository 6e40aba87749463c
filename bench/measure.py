"""Interleaved rounds, medians and ratios: what every benchmark here measures, is run and is printed with.

A shared machine drifts by more than the differences looked for, so contenders take turns in one run (A B C, B C A,
...), a ratio is taken inside each round, and the median of those ratios is what is printed. The quartiles beside it
are the noise: where they are wide, run again.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = [
    "JOBS",
    "Benchmark",
    "Contender",
    "Figure",
    "Rounds",
    "add_arguments",
    "benchmark",
    "figure",
    "interleave",
    "ms",
    "ratios",
    "show",
    "spread",
    "us",
]

Item = TypeVar("Item")
Result = TypeVar("Result")
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


def ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return the ratio inside each round."""
    return [one / other for one, other in zip(values, others, strict=True)]


def ms(seconds: Sequence[float]) -> list[float]:
    """Return milliseconds."""
    return [1e3 * one for one in seconds]


def us(seconds: Sequence[float]) -> list[float]:
    """Return microseconds."""
    return [1e6 * one for one in seconds]


Measure = Callable[[Any], Sequence[Figure] | Coroutine[Any, Any, Sequence[Figure]]]
"""Returns the figures; is given the command line."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a file of this folder measures: what `benchmark` makes of its function.

    Args:
        title: The head of its table.
        measure: Its function.
        sizes: Size -> how much usually, and how much with `--quick`.
        own: Option of its own -> what `add_argument` takes.
    """

    title: str
    measure: Measure
    sizes: Mapping[str, tuple[Any, Any]]
    own: Mapping[str, Mapping[str, Any]]

    def figures(self, given: argparse.Namespace) -> Sequence[Figure]:
        """Measure as the command line says: the sizes are added to it."""
        sizes = {name: quick if given.quick else usual for name, (usual, quick) in self.sizes.items()}
        if given.rounds:
            sizes["rounds"] = given.rounds
        found = self.measure(argparse.Namespace(**{**vars(given), **sizes}))
        return asyncio.run(found) if isinstance(found, Coroutine) else found


def benchmark(
    title: str, *, own: Mapping[str, Mapping[str, Any]] | None = None, **sizes: tuple[Any, Any]
) -> Callable[[Measure], Benchmark]:
    """Return the decorator of a file's `measure`; the arguments are those of `Benchmark`."""
    return lambda measure: Benchmark(title, measure, sizes, own or {})


JOBS: Mapping[str, Mapping[str, Any]] = {
    "--jobs": {"type": int, "metavar": "N", "help": "processes at once; by default one for each core"}
}
"""The option of a benchmark whose parts do not depend on each other and are not timed."""


def spread(work: Callable[[Item], Result], items: Sequence[Item], jobs: int | None = None) -> Iterator[Result]:
    """Yield what `work` returns for each item, in order; several run at once, each in a process.

    Args:
        work: A function that pickles; so do its results.
        items: What it is given.
        jobs: How many processes; by default one for each core. One alone is this one.
    """
    processes = min(jobs or os.cpu_count() or 1, len(items))
    if processes < 2:
        yield from map(work, items)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(work, items)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every benchmark takes."""
    parser.add_argument("--quick", action="store_true", help="a few short turns: shows that it runs, not how fast")
    parser.add_argument("--rounds", type=int, help="turns of each contender, in place of the benchmark's own number")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--keep", action="store_true", help="write the ratios to baseline.json, or `baseline` its counts"
    )
