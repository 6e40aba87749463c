"""Patterns of secrets with a known format: issuers' keys and tokens, and PEM blocks.

Lookbehinds, possessive quantifiers and bounds keep matching linear on hostile text: no pattern may start inside its
own characters or scan a stretch twice.
"""

from __future__ import annotations

import re

REDACTED = "<redacted>"
"""Placeholder for a secret."""


_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_AFTER_START = (
    r"eyJ[\w-]{5,}+\.[\w-]{5,}+(?:\.[\w-]*+)?",
    r"eyJrIjoi[A-Za-z0-9+/]{30,}+=*+",  # Grafana's API keys
    r"A(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Za-z])",
    r"(?:gh[pousr]_|github_pat_|npm_|hf_|lin_api_|ntn_)[\w-]{20,}+",
    r"(?:gl(?:pat|rt)-|pypi-)[\w-]{20,}+",
    r"gl(?:sa|c)_[\w+/-]{20,}+=*+",
    r"x(?:ox[a-z]|app)-[\w-]{10,}+",
    r"sk-(?=[A-Za-z_-]*+[0-9])[\w-]{16,}+",
    r"(?:[rsp]k_(?:live|test)|whsec)_\w{10,}+",
    r"(?:AIza[\w-]{30,}+|GOCSPX-[\w-]{20,}+|ya29\.[\w-]{20,}+)",
    r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    r"hv[sbr]\.[\w-]{20,}+",
    r"do[opr]_v1_[a-f0-9]{32,}+",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}+",
    r"(?:key-|dapi)[a-f0-9]{32}(?![a-f0-9])",
    r"(?:PMAK-|ATATT3|sq0(?:atp|csp)-|dp\.pt\.)[\w-]{20,}+",
    r"[0-9]{8,10}:AA[\w-]{30,}+",  # Telegram's bots
    r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+",
)
TOKEN = re.compile(rf"{_PEM}|(?<![A-Za-z0-9_-])(?:{'|'.join(_AFTER_START)})", re.ASCII)
"""A token or key of any of these formats."""
_WORD = b"-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_AS_RUNS = bytes(ord("-") if code in _WORD else ord(" ") for code in range(256))
_RUN = b"-" * 15


def has_long_run(text: str) -> bool:
    """Return whether a text has 15 letters, digits, `_` or `-` in a row, as every token has, and few other texts.

    A translation and a search take a third of the time of a regular expression.
    """
    return len(text) >= len(_RUN) and _RUN in text.encode("ascii", "replace").translate(_AS_RUNS)
