"""No secret, no foreign path and no file content leaves; everything else stays as it is, at linear cost."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import given, strategies as st

from tests.doors import (
    PATH,
    REDACTED,
    TOKEN,
    TOKEN_START,
    WITHHELD,
    is_secret_name,
    redact,
    redact_paths,
    redact_text,
    withhold_contents,
)
from tests.each import each
from tests.framework.safe.secret_table import SECRETS

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
FRAGMENTS = [
    *("password", "token", "secret", "=", ":", '"', "'", " ", "&", "/", "//", "\\", "://", "@", ".", "-", "_", "\n"),
    *(
        "Bearer ",
        "Authorization: ",
        "Cookie: ",
        "a=b",
        "eyJhbGciOiJ",
        JWT,
        "sk-",
        "sk-abcdefghijklmnop1",
        "C:\\",
        "D:/",
    ),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "AKIA", "ABCDEFGHIJKLMNOP", "ghp_", "xoxb-", "file:"),
    *("postgres", "user", "host", "home/bob", "etc", "..", "/ws", "é", "\U0001f600", "hunter2", "<redacted>", "<path>"),
]
texts = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join))
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts | st.sampled_from(["password", "apiKey", "content"]), inner),
    max_leaves=20,
)


@each(
    "name",
    [
        *("password", "Password", "user_password", "passwd", "pwd", "db.password", "passphrase", "PGPASSWORD_password"),
        *("token", "access_token", "accessToken", "refresh-token", "csrf_token", "id_token", "Authorization", "cookie"),
        *("Set-Cookie", "api_key", "apiKey", "apikey", "X-Api-Key", "API_KEY", "private_key", "privateKey", "secret"),
        *("client_secret", "secret_key", "aws_secret_access_key", "credentials", "auth", "jwt", "proxy_authorization"),
    ],
)
def test_the_value_under_a_secret_name_is_replaced(name: str) -> None:
    assert redact({name: "hunter2", "x": 1}) == {name: REDACTED, "x": 1}
    assert redact({name: {"deep": ["hunter2"]}}) == {name: REDACTED}


@each(
    "name",
    [
        *("tokens_used", "max_tokens", "token_count", "token_type", "tokenizer", "next_page_token", "nextPageToken"),
        *("author", "authors", "authority", "secretary", "key", "keyboard", "keys", "primary_key", "api_key_id"),
        *(
            "password_policy",
            "password_min_length",
            "compass",
            "session_id",
            "cookie_policy",
            "token_endpoint",
            "",
            "é",
        ),
    ],
)
def test_the_value_under_a_name_that_only_sounds_alike_stays(name: str) -> None:
    assert not is_secret_name(name)
    assert redact({name: "plain"}) == {name: "plain"}


def test_a_flag_under_a_secret_name_stays() -> None:
    assert redact({"password": None, "token": True}) == {"password": None, "token": True}


@each(
    "text, expected",
    [
        ("Authorization: Bearer abc", f"Authorization: {REDACTED}"),
        ("authorization=Basic dXNlcjpwYXNz", f"authorization={REDACTED}"),
        ("sent bearer abcdefghijklmnop12 here", f"sent bearer {REDACTED} here"),
        ("used pat-na1-7b1f0a3c-94d2-4e6b-8c05-2f9d13ab7e46 for it", f"used {REDACTED} for it"),
        ("Cookie: sid=1; theme=dark", f"Cookie: {REDACTED}"),
        (f"got {JWT}.", f"got {REDACTED}."),
        ("key AKIAIOSFODNN7EXAMPLE was refused", f"key {REDACTED} was refused"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", REDACTED),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnop", REDACTED),
        ("xoxb-123456789012-abcdefGHIJ", REDACTED),
        ("sk-proj-abcdefghijklmnop1234", REDACTED),
        ("sk_live_abcdefghij0123", REDACTED),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", REDACTED),
        (f"before {PEM} after", f"before {REDACTED} after"),
        (PEM[:40], REDACTED),
        ("postgres://bob:p@ss:w0rd@host/db", f"postgres://bob:{REDACTED}@host/db"),
        ("redis://:hunter2@host:6379/0", f"redis://:{REDACTED}@host:6379/0"),
        ("https://api.example/x?access_token=abc&page=2", f"https://api.example/x?access_token={REDACTED}&page=2"),
        ("host=x password='a b' user=bob", f"host=x password={REDACTED} user=bob"),
        ('{"accessToken": "abc", "x": 1}', f'{{"accessToken": {REDACTED}, "x": 1}}'),
        ("{'api_key': 'abc'}", f"{{'api_key': {REDACTED}}}"),
        ('client_secret = "a \'b c"', f"client_secret = {REDACTED}"),
        ("acme.webhook.office.com/webhookb2/0123456789", "acme.webhook.office.com/<redacted>"),  # a single word
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str, expected: str) -> None:
    assert redact_text(text) == expected


@each(
    "text",
    [
        "The bearer authentication failed.",
        "Invalid parameter 'token': expected string.",
        "max_tokens=5, tokens_used=4",
        "sk-learn-contrib-examples-folder",
        "http://localhost:8080/a@b",
        "https://example.com/login?user=a@b.c",
        "The cookie: it crumbles",
        "eyJ is how a JSON Web Token begins",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_text(text) == text


def test_a_secret_that_is_a_key_is_replaced_too() -> None:
    assert redact({JWT: [JWT], "n": (JWT, 1)}) == {REDACTED: [REDACTED], "n": (REDACTED, 1)}


@given(trees)
def test_redacting_twice_changes_nothing_more(tree: Any) -> None:
    once = redact(tree)
    assert redact(once) == once


@given(trees)
def test_withholding_twice_changes_nothing_more(tree: Any) -> None:
    once = withhold_contents(tree)
    assert withhold_contents(once) == once


@given(st.recursive(st.none() | st.integers() | st.sampled_from(["plain", ""]), st.lists))
def test_a_tree_without_secrets_comes_back_equal(tree: Any) -> None:
    assert redact(tree) == tree


@given(prefix=texts, suffix=texts, secret=st.sampled_from([JWT, "AKIAIOSFODNN7EXAMPLE", "sk-abcdefghijklmnop1234"]))
def test_a_secret_between_spaces_never_survives_its_surroundings(prefix: str, suffix: str, secret: str) -> None:
    assert secret not in redact_text(f"{prefix} {secret} {suffix}")


@each(
    "text, expected",
    [
        ("[Errno 2] No such file: '/home/bob smith/x.md'", f"[Errno 2] No such file: '{PATH}'"),
        ("open '/home/bob/O'Brien's/x.md' failed", f"open '{PATH}' failed"),
        ("no /home/bob/O'Brien's/x.md here", f"no {PATH} here"),
        ("'/home/bob/a', '/home/bob/b'", f"'{PATH}', '{PATH}'"),
        (r'{"error": "open \"/home/bob smith/x\": gone", "n": 1}', rf'{{"error": "open \"{PATH}\": gone", "n": 1}}'),
        ('File "/usr/lib/python3.11/x.py", line 5', f'File "{PATH}", line 5'),
        ("see /etc/passwd.", f"see {PATH}."),
        ("path:/etc/passwd", f"path:{PATH}"),
        ("//etc/passwd and /etc//shadow", f"{PATH} and {PATH}"),
        ("at (/opt/app/main.js:12:5)", f"at ({PATH}:12:5)"),
        ("/var is full", f"{PATH} is full"),
        ("file:///home/bob/x", PATH),
        (r"C:\Users\Bob\x.txt is gone", f"{PATH} is gone"),
        (r"C:\Program Files\App\x.exe failed", f"{PATH} failed"),
        ("in D:/data/x", f"in {PATH}"),
        (r"\\server\share\dir\f.txt gone", f"{PATH} gone"),
        (r"'C:\\Users\\Bob Smith\\x'", f"'{PATH}'"),
        ("/ws/a.md, /ws/../etc/x, /wsx/a, /ws", f"/ws/a.md, {PATH}, {PATH}, /ws"),
        (r"C:\Work\a.md and c:/work/b.md and C:\Works\c", rf"C:\Work\a.md and c:/work/b.md and {PATH}"),
    ],
)
def test_absolute_paths_outside_the_roots_are_replaced(text: str, expected: str) -> None:
    assert redact_paths(text, ["/ws", r"C:\Work"]) == expected


@each(
    "text",
    [
        "a/b/c and/or 1/2, ./x/y ../z ~/q",
        "https://host/a/b?x=/etc/passwd",
        "s3://bucket/key",
        "the routes /mcp and /metrics",
        "<b>bold</b><br/>",
        "guide/intro.md#/section/two"[:14],
        "文档/指南/intro.md",
        "text/plain; q=0.5",
    ],
)
def test_relative_paths_routes_and_urls_stay(text: str) -> None:
    assert redact_paths(text) == text


@given(texts)
def test_redacting_paths_twice_changes_nothing_more(text: str) -> None:
    once = redact_paths(text, ["/ws"])
    assert redact_paths(once, ["/ws"]) == once


@given(texts)
def test_the_quick_look_for_paths_misses_none(text: str) -> None:
    backslash = "\n\\"  # its mere presence asks for the thorough look
    assert redact_paths(text) + backslash == redact_paths(text + backslash)


@given(st.lists(st.from_regex(r"[a-zA-Z0-9_-][a-zA-Z0-9_.-]{0,20}[a-z]", fullmatch=True), min_size=2))
def test_no_absolute_path_between_spaces_survives(names: list[str]) -> None:
    assert redact_paths(f"cannot open /{'/'.join(names)}. Stop", ["/ws"]) == f"cannot open {PATH}. Stop"


def test_contents_are_withheld_by_the_last_word_of_their_name() -> None:
    tree = {
        "file_content": "x",
        "content_type": "text/plain",
        "protein_sequences": ["MKV"],
        "sequence": 7,
        "edits": [{"old_string": "a", "new_string": "b", "replace_all": True}],
        "model": {"reactions": []},
        "model_id": "m1",
    }
    assert withhold_contents(tree) == {
        "file_content": WITHHELD,
        "content_type": "text/plain",
        "protein_sequences": WITHHELD,
        "sequence": 7,
        "edits": [{"old_string": WITHHELD, "new_string": WITHHELD, "replace_all": True}],
        "model": WITHHELD,
        "model_id": "m1",
    }


HOSTILE = [
    *("eyJ-", "eyJaaaaaa.", "bearer ", "password", "password=", 'password="', "pass-", "://a:", "://", "sk-a-", "a_"),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "authorization: basic ", "cookie: a", "token_token-", "AKIA"),
    *(
        "/a",
        "/",
        "//a/",
        "C:\\",
        "\\\\a",
        "\\",
        "'/a",
        "\\'/a",
        "\\'/a'b",
        '"/',
        "C:\\a b",
        "'/a'b",
        "a'",
        "\\\\srv\\a b ",
        "/../",
        "a b\\",
        "C:\\.\\..",
    ),
]


@each("unit", HOSTILE)
def test_hostile_text_costs_in_proportion_to_its_length(unit: str) -> None:
    """Ratios of CPU time, generously: a pattern that scans twice would be 64 times slower on text 8 times as long."""

    def cost(length: int) -> float:
        text = "C:\\" + unit * (length // len(unit))
        started = time.process_time()
        redact_text(text)
        redact_paths(text, ["/ws"])
        return time.process_time() - started

    short = min(cost(10_000) for _ in range(3))
    assert any(cost(80_000) < 32 * max(short, 0.0005) for _ in range(2))


def test_every_text_with_a_token_may_have_one_or_is_a_private_key() -> None:
    for text, _ in SECRETS:
        if TOKEN.search(text):
            assert TOKEN_START.search(text) or "PRIVATE KEY" in text


BEGINNINGS = (
    "eyJ AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ npm_ hf_ lin_api_ ntn_ glpat- glrt- pypi- glsa_ glc_ xoxb- "
    "xapp- sk- rk_live_ sk_test_ pk_live_ whsec_ AIza GOCSPX- ya29. SG. hvs. hvb. hvr. dop_v1_ doo_v1_ dor_v1_ shpat_ "
    "shpca_ shppa_ shpss_ key- dapi PMAK- ATATT3 sq0atp- sq0csp- dp.pt. 12345678:AA 1234567890:AA AGE-SECRET-KEY-1"
)


def test_a_token_of_any_format_is_looked_for() -> None:
    missed = [beginning for beginning in BEGINNINGS.split() if not TOKEN_START.search(f"found {beginning}")]
    assert missed == []
