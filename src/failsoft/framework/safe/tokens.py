"""Tokens: those of known services by their formats, and any other by its randomness.

A token of a service that is not known here is a run of at least 30 letters and digits in no order that a name has.
Hashes, UUIDs and ids without letters of both cases stay, unless they are of a length that ids do not have, after a
prefix such as `rubygems_`.
"""

from __future__ import annotations

import itertools
import re

REDACTED = "<redacted>"
"""Placeholder for a secret."""
_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)

_AFTER_START = (
    r"eyJ[\w-]{5,}+\.[\w-]{5,}+(?:\.[\w-]*+)?",
    r"A(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Za-z])",
    r"(?:gh[pousr]_|github_pat_|npm_|hf_|lin_api_|ntn_)[\w-]{20,}+",
    r"(?:gl[a-z]{2,5}-|pypi-)[\w-]{20,}+",
    r"x(?:ox[a-z]|app)-[\w-]{10,}+",
    r"sk-(?=[A-Za-z_-]*+[0-9])[\w-]{16,}+",
    r"(?:[rsp]k|rzp)_(?:live|test)_\w{10,}+",
    r"(?:whsec_|access_token\$\w{4,20}\$)[\w$+/]{10,}+",
    r"(?:AIza[\w-]{30,}+|GOCSPX-[\w-]{20,}+|ya29\.[\w-]{20,}+)",
    r"gl(?:sa|c)_[\w+/-]{20,}+=*+",
    r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    r"hv[sbr]\.[\w-]{20,}+",
    r"do[opr]_v1_[a-f0-9]{32,}+",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}+",
    r"(?:key-|dapi)[a-f0-9]{32}(?![a-f0-9])",
    r"ATATT3[\w=-]{20,}+",
    r"(?:PMAK-|sq0(?:atp|csp)-|dp\.pt\.|dckr_pat_|sb_secret_)[\w-]{20,}+",
    r"pat\w{14}\.[0-9a-f]{64}",
    r"[0-9]{8,10}:AA[\w-]{30,}+",  # Telegram's bots
    r"[0-2]/[0-9]{16}(?:/[0-9]{16})?:[0-9a-f]{32}",  # Asana
    r"00D[0-9A-Za-z]{12,15}![\w.-]{80,}+",  # Salesforce
    r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+",
    r"\$(?:[1-7y]|2[abxy]|[a-z]{3,8}[0-9][\w-]{0,12})\$[\w./$=,+-]{20,}+",  # hashes of crypt(3)
)

TOKEN = re.compile(rf"{_PEM}|(?<![A-Za-z0-9_-])(?:{'|'.join(_AFTER_START)})", re.ASCII)
"""A token or key of any of these formats."""
_WORD = b"-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_AS_RUNS = bytes(ord("-") if code in _WORD else ord(" ") for code in range(256))
_RUN = b"-" * 15

TOKEN_START = re.compile(
    r"[$0-9AGPSadeghklnprswxy](?<![A-Za-z0-9_-].)(?:yJ|KIA|SIA|Iza|TATT3|GE-|h[pousr]_|ithub_|l(?:[a-z]{2,5}-|sa_|c_)|pm_"
    r"|tn_|f_|in_|ypi-|ox|app-|k[-_]|hsec_|zp_|at\w{14}\.|ckr_|b_s|ccess_token\$|OCSPX|a29"
    r"|[1-7y]\$|2[abxy]\$|[a-z]{3,8}[0-9][\w-]{0,12}\$|hp[acps]|v[sbr]\.|G\.|o[opr]_v1|ey-|api|MAK-|q0[ac]|p\.pt|[0-9]{7,9}:AA"
    r"|/[0-9]{16}|0D[0-9A-Za-z]{12,15}!)"
)
"""How a token begins, for a search that takes two fifths of the time of `TOKEN`.

The first letter is a set, so that the search passes over all other letters at once.
"""

_LONG = 30
_LONG_RUN = re.compile(r"[\w+/-]{24}", re.ASCII)
_RANDOM = re.compile(r"(?<!\w)[A-Za-z0-9][\w.+/-]{23,4096}+=*+", re.ASCII)
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ONE_CASE = re.compile(
    r"[A-Za-z][A-Za-z0-9]{1,15}(?:_[a-z0-9]{1,10}){0,2}_[a-z0-9]{34,}|(?:[A-Z]{2,8}-)?[A-Z0-9]{27,}|oy2[a-z0-9]{43}"
    r"|(?!(?:job|task|run|req|id|doc|msg|evt|file|img|tmp|ref|user|item|node|page|test|obj|op|call|conn|span)[_-])"
    r"[a-z]{2,6}[0-9]?(?:_[a-z]{2,4})?[_-][0-9a-f]{32}(?:_[0-9a-f]{10})?"
    r"|pk_[0-9]{6,10}_[A-Z0-9]{30,}|(?:SK|linode|pul-)[0-9a-f]{32,}|[0-9a-f]{32}-(?:us[0-9]{1,2}|[0-9a-f]{8}-[0-9a-f]{8})|v1\.0-[0-9a-f]{24}-[0-9a-f]{99,}"
    rf"|(?:sdk-|mob-|pat-[a-z0-9]{{2,4}}-|amzn\.mws\.){_UUID}",
    re.ASCII,
)
_OF_SERVICES = re.compile(
    r"AKCp|AQE[0-9A-Za-z]|CCIPAT_|CFPAT-|EAA[A-Z]|EZ[AT]K|FLWSECK|GR1348941|HRKU-|LTAI|NRAK-|SG\.|SK[0-9a-f]{32}|dG9r"
    r"|apify_api_|cio[0-9A-Z]|duffel_|dt0c01\.|f(?:c-|igd_|m2_|w_|io-u-)|g(?:sk_|hcr_)|lsv2_|nfp_|nvapi-|ops_eyJ|p8e-"
    r"|pcsk_|pk_[0-9]{6,10}_[0-9A-Z]{30}|plx-|pplx-|pnu_|pscale_|pul-|r8_|rdme_|rnd_|rubygems_|s(?:gp_|hippo_|l\.|ntry[su]_"
    r"|q[au]?p?_|yt_)|secret_|sha256~|sk_|t(?:fp_|skey-|vly-)|vcp_|waka_|xai-|xkeysib-"
)
"""How tokens of services begin that are long enough to be looked at, though they may look like names."""
_PREFIX = re.compile(r"(?:[a-z]{1,12}[_-]){1,3}(?=\w{20})", re.ASCII)
_OF_HASHES = re.compile(
    r"(?i:sha(?!256~)|md5|blake|commit|rev|digest|hash|etag|integrity|checksum|blob|layer)|Qm[1-9A-Za-z]{44}\Z|12D3KooW|bafy"
    r"|AAAA[A-G][23]N|mrk-|(?:[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64})\Z|(?:resp|msg|evt|req|run|thread|call|file|chatcmpl|asst|item|batch|cus|in|ch|pi|sub|price|prod)[_-]"
    r"|\S*\.(?:woff2?|js|css|png|jpe?g|gif|svg|ico|map|html?|json|py|so|whl|gz|zip|log)\Z"
)
"""How hashes, content addresses, public keys and ids of objects begin, and how files end."""

_OF_IDS = re.compile(
    r"""(?i)(?:[a-z]id|\bid|[_-]id(?:-[0-9])?|number|cursor|(?:page|continuation|next|sync|resume)_?token|boundary|integrity|etag|digest|hash|checksum|fingerprint|serial|revision"""
    r"""|commit|peer|node|version)["']?[\s:=]{1,3}["'-]{0,9}\Z|(?:base64,/?|\bh1:|\bsha[0-9]{1,3}[:-])\Z"""
)
"""What stands before an id, a hash or a picture."""
_PUBLIC = ("iVBORw", "9j/4", "R0lGOD", "PHN2Zy", "UklGR", "AAAAB3N", "AAAAC3N", "AAAAE2V")
"""How PNG, JPEG, GIF, SVG, WebP and public keys of SSH begin in base64."""


def may_have_tokens(text: str) -> bool:
    """Return whether a text has 15 letters, digits, `_` or `-` in a row: a tenth of the time of `TOKEN`."""
    return len(text) >= len(_RUN) and text.encode("ascii", "replace").translate(_AS_RUNS).find(_RUN) >= 0  # not `in`


def without_known_tokens(text: str) -> str:
    """Return a text that may have tokens without those of a known format."""
    return text if TOKEN_START.search(text) is None else TOKEN.sub(REDACTED, text)


def without_random_tokens(text: str) -> str:
    """Return a text that may have tokens without runs of letters and digits that are no names."""
    return text if _LONG_RUN.search(text) is None else _RANDOM.sub(_without_random, text)


def _without_random(found: re.Match[str]) -> str:
    whole = found[0].rstrip(".")
    if whole.startswith(_PUBLIC) or _OF_IDS.search(found.string, max(0, found.start() - 24), found.start()):
        return found[0]
    if not ("." in whole and "/" in whole) and _is_random(whole):  # base64 may have slashes
        return REDACTED + found[0][len(whole) :]
    names = [REDACTED if any(map(_is_random, name.split("."))) else name for name in whole.split("/")]
    return "/".join(names) + found[0][len(whole) :]


def _is_random(whole: str) -> bool:
    """Return whether letters and digits alternate as they do in no name: every other time, or nearly so."""
    if _OF_HASHES.match(whole) is not None:
        return False
    if _OF_SERVICES.match(whole) is not None:
        return any(map(str.isdigit, whole))  # `sk_learn_contrib_examples` has none
    if len(whole) < _LONG:
        return False
    part = _PREFIX.sub("", whole)
    kinds = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in part if one.isalnum()]
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    digits = kinds.count("d")
    if {"u", "l"} <= {*kinds}:
        share = changes / len(kinds)  # of random ones 0.6, of names at most 0.3
        return (digits >= 2 and share >= 0.36) or (digits >= 4 and share >= 0.34)  # noqa: PLR2004 - as above
    return _ONE_CASE.fullmatch(whole) is not None and digits >= 6 and changes >= 0.25 * len(kinds)  # noqa: PLR2004 - as above
