"""The figures of `scale` as SVG, for the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from scale import Point

__all__ = ["draw"]

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "scale", "font.size": 9}
NAMES = {"ours": "failsoft", "raw": "raw ASGI app"}


def draw(found: Mapping[str, Sequence[Point]], folder: Path) -> None:
    """Write `scaling-throughput.svg` and `scaling-cost.svg`."""
    mpl.rcParams.update(STYLE)
    _panels(found, "calls a second", lambda point, name: median(point.rates[name]), folder / "scaling-throughput.svg")
    _panels(found, "CPU time a call (us)", lambda point, name: point.cpu_us[name], folder / "scaling-cost.svg")


def _panels(found: Mapping[str, Sequence[Point]], label: str, value: Callable[[Point, str], float], file: Path) -> None:
    figure, panels = plt.subplots(2, 3, figsize=(7.2, 4.6), layout="constrained")
    for axes, (dimension, points) in zip(panels.flat, found.items(), strict=True):
        for name, shown in NAMES.items():
            axes.plot([point.at for point in points], [value(point, name) for point in points], "o-", ms=3, label=shown)
        if points[-1].at > 100:
            axes.set_xscale("log")
        if dimension == "workers":
            axes.set_xticks([point.at for point in points])
        axes.set(xlabel=dimension, ylim=(0, None))
    panels[0][0].set_ylabel(label)
    panels[1][0].set_ylabel(label)
    panels[0][0].legend(fontsize=8)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")
