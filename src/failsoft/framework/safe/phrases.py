"""Secrets by their place in a command, a phrase of SQL, a call or a list of names and values: a table of places."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from failsoft.framework.safe.harmless import is_like_password, is_mixed, is_placeholder, is_strong, is_word
from failsoft.framework.safe.secret_names import has_secret_word, is_secret_name, may_be_secret_name
from failsoft.framework.safe.tokens import REDACTED

_QUOTED = r"""(?:"(?>(?:[^"\r\n\\]|\\.){1,1024})"|'(?>(?:[^'\r\n\\]|\\.){1,1024})')"""
_SECRET = rf"(?P<secret>{_QUOTED}|[^\s\"'<]{{1,1024}}+)"
_LITERAL = rf"(?P<secret>{_QUOTED})"
_MIXED = r"(?P<secret>[^\s\"'<>,;)]{6,1024}+)"
_NAME = r"(?P<name>[A-Za-z][\w.-]{0,60}+)"
_KEY = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}|[\w+/]{43}=", re.ASCII)
_LONG = 30
_OF_ADDRESSES = frozenset(string.ascii_letters + string.digits + "._-+=")
_LAST_WORDS = re.compile(r"(?:[A-Za-z]{1,20}\s)?[\w.-]{0,60}\Z", re.ASCII)


class _Place(NamedTuple):
    """A place of secrets.

    Args:
        marks: Of these, one is in every text with such a secret, in lower case.
        pattern: Has the group `secret`, and the group `name` where a name decides.
        is_secret: Decides by the match where the pattern and the name do not.
    """

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool] = bool


def _looks_random(found: re.Match[str]) -> bool:
    return is_mixed(found["secret"].strip("\"'"))


def _is_quoted_or_random(found: re.Match[str]) -> bool:
    return found["secret"][0] in "\"'" or _looks_random(found)


def _looks_chosen(found: re.Match[str]) -> bool:
    return is_like_password(found["secret"].strip("\"'"))


def _looks_like_code(found: re.Match[str]) -> bool:
    return _looks_chosen(found) or re.fullmatch(r"[0-9]{4,10}", found["secret"]) is not None


def _looks_like_words(found: re.Match[str]) -> bool:
    return not any(is_word(word) or has_secret_word(word) for word in found["secret"].split())


def _has_name_before(found: re.Match[str]) -> bool:
    before = _LAST_WORDS.search(found.string, max(0, found.start() - 80), found.start())
    name = f"{before[0] if before else ''}{found['word']}"
    if not is_secret_name(name):
        return may_be_secret_name(name) and _KEY.fullmatch(found["secret"]) is not None
    least = 6 if found["word"].lower().startswith("pass") else 16
    return is_mixed(found["secret"]) and len(found["secret"]) >= least


def _at(*marks: str, form: str, is_secret: Callable[[re.Match[str]], bool] | None = None) -> _Place:
    pattern = re.compile(form, re.ASCII)
    return _Place(marks, pattern) if is_secret is None else _Place(marks, pattern, is_secret)


_WITH_FLAG = (
    r"(?<![\w.-])(?:(?:sshpass|7z[ar]?|zip|(?:docker|podman)\slogin|redis-cli|ldap[a-z]{3,10})\s(?:[^\n|;&]{0,300}?\s)?-"
    r"(?:[pP]\s?|[aw]\s)|(?:mysql|mariadb)[\w-]{0,16}\s(?:[^\n|;&]{0,300}?\s)?-p(?=\S)"
    r"|snmp[a-z]{3,9}\s(?:[^\n|;&]{0,300}?\s)?-[AXc]\s|openssl\s(?:[^\n|;&]{0,300}?\s)?-[kK]\s)"
)

_OF_COMMANDS = (
    _at(" -", form=rf"(?:{_WITH_FLAG})(?!\d{{1,5}}(?:\s|\Z)){_SECRET}"),
    _at(" -", form=rf"(?:{_WITH_FLAG})(?:<redacted>|[^\s<]{{1,100}}+)\s-[aAXpP]\s(?!\d{{1,5}}(?:\s|\Z)){_SECRET}"),
    _at(
        " -u",
        form=rf"\s-[uU]\s\S{{1,100}}\s(?:[^\n|;&]{{0,100}}?\s)?-[pP]\s{_SECRET}",
        is_secret=_looks_random,
    ),
    _at(
        *("_user", "_password", "http-basic", "htpasswd", "wpa_passphrase"),
        form=rf"(?:(?:add_user|change_password|http-basic\.\S{{1,100}}|wpa_passphrase)\s\S{{1,100}}\s"
        rf"|htpasswd\s-\w{{0,4}}b\w{{0,4}}\s\S{{1,200}}\s\S{{1,100}}\s){_SECRET}",
    ),
    _at(" /", form=rf"\s(?:/user:\S{{1,100}}\s(?!/)|/rp\s|/p(?:ass(?:word)?)?:(?![^\s=]{{1,100}}=)){_SECRET}"),
    _at("net use", form=rf"net\suse\s\S{{1,20}}\s\S{{1,200}}\s{_SECRET}(?=\s/user:)"),
    _at(
        *("login=", "user '", "digest "),
        form=r"(?i)(?<![\w.-])(?:login=|user\s'|digest\s)[\w.@-]{1,100}:(?P<secret>[^\s\"'<]{6,200}+)",
        is_secret=_looks_random,
    ),
    _at(
        "@",
        form=r"(?<![\w/.:+-])[A-Za-z][\w.-]{0,60}+:(?P<secret>[^\s@:/\"'<]{6,200}+)(?=@[A-Za-z][\w-]{0,60}+(?!:[0-9a-f]{16}))",
        is_secret=lambda found: is_strong(found["secret"]) or not _OF_ADDRESSES.issuperset(found["secret"]),
    ),
    _at("add-mask::", form=r"(?<=::add-mask::)(?P<secret>\S{1,1024}+)"),
    _at("rootpw", form=rf"rootpw\s(?:--plaintext\s)?(?!--){_SECRET}"),
    _at("secret set ", form=rf"secret\sset\s[^\n]{{0,200}}?--(?:value|body)\s{_SECRET}"),
    _at("net user", form=rf"net\suser\s\S{{1,100}}\s(?!/){_SECRET}"),
    _at("lftp -u", form=rf"lftp\s-u\s[^\s,]{{1,100}},{_SECRET}"),
    _at("bundle config", form=r"bundle\sconfig\s(?:[^\s:]{1,100}\s){1,3}[^\s:]{1,100}:(?P<secret>[^\s/]\S{0,1023}+)"),
    _at("sqlplus", "rman", form=r"(?:sqlplus|rman)\s(?:-\w\s)?[\w$]{1,60}/(?P<secret>[^\s@/\"'<]{1,200})(?=@|\s|\Z)"),
    _at(
        "|",
        form=r"(?<![\w.-])echo\s{1,3}(?:-n\s)?(?P<secret>[^\n|<]{1,300}?)(?=\s{0,3}\|\s{0,3}"
        r"(?:sudo\s(?:-\w\s)?-S|chpasswd|kinit|\S{1,40}\s(?:login|secret)|[^\n|]{1,100}--pass\w{0,10}-(?:fd|stdin)))",
    ),
    _at(
        " login",
        form=rf"(?<=[a-z]\slogin\s)(?=[\w.-]{{20}}){_MIXED}",
        is_secret=_looks_random,
    ),
    _at(" login ", form=rf"(?<=[\w*.:]\sLOGIN\s)\S{{1,100}}\s{_MIXED}", is_secret=_looks_random),
    _at("auth ", form=r"(?<![\w.-])AUTH\s(?:PLAIN|LOGIN|XOAUTH2)\s(?P<secret>[\w+/=]{8,1024}+)"),
    _at(
        "identified",
        form=rf"(?i)\bidentified\s(?:with\s\S{{1,40}}\s)?by\s(?:password\s)?{_SECRET}",
        is_secret=_is_quoted_or_random,
    ),
    _at(
        "password '",
        form=rf"(?i)\b(?:with|encrypted|(?:role|user|login)\s\S{{1,100}})\spassword\s{_LITERAL}",
    ),
    _at("oracle:", form=r"oracle:\w{1,10}:[^/\s]{1,100}/(?!<)(?P<secret>[^@\s]{1,200})(?=@)"),
    _at("@tcp(", "@unix(", form=r"(?<![\w/])[\w.-]{1,60}:(?!<)(?P<secret>[^\s@\"']{1,200})(?=@(?:tcp|unix)\()"),
    _at(
        ":5432:", form=r"(?m)(?:^|(?<=\s))[\w.*-]{1,200}:5432:[\w.*-]{1,100}:[\w.*-]{1,100}:(?P<secret>[^\s<]{1,200}+)"
    ),
    _at(" on >", form=r"(?<=\son\s>)(?P<secret>[^\s<]{4,200}+)"),
)
"""After a command, or what else no name announces."""


def _in_columns(found: re.Match[str]) -> str:
    """Return an INSERT of SQL without the values of columns with the names of secrets."""
    secret = [is_secret_name(name.strip(' `"[]')) for name in found["columns"].split(",")]
    values = re.findall(r"(?:'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|[^,'\"])+", found["values"])
    if len(values) != len(secret) or not any(secret):
        return found[0]
    kept = [
        f" {REDACTED}" if is_one and "'" in value and REDACTED not in value else value
        for is_one, value in zip(secret, values, strict=True)
    ]
    return f"{found['before']}{','.join(kept)})"


_INSERT = re.compile(
    r"(?i)(?P<before>\binsert\sinto\s[\w.\"`\[\]]{1,100}\s?\((?P<columns>[^()']{1,1000})\)\s{0,4}values\s{0,4}\()"
    r"(?P<values>[^()]{1,4000})\)"
)

_BESIDE_NAMES = (
    _at(
        "value", "name=",
        form=rf"""(?i:name|key)["']?\s{{0,3}}[:=]\s{{0,3}}["']?(?:/?[\w.-]{{1,40}}/){{0,4}}{_NAME}(?:["']?,?\s{{1,40}}["']?(?i:value)["']?\s{{0,3}}[:=]"""
        rf"""\s{{0,3}}|["']\s?,\s{{0,40}}(?:["']\w{{1,30}}["']:\s?["']?\w{{1,40}}["']?,\s{{0,40}}){{0,2}}["']\w{{0,20}}(?i:value)["']\s?:"""
        rf"""\s{{0,3}}|["'](?:\r?\n){{2}})(?P<secret>{_QUOTED}|[^\s"',<>}}]{{1,1024}}+)""",
    ),  # an entry of a list of names and values in YAML, JSON, XML, or a part of a form
    _at("value=", form=rf"(?m)^{_NAME}\n\s{{1,4}}[^\n]{{1,300}}?\binput_value={_LITERAL}"),  # what pydantic says
    _at("</", form=rf"""(?:name|key)=["']{_NAME}["'][^<>]{{0,100}}>(?P<secret>[^<>\r\n]{{1,1024}}+)(?=</)"""),
    _at("</key", form=rf"<key>{_NAME}</key>\s{{0,40}}<string>(?P<secret>[^<>\r\n]{{1,1024}}+)(?=</)"),
    _at(
        "variable",
        form=rf'variable\s{{1,4}}"{_NAME}"\s{{0,4}}\{{[^{{}}]{{0,300}}?\bdefault\s{{0,10}}=\s{{0,4}}{_LITERAL}',
    ),
    _at(
        *("pass", "secret", "token", "key"),
        form=r"(?P<word>(?i:password|passwd|passphrase|secret|token|key))(?:\s(?:is|was|has|been|not|created|generated|issued|invalid|unknown|expired|revoked)){0,3}:?\s{1,3}\(?"
        r"(?=[^\s\d]{0,60}\d)"
        r"(?P<secret>[\w.~+/!@#%^*-]{6,1024}+=*+)",
        is_secret=_has_name_before,
    ),
    _at(
        " for ",
        form=r"(?i)\b(?:password|passwd|passphrase|secret|token|pin|otp|code)(?:\s[a-z]{1,12}){0,2}\sfor\s(?:user\s)?\S{1,100}?['\"]?"
        r"(?::|\sis:?|\s=|(?:\s(?:was|has|been)){0,2}\s(?:set|changed|reset)\sto)\s['\"]?(?P<secret>[^\s\"'<]{1,1024}+)",
        is_secret=_looks_like_code,
    ),
    _at(
        "password ",
        form=r"(?i)\bpassword(?:\s(?:was|is|has|been|set|to|from|changed|updated|reset|now|as|provided|generated)){1,5}:?"
        r"\s['\"]?(?P<secret>[^\s\"'<]{6,1024}+)",
        is_secret=_looks_chosen,
    ),
    _at(
        "password",
        form=r"(?i)\bpassword\b[^\n:=]{1,60}[:=]\s{1,3}[\"']?(?![a-z_][\w.]{0,60}+[(\[])(?P<secret>[^\s\"'<]{8,1024}+)",
        is_secret=lambda found: is_strong(found["secret"]) or _KEY.fullmatch(found["secret"]) is not None,
    ),
    _at(
        *("phrase", "mnemonic"),
        form=r"(?i)(?:passphrase|mnemonic|(?:seed|recovery)[\s_]phrase)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
        r"(?P<secret>[a-z]{2,20}(?:[\s-][a-z]{2,20}){2,23})(?=[\"',;]|\s{0,9}\Z|\n)",
        is_secret=_looks_like_words,
    ),
    _at(
        *("||", "??", " or "),
        form=rf"{_NAME}[\"']?\s{{0,9}}[:=]\s{{0,9}}[A-Za-z_][\w.()\[\]?\"']{{0,80}}\s?(?:\|\||\?\?|\bor)\s?{_LITERAL}",
        is_secret=_looks_random,
    ),  # what holds where a variable is not set
    _at("args: [", form=rf"name: 'auth', args: \[\s?(?:'[^'\n]{{0,100}}',\s?)?{_LITERAL}"),
    _at("%3d", form=rf"(?<![\w.-]){_NAME}%3[Dd](?P<secret>[^\s%&\"'<]{{1,1024}}+)"),
    _at(
        *("crypt(", "hashpw("),
        form=rf"(?<!\w)(?:crypt|hashpw|pgp_sym_(?:en|de)crypt)\((?:\w{{1,40}},\s?)?b?{_LITERAL}",
        is_secret=_looks_chosen,
    ),
    _at(
        *("login(", "log_in(", "sign_in(", "authenticate("),
        form=rf"(?i)(?<!\w)(?:log_?in|sign_in|authenticate)\(\s?[\w.]{{1,60}},\s?{_LITERAL}(?=\s?\))",
        is_secret=_looks_random,
    ),
    _at(
        "key",
        form=rf"[\"'](?:api|access|secret|private|auth)[\"']\s?:\s?\{{\s?[\"'](?:key|secret)[\"']\s?:\s?{_LITERAL}",
        is_secret=_looks_random,
    ),
    _at("securestring", form=rf"(?<=\s--value\s){_SECRET}(?=[^\n]{{0,100}}\sSecureString)"),
    _at(
        "credentials ",
        form=r"(?i)\bcredentials\s(?:are|were|is):?\s[\"']?[\w.@-]{1,100}[\"']?\s?[/:,]\s?[\"']?(?P<secret>[^\s\"'<]{6,200}+)",
        is_secret=_looks_chosen,
    ),
    _at(":-", form=rf"\$\{{{_NAME}:-(?P<secret>[^\s{{}}$\"'<]{{6,200}}+)(?=\}})", is_secret=_looks_random),
    _at(" to ", form=r"(?<=password\sfrom\s<redacted>\sto\s)(?P<secret>[^\s\"'<]{6,1024}+)"),
    _at(
        "expect",
        form=r"(?i)expect[^\n]{1,40}?pass(?:word|phrase)[^\n;]{0,10}[\"'][;)\s]{1,4}(?:\w{1,20}\.)?send(?:line)?[\s(]{1,2}"
        rf"{_LITERAL}",
    ),
    _at(
        "code",
        form=r"(?i)\b(?:verification|security|recovery|login|confirmation|access|one-time)\scode(?:\sis)?:?\s"
        r"(?P<secret>\d{4,10})\b",
    ),
    _at(
        "_", form=r"(?<!\w)(?P<name>[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,5})\s{1,3}(?P<secret>[^\s\"'=:]{6,1024}+)",
        is_secret=_looks_random,
    ),  # a variable in a command or a Dockerfile
    _at(
        *("pass", "secret", "token", "key", "pw", "cred"),
        form=rf"(?m)^[ \t|│]{{0,20}}+{_NAME}(?:[ \t]{{1,40}}|[ \t]{{0,40}}[|│][ \t]{{0,40}})"
        r"(?P<secret>[^\s\"'<()\[=:|]{6,200}+)(?=[ \t]{0,40}(?:[|│]|$))",
        is_secret=_looks_chosen,
    ),  # a line of two columns: of settings, or what a command shows
    _at(
        *("password ", "secret ", "auth", "requirepass"),
        form=r"(?i)(?<![\w.-])(?:(?:password|secret)\s[057]\s|auth\s[\w.-]{1,40}:|(?:requirepass|masterauth|auth(?:\sdefault)?)\s)"
        r"(?=[^\s\d]*\d)(?P<secret>\S{6,1024}+)",
    ),  # configuration of devices and stores
    _at(
        "(",
        form=r"(?i)(?:login|auth|authentication|credentials?|pdo)(?:\s?=)?"
        rf"\s?\((?:{_QUOTED},\s{{0,40}}){{1,2}}{_LITERAL}(?=[).])",
    ),
    _at(
        *("connect", "sequelize(", "ftp(", "__construct("),
        form=rf"(?i)(?:connect(?:ion)?|sequelize|\bftp|__construct)\((?:{_QUOTED},\s?){{2}}{_LITERAL}",
        is_secret=_looks_random,
    ),
    _at(
        "(", form=rf"(?i)(?<!\w)(?P<name>(?:set|with|network_?credential|basic_?auth)\w{{0,60}}+)"
        rf"\((?:\s?{_QUOTED},)?\s?{_LITERAL}"
    ),
    _at("(", form=rf"(?<=[.>=\s]){_NAME}\((?:[\w.]{{1,60}},\s?){{0,3}}\s?{_LITERAL}(?=\s?\))", is_secret=_looks_random),
    _at(
        '"', "'", form=rf"""(?<!\w)(?P<name>[A-Za-z][\w.-]{{0,60}}+(?:\s(?:key|token|secret))?)"""
        rf"""(?:["']\s{{0,2}},\s{{0,3}}|\s{{1,3}}){_LITERAL}""",
        is_secret=_looks_chosen,
    ),
)  # fmt: skip
"""After a name that has no sign behind it, or another one than a pair's."""


def without_secrets_of_commands(text: str, lowered: str) -> str:
    """Return the text without the passwords that commands of shells and databases are given."""
    return _without(_OF_COMMANDS, text, lowered)


def without_secrets_beside_names(text: str, lowered: str) -> str:
    """Return the text without values that follow the name of a secret and look like one."""
    if "insert" in lowered:
        text = _INSERT.sub(_in_columns, text)
    return _without(_BESIDE_NAMES, text, lowered)


def _without(places: tuple[_Place, ...], text: str, lowered: str) -> str:
    for place in places:
        for mark in place.marks:
            if mark in lowered:
                text = place.pattern.sub(partial(_hidden, place), text)
                break
    return text


def _hidden(place: _Place, found: re.Match[str]) -> str:
    """Return the match without its secret, if it is one."""
    name, value = found.groupdict().get("name"), found["secret"]
    is_named = (
        name is None or is_secret_name(name) or (may_be_secret_name(name) and is_strong(value) and len(value) > _LONG)
    )
    is_secret = is_named and place.is_secret(found)
    if not is_secret or REDACTED in value or is_placeholder(value.strip("\"'")):
        return found[0]
    start, end = (at - found.start() for at in found.span("secret"))
    return f"{found[0][:start]}{REDACTED}{found[0][end:]}"
