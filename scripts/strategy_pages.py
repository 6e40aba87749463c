"""The pages on the strategies, from their docstrings, options and facts."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

from failsoft.recovery.configuration.configurable import CONFIGURABLE, Configurable
from failsoft.recovery.facts import StrategyFacts


def pages() -> dict[str, str]:
    """Return the page of each strategy, and the list of all, by file name."""
    made = {f"{name}.md": "\n".join(_page(name, known)) for name, known in CONFIGURABLE.items()}
    return {"index.md": "\n".join(_index()), **made}


def _index() -> Iterator[str]:
    yield from ("# Strategies", "", "What each does, its defaults, when to use it, and what it is not for.", "")
    yield from ("| strategy | place | what it does |", "|---|---|---|")
    for name, known in CONFIGURABLE.items():
        first = _paragraphs(known.strategy)[0]
        yield f"| [`{known.strategy.__name__}`]({name}.md) | {guide_of(known).place} | {first} |"
    yield from (
        "",
        "The places are those of the [chain](../../explanation/recovery.md#place-in-the-call).",
        "",
    )


def _page(name: str, known: Configurable) -> Iterator[str]:
    guide, paragraphs = guide_of(known), _paragraphs(known.strategy)
    yield from (f"# {known.strategy.__name__}", "", paragraphs[0], "", f"**Use it where** {guide.use}", "")
    yield from (f"**Not for** {guide.not_for}", "")
    for paragraph in paragraphs[1:]:
        yield from (paragraph, "")
    source = re.search(r"Source: (.*?)(?:\n\n|$)", inspect.getdoc(known.strategy) or "", re.DOTALL)
    if source:
        yield from (f"Source: {' '.join(source[1].split())}", "")
    yield from _options(known)
    yield from ("## How to set it", "", f"Its place in the chain is `{guide.place}`, its name there `{name}`.", "")
    yield from _examples(name, known)


def _options(known: Configurable) -> Iterator[str]:
    if known.options is None:
        return
    meanings = _meanings(known.options)
    yield from ("## Options", "", "| option | default | meaning |", "|---|---|---|")
    for field in dataclasses.fields(known.options):
        default = "" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        yield f"| `{field.name}` | {default} | {meanings[field.name]} |"
    yield ""


def _examples(name: str, known: Configurable) -> Iterator[str]:
    arguments = ", ".join(f"{key}={value!r}" for key, value in guide_of(known).example.items())
    if name == "fallback":
        yield from ("It needs a function, so it is set in code:", "")
        arguments = "lambda: []"
    yield from ("```python", f"@operation(recovery=[{known.strategy.__name__}({arguments})])", "```", "")
    if not known.is_made:
        return
    shown = ", ".join(f"{key} = {json.dumps(value)}" for key, value in guide_of(known).example.items())
    yield from ("For operators, in the [recovery file](../../how-to/configure-recovery.md):", "")
    yield from (
        "```toml",
        "[tools.shop.operations.fetch]",
        f"{name} = {f'{{{shown}}}' if shown else 'true'}",
        "```",
        "",
    )


def guide_of(known: Configurable) -> StrategyFacts:
    """Return what a strategy declares about its use."""
    if known.facts is None:
        return StrategyFacts(None, "", "", "")
    return known.facts


def _paragraphs(described: type[Any]) -> list[str]:
    """Return what a docstring says before its lists of arguments."""
    text = re.split(r"\n\n(?:Args|Raises|Source|Example|Attributes):", inspect.getdoc(described) or "")[0]
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _meanings(options: type[Any]) -> dict[str, str]:
    """Return what the docstring of the options says of each."""
    text = (inspect.getdoc(options) or "").partition("Args:\n")[2]
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {name: " ".join(meaning.split()).replace("|", "\\|") for name, meaning in found}
