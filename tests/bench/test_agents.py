"""Scripted agents that follow only the answers get their tasks done, with no wrong effect and no step that fails."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.running import missed, run_benchmark

OURS = ("failsoft, json text", "failsoft, lean text", "failsoft, structured")
GOALS = {"completed %": ">= 95", "wrong effects tasks": "<= 0", "misled steps": "<= 0", "calls a task": ""}


def agents_reach_their_goals(*sets: str, tasks: Sequence[str] = (), sample: str = "") -> None:
    """Run these tasks, or a sample of the tasks of some sets, on our server, with every reader."""
    chosen = [word for name in sets for word in ("--set", name)] + [word for name in tasks for word in ("--task", name)]
    figures = run_benchmark("agents", *chosen, "--ours", *sample.split())
    expected = {f"{name}, {reader}: {what}": goal for name in sets for reader in OURS for what, goal in GOALS.items()}
    assert {name: one["goal"] for name, one in figures.items()} == expected
    assert missed(figures) == {}


def test_an_agent_that_follows_the_answers_completes_its_tasks() -> None:
    agents_reach_their_goals("wrapped", sample="--every 60")


def test_tasks_that_met_a_fault_of_a_tool_are_completed() -> None:
    faults = ("patch ended session", "preflight", "edit one object", "plan one object")
    agents_reach_their_goals("shipped", tasks=faults)
