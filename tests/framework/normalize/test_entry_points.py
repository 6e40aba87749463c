"""Rules of third parties, as really installed packages: found, tried first, and skipped when they break."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.zygote import PYTHON

RULES = """
    from failsoft import NotFound, RateLimited


    class Missing(Exception):
        pass


    def good(exc):
        if isinstance(exc, Missing):
            return NotFound(message="The customer does not exist.")
        if isinstance(exc, TimeoutError):
            return RateLimited(retry_after_seconds=3)
        return None


    def raises(exc):
        raise RuntimeError("broken rule")


    def exits(exc):
        raise SystemExit(1)


    def garbage(exc):
        return "NOT_FOUND"


    def returns_the_cause(exc):
        return exc.__cause__
"""

PROGRAM = """
    import json, sys
    from loguru import logger
    logger.remove()
    records = []
    logger.enable("failsoft")
    logger.add(lambda message: records.append(message.record["extra"].get("normalizer")))
    import rules_of_others
    from failsoft import DocumentNotFound
    from tests.doors import normalize
    logger.enable("failsoft")
    wrapped = ValueError()
    wrapped.__cause__ = DocumentNotFound(path="a.md")
    excs = [rules_of_others.Missing("x"), TimeoutError(), OSError(2, "x"), wrapped, DocumentNotFound(path="b.md"),
            ExceptionGroup("", [rules_of_others.Missing("y")])]
    errors = [normalize(exc) for exc in excs]
    errors = [normalize(exc) for exc in excs]
    causes = [type(error.__cause__).__name__ for error in errors]
    print(json.dumps([[error.code for error in errors], causes, sorted(map(str, records))]))
"""


def run(folder: Path, points: dict[str, str]) -> list[list[str]]:
    """Run the program with a package installed whose entry points are these."""
    (folder / "rules_of_others.py").write_text(textwrap.dedent(RULES), encoding="utf-8")
    about = folder / "rules_of_others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rules-of-others\nVersion: 1.0\n", encoding="utf-8")
    lines = ["[failsoft.normalizers]", *(f"{name} = {target}" for name, target in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [PYTHON, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    result: list[list[str]] = json.loads(done.stdout)
    return result


def test_a_rule_is_tried_before_our_tables_and_after_typed_errors(tmp_path: Path):
    codes, causes, records = run(tmp_path, {"good": "rules_of_others:good"})
    assert codes == ["NOT_FOUND", "RATE_LIMITED", "NOT_FOUND", "UNKNOWN_ERROR", "DOC_NOT_FOUND", "NOT_FOUND"]
    assert causes == ["Missing", "TimeoutError", "FileNotFoundError", "ValueError", "NoneType", "Missing"]
    assert records == []


@pytest.mark.parametrize("broken", ["raises", "exits", "garbage"])
def test_a_rule_that_breaks_is_skipped_and_logged_once(tmp_path: Path, broken: str):
    codes, _, records = run(tmp_path, {"a_broken": f"rules_of_others:{broken}", "good": "rules_of_others:good"})
    assert codes == ["NOT_FOUND", "RATE_LIMITED", "NOT_FOUND", "UNKNOWN_ERROR", "DOC_NOT_FOUND", "NOT_FOUND"]
    assert records == ["a_broken"]


@pytest.mark.parametrize("target", ["rules_of_others:gone", "no_such_module:rule", "rules_of_others:__name__"])
def test_a_rule_that_cannot_be_loaded_is_skipped(tmp_path: Path, target: str):
    codes, _, _ = run(tmp_path, {"a_broken": target, "good": "rules_of_others:good"})
    assert codes[0] == "NOT_FOUND"


def test_a_rule_that_returns_what_caused_the_exception_makes_no_circle(tmp_path: Path):
    codes, causes, _ = run(tmp_path, {"cause": "rules_of_others:returns_the_cause"})
    assert (codes[3], causes[3]) == ("DOC_NOT_FOUND", "NoneType")
