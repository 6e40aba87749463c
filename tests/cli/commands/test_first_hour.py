"""What someone new meets at the command line: an application by its path, a bug of one's own, a misnamed setting."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Ran, Run

SHELF = '''
from pathlib import Path
from failsoft import BaseTool, operation


class Shelf(BaseTool):
    """A shelf in a file."""

    @operation(read_only=True)
    async def read_shelf(self) -> str:
        """Read the shelf."""
        return Path("shelf.txt").read_text()

    @operation(read_only=True)
    async def count(self) -> int:
        """Count the books."""
        return 3
'''


@pytest.fixture(autouse=True)
def _application(folder):
    (folder / "shelf.py").write_text(SHELF)


def checked(ran: Ran) -> Ran:
    """Return what has run, unless it has printed nothing at all."""
    if not (ran.out or ran.err):
        pytest.fail("the command has printed nothing")
    return ran


def test_a_call_shows_the_line_of_the_author_whatever_the_exception(run: Run) -> None:
    ran = checked(run("call", "read_shelf", "--app", "shelf:Shelf"))
    assert re.search(r"shelf\.py\D{1,12}12\b", ran.err)
    assert "shelf.py" not in ran.out


@pytest.mark.parametrize("path", ["shelf.py:Shelf", "./shelf.py"])
def test_an_application_is_named_by_the_path_of_its_file(run: Run, path: str) -> None:
    ran = checked(run("call", "count", "--app", path))
    assert ran.code == 0
    assert ran.json["data"] == 3


def test_a_misnamed_time_limit_is_answered_with_the_limit_of_a_call(inside) -> None:
    (remark,) = inside("doctor", "--json", env={"FAILSOFT_TIMEOUT": "5"}).json["remarks"]
    assert "FAILSOFT_DEFAULT_TIMEOUT_S" in remark["message"]


def test_a_call_without_an_application_says_which_toolset_it_took(run: Run) -> None:
    ran = checked(run("call", "get_documentation", "path=intro.mdx", "--root", "docs"))
    if ran.code != 0:
        pytest.fail("the call has failed")
    assert "docs" in ran.err
