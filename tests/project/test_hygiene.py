"""What the repository may contain: no machine, no host, no lock file, no silenced rule without a reason."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

# Written in pieces, so that this file does not find itself.
PLACES = [
    " /" + "work/",
    '"/' + "work/",
    "/" + "root/",
    "/" + "opt/pypi",
    "/" + "tmp/",
    "pypi" + ".org",
    "python" + "hosted",
    "npm" + "js.org",
    "npm" + "js.com",
    "deb." + "debian",
]
LOCKS = {"uv.lock", "poetry.lock", "package-lock.json", "Pipfile.lock"}
FRAGMENT = re.compile(r"(\d+|\+[a-z0-9-]+)\.(added|changed|fixed|removed)\.md")
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+( ; .+)?")


def test_no_file_names_a_machine_or_a_host_of_packages(tracked: dict[Path, str]) -> None:
    assert [f"{path}: {place}" for path, text in tracked.items() for place in PLACES if place in text] == []


def test_no_lock_file_is_tracked(tracked: dict[Path, str]) -> None:
    assert [path.name for path in tracked if path.name in LOCKS or path.match("pylock*.toml")] == []


def test_constraints_are_pins_without_addresses(root: Path) -> None:
    lines = [line for line in (root / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not PIN.fullmatch(line)] == []


def test_every_dependency_has_a_lower_and_an_upper_bound(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert [need for need in project["dependencies"] if ">=" not in need or "<" not in need] == []


def test_every_changelog_fragment_has_a_kind_and_says_something(root: Path) -> None:
    fragments = [path for path in (root / "changelog.d").iterdir() if path.name not in {"_template.md", ".gitkeep"}]
    bad = [path.name for path in fragments if not FRAGMENT.fullmatch(path.name) or not path.read_text().strip()]
    assert bad == []


def test_every_release_is_one_page_of_the_change_log_with_its_date(root: Path) -> None:
    first, *releases = re.split(r"^## ", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert first.endswith("<!-- fragments go here -->\n")  # where towncrier puts the next one
    assert [text for text in releases if not re.match(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)\n", text)] == []
    assert [text[:20] for text in releases if len(text.splitlines()) > 120] == []
    assert releases


def test_every_silenced_lint_rule_is_named_and_has_a_reason(tracked: dict[Path, str]) -> None:
    noqa = re.compile(r"#\s*noqa\b(?!: [A-Z0-9, ]+ - \S)")
    bare = [
        f"{path}:{number}"
        for path, text in tracked.items()
        if path.suffix == ".py" and path.name != Path(__file__).name and noqa.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if noqa.search(line)
    ]
    assert bare == []


def test_every_ignored_type_error_in_the_source_is_named_and_has_a_reason(root: Path) -> None:
    ignored = re.compile(r"# type: ignore(?!\[[a-z-]+(, [a-z-]+)*\]  # \S)")
    bare = [
        f"{path.relative_to(root)}:{number}"
        for path in (root / "src").rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if ignored.search(line)
    ]
    assert bare == []


def test_every_ignored_lint_rule_has_a_reason_beside_it(root: Path) -> None:
    text = (root / "pyproject.toml").read_text()
    ruff = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.pydocstyle]")]
    rules = [line for line in ruff.splitlines() if re.match(r'\s+"[A-Z]+\d*",', line)]
    assert [line for line in rules if "#" not in line] == []
    assert rules
