"""Secrets beside a name or a command without a sign between them: shells, SQL, calls, lists of names and values."""

from __future__ import annotations

import re

from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.safe.tokens import REDACTED

_RANDOM_AT_LEAST = 6
_QUOTED = r"""(?:"(?>(?:[^"\r\n\\]|\\.){1,1024})"|'(?>(?:[^'\r\n\\]|\\.){1,1024})')"""

_COMMAND = re.compile(
    r"((?<![\w.-])(?:(?:mysql|mariadb)[\w-]{0,16}|sshpass|7z[ar]?|(?:docker|podman)\slogin|redis-cli|ldap[a-z]{3,10})"
    r"\s(?:[^\n|;&]{0,300}?\s)?-(?:p\s?|[aw]\s)|\s-[uU]\s\S{1,100}\s(?:[^\n|;&]{0,100}?\s)?-[pP]\s"
    r"|snmp[a-z]{3,9}\s(?:[^\n|;&]{0,300}?\s)?-[AXc]\s|(?:add_user|change_password|http-basic\.\S{1,100})\s\S{1,100}\s"
    r"|\s/user:\S{1,100}\s(?!/)|\s/p(?:ass(?:word)?)?:(?![^\s=]{1,100}=)|htpasswd\s-\w{0,4}b\w{0,4}\s\S{1,200}\s\S{1,100}\s|lftp\s-u\s[^\s,]{1,100},)"
    rf"(?!\d{{1,5}}(?:\s|\Z))({_QUOTED}|[^\s\"'<]{{1,1024}}+)"
)
"""Commands with a flag of one letter for a password."""
_PIPED = re.compile(
    r"(?<![\w.-])(echo\s{1,3})([^\n|<]{1,300}?)(\s{0,3}\|\s{0,3}(?:sudo\s(?:-\w\s)?-S|chpasswd|kinit|\S{1,40}\s(?:login|secret)))"
)
_SQL = re.compile(rf"(?i)(\bidentified\s(?:with\s\S{{1,40}}\s)?by\s(?:password\s)?)({_QUOTED})")
_ORACLE = re.compile(r"(oracle:\w{1,10}:[^/\s]{1,100}/)(?!<)([^@\s]{1,200})(?=@)")
_BESIDE = re.compile(rf"""(?<!\w)([A-Za-z][\w.-]{{0,60}}+)(["']\s{{0,2}},\s{{0,3}}|\s{{1,3}})({_QUOTED})""", re.ASCII)
"""A name and a value that are arguments beside each other, or a phrase of SQL."""
_LOGIN = re.compile(
    rf"""(?i)((?:login|auth|credentials?|pdo)(?:\s?=\s?)?\((?:(?:{_QUOTED}),\s?){{1,2}})({_QUOTED})(?=\))"""
)
"""A call with a user's name and a password, after a host or not."""
_FAULT = re.compile(rf"""(?m)(^([\w.]{{1,200}}+)\n\s{{1,4}}[^\n]{{1,300}}?\binput_value=)({_QUOTED})""", re.ASCII)
"""What pydantic says of a field."""
_SETTER = re.compile(
    rf"""(?i)(?<!\w)((?:set|with|network_?credential|basic_?auth)\w{{0,60}}+)(\((?:\s?{_QUOTED},)?\s?)({_QUOTED})""",
    re.ASCII,
)
_AFTER = re.compile(
    r"(?i)((?:password|passwd|secret|token|key)\s{1,3})(?=\D{0,60}\d)([\w.~+/-]{16,1024}+=*+)", re.ASCII
)
_VARIABLE = re.compile(r"(?<!\w)([A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,5})(\s{1,3})([^\s\"'=:]{6,1024}+)", re.ASCII)
_DEVICE = re.compile(
    r"(?i)(?<![\w.-])((?:password|secret)\s[057]\s|auth\s[\w.-]{1,40}:|(?:requirepass|masterauth|auth)\s)(?=[^\s\d]*\d)(\S{6,1024}+)",
    re.ASCII,
)
_LAST_WORDS = re.compile(r"(?:[A-Za-z]{1,20}\s)?[\w.-]{0,60}\Z", re.ASCII)
_NAMED_VALUE = re.compile(
    r"""((?:name|key)["']?\s{0,3}[:=]\s{0,3}["']?([A-Za-z][\w.-]{0,60}+)(?:["']?,?\s{1,40}["']?value["']?\s{0,3}[:=]"""
    rf"""\s{{0,3}}|["'](?:\r?\n){{2}}))({_QUOTED}|[^\s"',<>}}]{{1,1024}}+)""",
    re.ASCII,
)
"""An entry of a list of names and values in YAML, JSON, XML, or a part of a form."""


def without_secrets_of_commands(text: str, lowered: str) -> str:
    """Return the text without the passwords that commands of shells and databases are given."""
    if " -" in lowered or "|" in lowered or " /" in lowered or " http-" in lowered or "_user" in lowered:
        text = _COMMAND.sub(rf"\1{REDACTED}", _PIPED.sub(rf"\1{REDACTED}\3", text))
        text = _COMMAND.sub(rf"\1{REDACTED}", text)  # a second flag of the same command
    if "identified" in lowered:
        text = _SQL.sub(rf"\1{REDACTED}", text)
    if "oracle:" in lowered:
        text = _ORACLE.sub(rf"\1{REDACTED}", text)
    return text


def without_secrets_beside_names(text: str, lowered: str) -> str:
    """Return the text without values that follow the name of a secret and look like one."""
    if "value" in lowered or "name=" in lowered:
        text = _FAULT.sub(_without_named_value, _NAMED_VALUE.sub(_without_named_value, text))
    text = _AFTER.sub(_without_random, text)
    text = _VARIABLE.sub(_without_argument, _DEVICE.sub(rf"\1{REDACTED}", text))
    if '"' in text or "'" in text:
        text = _SETTER.sub(_without_argument, _LOGIN.sub(rf"\1{REDACTED}", text))
        text = _BESIDE.sub(_without_argument, text)
    return text


def is_mixed(value: str) -> bool:
    """Return whether a value looks like a password or a token where nothing but its place says so."""
    return len(value) >= _RANDOM_AT_LEAST and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _without_named_value(match: re.Match[str]) -> str:
    before, name, _ = match.groups()
    return f"{before}{REDACTED}" if is_secret_name(name) else match[0]


def _without_random(match: re.Match[str]) -> str:
    before, value = match.groups()
    name = _LAST_WORDS.search(match.string, max(0, match.start() - 80), match.start())
    is_secret = is_secret_name(f"{name[0] if name else ''}{before.rstrip()}")
    return f"{before}{REDACTED}" if is_secret and is_mixed(value) else match[0]


def _without_argument(match: re.Match[str]) -> str:
    name, between, value = match.groups()
    is_value = is_mixed(value.strip("\"'")) or "(" in between
    return f"{name}{between}{REDACTED}" if is_value and is_secret_name(name) else match[0]
