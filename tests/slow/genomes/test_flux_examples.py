"""The examples of the flux toolset print exactly what their pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_examples import EXAMPLES, OF_GENOMES, prints_what_its_page_shows


@pytest.mark.parametrize("name", sorted(OF_GENOMES))
def test_the_example_runs_and_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    prints_what_its_page_shows(EXAMPLES / f"{name}.py", tmp_path)
