# --8<-- [start:imports]
import asyncio
import os
import webbrowser
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

RESOURCE = os.environ["RESOURCE"]  # http://127.0.0.1:8321/mcp
ISSUER = os.environ["ISSUER"]
# --8<-- [end:imports]


# --8<-- [start:call]
class Kept:
    """Keeps tokens while the program runs; a keyring keeps them for longer."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def call(auth: httpx2.Auth) -> None:
    async with (
        httpx2.AsyncClient(auth=auth, timeout=35) as http,
        Client(streamable_http_client(RESOURCE, http_client=http)) as client,
    ):
        result = await client.call_tool("get_book", {"title": "Dune"})
        print(result.structured_content)


# --8<-- [end:call]
# --8<-- [start:person]
async def as_a_person() -> None:
    came_back = asyncio.get_running_loop().create_future()

    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        query = parse_qs(urlsplit(request.split()[1].decode()).query)
        writer.write(
            b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nYou may close this page."
        )
        await writer.drain()
        writer.close()
        came_back.set_result(
            AuthorizationCodeResult(
                **{name: query[name][0] for name in ("code", "state", "iss")}
            )
        )

    async def log_in(address: str) -> None:
        await asyncio.to_thread(webbrowser.open, address)

    async def code() -> AuthorizationCodeResult:
        return await came_back

    async with await asyncio.start_server(page, "127.0.0.1", 0) as server:
        here = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        metadata = OAuthClientMetadata(
            client_name="shelf", redirect_uris=[here], scope="tools"
        )
        await call(OAuthClientProvider(RESOURCE, metadata, Kept(), log_in, code))


# --8<-- [end:person]
# --8<-- [start:machine]
async def as_a_machine() -> None:
    secret = os.environ["CLIENT_SECRET"]
    await call(
        ClientCredentialsOAuthProvider(
            RESOURCE, Kept(), "machine", secret, scope="tools", issuer=ISSUER
        )
    )


asyncio.run(as_a_machine())
asyncio.run(as_a_person())
# --8<-- [end:machine]
