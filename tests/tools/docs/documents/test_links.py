"""The links of a page lead to the pages that a site means by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.docs.reader import reading


def links(folder: Path, page: str, text: str, *others: str) -> list[str]:
    """Return the links of a page among others."""
    with reading(folder, {page: text, **dict.fromkeys(others, "# Title\n")}) as reader:
        found: list[str] = reader.read(page)["links"]
        return found


def test_relative_and_absolute_paths_of_files_are_links(tmp_path: Path) -> None:
    text = "[a](../intro.md) [b](/guide/setup.mdx#x) [c](./more) [d](/guide/cms/index) [e](/my%20page.md)\n"

    assert links(
        tmp_path,
        "guide/a.md",
        text,
        "intro.md",
        "guide/setup.mdx",
        "guide/more.md",
        "guide/cms/index.mdx",
        "my page.md",
    ) == [
        "intro.md",
        "guide/setup.mdx",
        "guide/more.md",
        "guide/cms/index.mdx",
        "my page.md",
    ]


def test_a_link_that_ends_with_a_slash_leads_to_a_page(tmp_path: Path) -> None:
    text = '[a](/en/guides/markdown/)\n<Link href="/en/config/#x">b</Link>\n\n[c]: /en/install/\n'

    assert sorted(
        links(tmp_path, "en/images.mdx", text, "en/guides/markdown.mdx", "en/config.mdx", "en/install.md")
    ) == [
        "en/config.mdx",
        "en/guides/markdown.mdx",
        "en/install.md",
    ]


ASTRO = """\
import Since from '~/components/Since.astro';

:::tip[See [the guide](/en/guides/aside/)]
<ReadMore>More in [**bold**](/en/guides/bold/).</ReadMore>
:::

| [`image.domains`](/en/reference/config/#imagedomain) | [`image`][ref] |
|---|---|

- an [import alias](/en/guides/aliases/), [this page](#own), [elsewhere](https://example.org/en/guides/web/)
  1. <a href="/en/guides/href/">there</a>, [index](/en/guides/cms/index), [file](../guides/file.mdx#x)

```astro
[code](/en/guides/code/)
```

[ref]: /en/reference/modules/
"""


def test_the_links_of_an_mdx_page_are_found_in_asides_components_tables_and_lists(tmp_path: Path) -> None:
    names = "guides/aside guides/bold reference/config reference/modules guides/aliases guides/href guides/cms/index"
    others = [f"en/{name}.mdx" for name in [*names.split(), "guides/file"]]

    found = links(tmp_path, "en/guides/images.mdx", ASTRO, *others, "en/guides/code.mdx", "en/guides/web.mdx")

    assert sorted(found) == sorted(others)


def test_a_link_may_begin_with_the_name_of_the_documentation_folder(tmp_path: Path) -> None:
    assert links(tmp_path, "a.mdx", "[a](/docs/guides/forms)\n", "guides/forms.mdx") == ["guides/forms.mdx"]


def test_a_link_leaves_out_route_groups(tmp_path: Path) -> None:
    assert links(tmp_path, "a.mdx", "[a](/guides/forms)\n", "(app)/guides/forms.mdx") == ["(app)/guides/forms.mdx"]


def test_a_link_may_have_the_ending_of_the_shown_page(tmp_path: Path) -> None:
    assert links(tmp_path, "a.md", "[a](guide/forms.html)\n", "guide/forms.md") == ["guide/forms.md"]


@pytest.mark.parametrize(
    "text",
    [
        "[a [b] c](/other.md)",
        '[a](/other.md "Title (with) parentheses")',
        "[`f(x)`][1]\n\n[1]: </other.md>\n\n[a](/f(x).md)",
    ],
    ids=["text", "title", "target"],
)
def test_a_link_may_hold_brackets(tmp_path: Path, text: str) -> None:
    found = links(tmp_path, "a.md", text, "other.md", "f(x).md")

    assert found == (["other.md", "f(x).md"] if "f(x).md" in text else ["other.md"])


def test_the_target_of_a_definition_may_be_on_the_next_line(tmp_path: Path) -> None:
    assert links(tmp_path, "a.md", "See [b].\n\n[b]:\n    other.md\n[c]:\n\nmore.md\n", "other.md", "more.md") == [
        "other.md"
    ]


def test_inline_code_has_no_links(tmp_path: Path) -> None:
    assert links(tmp_path, "a.md", "Write `[text](other.md)` for a link.\n", "other.md") == []


def test_code_has_no_links(tmp_path: Path) -> None:
    text = "```md\n[a](other.md)\n```js\n[b](other.md)\n```\n"

    assert links(tmp_path, "a.md", text, "other.md") == []
