"""The pages: every one reachable, every piece of code in them a file that a test has run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml

import failsoft
from failsoft.events import Event
from scripts.error_redirects import on_post_build
from scripts.long_description import long_description
from tests.doors import PLACES, entries

BLOCK = re.compile(
    r"(?:^<!-- (?P<example>examples/[^\s:]+)(?::\w+)? -->\n)?"
    r"^(?P<indent> *)```(?P<language>\S*)[^\n]*\n(?P<body>.*?)^(?P=indent)```",
    re.DOTALL | re.MULTILINE,
)
"""A block of code, and the file that it is kept equal to by scripts/reference.py, whose `--check` is a test."""
FREE = {"", "text", "sh"}
"""Languages that show no code of ours: output as a person sees it, and commands that a README or a guide names."""
GENERATED = {"errors", "rules", "strategies"}
"""Folders of pages that are written from the code, whose lists alone are in the navigation."""
PLAIN_FILES = ["reference/public-api.txt"]
"""What the navigation lists besides pages."""
IN_PART = {
    "adopt_soft.py": "shows the two lines for a server that the reader has",
    "connect_python.py": "leaves out how its test starts the server",
    "remote_errors.py": "names the file that has the rest",
}
"""Programs whose page has their output and only a part of them, and why."""
README_LINES_AT_MOST = 90
EXAMPLE_LINES_AT_MOST = 15


class _Loader(yaml.SafeLoader):
    """mkdocs.yml names Python functions; here they are only text."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda _loader, suffix, _node: suffix)
_Loader.add_constructor("!ENV", lambda _loader, _node: None)


def _pages(root: Path) -> list[Path]:
    left_out = {*GENERATED, "examples"}
    return sorted(path for path in (root / "docs").rglob("*.md") if left_out.isdisjoint(path.parts))


def _nav(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for item in entry if isinstance(entry, list) else entry.values():
            yield from _nav(item)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page(root: Path) -> None:
    config = yaml.load((root / "mkdocs.yml").read_text(), _Loader)  # noqa: S506 - a SafeLoader, made above
    lists = {f"reference/{folder}/index.md" for folder in GENERATED}
    listed = sorted(set(_nav(config["nav"])) - lists)
    assert sorted(_nav(config["nav"])) == sorted([*listed, *lists])
    pages = [path.relative_to(root / "docs").as_posix() for path in _pages(root)]
    assert listed == sorted([*pages, *PLAIN_FILES])
    assert [name for name in PLAIN_FILES if not (root / "docs" / name).is_file()] == []


def test_the_home_page_leads_to_every_guide_and_explanation(root: Path) -> None:
    """The decisions have a list of their own in the navigation, and so have the pages for authors."""
    linked = re.findall(r"\]\(([^)#]+\.md)", (root / "docs/index.md").read_text())
    folders = ("tutorial", "how-to", "toolsets", "explanation")
    guides = [path for folder in folders for path in (root / "docs" / folder).glob("*.md")]
    assert [str(path) for path in guides if path.relative_to(root / "docs").as_posix() not in linked] == []


def test_every_guide_names_the_tests_that_hold_what_it_says(root: Path) -> None:
    guides = [*(root / "docs/how-to").glob("*.md")]
    assert [
        guide.name for guide in guides if "`tests/" not in guide.read_text() and " tests/" not in guide.read_text()
    ] == []


def test_every_test_script_and_benchmark_that_a_page_names_exists(root: Path) -> None:
    pages = [*(root / "docs").rglob("*.md"), *root.glob("*.md")]
    named = {
        f"{page.relative_to(root)}: {name}"
        for page in pages
        for name in re.findall(r"`((?:tests|bench|scripts)/[\w./-]+)`", page.read_text())
        if not (root / name).exists()
    }
    assert named == set()


def test_every_block_of_code_in_the_docs_comes_from_a_file_that_is_run(root: Path) -> None:
    typed_in = [
        f"{page.relative_to(root)}: {block['body'][:60]!r}"
        for page in _pages(root)
        for block in BLOCK.finditer(page.read_text())
        if block["language"] not in FREE and not block["example"]
    ]
    assert typed_in == []


def test_every_example_is_shown_on_a_page(root: Path) -> None:
    shown = {block["example"] for page in _pages(root) for block in BLOCK.finditer(page.read_text())} - {None}
    present = {f"examples/{path.name}" for path in (root / "docs/examples").iterdir() if path.is_file()}
    assert present - shown == {"examples/readme.py"}
    assert [name for name in shown if not (root / "docs" / name).is_file()] == []


def _statements(source: str) -> list[str]:
    body = ast.parse(source).body
    return [
        ast.dump(part) for part in body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
    ]


@pytest.mark.parametrize(
    "page", sorted((Path(__file__).parents[2] / "docs/how-to").glob("*.md")), ids=lambda page: page.stem
)
def test_a_reader_can_copy_the_whole_program_whose_output_a_guide_shows(page: Path) -> None:
    shown: dict[str, str] = {}
    for block in BLOCK.finditer(page.read_text()):
        name = (block["example"] or "").removeprefix("examples/")
        shown[name] = shown.get(name, "") + block["body"]
    programs = {name.removesuffix(".out") + ".py" for name in shown if name.endswith(".out")} - IN_PART.keys()
    files = {name: (page.parents[1] / "examples" / name).read_text() for name in programs}
    assert [name for name in programs if _statements(shown.get(name, "")) != _statements(files[name])] == []


def test_every_column_of_a_table_has_a_name(root: Path) -> None:
    """A screen reader reads it with each cell, and an empty one takes a row."""
    heads = [
        (str(page.relative_to(root)), head)
        for page in (*_pages(root), root / "README.md")
        for head in re.findall(r"^\|(.+)\|\n\|[-:| ]+\|$", page.read_text(), re.MULTILINE)
    ]
    assert [head for head in heads if not all(cell.strip() for cell in head[1].split("|"))] == []


def test_the_readme_shows_the_example_that_is_run(root: Path) -> None:
    blocks = [
        block["body"] for block in BLOCK.finditer((root / "README.md").read_text()) if block["language"] == "python"
    ]
    example = (root / "docs/examples/readme.py").read_text()
    shown = example[: example.index("# --8<-- [end:tool]")].split("# --8<-- [start:tool]\n")[1]
    assert blocks == [shown.rstrip() + "\n"]
    assert len([line for line in shown.splitlines() if line]) <= EXAMPLE_LINES_AT_MOST


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_answers_on_the_first_pages_are_those_that_the_example_prints(root: Path, page: str) -> None:
    printed = (root / "docs/examples/before_after.out").read_text()
    shown, short, *_ = [
        found["body"] for found in BLOCK.finditer((root / page).read_text()) if found["language"] == "text"
    ]
    before, after = re.findall(r"^# (?:MCP SDK|failsoft)\n(.*?)(?=^# |\Z)", printed, re.DOTALL | re.MULTILINE)
    assert (shown, short) == (before, after)


@pytest.mark.parametrize("ending", ["failsoft demo", "pytest -n 3"])
def test_the_readme_has_one_line_that_starts_from_python_and_pip_alone(root: Path, ending: str) -> None:
    lines = [line for line in (root / "README.md").read_text().splitlines() if line.startswith("python3 -m venv")]
    assert len([line for line in lines if line.endswith(ending)]) == 1
    assert len(lines) == 2


def test_the_readme_is_read_in_two_minutes(root: Path) -> None:
    text = (root / "README.md").read_text()
    assert len(text.splitlines()) <= README_LINES_AT_MOST
    assert len(text.split()) <= 500


def test_the_readme_goes_from_what_it_is_to_how_it_compares(root: Path) -> None:
    parts = [
        "# failsoft\n",
        "(docs/assets/page-1400-light.png)",
        "The MCP SDK answers:",
        "[failsoft answers]",
        "class Library(BaseTool):",
        "@failsoft.soft(",
        "pip install failsoft\n",
        "&& .venv/bin/failsoft demo\n",
        "&& .venv/bin/pytest -n 3\n",
        "## Twelve names",
        "## Versions",
        "## Compared",
    ]
    text = (root / "README.md").read_text()
    places = [text.find(part) for part in parts]
    assert places == sorted(places)
    assert places[0] == 0


def test_the_twelve_names_of_the_readme_are_public(root: Path) -> None:
    listed = (root / "README.md").read_text().split("## Twelve names")[1].split("Start with")[0]
    names = re.findall(r"`(\w+)`", listed)
    assert len(set(names)) == 12
    assert [name for name in names if not hasattr(failsoft, name)] == []


def test_the_figures_of_the_readme_are_on_the_pages_that_it_names(root: Path) -> None:
    compared = (root / "README.md").read_text().split("## Compared")[1]
    pages = " ".join((root / name).read_text() for name in sorted(set(re.findall(r"\((docs/[^)#]+)", compared))))
    figures = re.findall(r"(?<![\d.])\d[\d,]*(?:\.\d+)?(?![\d.])", re.sub(r"\]\([^)]+\)", "", compared))
    assert len(figures) > 15
    assert [figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", pages)] == []


def test_every_link_of_a_page_at_the_root_leads_to_a_file(root: Path) -> None:
    links = [
        (page.name, link)
        for page in root.glob("*.md")
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    ]
    assert len(links) > 10
    assert [link for link in links if not (root / link[1]).exists()] == []


def test_the_long_description_of_the_package_has_no_link_that_leads_nowhere(root: Path) -> None:
    readme = (root / "README.md").read_text()
    shown = long_description(readme)
    assert "](" not in shown
    assert [block["body"] for block in BLOCK.finditer(shown)] == [block["body"] for block in BLOCK.finditer(readme)]
    assert long_description("A [kept](https://docs.example.org) and a [`lost`](a.md#b).") == (
        "A [kept](https://docs.example.org) and a `lost`."
    )


def test_the_home_page_has_400_words_at_most(root: Path) -> None:
    assert len((root / "docs/index.md").read_text().split()) <= 400


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ('```python\n--8<-- "examples/a.py:part"\n```\n', "<!-- examples/a.py:part -->\n```python\nx = 1\n```\n"),
        ('```text\n--8<-- "examples/a.py"\n```', "<!-- examples/a.py -->\n```text\nclass A:\n    x = 1\n```"),
        ("<!-- examples/a.py:part -->\n```python\nold\n```", "<!-- examples/a.py:part -->\n```python\nx = 1\n```"),
        (
            '```python title="A"\nfree\n```\n\n```sh\n$ ls\n```\n',
            '```python title="A"\nfree\n```\n\n```sh\n$ ls\n```\n',
        ),
    ],
)
def test_an_example_is_written_into_its_page(root: Path, tmp_path: Path, page: str, written: str) -> None:
    """So that a page can be read where it is not built, on a forge or in a clone."""
    (tmp_path / "examples").mkdir()
    marks = ("    # --8<-- [start:part]", "    # --8<-- [end:part]")
    (tmp_path / "examples/a.py").write_text(f"class A:\n{marks[0]}\n    x = 1\n{marks[1]}\n")
    command = "import sys, pathlib, page_examples as p; print(p.shown(sys.argv[1], pathlib.Path(sys.argv[2])), end='')"
    ran = subprocess.run(
        [sys.executable, "-c", command, page, str(tmp_path)],
        cwd=root / "scripts",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == (written, "")


def test_the_address_of_a_code_leads_to_its_section(root: Path, tmp_path: Path) -> None:
    """The format `problem` links there; the site is built with this hook."""
    hooks = yaml.load((root / "mkdocs.yml").read_text(), _Loader)["hooks"]  # noqa: S506 - a SafeLoader, made above
    assert hooks == ["scripts/error_redirects.py"]
    errors = tmp_path / "reference/errors"
    (errors / "not_found").mkdir(parents=True)
    (errors / "not_found/index.html").write_text("the page of the category")
    (errors / "NOT_FOUND").symlink_to(errors / "not_found")  # as on a file system that ignores case
    for toolset in distribution("failsoft").entry_points.select(group="failsoft.toolsets"):
        toolset.load()  # its errors are in the catalogue from here on
    on_post_build({"docs_dir": str(root / "docs"), "site_dir": str(tmp_path)})
    assert (errors / "not_found/index.html").read_text() == "the page of the category"
    wrong, known = [], {entry.code for entry in entries()}
    assert {"DOC_NOT_FOUND", "EMPTY_EDITS", "FBA_INFEASIBLE", "ROLE_MISMATCH"} <= known
    for entry in entries():
        if not entry.__module__.startswith("failsoft.") or entry.code == "NOT_FOUND":
            continue
        made = (errors / entry.code / "index.html").read_text()
        (page, anchor), *others = set(re.findall(r"\.\./(\w+)/#(\w+)", made))
        headings = re.findall(r"^## (.+)$", (root / f"docs/reference/errors/{page}.md").read_text(), re.MULTILINE)
        if others or page != entry.category or anchor not in [heading.lower() for heading in headings]:
            wrong.append(entry.code)
    assert wrong == []


def test_the_page_on_middleware_lists_the_places_of_the_chain_in_their_order(root: Path) -> None:
    page = (root / "docs" / "how-to" / "write-a-middleware.md").read_text()
    listed = page.split("Outermost first: ")[1].split(". ")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == PLACES


def test_the_guide_to_events_lists_every_kind(root: Path) -> None:
    page = (root / "docs/how-to/listen-to-events.md").read_text()
    listed = re.findall(r"^\| `(\w+Event)`", page, re.MULTILINE)
    assert sorted(listed) == sorted(kind.__name__ for kind in Event.__args__)


def test_previews_show_a_card_of_the_usual_size(root: Path) -> None:
    template = (root / "docs" / "overrides" / "main.html").read_text()
    (card,) = re.findall(r"assets/\S+\.png", template)
    header = (root / "docs" / card).read_bytes()[:24]
    assert header[1:4] == b"PNG"
    assert (int.from_bytes(header[16:20]), int.from_bytes(header[20:24])) == (1200, 630)
