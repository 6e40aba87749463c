"""Policies beside each other while a service is slow, noisy, down, or asks for a wait; on a simulated clock.

Our rows run the real policies. A round is a seed of the arrivals and of the jitter. `--quick` takes one seed and leaves
out tenacity and stamina.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure

from outages.clients import BREAKER, BREAKER_ALONE, DEFAULT, PEERS, PLAIN, clients
from outages.scenarios import NEVER_S, Course, most_at_once, noise, outage, slow_service

LATER_S, SOON_S = 3.0, 10.0
"""The goals: how long after plain time-outs the default policy has recovered, and how soon one with a breaker."""


def slow_figures(courses: dict[str, list[Course]]) -> list[Figure]:
    """Return the seconds until the calls succeed again, after the service is as fast as before."""
    taken = {name: [course.recovered_after_s for course in of] for name, of in courses.items()}
    found = [
        figure(
            f"slow service, back to 95 %: {name}",
            of,
            "s",
            goal=f"<= {SOON_S:g}" if name == BREAKER else "",
            note="not until the end" if min(of) >= NEVER_S else "",
        )
        for name, of in taken.items()
    ]
    later = [own - plain for own, plain in zip(taken[DEFAULT], taken[PLAIN], strict=True)]
    found.append(figure("slow service, default policy after time-outs only", later, "s", goal=f"<= {LATER_S:g}"))
    return found


def noise_figures(seeds: range, length_s: float) -> list[Figure]:
    """Return the success under noise without and with a breaker, and the difference in points."""
    bare = [100 * noise(clients()[PLAIN], seed, length_s=length_s) for seed in seeds]
    guarded = [100 * noise(clients()[BREAKER_ALONE], seed, length_s=length_s) for seed in seeds]
    lost = [one - other for one, other in zip(bare, guarded, strict=True)]
    return [
        figure("30 % noise at 2/s, success: no breaker", bare, "%"),
        figure("30 % noise at 2/s, success: with a breaker", guarded, "%"),
        figure("30 % noise at 2/s, lost by the breaker", lost, "points", goal="<= 5"),
    ]


def load_figures(names: list[str], seeds: range) -> list[Figure]:
    """Return the requests for each call in a total outage."""
    goals = {DEFAULT: "<= 1.2", BREAKER: "<= 1.01"}
    return [
        figure(
            f"total outage, requests a call: {name}",
            [outage(clients()[name], seed) for seed in seeds],
            "times",
            goal=goals.get(name, ""),
        )
        for name in names
    ]


def spread_figures(seeds: range) -> list[Figure]:
    """Return how many of 200 callers come back in one 100 ms after a wait that the service named."""
    return [
        figure(
            f"Retry-After: {after_s:g}, 200 callers, most in 100 ms",
            [100 * most_at_once(seed, after_s=after_s) for seed in seeds],
            "%",
            goal="<= 10",
        )
        for after_s in (1.0, 5.0)
    ]


PLOTS = {"type": Path, "metavar": "FOLDER", "help": "draw the courses of the first seed there; needs matplotlib"}


@benchmark("Policies in trouble", own={"--plots": PLOTS}, rounds=(5, 1), noise_s=(3_600, 900))
def measure(given: Any) -> list[Figure]:
    """Return the figures, and draw the courses if asked to."""
    logging.disable(logging.WARNING)  # stamina logs each of 100,000 retries
    seeds = range(given.rounds)
    names = [name for name in clients() if name != BREAKER_ALONE and not (given.quick and name in PEERS)]
    courses = {name: [slow_service(clients()[name], seed) for seed in seeds] for name in names}
    if given.plots is not None:
        from outages.plots import draw  # noqa: PLC0415 - matplotlib may be missing

        draw({name: of[0] for name, of in courses.items()}, given.plots)
    figures = slow_figures(courses) + noise_figures(seeds, given.noise_s)
    return figures + load_figures(names, seeds) + spread_figures(seeds)
