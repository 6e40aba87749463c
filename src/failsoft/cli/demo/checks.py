"""Checks of the demo: expected against actual responses and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.cli.demo.story import DemoStep, Outcome, Sample, Scene


def judge(step: DemoStep, answer: Mapping[str, Any]) -> list[str]:
    """Return how the answer to a step differs from the expected one; an empty list if it does not."""
    faults = []
    outcome, by = outcome_of(answer)
    if (outcome, by) != (step.outcome, step.by):
        faults.append(f"it ended {outcome} {by}".rstrip() + f", not {step.outcome} {step.by}".rstrip())
    if "error" not in answer and not _listed(answer):
        faults.append("nothing was found")
    if len(answer.get("error", {}).get("violations", ())) != step.violations:
        faults.append(f"it did not name {step.violations} violations")
    return faults


def miscounted(scenes: Sequence[Scene], samples: Sequence[Sample]) -> list[str]:
    """Return how the counted calls differ from the actual ones; an empty list if they agree."""
    made = Counter(f"{scene.tool} {scene.outcome}" for scene in scenes)
    counted = {
        f"{sample.labels['operation']} {sample.labels['outcome']}": sample.value
        for sample in samples
        if sample.name == "mcp_tool_calls_total"
    }
    return [
        f"/metrics counts {counted.get(what, 0):g} {what}, and {made[what]} were made"
        for what in sorted(made.keys() | counted.keys())
        if made[what] != counted.get(what, 0)
    ]


def outcome_of(answer: Mapping[str, Any]) -> tuple[Outcome, str]:
    """Return the outcome, and the strategy or the error code that led to it."""
    error = answer.get("error")
    if error is not None:
        return ("rejected" if error.get("category") == "invalid_argument" else "error"), str(error.get("code", ""))
    receipt = answer.get("metadata", {}).get("recovery")
    return ("recovered", str(receipt["strategy"])) if receipt else ("ok", "")


def message_of(answer: Mapping[str, Any]) -> str:
    """Return a success in words: the receipt and the first hit."""
    receipt = answer.get("metadata", {}).get("recovery")
    found = _listed(answer)
    if not found:
        return "Nothing was found."
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    got = f"Got '{found[0]['title']}' ({found[0]['path']}){more}."
    return f"{receipt['message']}. {got}" if receipt else got


def _listed(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    data = answer.get("data", {})
    listed: Sequence[Mapping[str, Any]] = data.get("documents", data.get("results", ()))
    return listed
