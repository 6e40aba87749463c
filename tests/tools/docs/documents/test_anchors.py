"""The anchors of headings are those that GitHub gives them: a table for each kind of heading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tools.docs.reader import reading

PLAIN = {
    "Getting started": "getting-started",
    "What's new?": "whats-new",
    "a  b": "a--b",
    "x < y and z > w": "x--y-and-z--w",
    "snake_case": "snake_case",
    "Straße": "straße",
}
CODE = {"`<Image />`": "image-", "`<video>`": "video", "`a<b>c`": "abc", "The `<Code>` element": "the-code-element"}
LINKS_IN_CODE = {"`![x](y)`": "xy", "[a](b) `[c](d)`": "a-cd"}
AUTOLINKS = {"<https://example.org/a>": "httpsexampleorga", "Mail <me@example.org>": "mail-meexampleorg"}
EMPHASIS = {
    "The _common_ API": "the-common-api",
    "_required_": "required",
    "__init__": "init",
    "`__init__`": "__init__",
}
ESCAPES = {r"InferSuccess\<T>": "infersuccesst", r"\<T> and \<U>": "t-and-u"}
ENTITIES = {"Q&amp;A": "qa", "&lt;T&gt; types": "t-types", "&copy; 2020": "-2020", "Tom &amp; Jerry": "tom--jerry"}
MARKS = {"नमस्ते दुनिया": "नमस्ते-दुनिया", "ภาษาไทยที่นี่": "ภาษาไทยที่นี่"}
NUMBERS = {"m² and ½": "m-and-"}
EMOJI = {"🎉 Party": "-party", "Hello 🎉 world": "hello--world"}
VARIATION = {"⚠️ Warning": "\ufe0f-warning"}
IMAGES = {"[![badge](x)](y) Name": "-name", "[a [b] c](d)": "a-b-c"}


def wrong(folder: Path, headings: Mapping[str, str]) -> dict[str, str]:
    """Return the headings whose section is not found by its anchor; each has a page of its own."""
    pages = {f"{number}.md": f"# Title\n\n## {heading}\n\ntext\n" for number, heading in enumerate(headings)}
    with reading(folder, pages) as reader:
        answers = [
            reader.ask("get_documentation", path=f"{number}.md#{anchor}")
            for number, anchor in enumerate(headings.values())
        ]
    return {
        heading: headings[heading] for heading, answer in zip(headings, answers, strict=True) if not answer["success"]
    }


def sections(folder: Path, text: str, *anchors: str) -> list[str]:
    """Return those of the anchors that lead to a section of the page."""
    with reading(folder, {"page.md": text}) as reader:
        return [one for one in anchors if reader.ask("get_documentation", path=f"page.md#{one}")["success"]]


def test_plain_headings(tmp_path: Path) -> None:
    assert wrong(tmp_path, PLAIN) == {}


def test_headings_with_angle_brackets_in_code(tmp_path: Path) -> None:
    assert wrong(tmp_path, CODE) == {}


def test_headings_with_the_syntax_of_links_in_code(tmp_path: Path) -> None:
    assert wrong(tmp_path, LINKS_IN_CODE) == {}


def test_headings_with_an_address_in_angle_brackets(tmp_path: Path) -> None:
    assert wrong(tmp_path, AUTOLINKS) == {}


def test_headings_with_emphasis(tmp_path: Path) -> None:
    assert wrong(tmp_path, EMPHASIS) == {}


def test_headings_with_escapes(tmp_path: Path) -> None:
    assert wrong(tmp_path, ESCAPES) == {}


def test_headings_with_entities(tmp_path: Path) -> None:
    assert wrong(tmp_path, ENTITIES) == {}


def test_headings_in_scripts_with_vowel_signs(tmp_path: Path) -> None:
    assert wrong(tmp_path, MARKS) == {}


def test_headings_with_superscripts_and_fractions(tmp_path: Path) -> None:
    assert wrong(tmp_path, NUMBERS) == {}


def test_headings_with_emoji(tmp_path: Path) -> None:
    assert wrong(tmp_path, EMOJI) == {}


def test_headings_with_emoji_that_have_a_variation_selector(tmp_path: Path) -> None:
    assert wrong(tmp_path, VARIATION) == {}


def test_headings_with_links_around_images_and_brackets(tmp_path: Path) -> None:
    assert wrong(tmp_path, IMAGES) == {}


def test_repeated_headings_are_numbered(tmp_path: Path) -> None:
    page = "".join(f"# {name}\n\n" for name in ("foo", "foo", "foo-1", "foo", "Foo"))
    every = ["foo", "foo-1", "foo-1-1", "foo-2", "foo-3"]

    assert sections(tmp_path, page, *every, "foo-4") == every


def test_a_heading_may_refer_to_a_definition_whose_target_is_on_the_next_line(tmp_path: Path) -> None:
    page = "# Title\n\n## The [name][label] here\n\n[label]:\n    #there\n"

    assert sections(tmp_path, page, "the-name-here") == ["the-name-here"]


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_fence_line_with_a_language_closes_no_fence(tmp_path: Path, fence: str) -> None:
    page = f"# Install\n\n{fence}sh\nnpm i\n{fence}js\n# no heading\n{fence}\n\n## Usage\n"

    assert sections(tmp_path, page, "install", "no-heading", "usage") == ["install", "usage"]


def test_only_a_fence_as_long_closes_a_fence(tmp_path: Path) -> None:
    page = "# Install\n\n````md\n```\n# no heading\n```\n````\n\n## Usage\n"

    assert sections(tmp_path, page, "install", "no-heading", "usage") == ["install", "usage"]


def test_inline_code_in_three_backticks_opens_no_fence(tmp_path: Path) -> None:
    page = "# Install\n\n``` `npm` ``` installs it.\n\n## Usage\n"

    assert sections(tmp_path, page, "install", "usage") == ["install", "usage"]


def test_a_comment_has_no_headings(tmp_path: Path) -> None:
    page = "# Install\n\n<!--\n# Usage\n-->\n\n## Usage\n\nthe text\n"
    with reading(tmp_path, {"page.md": page}) as reader:
        assert reader.read("page.md#usage")["content"] == "## Usage\n\nthe text\n"
