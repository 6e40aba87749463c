"""The catalogue of rules: numbers, names and pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from failsoft import ConfigurationError, NotFound
from tests.doors import RULES, Silences, by_name

OF_ANSWERS = (
    "protocol-error field-not-named accepted-not-said no-next-step next-call-fails misleading-advice effect-not-said"
    " accepted-in-silence failure-as-success schema-lies leaks-stack leaks-path leaks-secret leaks-address"
    " unstable-code too-large crash hang"
)


def test_every_rule_has_a_number_and_a_name_of_its_own() -> None:
    numbers, names = [rule.number for rule in RULES], [rule.name for rule in RULES]
    assert numbers == sorted(set(numbers))
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"FS\d{3}", number) for number in numbers)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
    assert " ".join(rule.name for rule in RULES if rule.half == "probe") == OF_ANSWERS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_why_with_a_good_and_a_bad_example(rule) -> None:
    assert all((rule.summary, rule.why, rule.bad, rule.good))
    assert rule.bad != rule.good
    assert rule.severity in {"error", "warning", "note"}
    assert max(map(len, (*rule.bad.splitlines(), *rule.good.splitlines()))) <= 110


def test_what_lint_yields_is_in_the_catalogue() -> None:
    source = Path(__file__).parents[2] / "src" / "failsoft"
    texts = [(source / file).read_text() for file in ("rules/lint.py", "cli/commands/lint.py")]
    yielded = set(re.findall(r'yield "([\w-]+)"|LintFinding\([^"]*"\w*", "([\w-]+)"', "".join(texts)))
    names = {first or second for first, second in yielded}
    assert len(names) > 12
    assert names <= {rule.name for rule in RULES if rule.half == "static"}


def test_a_rule_is_found_by_number_and_by_name_in_whatever_spelling() -> None:
    assert by_name("leaks-path") is by_name("FS012") is by_name("fs012") is by_name("Leaks_Path")
    with pytest.raises(NotFound) as caught:
        by_name("leaks-pth")
    assert caught.value.suggestions == ("leaks-path",)


def test_a_silence_for_one_tool_does_not_silence_another() -> None:
    silences = Silences.from_table({"crash:a": "known", "FS018": "slow on purpose"})
    assert (silences.reason("crash", "a"), silences.reason("crash", "b"), silences.reason("crash")) == (
        "known",
        None,
        None,
    )
    assert silences.reason("hang", "b") == "slow on purpose"
    for table in ("crash", {"crsh": "known"}, {"crash": ""}, {"crash": 1}, {":a": "known"}):
        with pytest.raises(ConfigurationError):
            Silences.from_table(table)
