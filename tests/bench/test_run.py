"""The one command that runs benchmarks."""

from __future__ import annotations

import re

from tests.bench.running import RUN, run


def test_every_benchmark_is_listed_with_what_it_measures() -> None:
    sources = {str(path.relative_to(RUN.parent)): path.read_text() for path in RUN.parent.rglob("*.py")}
    files = {file for file, text in sources.items() if "\n@benchmark(" in text}
    moved = {
        "agents/scores.py": "agents",
        "agents/adversarial/scores.py": "adversarial",
        "agents/answers/sizes.py": "answers",
        "agents/play.py": "play",
        "agents/waiting.py": "waiting",
        "outages/policies.py": "outages",
        "outages/fleet.py": "fleet",
    }
    helped = run("--help").stdout
    listed = re.findall(r"^  (\w+) +\w.*[.?]$", helped.partition("benchmarks:")[2], re.MULTILINE)
    assert sorted(listed) == sorted(moved.get(file, file.removesuffix(".py")) for file in files)
    assert "--quick" in helped


def test_one_alone_explains_itself_and_its_own_options() -> None:
    helped = run("baseline", "--help").stdout
    assert "Compares the instructions of the call path" in helped
    assert "--keep" in helped
    assert "--folder" in run("docs_questions", "--help").stdout


def test_names_that_are_unknown_and_figures_that_are_not_kept_are_refused() -> None:
    for words, reason in (
        (("scrap",), "no such benchmark: scrap"),
        (("keyed_calls", "--keep"), "nothing is kept of keyed_calls"),
    ):
        refused = run(*words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert reason in refused.stderr
