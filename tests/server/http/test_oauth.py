"""The verifier that the page about OAuth shows, under attack, and a server that asks it."""

from __future__ import annotations

import asyncio
import base64
import hmac
import importlib.util
import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from mcp.server.auth.settings import AuthSettings

from failsoft import asgi_app
from tests.server.http.test_app import call, opened, polite

pytestmark = pytest.mark.anyio

ISSUER = "https://id.example"
RESOURCE = "http://127.0.0.1:8321/mcp"
OAUTH = AuthSettings.model_validate(
    {
        "issuer_url": ISSUER,
        "resource_server_url": RESOURCE,
        "required_scopes": ["tools"],
        "validate_token_resource": True,
    }
)


@cache
def _example() -> ModuleType:
    file = Path(__file__).parents[3] / "docs/examples/jwt_verifier.py"
    spec = importlib.util.spec_from_file_location("jwt_verifier", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _rsa(name: str) -> rsa.RSAPrivateKey:
    del name  # one key each
    return rsa.generate_private_key(65537, 2048)


@cache
def _public(name: str) -> bytes:
    return _rsa(name).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _published(name: str, **facts: Any) -> dict[str, Any]:
    return {**jwt.algorithms.RSAAlgorithm.to_jwk(_rsa(name).public_key(), as_dict=True), "kid": name, **facts}


def _claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    good = {"iss": ISSUER, "aud": RESOURCE, "sub": "ada", "client_id": "app", "scope": "tools", "iat": now}
    return {name: value for name, value in {**good, "exp": now + 300, **changed}.items() if value is not None}


def _signed(key: str = "first", header: dict[str, Any] | None = None, **changed: Any) -> str:
    return jwt.encode(_claims(**changed), _rsa(key), algorithm="RS256", headers={"kid": key, **(header or {})})


def _parts(header: object, claims: object, sign: Callable[[bytes], bytes] = lambda _: b"") -> str:
    """Return a token as an attacker makes it, by hand."""
    coded = [json.dumps(part).encode() if not isinstance(part, bytes) else part for part in (header, claims)]
    head = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in coded)
    return (head + b"." + base64.urlsafe_b64encode(sign(head)).rstrip(b"=")).decode()


def _hmac(key: bytes) -> Callable[[bytes], bytes]:
    return lambda signed: hmac.digest(key, signed, "sha256")


@dataclass
class Published:
    """The keys of an authorization server, over HTTP, and how often they were asked for."""

    body: bytes
    head: bytes = b"HTTP/1.1 200 OK\r\n"
    asked: int = 0
    answer: Callable[[asyncio.StreamWriter], Awaitable[None]] | None = None
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    def publish(self, *keys: dict[str, Any]) -> None:
        self.body = json.dumps({"keys": keys}).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        self.asked += 1
        try:
            await reader.readuntil(b"\r\n\r\n")
            if self.answer is not None:
                await self.answer(writer)
            else:
                length = b"content-length: %d\r\nconnection: close\r\n\r\n" % len(self.body)
                writer.write(self.head + length + self.body)
                await writer.drain()
        except (ConnectionError, EOFError):
            pass  # the reader has had enough
        finally:
            writer.close()


@asynccontextmanager
async def _verifier(keys: Published, **options: Any) -> AsyncIterator[Any]:
    async with await asyncio.start_server(keys.serve, "127.0.0.1", 0) as server:
        uri = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/jwks"
        yield _example().JwtVerifier(issuer=ISSUER, audience=RESOURCE, jwks_uri=uri, **options)
        for writer in keys.open:
            writer.close()


def _of(*names: str) -> Published:
    keys = Published(b"")
    keys.publish(*map(_published, names))
    return keys


FORGED = {
    "another audience": lambda: _signed(aud="https://elsewhere.example/mcp"),
    "the audience and a path": lambda: _signed(aud=f"{RESOURCE}/"),
    "no audience": lambda: _signed(aud=None),
    "audiences without ours": lambda: _signed(aud=["https://a.example", "https://b.example"]),
    "another issuer": lambda: _signed(iss="https://id.example.evil"),
    "the issuer with a slash": lambda: _signed(iss=f"{ISSUER}/"),
    "no issuer": lambda: _signed(iss=None),
    "no subject": lambda: _signed(sub=None),
    "a subject that is no text": lambda: _signed(sub=7),
    "expired": lambda: _signed(exp=int(time.time()) - 1),
    "expired long ago": lambda: _signed(exp=1),
    "no end": lambda: _signed(exp=None),
    "an end that is no number": lambda: _signed(exp="never"),
    "an end beyond numbers": lambda: _parts({"alg": "RS256", "kid": "first"}, b'{"exp": 1e999}'),
    "not yet valid": lambda: _signed(nbf=int(time.time()) + 60),
    "from the future": lambda: _signed(iat=int(time.time()) + 60),
    "alg none": lambda: _parts({"alg": "none", "kid": "first"}, _claims()),
    "alg None": lambda: _parts({"alg": "None", "kid": "first"}, _claims()),
    "no alg": lambda: _parts({"kid": "first"}, _claims()),
    "alg of another type": lambda: _parts({"alg": ["RS256"], "kid": "first"}, _claims()),
    "HMAC under the public key": lambda: _parts({"alg": "HS256", "kid": "first"}, _claims(), _hmac(_public("first"))),
    "HMAC under the public key without its last line break": lambda: _parts(
        {"alg": "HS256", "kid": "first"}, _claims(), _hmac(_public("first").strip())
    ),
    "HMAC under a published secret": lambda: _parts({"alg": "HS256", "kid": "shared"}, _claims(), _hmac(b"s" * 32)),
    "HMAC that says RS256": lambda: _parts({"alg": "RS256", "kid": "first"}, _claims(), _hmac(_public("first"))),
    "another curve": lambda: jwt.encode(
        _claims(), ec.generate_private_key(ec.SECP256R1()), algorithm="ES256", headers={"kid": "first"}
    ),
    "PS256, which nobody allowed": lambda: jwt.encode(
        _claims(), _rsa("first"), algorithm="PS256", headers={"kid": "first"}
    ),
    "no signature": lambda: _signed().rpartition(".")[0] + ".",
    "a signature of zeros": lambda: _signed().rpartition(".")[0] + "." + "A" * 342,
    "another's claims": lambda: ".".join(
        (_signed().split(".")[0], _signed(sub="eve").split(".")[1], _signed().split(".")[2])
    ),
    "a key of one's own": lambda: _signed("eve", {"kid": "first"}),
    "a key of one's own in the header": lambda: _signed("eve", {"kid": "first", "jwk": _published("eve")}),
    "an address of keys in the header": lambda: _signed("eve", {"kid": "eve", "jku": "http://127.0.0.1:9/eve"}),
    "certificates in the header": lambda: _signed(
        "eve", {"kid": "first", "x5c": ["AAAA"], "x5u": "http://127.0.0.1:9"}
    ),
    "a key that is not there": lambda: _signed("gone"),
    "a key for encryption": lambda: _signed("sealing"),
    "a key without a name": lambda: _signed("nameless", {"kid": ""}),
    "no kid": lambda: jwt.encode(_claims(), _rsa("first"), algorithm="RS256"),
    "a kid with a path": lambda: _signed("first", {"kid": "../../../../dev/null"}),
    "a kid with SQL": lambda: _signed("first", {"kid": "first' OR '1'='1"}),
    "a kid with NUL": lambda: _signed("first", {"kid": "first\0"}),
    "a kid that is a number": lambda: _parts({"alg": "RS256", "kid": 1}, _claims()),
    "a kid that is a list": lambda: _parts({"alg": "RS256", "kid": ["first"]}, _claims()),
    "a kid that is an object": lambda: _parts({"alg": "RS256", "kid": {"first": 1}}, _claims()),
    "a kid of 40,000 letters": lambda: _parts({"alg": "RS256", "kid": "k" * 40_000}, _claims()),
    "an extension that is critical": lambda: _signed("first", {"crit": ["exp2"], "exp2": 1}),
    "a detached payload": lambda: _signed("first", {"b64": False, "crit": ["b64"]}),
    "a header 20,000 lists deep": lambda: _parts(b"[" * 20_000, _claims()),
    "a header that is a list": lambda: _parts([], _claims()),
    "a header with a number of 9,000 digits": lambda: _parts(b'{"alg": "RS256", "kid": ' + b"9" * 9_000 + b"}", {}),
    "a header that is no JSON": lambda: _parts(b"\xff\xfe", _claims()),
    "claims that are a list": lambda: _parts({"alg": "RS256", "kid": "first"}, []),
    "scopes that are a list": lambda: _signed(scope=["tools"]),
    "five parts": lambda: "a.b.c.d.e",
    "one part": lambda: "x",
    "dots": lambda: "..",
    "60,000 letters": lambda: "A" * 60_000,
    "60,000 dots": lambda: "." * 60_000,
    "two spaces": lambda: " " + _signed(),
    "two tokens": lambda: f"{_signed()},{_signed()}",
    "letters beyond ASCII": lambda: "é" * 100,
}
"""Each is signed rightly, or as an attacker could, and must open nothing."""


def _hostile_set() -> Published:
    shared = {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).rstrip(b"=").decode(), "kid": "shared"}
    nameless = {name: value for name, value in _published("nameless").items() if name != "kid"}
    keys = Published(b"")
    keys.publish(_published("first"), shared, _published("sealing", use="enc"), {**nameless, "kid": ""})
    return keys


async def test_forged_tokens_are_refused_and_a_good_one_is_not() -> None:
    async with (
        _verifier(keys := _hostile_set()) as verifier,
        opened(asgi_app(polite(), token_verifier=verifier, auth=OAUTH)) as client,
    ):
        good = {b"authorization": f"Bearer {_signed()}".encode()}
        assert (await client.get("/metrics", headers=good)).status_code == 200
        opened_by = []
        for name, forge in FORGED.items():
            header = {b"authorization": f"Bearer {forge()}".encode()}
            if (answer := await client.get("/metrics", headers=header)).status_code != 401:
                opened_by.append((name, answer.status_code))
        assert opened_by == []
        assert keys.asked == 1  # whatever keys the tokens named
        assert (
            await call(client, "facts", era="modern", **{k.decode(): v.decode() for k, v in good.items()})
        ).is_success


async def test_a_token_elsewhere_than_in_its_header_is_refused() -> None:
    token = _signed()
    async with (
        _verifier(_of("first")) as verifier,
        opened(asgi_app(polite(), token_verifier=verifier, auth=OAUTH)) as client,
    ):
        for name in ("access_token", "token", "authorization"):
            assert (await client.get("/metrics", params={name: token})).status_code == 401
            assert (await client.post("/mcp", data={name: token})).status_code == 401
            assert (await client.get("/metrics", headers={"cookie": f"{name}={token}"})).status_code == 401
        for scheme in ("Basic", "DPoP", "Token", ""):
            assert (await client.get("/metrics", headers={"authorization": f"{scheme} {token}"})).status_code == 401
        for second in (token, _signed(sub="eve"), ""):
            twice = [
                ("host", "127.0.0.1:8321"),
                ("authorization", f"Bearer {token}"),
                ("authorization", f"Bearer {second}"),
            ]
            assert (await client.get("/metrics", headers=twice)).status_code == 400


async def test_a_scope_that_is_missing_is_named_and_the_metadata_say_where_tokens_come_from() -> None:
    async with (
        _verifier(_of("first")) as verifier,
        opened(asgi_app(polite(), token_verifier=verifier, auth=OAUTH)) as client,
    ):
        without = await call(client, "facts", era="modern")
        wrong = await call(client, "facts", era="modern", authorization=f"Bearer {_signed(scope='tool toolsx TOOLS')}")
        where = "http://127.0.0.1:8321/.well-known/oauth-protected-resource/mcp"
        assert (without.status_code, wrong.status_code) == (401, 403)
        for answer, error in ((without, "invalid_token"), (wrong, "insufficient_scope")):
            assert f'error="{error}"' in answer.headers["www-authenticate"]
            assert f'resource_metadata="{where}"' in answer.headers["www-authenticate"]
        metadata = (await client.get(where)).json()
        assert (metadata["resource"], metadata["scopes_supported"]) == (RESOURCE, ["tools"])
        assert [one.rstrip("/") for one in metadata["authorization_servers"]] == [ISSUER]


async def test_a_new_key_is_found_and_an_old_one_forgotten_while_the_server_runs() -> None:
    async with _verifier(keys := _of("first"), pause_s=0) as verifier:
        assert await verifier.verify_token(_signed("first")) is not None
        keys.publish(_published("first"), _published("second"))
        assert await verifier.verify_token(_signed("second")) is not None
        keys.publish(_published("second"), _published("third"))
        assert await verifier.verify_token(_signed("third")) is not None
        assert await verifier.verify_token(_signed("first")) is None


async def test_unknown_keys_cost_one_request_a_pause_and_delay_nobody() -> None:
    hung = asyncio.Event()

    async def hang(writer: asyncio.StreamWriter) -> None:
        hung.set()
        await writer.wait_closed()

    async with _verifier(keys := _of("first"), pause_s=0) as verifier:
        assert await verifier.verify_token(_signed("first")) is not None
        keys.answer = hang
        tokens = [_parts({"alg": "RS256", "kid": f"k{number}"}, {}) for number in range(300)]
        calls = [asyncio.create_task(verifier.verify_token(token)) for token in tokens]
        await hung.wait()
        assert await verifier.verify_token(_signed("first")) is not None
        assert keys.asked == 2
        assert sum(not one.done() for one in calls) <= 100
        for one in calls:
            one.cancel()


async def test_an_unknown_key_is_looked_for_once_a_pause() -> None:
    async with _verifier(keys := _of("first")) as verifier:
        for kid in ("first", "a", "b", "c"):
            assert (await verifier.verify_token(_signed("first", {"kid": kid})) is None) == (kid != "first")
        assert keys.asked == 1


HOSTILE_KEYS: dict[str, bytes] = {
    "no JSON": b"<html>",
    "a list": b"[]",
    "no keys": b"{}",
    "keys that are no list": b'{"keys": {"a": 1}}',
    "keys that are no objects": b'{"keys": [1, null, "x", []]}',
    "keys without a type": b'{"keys": [{"kid": "first"}]}',
    "numbers as names": b'{"keys": [{"kty": "RSA", "kid": 5, "n": 3, "e": 5}]}',
    "20,000 lists": b"[" * 20_000,
    "bytes that are no text": b"\xff" * 100,
    "300 kB": b'{"keys": []}' + b" " * 300_000,
    "nothing": b"",
}


async def test_keys_that_cannot_be_read_open_nothing_and_take_no_known_key() -> None:
    async with _verifier(keys := Published(b"[]"), pause_s=0) as verifier:
        assert await verifier.verify_token(_signed()) is None
        keys.publish(_published("first"))
        assert await verifier.verify_token(_signed()) is not None
        for asked, keys.body in enumerate(HOSTILE_KEYS.values(), start=3):
            assert await verifier.verify_token(_signed("gone")) is None
            assert keys.asked == asked
            assert await verifier.verify_token(_signed()) is not None


@pytest.mark.parametrize("status", [b"301 Moved\r\nlocation: http://127.0.0.1:9/", b"404 Not Found", b"500 Down"])
async def test_an_answer_that_is_no_success_is_not_read_as_keys(status: bytes) -> None:
    async with _verifier(keys := _of("first"), pause_s=0) as verifier:
        keys.head = b"HTTP/1.1 " + status + b"\r\n"
        assert await verifier.verify_token(_signed()) is None


async def test_an_endless_answer_is_bounded_in_memory_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" " * 65_536)
            await writer.drain()

    async def dripping(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.001)

    monkeypatch.setattr(_example(), "READ_IN_S", 0.05)
    async with _verifier(keys := _of("first"), pause_s=0) as verifier:
        for keys.answer in (endless, dripping):
            tracemalloc.start()
            try:
                assert await verifier.verify_token(_signed()) is None
                assert tracemalloc.get_traced_memory()[1] < 10_000_000
            finally:
                tracemalloc.stop()
