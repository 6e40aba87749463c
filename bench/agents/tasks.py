"""At least 200 tasks: a goal, the call that is meant, how it is broken, and what counts as done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Task", "broken", "reached", "tasks"]

Call = tuple[str, dict[str, Any]]
_LINES = [{"sku": "soup", "count": 2}, {"sku": "bread", "count": 1}]


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Args:
        name: What it is called.
        meant: The call that does it.
        first: The call that the agent begins with.
        fault: What goes wrong in the world.
        effect: What has to be done exactly once; empty for a task that only reads.
        stops: Whether the right end is to stop, since nothing helps.
    """

    name: str
    meant: Call
    first: Call
    fault: str = ""
    effect: str = ""
    stops: bool = False


MEANT: list[tuple[str, dict[str, Any], str]] = [
    ("search_documents", {"query": "guide", "limit": 5, "mode": "lexical"}, ""),
    ("search_documents", {"query": "menu", "limit": 1, "mode": "semantic"}, ""),
    ("get_document", {"path": "guide/intro.md"}, ""),
    ("get_document", {"path": "guide/setup.md"}, ""),
    ("write_document", {"path": "menu.txt", "text": "Stew"}, "write menu.txt Stew"),
    ("write_document", {"path": "new.md", "text": "New"}, "write new.md New"),
    ("place_order", {"customer": "c-7", "items": _LINES, "express": True}, "order c-7 2 True"),
    ("place_order", {"customer": "c-8", "items": _LINES[:1], "express": False}, "order c-8 1 False"),
    ("measure", {"compound": "glucose", "amount": 10.0}, ""),
    ("measure", {"compound": "acetate", "amount": 2.5}, ""),
    ("add_customer", {"email": "bob@example.org", "age": 30}, "customer bob@example.org"),
    ("add_customer", {"email": "eve@example.org", "age": 25}, "customer eve@example.org"),
    ("query", {"sql": "select count(*) from customers"}, ""),
    ("query", {"sql": "select email from customers"}, ""),
    ("cancel_order", {"order_id": "A-1"}, "cancel A-1"),
]


def _as_text(value: Any) -> Any:
    return json.dumps(value) if not isinstance(value, str) else None


def _camel(name: str) -> str | None:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest) if rest else name.title()


def broken(arguments: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the ways in which models break arguments, as far as they apply."""
    names = list(arguments)
    for name in names[:2]:
        yield f"camel {name}", {_camel(key) if key == name else key: value for key, value in arguments.items()}
        yield (
            f"misspelt {name}",
            {key[:-1] + key[-1] * 2 if key == name else key: value for key, value in arguments.items()},
        )
        yield f"missing {name}", {key: value for key, value in arguments.items() if key != name}
    for name, value in arguments.items():
        if not isinstance(value, str):
            yield f"text {name}", {**arguments, name: _as_text(value)}
        if isinstance(value, float):
            yield f"unit {name}", {**arguments, name: f"{value:g} mM"}
        if isinstance(value, list) and len(value) == 1:
            yield f"single {name}", {**arguments, name: value[0]}
        if value in ("lexical", "semantic"):
            yield f"typo {name}", {**arguments, name: value[:-2] + value[-1] + value[-2]}
    yield "unknown name", {**arguments, "verbose": True}
    if arguments[names[-1]] is not True:  # null means to leave it out, which would mean something else
        yield "null", {**arguments, names[-1]: None} if len(names) > 1 else {names[0]: None}


_WORLD = ("outage", "slow", "limited", "broken", "crash", "hostile", "program")


def tasks() -> list[Task]:
    """Return all tasks, always the same."""
    found: list[Task] = []
    for tool, arguments, effect in MEANT:
        meant = (tool, arguments)
        found.append(Task(f"{tool}", meant, meant, effect=effect))
        default = (tool, {name: value for name, value in arguments.items() if name != "mode"})
        found += [
            Task(f"{tool} {how}", default if how == "null" else meant, (tool, given), effect=effect)
            for how, given in broken(arguments)
        ]
        if tool != "cancel_order":
            found.append(
                Task(
                    f"{tool} other case",
                    meant,
                    (tool.title().replace("_", "-"), arguments),
                    effect=effect,
                    stops=bool(effect),
                )
            )
        for fault in _WORLD:
            never = fault in {"crash", "hostile", "program"} or (
                fault in {"slow", "broken", "limited"} and tool in {"place_order", "add_customer"}
            )
            found.append(Task(f"{tool} {fault}", meant, meant, fault, effect, stops=never))
    for customer in ("c-7", "c-8", "c-9"):
        order = ("place_order", {"customer": customer, "items": _LINES, "express": False})
        found.append(Task(f"order late {customer}", order, order, "late", f"order {customer} 2 False"))
    for wrong, right in (
        ("guide/intor.md", "guide/intro.md"),
        ("guide/Setup.md", "guide/setup.md"),
        ("menu.text", "menu.txt"),
    ):
        found.append(Task(f"path {wrong}", ("get_document", {"path": right}), ("get_document", {"path": wrong})))
    found.append(
        Task("id A-2", ("cancel_order", {"order_id": "A-2"}), ("cancel_order", {"order_id": "A-2"}), stops=True)
    )
    taken = ("add_customer", {"email": "ann@example.org", "age": 41})
    found.append(Task("taken email", taken, taken, stops=True))
    for sql in ("selct email from customers", "select email from custmers", "select mail from customers"):
        right = ("query", {"sql": "select email from customers"})
        found.append(Task(f"sql {sql}", right, ("query", {"sql": sql})))
    for text in ("Stew", "Salad", "Pie"):
        stale = {"path": "menu.txt", "text": text, "expected_sha": "deadbeef"}
        found.append(
            Task(f"stale {text}", ("write_document", stale), ("write_document", stale), effect=f"write menu.txt {text}")
        )
    return found


def reached(task: Task, world: Any) -> bool:
    """Return whether the effect was done exactly once and nothing else was."""
    return dict(world.effects) == ({task.effect: 1} if task.effect else {})
