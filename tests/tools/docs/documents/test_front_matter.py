"""Front matter as it is found: broken, odd or hostile, it never costs the document."""

from __future__ import annotations

import json
import subprocess
import time
import tracemalloc
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from tests.doors import ALIASES_AT_MOST, NESTING_AT_MOST, NODES_AT_MOST, read_front_matter
from tests.zygote import PYTHON


@pytest.mark.parametrize(
    ("text", "data", "content"),
    [
        ("---\ntitle: Intro\n---\nBody\n", {"title": "Intro"}, "Body\n"),
        ("---\r\ntitle: Intro\r\n---\r\nBody\r\n", {"title": "Intro"}, "Body\r\n"),
        ("\ufeff---\ntitle: Intro\n---\nBody", {"title": "Intro"}, "Body"),
        ("---  \ntitle: Intro\n---\t\nBody", {"title": "Intro"}, "Body"),
        ("---\ntitle: Intro\n...\nBody", {"title": "Intro"}, "Body"),
        ("---\ntitle: Intro\n---", {"title": "Intro"}, ""),
        ("---\n---\nBody", {}, "Body"),
        ("---\n# only a comment\n---\nBody", {}, "Body"),
        ("---\nnull\n---\nBody", {}, "Body"),
        ("Body", {}, "Body"),
        ("", {}, ""),
        ("\ufeffBody", {}, "Body"),
        ("----\ntitle: x\n---\n", {}, "----\ntitle: x\n---\n"),
        ("\n---\ntitle: not at the top\n---\n", {}, "\n---\ntitle: not at the top\n---\n"),
        ("# Title\n\n---\n\na rule\n", {}, "# Title\n\n---\n\na rule\n"),
    ],
)
def test_a_block_at_the_top_is_read_and_taken_off(text: str, data: dict[str, Any], content: str) -> None:
    assert read_front_matter(text)[:5] == (data, content, content, "", 0)


@pytest.mark.parametrize(
    "block",
    [
        "title: Tools: an overview",
        'title: "unclosed',
        "title: [a, b",
        "title: {a: 1",
        "title: Intro\n description: indented by one",
        "\ttitle: a tab",
        "title: @handle",
        "title: `code`",
        "title: %percent",
        "title: *nothing",
        "title: &a &b x",
        "tags:\n- a\nb",
        "? [complex\n: key",
        "!!python/object/apply:os.system ['true']",
        "!!python/name:os.system",
        "!unknown tag",
        "{{ template }}",
        "{% if x %}",
        "<<<<<<< HEAD\ntitle: a\n=======\ntitle: b\n>>>>>>> other",
        "date: 2024-13-45",
        "date: 2024-02-30 25:61:61",
        "number: " + "1" * 5000,
        "a: \x01",
        "title: \ud800",
        "just a sentence",
        "- a\n- list",
        "42",
        "true",
        "2024-01-01",
        "key: " + "x" * 70_000,
        "[" * 50_000,
        "- " * 30_000 + "x",
        "a: " + "{a: " * 15_000,
        "- " * (NESTING_AT_MOST + 1) + "x",
        "a: &a [*a]",
        "a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, ALIASES_AT_MOST)),
        f"a: &a [{'x, ' * 40}]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c]",
        "a:\n" + "- x\n" * (NODES_AT_MOST + 1),
    ],
    ids=lambda block: block[:30],
)
def test_a_block_that_cannot_be_understood_is_a_warning_and_nothing_is_lost(block: str) -> None:
    text = f"---\n{block}\n---\n# Body\n"

    found = read_front_matter(text)

    assert found.warning
    assert found[:3] == ({}, text, "# Body\n")
    assert found.fault_line >= 1


def test_a_block_that_never_ends_is_a_warning() -> None:
    found = read_front_matter("---\ntitle: Intro\n\n# Body\n")

    assert (found.data, found.content, bool(found.warning)) == ({}, "---\ntitle: Intro\n\n# Body\n", True)


@pytest.mark.parametrize(
    ("block", "data"),
    [
        ("title: 42", {"title": 42}),
        ("title: null", {"title": None}),
        ("title: yes", {"title": True}),
        ("hero: false", {"hero": False}),
        ("date: 2026-01-19", {"date": "2026-01-19"}),
        ("date: 2026-01-19T15:32:10Z", {"date": "2026-01-19T15:32:10Z"}),
        ("n: .nan", {"n": None}),
        ("n: -.inf", {"n": None}),
        ("2: two\n1.5: x\ntrue: yes\nnull: n", {"2": "two", "1.5": "x", "true": True, "null": "n"}),
        ("2026-01-19: a day", {"2026-01-19": "a day"}),
        ("tags: !!set {a, b}", {"tags": ["a", "b"]}),
        ("raw: !!binary aGVsbG8=", {"raw": "hello"}),
        ("a: &x {k: v}\nb: *x", {"a": {"k": "v"}, "b": {"k": "v"}}),
        ("time: 1:30:00", {"time": 5400}),
        ("title: Ünï", {"title": "Ünï"}),
        ("title: first\ntitle: second", {"title": "second"}),
        ("big: 0x" + "f" * 400, {"big": 16**400 - 1}),
    ],
)
def test_values_become_what_json_can_say(block: str, data: dict[str, Any]) -> None:
    found = read_front_matter(f"---\n{block}\n---\n")

    assert ({key: sorted(value) if isinstance(value, list) else value for key, value in found.data.items()}) == data
    json.dumps(found.data, allow_nan=False).encode()


def test_pairs_as_keys_become_text() -> None:
    found = read_front_matter("---\n? [a, b]\n: x\n---\n")

    assert json.dumps(found.data)


def test_deep_nesting_does_not_take_the_process_down() -> None:
    script = (
        "from tests.doors import read_front_matter as read\n"
        "for deep in ('[' * 60_000, '- ' * 30_000, '{a: ' * 15_000, '? ' * 30_000, '- ? ' * 15_000):\n"
        "    assert read(f'---\\n{deep}\\n---\\n').warning\n"
        "print('alive')\n"
    )
    done = subprocess.run(
        [PYTHON, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    found = read_front_matter(text)

    json.dumps(found.data, allow_nan=False).encode()
    assert text.endswith(found.body)


@given(st.text(st.sampled_from("abt:- \n[]{}#&*!|>'\"%@`?,.~<0123456789é\t\r"), max_size=200))
def test_any_block_is_read(block: str) -> None:
    found = read_front_matter(f"---\n{block}\n---\nbody")

    json.dumps(found.data, allow_nan=False).encode()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.dates()
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(min_size=1, max_size=10), values, max_size=6))
def test_whatever_yaml_can_hold_becomes_json(data: dict[str, Any]) -> None:
    found = read_front_matter(f"---\n{yaml.safe_dump(data)}---\nbody")

    json.dumps(found.data, allow_nan=False).encode()
    assert found.warning or len(found.data) == len(data)


def merged(levels: int, fan: int, width: int, key: str = "<<") -> str:
    """Return a page whose front matter merges each map several times into the next."""
    lines = ["---", "a0: &a0 {" + ", ".join(f"k{number}: {number}" for number in range(width)) + "}"]
    lines += [f"a{n}: &a{n} {{{key}: [{', '.join([f'*a{n - 1}'] * fan)}]}}" for n in range(1, levels + 1)]
    return "\n".join([*lines, "---", "Body", ""])


@pytest.mark.parametrize(("levels", "fan", "width"), [(9, 2, 20), (5, 4, 20), (2, 10, 100)])
def test_merge_keys_count_as_what_they_expand_to(levels: int, fan: int, width: int) -> None:
    if not read_front_matter(merged(levels, fan, width, key="x")).warning:
        raise RuntimeError
    assert read_front_matter(merged(levels, fan, width)).warning


def test_merge_keys_cost_no_more_than_the_maps_they_are_in() -> None:
    def cost_s(text: str, times: int) -> float:
        begun = time.process_time()
        for _ in range(times):
            read_front_matter(text)
        return (time.process_time() - begun) / times

    plain = min(cost_s(merged(0, 0, 150), 5) for _ in range(3))
    assert cost_s(merged(6, 3, 150), 1) < 20 * plain


BOMBS = {
    "list of aliases": "---\na: &a [x, x]\n" + "".join(f"b{n}: &a [*a, *a]\n" for n in range(9)) + "---\n",
    "map of aliases": "---\na: &a {p: 1}\n" + "".join(f"b{n}: &a {{p: *a, q: *a}}\n" for n in range(10)) + "---\n",
    "recursive alias": "---\na: &a [*a]\n---\n",
    "open brackets": f"---\na: {'[' * 30_000}\n---\n",
    "integer": f"---\na: {'9' * 60_000}\n---\n",
    "base 60": f"---\na: {':'.join(['1'] * 9_000)}\n---\n",
    "key": f"---\n? {'a' * 60_000}\n: 1\n---\n",
    "anchors": "---\n" + "".join(f"k{n}: &a{n} x\n" for n in range(2_000)) + "---\n",
    "timestamps": "---\n" + "".join(f"k{n}: 2026-01-01 12:00:00.{'1' * 30} +99:99\n" for n in range(900)) + "---\n",
    "set": f"---\na: !!set {{{','.join(f'k{n}' for n in range(3_000))}}}\n---\n",
    "TOML dotted key": f"+++\na{'.a' * 12_000} = 1\n+++\n",
    "TOML dotted key in an inline table": f"+++\na = {{b{'. a' * 12_000} = 1}}\n+++\n",
    "TOML quoted dotted key": '+++\n"="' + ".'='" * 9_000 + " = 1\n+++\n",
    "TOML dotted table": f"+++\n[a{'.a' * 12_000}]\n+++\n",
    "TOML inline tables": f"+++\na = {'{a=' * 10_000}\n+++\n",
    "TOML integer": f"+++\na = {'9' * 60_000}\n+++\n",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_block_costs_in_proportion_to_its_size_whatever_it_expands_to(text: str) -> None:
    plain = "---\n" + "".join(f"k{number}: word\n" for number in range(2_000)) + "---\n"
    costs = []
    for page in (plain, text):
        tracemalloc.start()
        begun = time.process_time()
        read_front_matter(page)
        costs.append((time.process_time() - begun, tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
    (plain_s, plain_bytes), (spent_s, spent_bytes) = costs
    assert spent_s < 4 * plain_s
    assert spent_bytes < 10 * plain_bytes
