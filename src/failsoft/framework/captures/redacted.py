"""Arguments for a capture: as exact JSON if they are JSON, and without secrets, with the places where some were."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from failsoft.framework.arguments.accepted import NOTHING_KNOWN, Accepted
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact, secrets_of, without
from failsoft.framework.safe.tokens import REDACTED
from failsoft.framework.text import bounded

_PIECE, _OVERLAP = 16_384, 4_096
"""Characters of a long text that are searched for secrets at once, and those that two pieces share: a pattern holds
the interpreter while it runs."""
_PATHS_AT_MOST = 100
_ENCODER = json.JSONEncoder(allow_nan=False)
_NAMES, _SCALARS = frozenset({str}), frozenset({str, int, float, bool, type(None)})
_PATH_AT_MOST = 200


def exact(value: Any) -> str | None:
    """Return a value as ASCII JSON that reads back equal, lone surrogates included; None if there is no such JSON."""
    if type(value) is not dict and isinstance(value, Mapping):
        value = dict(value)
    try:
        text = _ENCODER.encode(value)
        if (
            type(value) is dict
            and _NAMES.issuperset(map(type, value))
            and _SCALARS.issuperset(map(type, value.values()))
        ):
            return text  # most calls: nothing in it reads back as anything else
        return text if json.loads(text) == value else None
    except (TypeError, ValueError, RecursionError):
        return None


def redacted(tree: Any, accepted: Accepted = NOTHING_KNOWN) -> tuple[Any, list[str]]:
    """Return a JSON tree without secrets, and the paths of what was changed (`a.0.b`; at most 100).

    Args:
        tree: The tree.
        accepted: What its schema says of it, which may mark parts as secret.
    """
    try:
        shown = _without_secrets(tree, accepted)
    except RecursionError:
        tree = json_safe(tree)
        shown = _without_secrets(tree, accepted)
    if shown == tree:
        return tree, []
    changed = _changes(tree, shown)
    return shown, list(dict.fromkeys(path for path, _ in zip(changed, range(_PATHS_AT_MOST), strict=False)))


def _without_secrets(tree: Any, accepted: Accepted) -> Any:
    secrets = _secrets_in(tree) + accepted.secrets_in(tree)
    return without(redact(_without_long_secrets(accepted.without_secrets(tree))), secrets)


def _secrets_in(tree: Any) -> tuple[str, ...]:
    if isinstance(tree, Mapping):
        return secrets_of(tree) + tuple(found for value in tree.values() for found in _in_lists(value))
    return tuple(_in_lists(tree))


def _in_lists(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _secrets_in(item)


def _without_long_secrets(tree: Any) -> Any:
    """Return a tree in which a long text that holds a secret is redacted whole, and other long texts are as before."""
    if isinstance(tree, str):
        return REDACTED if len(tree) > _PIECE and _holds_secret(tree) else tree
    if isinstance(tree, dict):
        return {name: _without_long_secrets(value) for name, value in tree.items()}
    return [_without_long_secrets(value) for value in tree] if isinstance(tree, list) else tree


def _holds_secret(text: str) -> bool:
    for start in range(0, len(text), _PIECE - _OVERLAP):
        piece = text[start : start + _PIECE]
        if redact(piece) != piece:
            return True
        time.sleep(0)  # lets other threads run
    return False


def _changes(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which two trees differ; a key that was redacted counts as its object."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for name, value in before.items():
            yield from _changes(value, after[name], f"{path}.{name}" if path else str(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, value in enumerate(before):
            yield from _changes(value, after[place], f"{path}.{place}" if path else str(place))
    else:
        yield bounded(path, _PATH_AT_MOST)
