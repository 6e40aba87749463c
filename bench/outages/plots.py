"""The courses of the slow service and of the fleet as SVG, for the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from outages.scenarios import CALLS_A_SECOND, SLOW_FROM_S, SLOW_UNTIL_S, Course
from outages.service import Service

if TYPE_CHECKING:
    from outages.fleet import View

__all__ = ["draw", "draw_fleet"]

SHOWN_S = 150
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "outages", "font.size": 9, "path.simplify_threshold": 0.5}


def draw(courses: Mapping[str, Course], folder: Path) -> None:
    """Write `slow-service-success.svg` and `slow-service-load.svg`."""
    mpl.rcParams.update(STYLE)
    success = {name: [100 * share for share in course.success[:SHOWN_S]] for name, course in courses.items()}
    _lines(success, "successful calls (%)", None, folder / "slow-service-success.svg")
    load = {name: course.load[:SHOWN_S] for name, course in courses.items()}
    _lines(load, "requests a second", Service.rate, folder / "slow-service-load.svg")


def _lines(values: Mapping[str, object], label: str, limit: float | None, file: Path) -> None:
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    axes.axvspan(SLOW_FROM_S, SLOW_UNTIL_S, color="0.9", label="service 10 times slower")
    for name, of in values.items():
        axes.plot(of, label=name, linewidth=1.3)
    if limit is not None:
        axes.axhline(limit, color="0.4", linewidth=0.8, linestyle=":", label="capacity")
    axes.set(
        xlabel=f"seconds ({CALLS_A_SECOND:g} calls begin in each)", ylabel=label, xlim=(0, SHOWN_S), ylim=(0, None)
    )
    axes.legend(fontsize=8, loc="center right")
    _save(figure, file)


def draw_fleet(views: Mapping[tuple[str, str], View], trouble_s: tuple[float, float], folder: Path) -> None:
    """Write `fleet-success.svg`, `fleet-load.svg` and `fleet-refused.svg`, with a panel for each scenario.

    Args:
        views: By scenario and policy.
        trouble_s: When the trouble of a scenario begins and ends.
        folder: Where to.
    """
    mpl.rcParams.update(STYLE)
    success = folder / "fleet-success.svg"
    _panels(views, trouble_s, "successful calls (%)", lambda of: [100 * one for one in of.course.success], success)
    _panels(views, trouble_s, "requests a second", lambda of: of.course.load, folder / "fleet-load.svg")
    breakers = {name: of for name, of in views.items() if any(of.refused)}
    _panels(
        breakers,
        trouble_s,
        "calls refused by a breaker (%)",
        lambda of: [100 * one / (calls or 1) for one, calls in zip(of.refused, of.calls, strict=True)],
        folder / "fleet-refused.svg",
    )


def _panels(
    views: Mapping[tuple[str, str], View],
    trouble_s: tuple[float, float],
    label: str,
    value: Callable[[View], Sequence[float]],
    file: Path,
) -> None:
    scenarios = dict.fromkeys(scenario for scenario, _ in views)
    figure, panels = plt.subplots(1, len(scenarios), figsize=(7.2, 2.9), layout="constrained", sharey=True)
    for axes, shown in zip(panels, scenarios, strict=True):
        axes.axvspan(*trouble_s, color="0.9")
        for (scenario, policy), of in views.items():
            if scenario == shown:
                axes.plot(value(of), label=policy, linewidth=1.1)
        axes.set(title=f"the service {shown}", xlabel="seconds", ylim=(0, None))
    panels[0].set_ylabel(label)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=8, loc="outside lower center", ncols=3)
    _save(figure, file)


def _save(figure: Figure, file: Path) -> None:
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")
