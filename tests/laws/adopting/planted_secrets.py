"""200 secrets in texts as tools raise them: keys of known forms, URLs, connection strings, headers, settings."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

__all__ = ["LEAKS", "WAYS", "add_leaking_tools"]

_DRAW = random.Random(26)  # noqa: S311 - the same secrets in every run, of nothing real
_LETTERS = string.ascii_letters + string.digits


def _chars(count: int, alphabet: str = _LETTERS) -> str:
    return "".join(_DRAW.choice(alphabet) for _ in range(count))


def _jwt() -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": _chars(8), "exp": 1_900_000_000}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, _chars(43, _LETTERS + "-_")])


_TOKENS: dict[str, Callable[[], str]] = {
    "github": lambda: f"ghp_{_chars(36)}",
    "github server": lambda: f"ghs_{_chars(36)}",
    "github fine-grained": lambda: f"github_pat_{_chars(22)}_{_chars(59)}",
    "gitlab": lambda: f"glpat-{_chars(20)}",
    "slack bot": lambda: f"xoxb-{_chars(11, string.digits)}-{_chars(12, string.digits)}-{_chars(24)}",
    "slack user": lambda: f"xoxp-{_chars(11, string.digits)}-{_chars(12, string.digits)}-{_chars(24)}",
    "openai": lambda: f"sk-{_chars(48)}",
    "openai project": lambda: f"sk-proj-{_chars(48)}",
    "anthropic": lambda: f"sk-ant-api03-{_chars(80)}",
    "stripe": lambda: f"sk_live_{_chars(24)}",
    "stripe restricted": lambda: f"rk_live_{_chars(24)}",
    "google": lambda: f"AIza{_chars(35)}",
    "google oauth": lambda: f"ya29.{_chars(60)}",
    "aws access": lambda: f"AKIA{_chars(16, string.ascii_uppercase + string.digits)}",
    "aws session": lambda: f"ASIA{_chars(16, string.ascii_uppercase + string.digits)}",
    "npm": lambda: f"npm_{_chars(36)}",
    "pypi": lambda: f"pypi-AgEIcHlwaS5vcmc{_chars(60)}",
    "sendgrid": lambda: f"SG.{_chars(22)}.{_chars(43)}",
    "digitalocean": lambda: f"dop_v1_{_chars(64, '0123456789abcdef')}",
    "huggingface": lambda: f"hf_{_chars(34)}",
    "vault": lambda: f"hvs.{_chars(90)}",
    "telegram": lambda: f"{_chars(10, string.digits)}:AA{_chars(33)}",
    "jwt": _jwt,
    "shopify": lambda: f"shpat_{_chars(32, '0123456789abcdef')}",
}
_TOKEN_TEXTS = (
    "401 Unauthorized: the token {} has expired",
    "GET https://api.example.com/v1/me?access_token={}&page=2 failed with 401",
    "request headers: {{'Authorization': 'Bearer {}', 'Accept': '*/*'}}",
    "cannot clone https://oauth2:{}@git.example.com/org/repo.git",
)
_VALUE_TEXTS = (
    'connection to "postgresql://app:{}@db.example.com:5432/shop" failed: timeout',
    "OperationalError: (2003) mysql://root:{}@mysql.example.com/shop is not reachable",
    "redis.exceptions.ConnectionError: redis://:{}@cache.example.com:6379/0",
    "mongodb+srv://svc:{}@cluster0.example.net/shop?retryWrites=true: server selection timed out",
    "amqp://guest:{}@mq.example.com:5672//: channel closed",
    "Server=db.example.com;Database=shop;User Id=sa;Password={};Encrypt=true: login failed",
    "could not connect: host=db.example.com user=app password={} dbname=shop",
    "login failed with username=ada password={}",
    "bad settings: password='{}', retries=3",
    'bad settings: {{"user": "ada", "password": "{}", "port": 5432}}',
    "bad settings: {{'api_key': '{}', 'region': 'eu'}}",
    "line 3 of .env: DB_PASSWORD={}",
    "line 4 of .env: export STRIPE_SECRET_KEY={}",
    "config.yaml: password: {}\nport: 5432",
    'config.toml: client_secret = "{}"',
    "Authorization: Basic {}",
    "Proxy-Authorization: Basic {}",
    "x-api-key: {}",
    "Cookie: session={}; theme=dark",
    "Set-Cookie: sid={}; HttpOnly; Secure",
    "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net",
    "https://shop.blob.example.net/c/b.txt?sv=2024&se=2031&sig={} answered with 403",
    "https://bucket.s3.example.com/k?X-Amz-Date=20310504&X-Amz-Signature={} has expired",
    "POST https://id.example.com/token?client_id=shop&client_secret={} failed",
    "aws_secret_access_key = {}",
    "command failed: mysqldump --user=root --password={} shop",
    "command failed: curl -u ada:{} https://api.example.com",
    "command failed: PGPASSWORD={} pg_dump shop",
    "refresh_token={}&grant_type=refresh_token was refused",
    "webhook https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/{} answered with 410",
    "ftp://ada:{}@files.example.com/in.csv: 530 login incorrect",
    "smtp login failed: user ada, passwd={}",
    "the passphrase: {} does not open the key store",
    "SharedAccessKeyName=root;SharedAccessKey={}",
    "<configuration><password>{}</password></configuration>",
)


def _block(kind: str) -> tuple[str, str]:
    lines = [_chars(64, _LETTERS + "+/") for _ in range(4)]
    return f"cannot read key:\n-----BEGIN {kind}-----\n" + "\n".join(lines) + f"\n-----END {kind}-----", lines[1]


def _leaks() -> Iterator[tuple[str, str]]:
    for make, text in itertools.product(_TOKENS.values(), _TOKEN_TEXTS):
        token = make()
        yield text.format(token), token
    for text in _VALUE_TEXTS:
        for length in (12, 20, 40):
            value = f"{_chars(length - 4)}Zq7x"
            if "Basic" in text:
                value = base64.b64encode(f"ada:{value}".encode()).decode()
            yield text.format(value), value
    for kind in ("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY"):
        yield _block(kind)
    yield "TOTP secret: " + (seed := _chars(32, string.ascii_uppercase + "234567")), seed
    digest = hashlib.sha256(b"26").hexdigest()
    yield f"signing_key={digest} is too short", digest


LEAKS = list(_leaks())[:200]
"""Each text, and the secret in it."""
WAYS = ("reported", "raised", "returned", "protocol", "caused")


def add_leaking_tools(server: Any, tool_error: type[Exception]) -> None:
    """Add a tool that fails with one of the texts, in one of five ways."""

    @server.tool()
    async def leak(number: int, way: str) -> dict[str, Any]:
        """Fail with a text in which there is a secret."""
        text = LEAKS[number][0]
        if way == "reported":
            raise tool_error(text)
        if way == "raised":
            raise ValueError(text)
        if way == "protocol":
            raise MCPError(-32050, text, {"detail": text})
        if way == "caused":
            raise RuntimeError("no answer") from ValueError(text)
        return {"success": False, "error": {"message": text, "detail": {"upstream": text}}}

    @server.tool()
    async def leak_result(number: int) -> CallToolResult:
        """Answer with a text in which there is a secret, and say that it failed."""
        text = LEAKS[number][0]
        return CallToolResult(
            content=[TextContent(text=text), TextContent(text=json.dumps({"why": text}))], is_error=True
        )
