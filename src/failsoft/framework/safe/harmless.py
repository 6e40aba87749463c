"""What stands after the name of a secret and is none: a reference, a placeholder, a type, prose; a table of forms."""

from __future__ import annotations

import re

from failsoft.framework.safe.secret_names import has_secret_word, listed, words_of

_RANDOM_AT_LEAST = 6
_STRONG_AT_LEAST = 8
_SHORTEST = 2
_WORD_AT_MOST = 12

_REFERENCES = (
    r"(?:self|cls|this)(?:\.[a-z_]\w{0,60}){1,5}",  # an attribute
    r"[&*$@]?[A-Za-z_]+[0-9]?(?:(?:\.|->|::|\?\.)[A-Za-z_]+[0-9]?)+[?!]?",  # a dotted name
    r"(?:[A-Z][a-z]+){2,}",  # a type
    r"[~.]?/[a-z][a-z0-9._-]*(?:/[a-z0-9._-]+)+(?::r[ow])?",  # a path
    r"id=[\w.-]+(?:,[a-z]+=[\w./-]+)+",  # a secret of a build
    r"[0-9]{1,3}(?:\.[0-9]{1,3}){0,3}:[0-9]{1,5}",  # a place in a file, or an address
)
"""What a value is that has no quotation marks."""

_PLACEHOLDERS = (
    r"(?:<redacted>|<withheld>|\*{3}|[$@]\{|\$\(|\{|\[|%s|\.\.\.|<[a-z]).*|[A-Za-z_-]{1,16}(?:\.{3}|…)",
    r"(?:os\.environ|process\.env|env|ENV|System\.getenv|import\.meta)\b.*",
    r"[$@:%?&]\(?\{?[A-Za-z_]+\}?\)?s?|%[A-Z_]+%|__[A-Z_]+__",  # a variable of a shell, a template or SQL
    r"\$[0-9]{1,2}",  # a parameter of SQL
    r"[0-9]+(?:\.[0-9]+)?(?:[mnuµ]?s|[hd]|min|%|[KMG]i?B)",  # a duration, a share or a size
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?",  # a date
    r"!{1,2}[A-Za-z]+(?:[.:/][A-Za-z]+)*",  # a tag of YAML
    r"(?i:your|example|dummy|sample|fake|placeholder|insert|enter)(?:[-_ ][A-Za-z]+)+",
    r"([xX*.#•-])\1{2,}",
    r"#[0-9A-Fa-f]{3,8}",  # a color
    r"\s?(?i:https?|fileb?|s3|gs)://.*",  # its own secrets are hidden already
    r"[A-Z]{2,}[0-9]{0,2}(?:[_-][A-Z]+)*|[A-Z]+(?:_[A-Z]+)+",  # a constant, or what stands for a value in a usage
    r"arn:.*|/[a-z-]+",
    r"(?:\.[a-z_][a-z0-9_]*)+",  # a relative import
    r"(?i:basic|bearer|token)\s(?:[{<$%\[].*|\w{0,8}(?:\.{3}|…)|([*.xX])\2{2,}|[A-Z]+(?:_[A-Z]+)+)",
)
"""What a value is with quotation marks or without."""

_IS_REFERENCE = re.compile("|".join(_REFERENCES), re.ASCII)
_IS_PLACEHOLDER = re.compile("|".join(_PLACEHOLDERS), re.ASCII | re.DOTALL)
_SENTENCE = re.compile(r"[A-Za-z][A-Za-z',;:-]*(?: [A-Za-z][A-Za-z',;:-]*){2,}[.!?:]?", re.ASCII)
_UNIT = re.compile(r" (?:[mnuµ]?s|sec(?:onds?)?|min(?:utes?)?|hours?|days?|of|times|tests?|percent|%)(?!\w)")
_IN_CLUSTER = re.compile(r"[a-z]+(?:-[a-z]+){1,5}")
_VARIABLE = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+){0,5}", re.ASCII)


_PROSE = listed(
    "a absent an and any argument array async authentication await be bool boolean bytes callable can cannot "
    "could days default denied dict did disabled does empty enabled enum expected expired failed false flag float "
    "for forbidden format function given has have hours in include int integer invalid is kerberos lambda ldap "
    "length list map may minutes missing must negotiate new nil no none not ntlm null number oauth oauth2 object "
    "oidc omit option optional or origin parameter pattern present range reference refused rejected required ro "
    "same- saml seconds secretstr should str string the to too true tuple type unauthenticated unauthorized "
    "undefined unexpected unknown unset value was will with withheld wrong yes yield"
)
_IN_SENTENCES = listed("a an and are be de for from in is must no not of or the this that to was with your")
_NAMES = listed(
    "access api apikey auth authorization bearer client cookie credentials csrf header id key login name pass passwd "
    "password pw pwd refresh secret session token user username x "
    "contraseña hasło kennwort lösenord parola passord passwort senha wachtwoord"
)
"""Words of names: a value of these alone is the name of a field, or what documentation writes for a secret."""


def is_mixed(value: str) -> bool:
    """Return whether a value looks like a password or a token where nothing but its place says so."""
    return len(value) >= _RANDOM_AT_LEAST and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def is_word_of(name: str, bare: str) -> bool:
    """Return whether a value is prose, or a word beside `token`: that of a parser, or a label."""
    is_plain = len(bare) <= _WORD_AT_MOST and bare.isalpha() and (bare.islower() or bare.istitle())
    return is_word(bare) or (is_plain and words_of(name) == ("token",))


def is_like_password(value: str) -> bool:
    """Return whether a value is mixed, or has a capital letter and a sign within, as `Castle_tiger!`."""
    within = value.strip(".,:;!?()")
    has_sign = any(sign in within for sign in "_!#$%^&*@+~")
    return is_mixed(value) or (
        len(within) >= _STRONG_AT_LEAST and has_sign and not within.isupper() and within[:1].isupper()
    )


def is_strong(value: str) -> bool:
    """Return whether a value looks like a generated password: capital and small letters, and digits."""
    return len(value) >= _STRONG_AT_LEAST and all(
        any(map(kind, value)) for kind in (str.isdigit, str.islower, str.isupper)
    )


def is_word(bare: str) -> bool:
    """Return whether it is a word of prose, or a literal such as `true`."""
    return bare.lower().rstrip(".!?") in _PROSE


def is_placeholder(bare: str) -> bool:
    """Return whether a value with quotation marks or without stands for another, is a sentence or a name."""
    if len(bare) < _SHORTEST or _IS_PLACEHOLDER.fullmatch(bare) is not None:
        return True
    if " " in bare.strip():
        return _SENTENCE.fullmatch(bare) is not None and not _IN_SENTENCES.isdisjoint(bare.lower().split())
    if not bare.isascii():
        return bare.lower() in _NAMES
    return not _has_digit(bare) and _NAMES.issuperset(words_of(bare) or ("",))


def is_reference(name: str, value: str, rest: str) -> bool:
    """Return whether a value without quotation marks is a variable, a type or a path.

    Args:
        name: The name before it.
        value: The value.
        rest: What follows it.
    """
    is_type = rest.startswith((" | ", " = ")) and value.replace(".", "").isidentifier()
    if is_type or _IS_REFERENCE.fullmatch(value) is not None:
        return True
    if value.lstrip("-").isdigit():
        return "token" in words_of(name) or _UNIT.match(rest) is not None  # of a language model; a measure
    if _IN_CLUSTER.fullmatch(value) is not None and words_of(name)[-1:] == ("secret",) and has_secret_word(value):
        return True
    if _VARIABLE.fullmatch(value) is None:
        return value == name.rpartition(".")[2]
    is_own = value == name or words_of(value)[-1:] == words_of(name)[-1:]  # `self.token = token`
    return (is_own and ("_" in value or "." in value or value in name)) or has_secret_word(value)


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
