"""The pages on the strategies: what each does and its defaults from the code, when to use it and when not from here."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from failsoft.recovery.configurable import CONFIGURABLE, Configurable


@dataclass(frozen=True)
class Guide:
    """What nobody can read from the code: when a strategy is right, when it is wrong, and values for an example."""

    use: str
    not_for: str
    example: dict[str, Any] = dataclasses.field(default_factory=dict)
    place: str = ""


GUIDES = {
    "adaptive_concurrency": Guide(
        "calls queue up behind a service and nobody knows how many it can take at once, or the number changes.",
        "calls whose duration depends on their arguments: a long one looks like a queue. Where you know the number, a "
        "`Bulkhead` is simpler.",
        place="admit",
    ),
    "alternate_path": Guide(
        "a tool takes a path to a document, and callers know it under its other extension, in other case or by an "
        "alias.",
        "anything where a similar path is another thing: it serves only what is certainly the same document.",
        place="recover",
    ),
    "attempt_timeout": Guide(
        "a run may hang, and a second one would answer: leave time for it with a limit of about a third of the call's.",
        "the limit of the whole call, which is `timeout=`; writes, which are not run again after a time-out.",
        {"seconds": 3.0},
        "attempt_timeout",
    ),
    "bulkhead": Guide(
        "a dependency takes only so many calls at once, as a pool of connections does, or a slow one must not take all "
        "threads away from the others.",
        "limits over all replicas: it counts in its own process. A rate (so many a minute) is a `RateLimit`.",
        {"limit": 10},
        "bulkhead",
    ),
    "chaos": Guide(
        "you want to see that everything outside copes with faults: in tests, or for a share of calls behind a gate.",
        "servers that people rely on, without a gate.",
        {"seed": 1, "fault": 0.1},
        "chaos",
    ),
    "circuit_breaker": Guide(
        "a dependency is down now and then, and waiting for it costs every caller its time and the dependency its "
        "recovery. Name the dependency, so that all operations on it share one circuit.",
        "errors of the caller, which never count; a dependency without which nothing works and which nobody else "
        "uses: a time-out does the same there. For a single slow call use `AttemptTimeout`.",
        {"dependency": "billing"},
        "breaker",
    ),
    "fallback": Guide(
        "there is a second-best answer that needs none of what failed: a default, a list kept in memory.",
        "errors that the caller can mend, which should reach the caller; writes that may have happened; a second "
        "service that fails with the first.",
        place="fallback",
    ),
    "hedge": Guide(
        "most answers come quickly, a few very late, and there are several servers behind the service.",
        "writes; a service that is slow because it is busy: more calls make it slower.",
        {"delay_s": 0.5},
        "hedge",
    ),
    "idempotency": Guide(
        "callers may send the same work twice. It is there for every operation that changes something; list it to keep "
        "outcomes for another time, or to derive keys from arguments.",
        "answers to save time on: that is `StaleCache`. It does not lock: two keys for one piece of work are two.",
        place="idempotency",
    ),
    "rate_limit": Guide(
        "a service allows so many calls a minute, or one caller must not use up what is there for all.",
        "protection from load: calls within the rate may still be too many at once, which is for a `Bulkhead`.",
        {"limit": "100/minute"},
        "admit",
    ),
    "repair_arguments": Guide(
        "callers are weak models that write numbers as text or misspell a parameter, and cannot learn from a refusal.",
        "callers that read what they are told: one that is always mended never learns.",
        place="repair",
    ),
    "retry": Guide(
        "an error goes away by itself: a service is busy, a connection breaks, a request times out.",
        "errors that come back: a bad argument, a missing page. It never runs work again that may have been done, "
        "unless the operation says that this is harmless.",
        place="recover",
    ),
    "retry_budget": Guide(
        "`Retry` or `Hedge` may make an outage worse: always, in other words. A default runtime has one for each "
        "toolset.",
        "bounding first runs: that is a `RateLimit`.",
        place="fallback",
    ),
    "stale_cache": Guide(
        "an answer of some minutes ago is better than none, as with documents, prices in a catalogue, a list of names.",
        "anything that changes something; answers that must be of now.",
        {"ttl_s": 60.0, "stale_s": 600.0},
        "cache",
    ),
}


def pages() -> dict[str, str]:
    """Return the page of each strategy, and the list of all, by file name."""
    made = {f"{name}.md": "\n".join(_page(name, known)) for name, known in CONFIGURABLE.items()}
    return {"index.md": "\n".join(_index()), **made}


def _index() -> Iterator[str]:
    yield from ("# Strategies", "", "What each does, its defaults, when to use it, and what it is not for.", "")
    yield from ("| strategy | place | what it does |", "|---|---|---|")
    for name, known in CONFIGURABLE.items():
        first = _paragraphs(known.strategy)[0]
        yield f"| [`{known.strategy.__name__}`]({name}.md) | {GUIDES[name].place} | {first} |"
    yield from (
        "",
        "The places are those of the [chain](../../explanation/recovery.md#where-it-stands-in-the-call).",
        "",
    )


def _page(name: str, known: Configurable) -> Iterator[str]:
    guide, paragraphs = GUIDES[name], _paragraphs(known.strategy)
    yield from (f"# {known.strategy.__name__}", "", paragraphs[0], "", f"**Use it where** {guide.use}", "")
    yield from (f"**Not for** {guide.not_for}", "")
    for paragraph in paragraphs[1:]:
        yield from (paragraph, "")
    source = re.search(r"Source: (.*?)(?:\n\n|$)", inspect.getdoc(known.strategy) or "", re.DOTALL)
    if source:
        yield from (f"Source: {' '.join(source[1].split())}", "")
    yield from _options(known)
    yield from ("## How to set it", "", f"In the chain it stands at `{guide.place}`, under the name `{name}`.", "")
    yield from _examples(name, known, guide)


def _options(known: Configurable) -> Iterator[str]:
    if known.options is None:
        return
    meanings = _meanings(known.options)
    yield from ("## Options", "", "| option | default | meaning |", "|---|---|---|")
    for field in dataclasses.fields(known.options):
        default = "" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        yield f"| `{field.name}` | {default} | {meanings[field.name]} |"
    yield ""


def _examples(name: str, known: Configurable, guide: Guide) -> Iterator[str]:
    arguments = ", ".join(f"{key}={value!r}" for key, value in guide.example.items())
    if name == "fallback":
        yield from ("A function of yours takes part, so it is set in code:", "")
        arguments = "lambda: []"
    yield from ("```python", f"@operation(recovery=[{known.strategy.__name__}({arguments})])", "```", "")
    if not known.is_made:
        return
    told = ", ".join(f"{key} = {json.dumps(value)}" for key, value in guide.example.items())
    yield from ("For operators, in the [recovery file](../../how-to/configure-recovery.md):", "")
    yield from ("```toml", "[tools.shop.operations.fetch]", f"{name} = {f'{{{told}}}' if told else 'true'}", "```", "")


def _paragraphs(described: type[Any]) -> list[str]:
    """Return what a docstring says before its lists of arguments."""
    text = re.split(r"\n\n(?:Args|Raises|Source|Example|Attributes):", inspect.getdoc(described) or "")[0]
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _meanings(options: type[Any]) -> dict[str, str]:
    """Return what the docstring of the options says of each."""
    text = (inspect.getdoc(options) or "").partition("Args:\n")[2]
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {name: " ".join(meaning.split()).replace("|", "\\|") for name, meaning in found}
