"""The courses of the slow service as SVG, for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from outages.scenarios import CALLS_A_SECOND, SLOW_FROM_S, SLOW_UNTIL_S, Course
from outages.service import Service

__all__ = ["draw"]

UNTIL_S = 150
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "outages", "font.size": 9, "path.simplify_threshold": 0.5}


def draw(courses: Mapping[str, Course], folder: Path) -> None:
    """Write `slow-service-success.svg` and `slow-service-load.svg`."""
    mpl.rcParams.update(STYLE)
    success = {name: [100 * share for share in course.success[:UNTIL_S]] for name, course in courses.items()}
    _lines(success, "successful calls (%)", None, folder / "slow-service-success.svg")
    load = {name: course.load[:UNTIL_S] for name, course in courses.items()}
    _lines(load, "requests a second", Service.rate, folder / "slow-service-load.svg")


def _lines(values: Mapping[str, object], label: str, limit: float | None, file: Path) -> None:
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    axes.axvspan(SLOW_FROM_S, SLOW_UNTIL_S, color="0.9", label="service 10 times slower")
    for name, of in values.items():
        axes.plot(of, label=name, linewidth=1.3)
    if limit is not None:
        axes.axhline(limit, color="0.4", linewidth=0.8, linestyle=":", label="capacity")
    axes.set(
        xlabel=f"seconds ({CALLS_A_SECOND:g} calls begin in each)", ylabel=label, xlim=(0, UNTIL_S), ylim=(0, None)
    )
    axes.legend(fontsize=8, loc="center right")
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")
