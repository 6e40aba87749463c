"""What secrets look like in a text.

Each entry: substrings of which one must be there (a fast look in C before any pattern runs), the pattern, and what is
put in place. No pattern may start inside its own characters or scan a stretch twice: hence the lookbehinds, the
possessive quantifiers and the bounds, which keep hostile text at linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["PATTERNS", "REDACTED", "TOKENS", "Secret"]

REDACTED = "<redacted>"
"""Stands in place of a secret."""


class Secret(NamedTuple):
    """One kind of secret: where to look (lower case), what it looks like, what takes its place.

    A token looks like nothing else; of the other kinds, some are only what is likely to be one.
    """

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str = REDACTED
    is_token: bool = False


_NAME = (
    r"(?:pass(?:words?|wd|phrase)|pwd|secret|token|credentials?|(?:api|access|private|secret|signing|account)[_-]?key)"
)
_SCHEME = r"(?:basic|bearer|digest|negotiate|token|aws4-hmac-sha256)"

PATTERNS = (
    Secret(
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
        is_token=True,
    ),
    Secret(("eyj",), re.compile(r"(?<![\w-])eyJ[\w-]{5,}+\.[\w-]{5,}+(?:\.[\w-]*+)?", re.ASCII), is_token=True),
    Secret(
        ("authorization",),
        re.compile(
            rf"""(?i)(?<![a-z])(authorization["']?\s{{0,4}}[:=]\s{{0,4}}["']?)(?:{_SCHEME}\s[^\r\n"']*+|[^\s"',;]{{8,}}+)"""
        ),
        rf"\1{REDACTED}",
    ),
    Secret(
        ("cookie",),
        re.compile(r"""(?i)(?<![a-z])(cookie["']?\s{0,4}[:=]\s{0,4}["']?)(?!<)[^\s=;"']++=[^\r\n"']*+"""),
        rf"\1{REDACTED}",
    ),
    Secret(("bearer",), re.compile(r"(?i)(?<![a-z])(bearer)\s{1,4}[\w.~+/-]{16,}+=*+", re.ASCII), rf"\1 {REDACTED}"),
    Secret(("akia", "asia"), re.compile(r"(?<![A-Za-z0-9])A(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Za-z])"), is_token=True),
    Secret(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "hf_", "pypi-"),
        re.compile(r"(?<![\w-])(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_|pypi-)[\w-]{20,}+", re.ASCII),
        is_token=True,
    ),
    Secret(("xox", "xapp-"), re.compile(r"(?<![\w-])x(?:ox[a-z]|app)-[\w-]{10,}+", re.ASCII), is_token=True),
    Secret(("sk-",), re.compile(r"(?<![\w-])sk-(?=[A-Za-z_-]*+[0-9])[\w-]{16,}+", re.ASCII), is_token=True),
    Secret(("k_live_", "k_test_"), re.compile(r"(?<![\w-])[rsp]k_(?:live|test)_\w{10,}+", re.ASCII), is_token=True),
    Secret(("aiza",), re.compile(r"(?<![\w-])AIza[\w-]{30,}+", re.ASCII), is_token=True),
    Secret(("://",), re.compile(r"(?<=://)([^\s/@:?#]{0,256}):[^\s/?#]{1,1024}@"), rf"\1:{REDACTED}@"),
    Secret(
        ("pass", "pwd", "secret", "token", "credential", "key"),
        re.compile(
            rf"""(?i)(?<![\w-])([\w-]{{0,60}}?{_NAME}(?:["']?\s{{0,3}}=\s{{0,3}}|["']\s{{0,3}}:\s{{0,3}}(?=["'0-9<])))"""
            r"""(?:"[^"\r\n]++"|'[^'\r\n]++'|["']?[^\s"'&,;)}\]]++)""",
            re.ASCII,
        ),
        rf"\1{REDACTED}",
    ),
)

TOKENS = tuple(secret for secret in PATTERNS if secret.is_token)
"""Those that can be told from the text alone."""
